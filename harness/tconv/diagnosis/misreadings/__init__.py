"""The catalogue of misreadings: the distinct ways to get a transposed convolution wrong that no text allows.

Each has a name, a sentence, where it was seen, and a change of the attributes, of the geometry, of the operands, of the
output, or of the precision. The reference evaluated under a misreading is the same reference:
no transposed convolution is computed here. A foreign answer to a question of `rules`, one that only another text gives,
is a misreading too; see `misreadings_of`.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from tconv.diagnosis.misreadings import attributes, geometry, operands, output, precision
from tconv.diagnosis.misreadings.applied import Imagined, imagined
from tconv.diagnosis.misreadings.misreading import Misreading

if TYPE_CHECKING:
    from tconv.dialects import Dialect

__all__ = ["CATALOGUE", "Imagined", "Misreading", "imagined", "misreadings_of", "pairs"]

CATALOGUE = (
    *attributes.MISREADINGS,
    *geometry.MISREADINGS,
    *operands.MISREADINGS,
    *output.MISREADINGS,
    *precision.MISREADINGS,
)
"""All of them, those of attributes first; the simplest that explains an output is named first."""
_OVERLOOKED = (
    "output-shape-ignored",
    "auto-pad-ignored",
    "pads-ignored",
    "bias-ignored",
    "output-padding-ignored",
    "filter-flipped",
)
"""What a runtime overlooks it overlooks in company."""
_SEEN_TOGETHER = (
    # Tencent/TNN#205, all three in one kernel
    ("filter-channels-exchanged", "groups-share-the-first-filter"),
    ("filter-channels-exchanged", "bias-of-the-first-group"),
    ("groups-share-the-first-filter", "bias-of-the-first-group"),
    # robertknight/rten#1399 and #1408, in one version
    ("pads-interleaved", "bias-of-the-first-group"),
)


@cache
def misreadings_of(dialect: Dialect) -> tuple[Misreading, ...]:
    """Return the misreadings of a dialect: answers that its text does not allow, and those of the catalogue."""
    foreign = (Misreading(reading.name, reading.says, reading.change) for reading in dialect.foreign_readings())
    return (*foreign, *CATALOGUE)


@cache
def pairs() -> tuple[tuple[Misreading, Misreading], ...]:
    """Return misreadings that are made together: where they were seen so, and what is overlooked with other things."""
    by_name = {misreading.name: misreading for misreading in CATALOGUE}
    named = (*combinations(_OVERLOOKED, 2), *_SEEN_TOGETHER)
    return tuple((by_name[first], by_name[second]) for first, second in named)
