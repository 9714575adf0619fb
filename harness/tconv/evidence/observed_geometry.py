"""The geometry that an output of a runtime shows, also if it is not the text's; and the situation of its call.

The situation of a call decides which rule of a text applies to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.cases.layouts import permutation
from tconv.diagnosis.placement import Placement
from tconv.expectation.problem import share_problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import find_geometry
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.expected import Values
    from tconv.expectation.problem import Problem
    from tconv.records.record import Record
    from tconv.vocabulary import Ints, Signature


@dataclass(frozen=True, slots=True, order=True)
class Situation:
    """A padding mode, and whether output_shape is given."""

    output_shape: bool
    auto_pad: str


def situation_of(case: Case) -> Situation:
    """Return the situation of a case."""
    return Situation(case.attributes.output_shape is not None, case.attributes.auto_pad or AutoPad.EXPLICIT)


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
