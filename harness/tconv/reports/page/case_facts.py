"""What the view of one case shows beside its record: geometry, placement, the text's words, explanations."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from tconv.diagnosis.misreadings import misreadings_of
from tconv.diagnosis.placement import Placement
from tconv.expectation.owed import Refuse, Values
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.owed import Expectation
    from tconv.records.record_file import Record


@dataclass(slots=True)
class CaseFacts:
    """The facts of cases, and the geometries, each once: most cases of a sweep share theirs with others.

    Attributes:
        find: returns a case by its id; None where the corpus has no such case.
        geometries: each as the page's script reads it.
    """

    find: Callable[[str], Case | None]
    geometries: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[tuple[object, ...], int] = field(default_factory=dict)

    def of(self, record: Record, dialect: Dialect) -> dict[str, Any]:
        """Return the facts of a record's case by the keys that the script reads, without those that are empty."""
        case = self.find(record.case)
        if case is None:
            return {}
        problem = Problem(case, dialect)
        expected = problem.expectation
        facts = {
            "geometry": self._number(problem, expected.primary.geometry) if isinstance(expected, Values) else None,
            "placement": _placement(record, expected),
            "about": case.about if not isinstance(record.verdict, ver.Agreed) else "",
            "clause": _clause(problem) if not isinstance(record.verdict, ver.Agreed) else "",
            "candidates": [
                [str(together), "; ".join(_says(dialect).get(name, "") for name in together.names)]
                for together in record.diagnosis
            ],
        }
        return {key: value for key, value in facts.items() if value not in (None, "", [])}

    def _number(self, problem: Problem, geometry: Geometry) -> int:
        written, case = problem.signature, problem.case
        explicit = written.attributes.output_shape is None and written.auto_pad == AutoPad.EXPLICIT
        added = written.per_axis("output_padding") if explicit else ()
        sizes = case.x.shape[0], case.x.shape[1], case.w.shape[1] * geometry.groups
        number = self._numbers.setdefault((geometry, sizes, added), len(self.geometries))
        if number == len(self.geometries):
            named = dict(zip(("batch", "channels", "out_channels"), sizes, strict=True))
            self.geometries.append(_written(geometry) | named | {"added": added})
        return number


def _written(geometry: Geometry) -> dict[str, Any]:
    names = ("spatial", "kernel", "strides", "dilations", "pads_begin", "output", "groups")
    return {name: getattr(geometry, name) for name in names}


def _placement(record: Record, expected: Expectation) -> dict[str, Any] | None:
    """Return where the values of an answer lie: where they were found, or where a reading puts them."""
    found = record.placement
    geometry = followed(record.verdict, expected) if isinstance(record.verdict, ver.Disputed) else None
    if geometry is not None:
        found = Placement(geometry.output, geometry.strides, geometry.dilations, (geometry.pads_begin,))
    if found is None:
        return None
    return {name: getattr(found, name) for name in ("output", "strides", "dilations", "pads_begin")}


def _clause(problem: Problem) -> str:
    """Return what the text says of a case: why it must be refused, or the clauses that the case cites."""
    expected = problem.expectation
    if isinstance(expected, Refuse):
        return str(expected.violation)
    return "; ".join(cite.clause for cite in problem.case.cites if cite.dialect == problem.dialect.name)


@cache
def _says(dialect: Dialect) -> Mapping[str, str]:
    return {misreading.name: misreading.says for misreading in misreadings_of(dialect)}
