"""What a runtime answered, axis by axis: the numbers that its rules made, whether or not they are the text's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.diagnosis.placement import Placement
from tconv.expectation.problem import Problem
from tconv.learning.axis_terms import terms
from tconv.learning.situations import situation_of
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed
from tconv.vocabulary import DataFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.owed import Values
    from tconv.learning.formulas import Formula
    from tconv.learning.situations import Situation
    from tconv.records.record import Record
    from tconv.vocabulary import Ints, Signature

QUANTITIES = ("stride", "dilation", "size", "pads_begin")
"""What a rule gives for an axis, in the order in which they depend on each other."""
_SHOWING_SPACING = 2
"""Elements, or taps, that show how far they are apart."""
SPACINGS = QUANTITIES[:2]
"""What says how far elements and taps are apart."""


@dataclass(frozen=True, slots=True)
class AnsweredAxis:
    """An axis of an answer.

    Attributes:
        case: the case's id.
        owed: what the text gives, by quantity.
        got: what the runtime gave, as far as its values tell: a stride shows in more than one element, and a dilation
            in more than one tap.
        of_text, of_answer: the axis's terms, with the text's stride and dilation and with the answer's.
    """

    case: str
    owed: dict[str, int]
    got: dict[str, int]
    of_text: dict[str, int]
    of_answer: dict[str, int]


@dataclass(frozen=True, slots=True)
class ObservedAnswer:
    """The answer to a case: a geometry, as far as the values tell.

    Attributes:
        case: the case.
        situation: which rule applies.
        signature: the call.
        owed: the geometry of the text's primary reading.
        placement: where the values lie.
    """

    case: Case
    situation: Situation
    signature: Signature
    owed: Geometry
    placement: Placement

    @property
    def deviates(self) -> bool:
        """Whether the answer is known to be of another geometry than is owed."""
        given, owed = self.placement, self.owed
        moved = bool(given.pads_begin) and owed.pads_begin not in given.pads_begin
        return moved or (given.output, given.strides, given.dilations) != (owed.output, owed.strides, owed.dilations)

    @property
    def lost(self) -> bool:
        """Whether its values were looked for, and lie nowhere: they are wrong in another way, or in another way too."""
        return self.placement.searched and not self.placement.pads_begin

    def tells(self, quantity: str) -> bool:
        """Return whether the answer shows a quantity, or that no value of it gives the answer."""
        return quantity == "size" or bool(self.placement.pads_begin) or self.placement.searched

    def gives(self, quantity: str, computed: Sequence[int]) -> bool:
        """Return whether numbers, one for each axis, are those of the answer, as far as its values tell."""
        given = self.placement
        if quantity == "size":
            return tuple(computed) == given.output
        if not given.pads_begin:
            return not given.searched
        if quantity == "pads_begin":
            return tuple(computed) in given.pads_begin
        shown, sizes = (
            (given.strides, self.signature.spatial)
            if quantity == "stride"
            else (given.dilations, self.signature.kernel)
        )
        return all(size < _SHOWING_SPACING or a == b for a, b, size in zip(computed, shown, sizes, strict=True))

    def axes(self, spacing: Mapping[str, Formula]) -> Iterator[AnsweredAxis]:
        """Yield the axes of the answer.

        Args:
            spacing: the formulas of stride and dilation, for axes whose values do not tell them; where there is none,
                the text's are used.
        """
        given, owed, signature = self.placement, self.owed, self.signature
        for axis, size in enumerate(given.output):
            theirs = {
                "stride": owed.strides[axis],
                "dilation": owed.dilations[axis],
                "size": owed.output[axis],
                "pads_begin": owed.pads_begin[axis],
            }
            got = {"size": size}
            if given.pads_begin and signature.spatial[axis] >= _SHOWING_SPACING:
                got["stride"] = given.strides[axis]
            if given.pads_begin and signature.kernel[axis] >= _SHOWING_SPACING:
                got["dilation"] = given.dilations[axis]
            if len(begins := {begin[axis] for begin in given.pads_begin}) == 1:
                got["pads_begin"] = begins.pop()
            of_text = terms(signature, axis, theirs["stride"], theirs["dilation"], theirs["size"])
            used = {name: theirs[name] for name in SPACINGS}
            used |= {name: formula.value(of_text) for name, formula in spacing.items()}
            used |= {name: got[name] for name in SPACINGS if name in got}
            yield AnsweredAxis(
                self.case.id, theirs, got, of_text, terms(signature, axis, used["stride"], used["dilation"], size)
            )


def answers_of(cases: Iterable[tuple[Record, Case]], dialect: Dialect) -> Iterator[ObservedAnswer]:
    """Yield the answers of records that show a geometry.

    Args:
        cases: the records with their cases.
        dialect: the dialect of the records.
    """
    for record, case in cases:
        problem = Problem(case, dialect)
        if problem.values is None or not problem.signature.rank:
            continue
        owed = problem.values.primary.geometry
        placement = _placement(record, problem, problem.values)
        if placement is not None and _of_rank(placement, len(owed.output)):
            yield ObservedAnswer(case, situation_of(case), problem.signature, owed, placement)


SHOWING = ver.Agreed | ver.Disputed | ver.Mistrusted | ver.Inconsistent | ver.Differed | ver.WrongShape


def _placement(record: Record, problem: Problem, owed: Values) -> Placement | None:
    """Return where an answer lies, as far as is known; None where not even its size is."""
    verdict = record.verdict
    if isinstance(verdict, ver.Agreed | ver.Disputed):
        geometry = followed(verdict, owed)
        if geometry is None:
            return None
        # No value tells where the output of an empty operand lies.
        sizes = (*problem.case.x.shape, *problem.case.w.shape, *geometry.output)
        return _of(geometry, (geometry.pads_begin,) if verdict.rule != "shape" and 0 not in sizes else ())
    if isinstance(verdict, ver.Inconsistent | ver.Mistrusted):
        geometry = owed.geometry(verdict.readings)
        return None if geometry is None else _of(geometry, (geometry.pads_begin,))
    if record.placement is not None:
        return record.placement
    if isinstance(verdict, ver.WrongShape) and len(verdict.actual) == len(verdict.expected):
        is_ncx = problem.call.data_format is DataFormat.NCX
        sizes = verdict.actual[2:] if is_ncx else verdict.actual[1:-1]
        return _of(replace(owed.primary.geometry, output=sizes), ())
    return None


def _of_rank(placement: Placement, rank: int) -> bool:
    """Return whether every list has an entry for each axis: those of a file need not."""
    lists = (placement.output, placement.strides, placement.dilations, *placement.pads_begin)
    return all(len(entries) == rank for entries in lists)


def _of(geometry: Geometry, begins: tuple[Ints, ...]) -> Placement:
    return Placement(geometry.output, geometry.strides, geometry.dilations, begins)
