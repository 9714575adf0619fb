"""A runtime's own rules, learnt from its answers: formulas for sizes and places, and what cases of a cause share."""

from tconv.learning.denials import denials
from tconv.learning.lesson import Lesson, Rule
from tconv.learning.lessons import lessons, without_named
from tconv.learning.shared_facts import Shared, shared_facts
from tconv.learning.sheet import SheetLine, sheet
from tconv.learning.symptoms import Symptom, symptoms

__all__ = [
    "Lesson",
    "Rule",
    "Shared",
    "SheetLine",
    "Symptom",
    "denials",
    "lessons",
    "shared_facts",
    "sheet",
    "symptoms",
    "without_named",
]
