"""The corpus: from case files to cases, in tiers."""

from __future__ import annotations

from tconv.corpus.corpus import Corpus
from tconv.vocabulary import Tier

__all__ = ["Corpus", "Tier"]
