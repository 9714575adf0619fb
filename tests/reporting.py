"""Reports of runs as the gate judged them, for tests of one format or one part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tconv.reports import plain
from tconv.reports.between_runs.comparing import compare
from tconv.reports.report import compare_pairs, make_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.gate.assessment import Assessment
    from tconv.reports.between_runs.comparing import Comparison
    from tconv.reports.notes import RecordNote
    from tconv.reports.report import RunReport


def run_report(assessment: Assessment, baseline: Sequence[Assessment] = ()) -> RunReport:
    return make_report([assessment], baseline).runs[0]


def red_lines(assessment: Assessment) -> list[str]:
    """Return why a run is red, in sentences."""
    return run_report(assessment).red


def notes_on(assessment: Assessment) -> list[str]:
    return [note.text for note in run_report(assessment).notes]


def noted_of(assessment: Assessment) -> Sequence[RecordNote]:
    return run_report(assessment).record_notes


def json_of(assessment: Assessment, baseline: Sequence[Assessment] = ()) -> dict[str, Any]:
    """Return what `--json` says of one run."""
    result: dict[str, Any] = plain.results(make_report([assessment], baseline))["runs"][0]
    return result


def compared(old: Assessment, new: Assessment) -> Comparison:
    """Return what became of the cases of one run in another."""
    return compare(run_report(old), run_report(new))


def paired(old: Sequence[Assessment], new: Sequence[Assessment]) -> list[Comparison]:
    """Return the comparison of each new run with the old run that fits it."""
    return compare_pairs(make_report(old).runs, make_report(new).runs)
