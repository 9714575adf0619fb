"""The geometry that an output of a runtime shows, axis by axis, also if it is not the text's; and its situation.

The situation of a call decides which rule of a text applies to it. The terms of an axis are the numbers that a formula
may use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.cases.layouts import permutation
from tconv.diagnosis.placement import Placement
from tconv.dialects.geometry import reach
from tconv.expectation.problem import share_problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import find_geometry
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.evidence.formulas import Formula
    from tconv.expectation.expected import Values
    from tconv.expectation.problem import Problem
    from tconv.records.record import Record
    from tconv.vocabulary import Ints, Signature

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
LEGEND = (
    "X, K, s, d, op: an axis's input and kernel size, stride, dilation and output_padding; i: its number; s and d are "
    "those that the values show"
)
QUANTITIES = ("stride", "dilation", "size", "pads_begin")
"""Quantities of an axis that rules give, in the order in which they depend on each other."""
_SHOWING_SPACING = 2
"""So many elements or taps show the distance between them."""
SPACINGS = QUANTITIES[:2]
"""Quantities that are distances between elements or taps."""
_SAME = {AutoPad.SAME_UPPER, AutoPad.SAME_LOWER}


@dataclass(frozen=True, slots=True, order=True)
class Situation:
    """A padding mode, and whether output_shape is given."""

    output_shape: bool
    auto_pad: str


def situation_of(case: Case) -> Situation:
    """Return the situation of a case."""
    return Situation(case.attributes.output_shape is not None, case.attributes.auto_pad or AutoPad.EXPLICIT)


def situation_names(situations: Iterable[Situation]) -> str:
    """Return a name for several situations together, as short as possible."""
    modes: dict[bool, list[str]] = {False: [], True: []}
    for situation in sorted(situations):
        modes[situation.output_shape].append(situation.auto_pad)
    without, beside = modes[False], modes[True]
    if without == beside:
        return f"{_modes(without)}, with output_shape and without"
    parts = [_modes(without)] if without else []
    parts += [f"output_shape with {_modes(beside)}"] if beside else []
    return ", and ".join(parts)


def _modes(modes: list[str]) -> str:
    if len(modes) == len(AutoPad):
        return "any mode"
    words = [mode for mode in modes if mode not in _SAME]
    return " or ".join([*words, *(["same_*"] if set(modes) >= _SAME else [mode for mode in modes if mode in _SAME])])


def terms(signature: Signature, axis: int, stride: int, dilation: int, size: int) -> dict[str, int]:
    """Return the numbers of an axis by the names of terms.

    Args:
        signature: the call.
        axis: the number of the spatial axis, from 0.
        stride: the answer's stride, perhaps another one than the written stride.
        dilation: the answer's dilation.
        size: the size of the output.
    """
    lists = {
        name: signature.per_axis(name) for name in ("strides", "dilations", "pads_begin", "pads_end", "output_padding")
    }
    x, k, s, d = signature.spatial[axis], signature.kernel[axis], stride, dilation
    begin, end, op = (lists[name][axis] for name in ("pads_begin", "pads_end", "output_padding"))
    pads = (*lists["pads_begin"], *lists["pads_end"])
    return {
        "1": 1, "2": 2, "size": size, "X": x, "K": k, "s": s, "d": d, "op": op, "pads_begin": begin, "pads_end": end,
        "output_shape": (signature.attributes.output_shape or (0,) * signature.rank)[axis],
        "X*s": x * s, "X*s + op": x * s + op, "K*d": k * d, "op*s": op * s,
        "(X-1)*s": (x - 1) * s, "(K-1)*d": (k - 1) * d,
        FULL: reach(x, k, s, d), FORWARD: reach(-(-size // s) if s else 0, k, s, d),
        "2*pads_begin": 2 * begin, "2*pads_end": 2 * end,
        "pads_begin*s": begin * s, "pads_end*s": end * s, "pads_begin*d": begin * d, "pads_end*d": end * d,
        "pads[2*i]": pads[2 * axis], "pads[2*i+1]": pads[2 * axis + 1],
        **{f"{name}[-1-i]": entries[-1 - axis] for name, entries in lists.items()},
        **{f"{name}[{at}]": lists[name][axis if at == "i" else 0] for name in ("strides", "dilations") for at in "i0"},
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ObservedAxis:
    """A spatial axis of an output.

    Attributes:
        case: the case's id.
        expected: the numbers that the text gives, by quantity.
        observed: the runtime's numbers that the values show, by quantity. One element shows no stride, and one tap no
            dilation.
        text_terms, observed_terms: the axis's terms, with the stride and dilation of the text, and with the observed
            ones.
    """

    case: str
    expected: dict[str, int]
    observed: dict[str, int]
    text_terms: dict[str, int]
    observed_terms: dict[str, int]


@dataclass(frozen=True, slots=True)
class ObservedGeometry:
    """The geometry that the values of an output show, which a runtime gave to a case.

    Attributes:
        case: the case.
        signature: the call.
        expected: the geometry of the text's primary reading.
        placement: the placement of the values.
    """

    case: Case
    signature: Signature
    expected: Geometry
    placement: Placement

    @property
    def geometry(self) -> Geometry:
        """The geometry, if the values show only one."""
        (begin,), placement = self.placement.pads_begin, self.placement
        return replace(
            self.expected,
            strides=placement.strides,
            dilations=placement.dilations,
            pads_begin=begin,
            output=placement.output,
        )

    @property
    def deviates(self) -> bool:
        """Whether the output is known to have another geometry than the expected one."""
        placement, expected = self.placement, self.expected
        moved = bool(placement.pads_begin) and expected.pads_begin not in placement.pads_begin
        return moved or (placement.output, placement.strides, placement.dilations) != (
            expected.output,
            expected.strides,
            expected.dilations,
        )

    @property
    def lost(self) -> bool:
        """Whether a search found no placement for its values: they are wrong in another way, or also in another way."""
        return self.placement.searched and not self.placement.pads_begin

    def tells(self, quantity: str) -> bool:
        """Return whether the output shows a quantity, or shows that none of its values gives the output."""
        return quantity == "size" or bool(self.placement.pads_begin) or self.placement.searched

    def gives(self, quantity: str, computed: Sequence[int]) -> bool:
        """Return whether numbers, one for each axis, are those of the output, if its values show them."""
        placement = self.placement
        if quantity == "size":
            return tuple(computed) == placement.output
        if not placement.pads_begin:
            return not placement.searched
        if quantity == "pads_begin":
            return self._within_reach(computed) in placement.pads_begin
        shown, sizes = (
            (placement.strides, self.signature.spatial)
            if quantity == "stride"
            else (placement.dilations, self.signature.kernel)
        )
        return all(size < _SHOWING_SPACING or a == b for a, b, size in zip(computed, shown, sizes, strict=True))

    def _within_reach(self, begins: Sequence[int]) -> Ints:
        """Return pads_begin, limited to the range in which it makes a difference: beyond it no tap meets the output."""
        placement, signature = self.placement, self.signature
        axes = zip(signature.spatial, signature.kernel, placement.strides, placement.dilations, strict=True)
        most = [reach(*axis) for axis in axes]
        ends = zip(begins, placement.output, most, strict=True)
        return tuple(min(max(begin, -size), full) for begin, size, full in ends)

    def axes(self, spacing: Mapping[str, Formula]) -> Iterator[ObservedAxis]:
        """Yield the axes of the output.

        Args:
            spacing: the formulas of stride and dilation, for axes whose values do not show them; without a formula the
                text's numbers are used.
        """
        placement, expected, signature = self.placement, self.expected, self.signature
        for axis, size in enumerate(placement.output):
            expected_numbers = {
                "stride": expected.strides[axis],
                "dilation": expected.dilations[axis],
                "size": expected.output[axis],
                "pads_begin": expected.pads_begin[axis],
            }
            observed = {"size": size}
            if placement.pads_begin and signature.spatial[axis] >= _SHOWING_SPACING:
                observed["stride"] = placement.strides[axis]
            if placement.pads_begin and signature.kernel[axis] >= _SHOWING_SPACING:
                observed["dilation"] = placement.dilations[axis]
            if len(begins := {begin[axis] for begin in placement.pads_begin}) == 1:
                observed["pads_begin"] = begins.pop()
            text_terms = terms(
                signature, axis, expected_numbers["stride"], expected_numbers["dilation"], expected_numbers["size"]
            )
            of_text = {term: expected_numbers[name] for name, term in OF_TEXT.items()}
            used = {name: expected_numbers[name] for name in SPACINGS}
            used |= {name: formula.value(text_terms) for name, formula in spacing.items()}
            used |= {name: observed[name] for name in SPACINGS if name in observed}
            shown = used["stride"], used["dilation"], size
            as_expected = shown == tuple(expected_numbers[name] for name in QUANTITIES[:3])
            numbers = text_terms if as_expected else terms(signature, axis, *shown)
            yield ObservedAxis(self.case.id, expected_numbers, observed, text_terms | of_text, numbers | of_text)


def observed_geometries(cases: Iterable[tuple[Record, Case]], dialect: Dialect) -> Iterator[ObservedGeometry]:
    """Yield the geometries that the outputs in records show.

    Args:
        cases: the records with their cases.
        dialect: the dialect of the records.
    """
    for record, case in cases:
        problem = share_problem(case, dialect)
        # The output of a graph does not show the output of its operator.
        if problem.values is None or not problem.signature.rank or case.context:
            continue
        expected = problem.values.primary.geometry
        placement = _placement(record, problem, problem.values)
        if placement is not None and _of_rank(placement, len(expected.output)):
            yield ObservedGeometry(case, problem.signature, expected, placement)


SHOWING = ver.Allowed | ver.Inconclusive | ver.Differed | ver.WrongShape


def _placement(record: Record, problem: Problem, expected: Values) -> Placement | None:
    """Return what is known of the placement of an output's values; None if not even the size is known."""
    verdict = record.verdict
    if isinstance(verdict, ver.Allowed):
        geometry = find_geometry(verdict, expected)
        if geometry is None:
            return None
        # The values do not show the placement if an operand is empty.
        sizes = (*problem.case.x.shape, *problem.case.w.shape, *geometry.output)
        return _of(geometry, (geometry.pads_begin,) if verdict.rule != "shape" and 0 not in sizes else ())
    if isinstance(verdict, ver.Inconclusive):
        geometry = expected.geometry(verdict.readings)
        return None if geometry is None else _of(geometry, (geometry.pads_begin,))
    if record.placement is not None:
        return record.placement
    if isinstance(verdict, ver.WrongShape) and len(verdict.actual) == len(verdict.expected):
        axes = permutation(problem.call.data_format, problem.call.rank)
        sizes = tuple(verdict.actual[axis] for axis in axes[2:])
        return _of(replace(expected.primary.geometry, output=sizes), ())
    return None


def _of_rank(placement: Placement, rank: int) -> bool:
    """Return whether every list has an entry for each axis: those from a file may have other lengths."""
    lists = (placement.output, placement.strides, placement.dilations, *placement.pads_begin)
    return all(len(entries) == rank for entries in lists)


def _of(geometry: Geometry, begins: tuple[Ints, ...]) -> Placement:
    return Placement(geometry.output, geometry.strides, geometry.dilations, begins)
