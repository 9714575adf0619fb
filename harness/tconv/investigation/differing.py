"""Two backends side by side: where they answer the same case differently, whoever is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import make_operands
from tconv.dialects.geometry import Geometry
from tconv.dialects.readings import Together
from tconv.expectation.owed import Values, expectation
from tconv.expectation.truth import Truth
from tconv.investigation.fuzzing import Deviation
from tconv.records.failure import Failure, failure
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.pool import Pool
    from tconv.records.record_file import Record

Known = Callable[["Case", "Record"], bool]
_FIELDS = tuple(field.name for field in fields(Geometry))
ANSWERS = "answers"
_NOT_ASKED = (ver.Unsupported, ver.Inexpressible)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a backend made of a case.

    Attributes:
        says: in words.
        geometry: the geometry that was computed, where it is one that the backend's text allows; else None.
        by_shape: whether the backend gives a shape alone.
        wrong: where the output is wrong, what it is, as far as the record tells: the verdict.
        explained: misreadings that give it.
    """

    says: str
    geometry: Geometry | None = None
    by_shape: bool = False
    wrong: ver.Verdict | None = None
    explained: frozenset[Together] = frozenset()


def side_by_side(
    pools: tuple[Pool, Pool], rows: tuple[Dialect, Dialect], known: tuple[Known, Known]
) -> Callable[[Sequence[Case]], list[Deviation]]:
    """Return what runs cases on two backends and returns those that they answer differently.

    A case that one of them cannot say or does not implement is not compared.

    Args:
        pools: where they are.
        rows: the dialects that they speak.
        known: whether what came of a case on either is no news.
    """

    def look(cases: Sequence[Case]) -> list[Deviation]:
        answers = pools[0].records(cases), pools[1].records(cases)
        found = []
        for case in cases:
            records = answers[0][case.id], answers[1][case.id]
            if any(isinstance(record.verdict, _NOT_ASKED) for record in records):
                continue
            # What was answered where a refusal is owed is not recorded.
            if all(isinstance(record.verdict, ver.AcceptedInvalid) for record in records):
                continue
            if any(no_news(case, record) for no_news, record in zip(known, records, strict=True)):
                continue
            if words := differ(case, records, rows):
                found.append(Deviation(case, records, Failure("differ", (), words)))
        return found

    return look


def differ(case: Case, records: tuple[Record, Record], rows: tuple[Dialect, Dialect]) -> str:
    """Return how two backends' answers differ, in words; empty where they come to the same.

    Args:
        case: the case.
        records: what came of it, by backend.
        rows: the dialects that the backends speak.
    """
    one, other = (answer(case, record, row) for record, row in zip(records, rows, strict=True))
    if one.geometry is None or other.geometry is None:
        return "" if _alike(one, other) else _told(records, one.says, other.says)
    if _same(case, one.geometry, other.geometry, by_shape=one.by_shape or other.by_shape):
        return ""
    apart = [name for name in _FIELDS if getattr(one.geometry, name) != getattr(other.geometry, name)]
    return f"{_told(records, one.says, other.says)}; apart in {', '.join(apart)}"


def answer(case: Case, record: Record, row: Dialect) -> Answer:
    """Return what one backend made of a case, by its record."""
    verdict, owed = record.verdict, expectation(case, row)
    if isinstance(verdict, ver.Agreed | ver.Disputed) and verdict.rule != "refusal" and isinstance(owed, Values):
        says = f"as {Together(verdict.readings)}" if isinstance(verdict, ver.Disputed) else "as the text says"
        return Answer(says, followed(verdict, owed), verdict.rule == "shape")
    if isinstance(verdict, ver.Agreed | ver.Disputed | ver.RefusedValid):
        return Answer("refuses")
    if isinstance(verdict, ver.AcceptedInvalid):
        return Answer(ANSWERS)
    wrong = failure(record)
    explained = f" as if {wrong.explained[0]}" if wrong and wrong.explained else ""
    return Answer(f"{verdict.kind}{explained}", wrong=_seen(verdict), explained=frozenset(record.diagnosis))


def _seen(verdict: ver.Verdict) -> ver.Verdict:
    """Return a verdict without what may change from call to call."""
    match verdict:
        case ver.Differed():
            return replace(verdict, worst=None)
        case ver.Died(cause, _):
            return ver.Died(cause, "")
        case ver.Broke():
            return ver.Broke("")
        case ver.TimedOut():
            return ver.TimedOut(0)
        case _:
            return verdict


def _alike(one: Answer, other: Answer) -> bool:
    """Return whether two answers that are no geometry of the text are the same: one misreading, or one wrong output."""
    if one.geometry is not other.geometry:
        return False
    if one.wrong is None or other.wrong is None:
        return one.says == other.says
    return one.wrong == other.wrong or not one.explained.isdisjoint(other.explained)


def _told(records: tuple[Record, Record], *says: str) -> str:
    return "; ".join(f"{record.backend} {words}" for record, words in zip(records, says, strict=True))


def _same(case: Case, one: Geometry, other: Geometry, *, by_shape: bool) -> bool:
    """Return whether two geometries give the same elements, or, by shape, the same shape."""
    if one == other or one.output != other.output:
        return one == other
    truth = Truth(make_operands(case.x, case.w, case.b), case.x.dtype)
    return by_shape or np.array_equal(truth.values(one), truth.values(other), equal_nan=True)
