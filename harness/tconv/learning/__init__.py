"""A runtime's own rules, learnt from its answers: formulas for sizes and places, and what cases of a cause share."""

from tconv.learning.denials import denials
from tconv.learning.judged_calls import Condition, JudgedCalls
from tconv.learning.lesson import Lesson, Rule
from tconv.learning.lessons import lessons, without_named
from tconv.learning.named_conditions import Misread, named_conditions, without_misread
from tconv.learning.shared_facts import Shared, shared_facts
from tconv.learning.sheet import SheetLine, sheet
from tconv.learning.symptoms import Symptom, symptoms
from tconv.learning.unanswered import UNANSWERED, Unanswered, UnansweredCalls

__all__ = [
    "UNANSWERED",
    "Condition",
    "JudgedCalls",
    "Lesson",
    "Misread",
    "Rule",
    "Shared",
    "SheetLine",
    "Symptom",
    "Unanswered",
    "UnansweredCalls",
    "denials",
    "lessons",
    "named_conditions",
    "shared_facts",
    "sheet",
    "symptoms",
    "without_misread",
    "without_named",
]
