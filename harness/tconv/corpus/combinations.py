"""Which combinations of attributes a tier has in each dialect: the whole product of eight of them is promised."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tconv.corpus.size_coverage import KINDS
from tconv.dialects.geometry import reach
from tconv.expectation.owed import Inexpressible, expectation, expressible
from tconv.vocabulary import AutoPad, DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.cases.case import Case
    from tconv.dialects import Dialect

ATTRIBUTES: dict[str, tuple[object, ...]] = {
    "auto_pad": tuple(AutoPad),
    "output_shape": ("none", "full", "less", "more"),
    "kind of group": KINDS,
    "data_format": (DataFormat.NCX, DataFormat.NXC),
    "filter_format": (FilterFormat.IOX, FilterFormat.XOI),
    "rank": (1, 2, 3),
    "bias": (False, True),
    "output_padding": (False, True),
}
"""The values of each attribute; output_shape is compared with the size that the taps reach, on every axis."""
Combination: TypeAlias = tuple[object, ...]


class ProductCoverage(NamedTuple):
    """The combinations of attributes that a tier has in a dialect.

    Attributes:
        dialect_name: the dialect's name.
        said: how many of them a case has that the dialect can say.
        unsaid: how many of them the dialect cannot say, by the constraint that the first case breaks.
        absent: those that no case has.
    """

    dialect_name: str
    said: int
    unsaid: Mapping[str, int]
    absent: tuple[Combination, ...]


def product_coverage(cases: Iterable[Case], dialects: Iterable[Dialect]) -> list[ProductCoverage]:
    """Return what cases have of the product of `ATTRIBUTES`, in each of some dialects."""
    found: dict[Combination, list[Case]] = defaultdict(list)
    for case in cases:
        if case.breaks is None:
            found[_combination(case)].append(case)
    return [_in_dialect(dialect, found) for dialect in dialects]


def _in_dialect(dialect: Dialect, found: dict[Combination, list[Case]]) -> ProductCoverage:
    said = 0
    unsaid: Counter[str] = Counter()
    absent = []
    for wanted in product(*ATTRIBUTES.values()):
        cases = found.get(wanted, [])
        if any(expressible(case, dialect) for case in cases):
            said += 1
        elif cases:
            refused = expectation(cases[0], dialect)
            assert isinstance(refused, Inexpressible)  # noqa: S101 - no dialect that can say it
            unsaid[refused.violation.constraint] += 1
        else:
            absent.append(wanted)
    return ProductCoverage(dialect.name, said, unsaid, tuple(absent))


def _combination(case: Case) -> Combination:
    """Return what a case has of `ATTRIBUTES`."""
    attributes = case.attributes
    return (
        attributes.auto_pad or AutoPad.EXPLICIT,
        _output_shape(case),
        case.kind_of_group,
        attributes.data_format or DataFormat.NCX,
        attributes.filter_format or FilterFormat.IOX,
        len(case.x.shape) - 2,
        case.b is not None,
        attributes.output_padding is not None,
    )


def _output_shape(case: Case) -> str:
    attributes, rank = case.attributes, len(case.x.shape) - 2
    if attributes.output_shape is None:
        return "none"
    lists = (attributes.per_axis(name, rank) for name in ("strides", "dilations"))
    full = [reach(*axis) for axis in zip(case.x.shape[2:], case.w.shape[2:], *lists, strict=False)]
    beyond = {(size > most) - (size < most) for size, most in zip(attributes.output_shape, full, strict=False)}
    return {0: "full", -1: "less", 1: "more"}[beyond.pop()] if len(beyond) == 1 else "mixed"
