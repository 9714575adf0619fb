"""Which products, left out or added twice, would account for a wrong output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.judge import Truth, compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.geometry import Geometry
    from tconv.vocabulary import DType, Ints

Array = np.ndarray[Any, np.dtype[Any]]

_MOST_TRIED = 4
"""Suspects for which the whole output is computed anew."""
_TIMES = {0: "is left out", 2: "is added twice"}


@dataclass(frozen=True, slots=True)
class _Suspect:
    """Products that may be at fault, how often they were added, and how far they are from accounting for one element.

    Attributes:
        channel: the input channel, or None for all of the group.
        tap: the tap, or None for all.
        out_channel: the output channel within the group, or None for all.
        times: how often the products were added: not at all, or twice.
        off: how far the element would still be from what was returned.
    """

    channel: int | None
    tap: Ints | None
    out_channel: int | None
    times: int
    off: float

    def __str__(self) -> str:
        parts = [
            *([] if self.channel is None else [f"input channel {self.channel}"]),
            *([] if self.tap is None else [f"tap {list(self.tap)}"]),
        ]
        where = "" if self.out_channel is None else f" of output channel {self.out_channel} in its group"
        return f"as if {' at '.join(parts)}{where} {_TIMES[self.times]}"

    def filter(self, w: Array) -> Array:
        """Return the filter that adds the products so often."""
        changed = w.copy()
        at: list[Any] = [slice(None) if one is None else one for one in (self.channel, self.out_channel)]
        changed[tuple(at + list(self.tap or ()))] *= self.times
        return changed


def accounted(
    actual: Array, operands: Mapping[str, Array], dtype: DType, geometry: Geometry, accumulates: Mapping[str, str]
) -> str:
    """Return which products would account for an output, in words; empty where none would.

    The first element that is wrong names the suspects: an input channel, a tap, or one product of both, whose share of
    that element is what is missing or too much. Those that give the whole output are told.

    Args:
        actual: the output, (N, O, Y...).
        operands: x, w and perhaps b, in float64, (N, C, X...), (C, O/G, K...) and (O,).
        dtype: the type of the output.
        geometry: what is owed.
        accumulates: what the backend accumulates f16 and bf16 in.
    """
    truth = Truth(operands, dtype)
    if truth.shape(geometry) != actual.shape or not np.isfinite(actual.astype(np.float64)).all():
        return ""
    wrong = np.argwhere(compare(actual, truth, geometry, accumulates).wrong)
    if not len(wrong):
        return ""
    at = tuple(int(one) for one in wrong[0])
    lacking = float(truth.values(geometry)[at] - float(actual[at]))
    suspects = sorted(_suspects(operands, geometry, at, lacking), key=lambda one: one.off)
    for suspect in suspects[:_MOST_TRIED]:
        changed = Truth(dict(operands) | {"w": suspect.filter(operands["w"])}, dtype)
        if not compare(actual, changed, geometry, accumulates).wrong.any():
            return str(suspect)
    return ""


def _suspects(operands: Mapping[str, Array], geometry: Geometry, at: Ints, lacking: float) -> Iterator[_Suspect]:
    """Yield what may be at fault, judged by one element alone: (N, O, Y...) is its place."""
    x, w = operands["x"], operands["w"]
    group, out_channel = divmod(at[1], w.shape[1])
    channels = w.shape[0] // geometry.groups
    taps, places = _reaching(geometry, at[2:])
    if not taps:
        return
    first = group * channels
    data = np.stack([_last_axes(x[at[0], first : first + channels], place) for place in places], axis=1)
    weights = np.stack([_last_axes(w[first : first + channels, out_channel], tap) for tap in taps], axis=1)
    shares = data * weights
    for times, wanted in ((0, lacking), (2, -lacking)):
        off = np.abs(shares - wanted)
        channel, tap = (int(one) for one in np.unravel_index(int(off.argmin()), off.shape))
        for one in (None, out_channel):
            yield _Suspect(first + channel, taps[tap], one, times, float(off.min()))
        over_channels, over_taps = (np.abs(shares.sum(axis=axis) - wanted) for axis in (0, 1))
        yield _Suspect(None, taps[int(over_channels.argmin())], None, times, float(over_channels.min()))
        yield _Suspect(first + int(over_taps.argmin()), None, None, times, float(over_taps.min()))


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
