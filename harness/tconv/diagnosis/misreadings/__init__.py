"""The catalogue of misreadings: the distinct ways to get a transposed convolution wrong that no text allows.

Each has a name, a sentence, and a change of the attributes, the geometry, the operands or the result. A comment names
the place in which the mistake was seen, if one is known. The reference computes the output from the changed values. An
answer to a question of `rules` that only another text gives is also a misreading; see `misreadings_of`.

Two things are learnt from a run and are not in the catalogue. One is the condition of a misreading, or of a relation of
wrong elements. The other is a formula that several answers follow exactly.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.diagnosis.misreadings import elements, geometry, precision, quanta, sums
from tconv.diagnosis.misreadings.misreading import Misreading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.dialects.readings import Reading

CATALOGUE = (
    *geometry.MISREADINGS,
    *elements.MOVED,
    *sums.MISREADINGS,
    *elements.LEFT_OUT,
    *precision.OF_NUMBERS,
    *elements.OF_THE_OUTPUT,
    *precision.OF_SUMS,
)
"""All misreadings, in the order of diagnoses: those of attributes come first, as they are the simplest."""
_OVERLOOKED = (
    "output-shape-ignored",
    "auto-pad-ignored",
    "pads-ignored",
    "bias-ignored",
    "output-padding-ignored",
    "filter-flipped",
)
"""A runtime that ignores one of these often ignores another one too."""


@cache
def misreadings_of(dialect: Dialect) -> tuple[Misreading, ...]:
    """Return the misreadings of a dialect: answers that its text does not allow, and those of the catalogue."""
    return (*map(_followed, dialect.foreign_readings()), *CATALOGUE)


def _followed(reading: Reading) -> Misreading:
    """Return a misreading that follows a reading, so that it can be combined with other misreadings."""
    return Misreading(reading.name, reading.says, reading.change)


def misreadings_in_context(dialect: Dialect) -> tuple[Misreading, ...]:
    """Return the misreadings that may explain a graph around the operator, those of quanta first."""
    return (*quanta.MISREADINGS, *misreadings_of(dialect))


@cache
def misreadings_by_name(dialect: Dialect) -> Mapping[str, Misreading]:
    """Return all that an explanation in a dialect may name: misreadings, and disputed readings combined with them."""
    misreadings = (*misreadings_of(dialect), *map(_followed, dialect.disputed), *quanta.MISREADINGS)
    return MappingProxyType({misreading.name: misreading for misreading in misreadings})


@cache
def meanings(dialect: Dialect) -> Mapping[str, str]:
    """Return the meaning of each name in explanations of a dialect, as a sentence."""
    return MappingProxyType({name: misreading.says for name, misreading in misreadings_by_name(dialect).items()})


def trials(dialect: Dialect, disputed: Sequence[Sequence[str]]) -> Iterator[tuple[Misreading, ...]]:
    """Yield possible explanations of an output: each misreading, then pairs, then each with disputed readings.

    Args:
        dialect: the dialect.
        disputed: the sets of names of disputed readings that are followed together. A runtime that follows them may
            still make a mistake.
    """
    names = misreadings_by_name(dialect)
    yield from ((misreading,) for misreading in misreadings_of(dialect))
    yield from ((names[first], names[second]) for first, second in combinations(_OVERLOOKED, 2))
    for readings in disputed:
        yield from ((*map(names.__getitem__, readings), misreading) for misreading in misreadings_of(dialect))
