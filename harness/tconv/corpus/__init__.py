"""The corpus: case files, their cases, and tiers of cases."""

from __future__ import annotations

from tconv.corpus.corpus import Corpus
from tconv.vocabulary import Tier

__all__ = ["Corpus", "Tier"]
