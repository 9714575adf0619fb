"""Which misreading explains a wrong output; and where it is wrong, when none does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.bound import bound
from tconv.judge import Truth, compare
from tconv.misreadings import CATALOGUE, imagined, of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.geometry import Geometry
    from tconv.misreadings import Imagined, Misreading
    from tconv.vocabulary import DType, Signature

Array = np.ndarray[Any, np.dtype[Any]]

BUDGET = 0.05
"""Seconds that the search for one explanation may take."""
_TOGETHER = (
    "output-shape-ignored",
    "auto-pad-ignored",
    "pads-ignored",
    "bias-ignored",
    "filter-flipped",
    "output-padding-ignored",
)
"""Misreadings that are looked for in pairs too: what a runtime overlooks, it overlooks in company."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why an output is wrong.

    Attributes:
        explained: misreadings that give this very output, each by itself; those of a pair are joined by ` + `.
        described: where and how it is wrong, where nothing explains it.
    """

    explained: tuple[str, ...]
    described: str = ""


def diagnose(
    actual: Array,
    written: Signature,
    row: Dialect,
    operands: Mapping[str, Array],
    geometry: Geometry,
    accumulates: Mapping[str, str],
    budget: float = BUDGET,
) -> Diagnosis:
    """Return why an output is not what a dialect owes.

    Args:
        actual: the output, in NCX.
        written: attributes and operand types of the call.
        row: the dialect.
        operands: x, w and perhaps b, in their own types, NCX and IOX.
        geometry: what is owed.
        accumulates: what the backend accumulates f16 and bf16 in.
        budget: seconds after which the search ends with what it has found.
    """
    ends = perf_counter() + budget
    taken = {role: array.astype(np.float64) for role, array in operands.items()}
    dtype = written.x.dtype
    found: list[str] = []
    for misread in _candidates(row.name):
        # A pair is no explanation where one does.
        if found and len(misread) > 1:
            break
        if perf_counter() > ends:
            return Diagnosis(tuple(found), "" if found else "undiagnosed: the search took too long")
        made = imagined(misread, written, row, taken)
        if made is not None and _gives(made, actual, dtype, accumulates):
            found.append(" + ".join(one.name for one in misread))
    if found:
        return Diagnosis(tuple(found))
    return Diagnosis((), described(actual, Truth(operands, dtype).values(geometry), geometry))


def _candidates(dialect_name: str) -> Iterator[tuple[Misreading, ...]]:
    for one in of(dialect_name):
        yield (one,)
    yield from combinations([one for one in CATALOGUE if one.name in _TOGETHER], 2)


def _gives(made: Imagined, actual: Array, dtype: DType, accumulates: Mapping[str, str]) -> bool:
    """Return whether an output is what a misreading makes of the call: exactly, or within the bound of real data."""
    truth = Truth(made.operands, dtype)
    if truth.shape(made.geometry) != actual.shape:
        return False
    if made.kept is not None:
        return not truth.exact(made.geometry) and made.kept.accounts(actual, truth.terms(made.geometry), dtype)
    if made.finish is None:
        return not compare(actual, truth, made.geometry, accumulates).wrong.any()
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = made.finish(truth.values(made.geometry))
        if truth.exact(made.geometry):
            return np.array_equal(wanted.astype(actual.dtype), actual, equal_nan=True)
        # What is allowed of an element goes where it goes.
        allowed = made.finish(bound(truth.terms(made.geometry), dtype, accumulates).allowed)
        got = actual.astype(np.float64)
        near = (got == wanted) | (np.abs(got - wanted) <= allowed) | (np.isnan(got) & np.isnan(wanted))
        return bool(near.all())


def described(actual: Array, expected: Array, geometry: Geometry) -> str:
    """Return where and how an output is wrong, in words.

    Args:
        actual: the output, in NCX.
        expected: what is owed, in NCX.
        geometry: what is owed, as plain integers.
    """
    if actual.shape != expected.shape:
        return f"the shape is {list(actual.shape)}, which no misreading gives; {list(expected.shape)} is owed"
    with np.errstate(invalid="ignore"):
        got = actual.astype(np.float64)
        wrong = (got != expected) & ~(np.isnan(got) & np.isnan(expected))
    parts = [_amount(got, expected, wrong)]
    for axis, name in ((0, "items of the batch"), (1, "channels")):
        parts += _some(
            np.flatnonzero(wrong.any(axis=tuple(a for a in range(wrong.ndim) if a != axis))), wrong.shape[axis], name
        )
    for axis, stride in enumerate(geometry.strides, start=2):
        at = np.flatnonzero(wrong.any(axis=tuple(a for a in range(wrong.ndim) if a != axis)))
        parts += _some(at, wrong.shape[axis], f"positions of axis {axis - 2}", stride, geometry.pads_begin[axis - 2])
    return "; ".join(parts)


def _amount(got: Array, expected: Array, wrong: Array) -> str:
    values, owed = got[wrong], expected[wrong]
    count = f"{len(values)} of {wrong.size} elements differ"
    if not values.any():
        return f"{count}: they are 0"
    if np.isnan(values).all():
        return f"{count}: they are NaN"
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = values / owed
    if np.isfinite(ratios).all() and np.ptp(ratios) == 0:
        return f"{count}: they are {ratios[0]:g} times what is owed"
    largest, distance = np.abs(expected).max(), np.abs(values - owed).max()
    if np.isfinite(distance) and 0 < distance < _SLIGHT * largest < np.inf:
        return f"{count}, by at most {distance / largest:.1e} of the largest"
    return count


_SLIGHT = 1e-2
"""What share of the largest element a difference may be to be told as one of accuracy."""


def _some(at: Array, size: int, name: str, stride: int = 1, begin: int = 0) -> list[str]:
    """Return which of the places along an axis are wrong, nothing where all are."""
    if len(at) in {0, size}:
        return []
    if np.array_equal(at, np.arange(at[0], size)):
        return [f"{name} from {at[0]} on"]
    if np.array_equal(at, np.arange(len(at))):
        return [f"{name} up to {at[-1]}"]
    phases = sorted(set(((at + begin) % stride).tolist()))
    if len(phases) < stride:
        return [f"{name} of phase {', '.join(map(str, phases))} modulo the stride {stride}"]
    border = {0, size - 1}
    if set(at.tolist()) <= border:
        return [f"{name} at the border"]
    return [f"{len(at)} of {size} {name}"]


def shared(diagnoses: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the one misreading for each case that explains the most of all, so that one cause has one name.

    Args:
        diagnoses: what explains each case, by id.
    """
    left = {case: set(names) for case, names in diagnoses.items() if names}
    chosen: dict[str, str] = {}
    while left:
        counts = Counter(name for names in left.values() for name in names)
        # The order of the catalogue, which is that of a diagnosis, breaks a tie.
        best = max(counts.values())
        name = next(n for names in diagnoses.values() for n in names if counts[n] == best)
        chosen |= {case: name for case, names in left.items() if name in names}
        left = {case: names for case, names in left.items() if name not in names}
    return chosen
