"""Misreadings that explain a wrong output; if none does, a description of which elements are wrong, and how."""

from tconv.diagnosis.in_context import explain_in_context
from tconv.diagnosis.search import UNDIAGNOSED, Diagnosis, diagnose, explains, single_explanations

__all__ = ["UNDIAGNOSED", "Diagnosis", "diagnose", "explain_in_context", "explains", "single_explanations"]
