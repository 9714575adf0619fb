"""Which products, left out or added twice, would account for a wrong output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.expectation.bound import bound_errors
from tconv.expectation.truth import Truth
from tconv.verdict.values import ComparedValues, compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, DType, Ints

_MOST_TRIED = 4
"""Suspects for which the whole output is computed."""
_MOST_ELEMENTS = 12
"""Wrong elements that a suspect must account for before its whole output is computed."""
_TIMES = {0: "is left out", 2: "is added twice"}


@dataclass(frozen=True, slots=True, order=True)
class _Suspect:
    """Products that may be at fault, and how often they were added.

    Attributes:
        times: how often the products were added: not at all, or twice.
        channel: the input channel; -1 for all of the group.
        tap: the tap; empty for all.
        out_channel: the output channel; -1 for all.
    """

    times: int
    channel: int
    tap: Ints
    out_channel: int

    def __str__(self) -> str:
        parts = [
            *([] if self.channel < 0 else [f"input channel {self.channel}"]),
            *([f"tap {list(self.tap)}"] if self.tap else []),
        ]
        where = "" if self.out_channel < 0 else f" of output channel {self.out_channel}"
        return f"as if {' at '.join(parts)}{where} {_TIMES[self.times]}"

    def filter(self, w: Array) -> Array:
        """Return the filter with which the products are added so often."""
        changed, every = w.copy(), slice(None)
        at: list[Any] = [
            every if self.channel < 0 else self.channel,
            # An input channel has products with the output channels of its group only.
            every if self.out_channel < 0 else self.out_channel % w.shape[1],
        ]
        changed[tuple(at + list(self.tap))] *= self.times
        return changed


def accounted(actual: Array, truth: Truth, geometry: Geometry, comparison: ComparedValues, accumulator: DType) -> str:
    """Return which products would account for an output, in words; empty where none would, or several equally well.

    An input channel, a tap, or a product of both is a suspect where its share of each of some wrong elements is what
    that element lacks, or has too much. The first suspect that gives the whole output is returned.

    Args:
        actual: the output, (N, O, Y...).
        truth: the reference for the operands.
        geometry: what is expected.
        comparison: the comparison of both.
        accumulator: the type that products of f16 or bf16 are added in.
    """
    operands, dtype, values = truth.operands, truth.dtype, actual.astype(np.float64)
    # Of zeros alone the description says that everything is 0, which explains more.
    if not values.any() or not all(np.isfinite(array).all() for array in (values, *operands.values())):
        return ""
    places = np.argwhere(comparison.wrong)
    some_places = places[np.unique(np.linspace(0, len(places) - 1, min(len(places), _MOST_ELEMENTS)).astype(int))]
    suspects: set[_Suspect] | None = None
    for at in map(tuple, some_places.tolist()):
        slack = 0.0
        if comparison.rule == "bound":
            terms = truth.compute_terms(geometry).part(tuple(slice(place, place + 1) for place in at))
            slack = 2 * float(bound_errors(terms, dtype, accumulator).allowed.item())
        accounting = set(_suspects(operands, geometry, at, float(comparison.expected[at] - values[at]), slack))
        suspects = accounting if suspects is None else suspects & accounting
        if not suspects:
            return ""
    for suspect in sorted(suspects or ())[:_MOST_TRIED]:
        changed = Truth(dict(operands) | {"w": suspect.filter(operands["w"])}, dtype)
        if compare(actual, changed, geometry, accumulator).conforms:
            return str(suspect)
    return ""


def _suspects(
    operands: Mapping[str, Array], geometry: Geometry, at: Ints, lacking: float, slack: float
) -> Iterator[_Suspect]:
    """Yield what accounts for the element at (N, O, Y...), which lacks so much."""
    x, w = operands["x"], operands["w"]
    group, out_channel = divmod(at[1], w.shape[1])
    channels = w.shape[0] // geometry.groups
    taps, places = _reaching(geometry, at[2:])
    if not taps or not channels:
        return
    first = group * channels
    data = np.stack([_last_axes(x[at[0], first : first + channels], place) for place in places], axis=1)
    weights = np.stack([_last_axes(w[first : first + channels, out_channel], tap) for tap in taps], axis=1)
    shares = data * weights
    for times, share in ((0, lacking), (2, -lacking)):
        for channel, tap in np.argwhere(np.abs(shares - share) <= slack).tolist():
            for where in (-1, at[1]):
                yield _Suspect(times, first + channel, taps[tap], where)
        for tap in np.flatnonzero(np.abs(shares.sum(axis=0) - share) <= slack).tolist():
            yield _Suspect(times, -1, taps[tap], -1)
        for channel in np.flatnonzero(np.abs(shares.sum(axis=1) - share) <= slack).tolist():
            yield _Suspect(times, first + channel, (), -1)


def _last_axes(array: Array, place: Any) -> Array:  # noqa: ANN401 - integers, which numpy's types do not accept
    """Return the elements at a place of the last axes, from (C, K...) or (C, X...) to (C,)."""
    part: Array = array[(..., *place)]
    return part


def _reaching(geometry: Geometry, place: Ints) -> tuple[list[Ints], list[Ints]]:
    """Return the taps that reach a place of the output, and for each the place of the data that it multiplies."""
    taps, places = [], []
    for k in np.ndindex(*geometry.kernel):
        distances = [
            o + p - tap * d for o, p, tap, d in zip(place, geometry.pads_begin, k, geometry.dilations, strict=True)
        ]
        steps = [divmod(distance, s) for distance, s in zip(distances, geometry.strides, strict=True)]
        if all(rest == 0 and 0 <= i < size for (i, rest), size in zip(steps, geometry.spatial, strict=True)):
            taps.append(tuple(k))
            places.append(tuple(i for i, _ in steps))
    return taps, places
