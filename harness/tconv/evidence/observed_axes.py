"""The spatial axes of outputs as columns of numbers: a formula gives one column from others.

For example, two axes with strides 2 and 3 and sizes of 7 and 8 have the columns `s` = (2, 3) and `size` = (7, 8). If
the output shows no stride, as if the data has one element, `s` is the stride that the text or a learnt formula gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.diagnosis.placement import Placement
    from tconv.dialects.geometry import Geometry
    from tconv.evidence.formulas import Formula
    from tconv.vocabulary import Array, Mask, Signature

    Columns = Mapping[str, Array]

FULL = "(X-1)*s + (K-1)*d + 1"
FORWARD = "(ceil(size/s)-1)*s + (K-1)*d + 1"
"""The full size of a forward convolution's input, if that convolution gives ceil(size/s) elements, as SAME_* does."""
LENGTHS = {
    "1": 1, "X": 1, "K": 1, "s": 1, "d": 1, "op": 1, "pads_begin": 1, "pads_end": 1, "output_shape": 1, "size": 1,
    "2": 2, "X*s": 2, "X*s + op": 3, "K*d": 2, "op*s": 2, "2*pads_begin": 2, "2*pads_end": 2,
    "pads_begin*s": 2, "pads_end*s": 2, "pads_begin*d": 2, "pads_end*d": 2,
    "(X-1)*s": 2, "(K-1)*d": 2, FULL: 2,
}  # fmt: skip
"""Lengths of terms: the formula with the shortest terms is the simplest. The full size is short, as texts use it."""
OTHER_AXES = {
    "pads_begin[-1-i]": 4, "pads_end[-1-i]": 4, "output_padding[-1-i]": 4, "pads[2*i]": 4, "pads[2*i+1]": 4,
}  # fmt: skip
"""Terms that are tried if those above are not enough: entries of other axes."""
SPACING = {
    "strides[i]": 2, "dilations[i]": 2, "strides[0]": 3, "dilations[0]": 3, "strides[-1-i]": 4, "dilations[-1-i]": 4,
}  # fmt: skip
"""The strides and dilations as written; s and d are those that the values show."""
OF_TEXT = {"size": "the text's size", "pads_begin": "the text's pads_begin"}
"""The text's own result for a quantity: a runtime may be off by one in all padding modes."""
QUANTITIES = ("stride", "dilation", "size", "pads_begin")
"""Quantities of an axis that rules give, in the order in which they depend on each other."""
SPACINGS = QUANTITIES[:2]
"""Quantities that are distances between elements or taps."""
_SHOWING_SPACING = 2
"""So many elements or taps show the distance between them."""
_LISTS = ("strides", "dilations", "pads_begin", "pads_end", "output_padding")
_WRITTEN = (
    "X", "K", "output_shape", "pads[2*i]", "pads[2*i+1]",
    "strides[i]", "dilations[i]", "pads_begin", "pads_end", "op",
    "strides[-1-i]", "dilations[-1-i]", "pads_begin[-1-i]", "pads_end[-1-i]", "output_padding[-1-i]",
    "strides[0]", "dilations[0]",
)  # fmt: skip
"""Terms of the call, which do not depend on the answer."""


@dataclass(frozen=True)
class Axes:
    """Spatial axes, a row for each.

    Attributes:
        outputs: the number of the output of each axis, (rows,).
        written: the columns of the call.
        expected: the columns of the text, by quantity.
        observed: the columns of the runtime, by quantity.
        shown: whether the values show the runtime's number, by quantity.
        spacing: the formulas of stride and dilation, for axes whose values do not show them; without a formula the
            text's numbers are used.
    """

    outputs: Array
    written: Columns
    expected: Columns
    observed: Columns
    shown: Mapping[str, Mask]
    spacing: Mapping[str, Formula] = field(default_factory=dict)

    @cached_property
    def text_terms(self) -> Columns:
        """The columns of all terms, with the numbers of the text."""
        return self._terms(self.expected["stride"], self.expected["dilation"], self.expected["size"])

    @cached_property
    def terms(self) -> Columns:
        """The columns of all terms, with the numbers that the values show."""
        return self._terms(self._used("stride"), self._used("dilation"), self.observed["size"])

    def _used(self, spacing: str) -> Array:
        formula = self.spacing.get(spacing)
        unshown = self.expected[spacing] if formula is None else formula.values(self.text_terms)
        return np.where(self.shown[spacing], self.observed[spacing], unshown)

    def _terms(self, s: Array, d: Array, size: Array) -> Columns:
        w = self.written
        x, k, op, begin, end = (w[name] for name in ("X", "K", "op", "pads_begin", "pads_end"))
        one, first = np.ones_like(x), (k - 1) * d
        return {
            **w, "1": one, "2": 2 * one, "size": size, "s": s, "d": d,
            "X*s": x * s, "X*s + op": x * s + op, "K*d": k * d, "op*s": op * s,
            "(X-1)*s": (x - 1) * s, "(K-1)*d": first,
            FULL: (x - 1) * s + first + 1, FORWARD: (-(-size // np.maximum(s, 1)) - 1) * s + first + 1,
            "2*pads_begin": 2 * begin, "2*pads_end": 2 * end,
            "pads_begin*s": begin * s, "pads_end*s": end * s, "pads_begin*d": begin * d, "pads_end*d": end * d,
            **{term: self.expected[name] for name, term in OF_TEXT.items()},
        }  # fmt: skip

    def rows(self, at: Array | Mask) -> Axes:
        """Return some of the axes."""
        written, expected, observed, shown = (
            {name: column[at] for name, column in columns.items()}
            for columns in (self.written, self.expected, self.observed, self.shown)
        )
        return Axes(self.outputs[at], written, expected, observed, shown, self.spacing)

    def distinct(self) -> Axes:
        """Return the axes without those that have the same numbers as another one."""
        columns = [*self.terms.values(), *self.expected.values(), *self.observed.values(), *self.shown.values()]
        # Equal rows have equal sums, and other rows almost surely have others.
        weights = np.random.default_rng(0).integers(1, 2**62, len(columns))
        sums = sum(
            (column * weight for column, weight in zip(columns, weights, strict=True)), np.zeros_like(columns[0])
        )
        return self.rows(np.sort(np.unique(sums, return_index=True)[1]))


def axes_of(outputs: Iterable[tuple[Signature, Geometry, Placement | None]]) -> Axes:
    """Return the axes of outputs.

    Args:
        outputs: of each the call, the text's geometry, and the placement of its values; None if it is the text's.
    """
    rows: list[Sequence[int]] = []
    for number, (signature, expected, placement) in enumerate(outputs):
        lists = [signature.per_axis(name) for name in _LISTS]
        pads, shape = (*lists[2], *lists[3]), signature.attributes.output_shape or (0,) * signature.rank
        shown = expected if placement is None else placement
        begins = (expected.pads_begin,) if placement is None else placement.pads_begin
        known = bool(begins)
        for axis, (x, k) in enumerate(zip(signature.spatial, signature.kernel, strict=True)):
            begin = {each[axis] for each in begins}
            rows.append((
                number, x, k, shape[axis], pads[2 * axis], pads[2 * axis + 1],
                *(entries[axis] for entries in lists), *(entries[-1 - axis] for entries in lists),
                lists[0][0], lists[1][0],
                expected.strides[axis], expected.dilations[axis], expected.output[axis], expected.pads_begin[axis],
                shown.strides[axis], shown.dilations[axis], shown.output[axis], min(begin, default=0),
                known and x >= _SHOWING_SPACING, known and k >= _SHOWING_SPACING, True, len(begin) == 1,
            ))  # fmt: skip
    width = 1 + len(_WRITTEN) + 3 * len(QUANTITIES)
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), width).T
    written, rest = columns[1 : len(_WRITTEN) + 1], columns[len(_WRITTEN) + 1 :].reshape(3, len(QUANTITIES), -1)
    of_text, observed, seen = (dict(zip(QUANTITIES, part, strict=True)) for part in rest)
    shows = {name: column.astype(bool) for name, column in seen.items()}
    return Axes(columns[0], dict(zip(_WRITTEN, written, strict=True)), of_text, observed, shows)
