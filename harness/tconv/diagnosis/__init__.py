"""Which misreading explains a wrong output; and where it is wrong, and what would account for it, when none does."""

from tconv.diagnosis.description import described
from tconv.diagnosis.search import Diagnosis, diagnose, shared

__all__ = ["Diagnosis", "described", "diagnose", "shared"]
