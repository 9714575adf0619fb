"""Which products, left out or added twice, would account for a wrong output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.expectation.truth import Truth
from tconv.verdict.judge import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array, DType, Ints

_MOST_TRIED = 4
"""Suspects for which the whole output is computed anew."""
_MOST_ASKED = 12
"""Wrong elements that each suspect must account for before that."""
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

    def filter(self, w: Array, groups: int) -> Array:
        """Return the filter that adds the products so often."""
        changed = w.copy()
        share = w.shape[0] // groups
        group, out_channel = divmod(max(self.out_channel, 0), w.shape[1])
        # Of one output channel only the inputs of its group are meant.
        every = slice(None) if self.out_channel < 0 else slice(group * share, (group + 1) * share)
        at: list[Any] = [
            every if self.channel < 0 else self.channel,
            slice(None) if self.out_channel < 0 else out_channel,
        ]
        changed[tuple(at + list(self.tap))] *= self.times
        return changed


def accounted(
    actual: Array, operands: Mapping[str, Array], dtype: DType, geometry: Geometry, accumulates: Mapping[str, str]
) -> str:
    """Return which products would account for an output, in words; empty where none would, or several equally well.

    An input channel, a tap, or one product of both is a suspect where its share of each of some wrong elements is what
    that element lacks, or has too much. Those that give the whole output are told.

    Args:
        actual: the output, (N, O, Y...).
        operands: x, w and perhaps b, in float64, (N, C, X...), (C, O/G, K...) and (O,).
        dtype: the type of the output.
        geometry: what is owed.
        accumulates: what the backend accumulates f16 and bf16 in.
    """
    truth, got = Truth(operands, dtype), actual.astype(np.float64)
    if truth.shape(geometry) != actual.shape or not all(np.isfinite(a).all() for a in (got, *operands.values())):
        return ""
    if not got.any():
        # That everything is 0 says more.
        return ""
    compared = compare(actual, truth, geometry, accumulates)
    places = np.argwhere(compared.wrong)
    asked = places[np.unique(np.linspace(0, len(places) - 1, min(len(places), _MOST_ASKED)).astype(int))]
    left: set[_Suspect] | None = None
    for at in map(tuple, asked.tolist()):
        slack = 0.0 if compared.allowed is None else 2 * float(compared.allowed[at])
        here = set(_suspects(operands, geometry, at, float(compared.expected[at] - got[at]), slack))
        left = here if left is None else left & here
        if not left:
            return ""
    for suspect in sorted(left or ())[:_MOST_TRIED]:
        changed = Truth(dict(operands) | {"w": suspect.filter(operands["w"], geometry.groups)}, dtype)
        if not compare(actual, changed, geometry, accumulates).wrong.any():
            return str(suspect)
    return ""


def _suspects(
    operands: Mapping[str, Array], geometry: Geometry, at: Ints, lacking: float, slack: float
) -> Iterator[_Suspect]:
    """Yield what accounts for one element, of which so much is lacking: (N, O, Y...) is its place."""
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
    for times, wanted in ((0, lacking), (2, -lacking)):
        for channel, tap in np.argwhere(np.abs(shares - wanted) <= slack).tolist():
            for where in (-1, at[1]):
                yield _Suspect(times, first + channel, taps[tap], where)
        for tap in np.flatnonzero(np.abs(shares.sum(axis=0) - wanted) <= slack).tolist():
            yield _Suspect(times, -1, taps[tap], -1)
        for channel in np.flatnonzero(np.abs(shares.sum(axis=1) - wanted) <= slack).tolist():
            yield _Suspect(times, first + channel, (), -1)


def _last_axes(array: Array, place: Any) -> Array:  # noqa: ANN401 - integers, which numpy's types do not take
    """Return what stands at one place of the last axes, (C, K...) or (C, X...) to (C,)."""
    part: Array = array[(..., *place)]
    return part


def _reaching(geometry: Geometry, place: Ints) -> tuple[list[Ints], list[Ints]]:
    """Return the taps that reach a place of the output, and the place of the data that each of them takes there."""
    taps, places = [], []
    for k in np.ndindex(*geometry.kernel):
        distance = [
            o + p - tap * d for o, p, tap, d in zip(place, geometry.pads_begin, k, geometry.dilations, strict=True)
        ]
        steps = [divmod(one, s) for one, s in zip(distance, geometry.strides, strict=True)]
        if all(rest == 0 and 0 <= i < size for (i, rest), size in zip(steps, geometry.spatial, strict=True)):
            taps.append(tuple(k))
            places.append(tuple(i for i, _ in steps))
    return taps, places
