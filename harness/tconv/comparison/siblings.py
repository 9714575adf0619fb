"""Verdicts that only the other cases of a run can settle.

A refusal follows a reading only where no other case of the run shows that the backend answers the reading's question
otherwise. A backend that answers a question now this way, now that way does what no single reading of the text gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.comparison.answers import Opened, answers
from tconv.expectation.owed import OpenConstraint, Values
from tconv.expectation.problem import Problem
from tconv.records.record_file import Run
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.comparison.answers import Answers
    from tconv.dialects import Dialect
    from tconv.expectation.owed import Refusal
    from tconv.records.record_file import Record


def settled(run: Run, find: Callable[[str], Case | None]) -> tuple[Run, tuple[Answers, ...]]:
    """Return a run with the verdicts that its own cases settle, and the questions that it answers in several ways.

    A refusal of which other cases deny every reading becomes `refused-valid`; of several readings those that are denied
    are left out. A value that follows a disputed reading, of a question that other cases answer otherwise, becomes
    `inconsistent`.

    Args:
        run: the records.
        find: returns a case by its id; None where the corpus has no such case.
    """
    if not any(isinstance(record.verdict, ver.Disputed) for record in run.records):
        return run, ()
    values = [record for record in run.records if not _refused(record)]
    shown = {answered.question: answered for answered in answers(Run(run.path, run.header, values), find)}
    mixed = tuple(answered for answered in shown.values() if answered.inconsistent)
    elsewhere = dict(pair for answered in mixed for pair in _minority(answered, run.dialect))
    records = [_settled(record, find, shown, elsewhere, run.dialect) for record in run.records]
    return Run(run.path, run.header, records), mixed


def _refused(record: Record) -> bool:
    return isinstance(record.verdict, ver.Disputed) and record.verdict.rule == "refusal"


def _minority(answered: Answers, dialect: Dialect) -> list[tuple[str, tuple[str, str]]]:
    """Return the cases that do not answer a question as most do, each with the question and the answer of most."""
    primary = getattr(dialect.rules, answered.question, None)
    usual = max(answered.given, key=lambda given: (given.count, given.answer == primary)).answer
    others = [given for given in answered.given if given.answer != usual]
    return [(case, (answered.question, str(usual))) for given in others for case in given.cases]


def _settled(
    record: Record,
    find: Callable[[str], Case | None],
    shown: Mapping[str, Answers],
    elsewhere: Mapping[str, tuple[str, str]],
    dialect: Dialect,
) -> Record:
    verdict = record.verdict
    if not isinstance(verdict, ver.Disputed):
        return record
    if not _refused(record):
        if record.case not in elsewhere:
            return record
        return replace(record, verdict=ver.Inconsistent(verdict.readings, *elsewhere[record.case]))
    case = find(record.case)
    expected = None if case is None else Problem(case, dialect).expectation
    if not isinstance(expected, Values):
        return record
    left = tuple(str(refusal) for refusal in expected.refusals if not _denied(refusal, shown, dialect))
    message = verdict.message or ""
    return replace(record, verdict=replace(verdict, readings=left) if left else ver.RefusedValid(message))


def _denied(refusal: Refusal, shown: Mapping[str, Answers], dialect: Dialect) -> bool:
    """Return whether other cases show that the backend does not follow what would explain a refusal."""
    if isinstance(refusal, OpenConstraint):
        return Opened.ANSWERED in _answers(refusal.constraint, shown)
    changes = [reading.change for reading in dialect.disputed if reading.name in refusal.names]
    return any(change.question in shown and change.answer not in _answers(change.question, shown) for change in changes)


def _answers(question: str, shown: Mapping[str, Answers]) -> Sequence[str]:
    return [given.answer for given in shown[question].given] if question in shown else []
