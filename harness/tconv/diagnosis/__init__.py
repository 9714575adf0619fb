"""Which misreading explains a wrong output; and where it is wrong, and what would account for it, when none does."""

from tconv.diagnosis.description import described
from tconv.diagnosis.search import GIVEN_UP, Diagnosis, diagnose, shared

__all__ = ["GIVEN_UP", "Diagnosis", "described", "diagnose", "shared"]
