"""`tconv explain NAME`: each name that a report prints has an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tconv.diagnosis.misreadings import misreadings_in_context
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS
from tconv.evidence.facts import features_of
from tconv.expectation.problem import Problem
from tconv.gate.status import RULINGS, Status
from tconv.reports.names import entries
from tconv.reports.notes import NOTE_MEANINGS

if TYPE_CHECKING:
    from small_corpus import Command
    from tconv.cases.case import Case


def test_each_name_that_is_printed_has_an_entry(smoke_cases: tuple[Case, ...]) -> None:
    dialects = [*DIALECTS.values()]
    facts = next(of for case in smoke_cases if (of := features_of(Problem(case, dialects[0]))) is not None)
    wanted = {
        "verdict": {*RULINGS},
        "status": {status.value for status in Status},
        "note": {*NOTE_MEANINGS},
        "question": {*QUESTIONS},
        "constraint": {*CONSTRAINTS},
        "reading": {reading.name for dialect in dialects for reading in dialect.disputed},
        "misreading": {misreading.name for dialect in dialects for misreading in misreadings_in_context(dialect)},
        "fact": {*facts.words},
    }
    for kind, names in wanted.items():
        found = {name: entry for name in names for entry in entries().get(name, ()) if entry.kind == kind}
        assert names == found.keys(), kind
        assert all(entry.meaning and entry.to_do for entry in found.values())
        if kind in {"reading", "verdict"}:
            assert all(entry.example for entry in found.values())


@pytest.mark.parametrize(
    ("name", "kind"),
    [("negative-same-shrunk", "reading"), ("pads-exchanged", "misreading"), ("dtype", "fact"), ("waived", "status")],
)
def test_explain_says_what_a_name_is_of(name: str, kind: str, command: Command) -> None:
    done = command("explain", name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}  ({kind})\n")
    assert "what to do: " in done.stdout
