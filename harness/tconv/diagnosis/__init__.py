"""Which misreadings explain a wrong output; if none explains it, in which elements and how it is wrong."""

from tconv.diagnosis.in_context import explain_in_context
from tconv.diagnosis.search import UNDIAGNOSED, Diagnosis, diagnose, explains, single_explanations

__all__ = ["UNDIAGNOSED", "Diagnosis", "diagnose", "explain_in_context", "explains", "single_explanations"]
