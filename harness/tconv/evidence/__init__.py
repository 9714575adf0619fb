"""Why a run fails, found by one mechanism from the answers of the whole run."""

from tconv.evidence.calls import Answer, Calls, answer_of, is_right
from tconv.evidence.explanation import explain, explain_alone
from tconv.evidence.hypotheses import (
    Errs,
    Explanation,
    Follows,
    Hypothesis,
    InContext,
    Misreads,
    Relates,
    Rule,
    Says,
    Varies,
)
from tconv.evidence.new_calls import ask_new_calls

__all__ = [
    "Answer",
    "Calls",
    "Errs",
    "Explanation",
    "Follows",
    "Hypothesis",
    "InContext",
    "Misreads",
    "Relates",
    "Rule",
    "Says",
    "Varies",
    "answer_of",
    "ask_new_calls",
    "explain",
    "explain_alone",
    "is_right",
]
