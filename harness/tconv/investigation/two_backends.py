"""Two backends compared: the cases that they answer differently, whichever of them is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.dialects.geometry import Geometry
from tconv.expectation.owed import Values, expectation
from tconv.expectation.problem import truth_of
from tconv.investigation.fuzzing import Deviation
from tconv.records.failure import Failure
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.readings import Together
    from tconv.execution.pool import Pool
    from tconv.records.record import Record

Known = Callable[["Case", "Record"], bool]
_FIELDS = tuple(field.name for field in fields(Geometry))
ANSWERS = "answers"
_NOT_COMPARED = (ver.Unsupported, ver.Inexpressible)


@dataclass(frozen=True, slots=True)
class Response:
    """What a backend did with a case, as far as its record shows.

    Attributes:
        words: the same in words.
        geometry: the geometry that was computed, where the backend's text allows it; else None.
        by_shape: whether the backend gives a shape alone.
        verdict: the verdict on a wrong output, without what may change from call to call; None for any other response.
        explained: misreadings that give the wrong output.
    """

    words: str
    geometry: Geometry | None = None
    by_shape: bool = False
    verdict: ver.Verdict | None = None
    explained: frozenset[Together] = frozenset()


def side_by_side(
    pools: tuple[Pool, Pool], dialects: tuple[Dialect, Dialect], known: tuple[Known, Known]
) -> Callable[[Sequence[Case]], list[Deviation]]:
    """Return a function that runs cases on two backends and returns those that they answer differently.

    A case that one of them does not implement, or that its dialect cannot express, is not compared.

    Args:
        pools: the pools of the two backends.
        dialects: their dialects.
        known: for each backend, whether the record of a case is already known.
    """

    def look(cases: Sequence[Case]) -> list[Deviation]:
        first, second = (_named(pool, pool.records(cases)) for pool in pools)
        deviations = []
        for case in cases:
            records = first[case.id], second[case.id]
            if any(isinstance(record.verdict, _NOT_COMPARED) for record in records):
                continue
            # A record does not have the output of a call that should have been refused.
            if all(isinstance(record.verdict, ver.AcceptedInvalid) for record in records):
                continue
            if any(is_known(case, record) for is_known, record in zip(known, records, strict=True)):
                continue
            if words := differ(case, records, dialects):
                deviations.append(Deviation(case, records, Failure("differ", (), words)))
        return deviations

    return look


def _named(pool: Pool, records: Mapping[str, Record]) -> dict[str, Record]:
    """Return records with the chosen options in the backend's name: the two may be one runtime with others."""
    name = " ".join((pool.backend.name, *pool.backend.chosen))
    return {case: replace(record, backend=name) for case, record in records.items()}


def differ(case: Case, records: tuple[Record, Record], dialects: tuple[Dialect, Dialect]) -> str:
    """Return how two backends' responses to a case differ, in words; empty where they do not.

    Args:
        case: the case.
        records: the record of each backend.
        dialects: the dialect of each backend.
    """
    first, second = (response(case, record, dialect) for record, dialect in zip(records, dialects, strict=True))
    words = f"{records[0].backend} {first.words}; {records[1].backend} {second.words}"
    if first.geometry is None or second.geometry is None:
        return "" if _alike(first, second) else words
    if _same_output(case, first.geometry, second.geometry, by_shape=first.by_shape or second.by_shape):
        return ""
    differing = [name for name in _FIELDS if getattr(first.geometry, name) != getattr(second.geometry, name)]
    return f"{words}; apart in {', '.join(differing)}"


def response(case: Case, record: Record, dialect: Dialect) -> Response:
    """Return what a backend did with a case, by its record."""
    verdict, expected = record.verdict, expectation(case, dialect)
    if isinstance(verdict, ver.Allowed) and verdict.rule != "refusal" and isinstance(expected, Values):
        words = f"as {' or '.join(verdict.choices)}" if isinstance(verdict, ver.Disputed) else "as the text says"
        return Response(words, followed(verdict, expected), verdict.rule == "shape")
    if isinstance(verdict, ver.Allowed | ver.RefusedValid):
        return Response("refuses")
    if isinstance(verdict, ver.AcceptedInvalid):
        return Response(ANSWERS)
    explained = f" as if {record.diagnosis[0]}" if record.diagnosis else ""
    words = f"{verdict.kind}{explained}"
    return Response(words, verdict=_repeatable(verdict), explained=frozenset(record.diagnosis))


def _repeatable(verdict: ver.Verdict) -> ver.Verdict:
    """Return a verdict without what may change from call to call."""
    match verdict:
        case ver.Differed() | ver.ExceedsSummationBound():
            return replace(verdict, worst=None)
        case ver.Died(cause, _):
            return ver.Died(cause, "")
        case ver.Broke():
            return ver.Broke("")
        case ver.TimedOut():
            return ver.TimedOut(0)
        case _:
            return verdict


def _alike(first: Response, second: Response) -> bool:
    """Return whether two responses, of which one at least is no output that its text allows, are the same.

    Wrong outputs are the same where their verdicts are, or where a misreading gives both.
    """
    if first.geometry is not second.geometry:
        return False
    if first.verdict is None or second.verdict is None:
        return first.words == second.words
    return first.verdict == second.verdict or not first.explained.isdisjoint(second.explained)


def _same_output(case: Case, first: Geometry, second: Geometry, *, by_shape: bool) -> bool:
    """Return whether two geometries give the same elements, or, by shape, the same shape."""
    if first == second or first.output != second.output:
        return first == second
    truth = truth_of(case)
    return by_shape or np.array_equal(truth.values(first), truth.values(second), equal_nan=True)
