"""Results of runs as JSON values, for scripts: the counts, why a run is red, and the causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tconv.gate.status import Status
from tconv.reports.between_runs import regressions
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.causes import causes
from tconv.reports.notes import notes_of
from tconv.reports.page.answer import is_red
from tconv.reports.phrases import (
    implemented,
    nothing_passed,
    other_waivers,
    unasked,
    waivers_of_other_options,
    waivers_of_other_versions,
)
from tconv.reports.red import red_lines
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.reports.between_runs import Comparison


def results(assessments: Sequence[Assessment], comparisons: Sequence[Comparison] = ()) -> dict[str, Any]:
    """Return what --json prints: the runs, and what became of their cases since a baseline, if there is one."""
    runs = {"runs": [result(assessment, comparisons) for assessment in assessments]}
    return runs | ({"comparisons": [_compared(comparison) for comparison in comparisons]} if comparisons else {})


def result(assessment: Assessment, comparisons: Sequence[Comparison] = ()) -> dict[str, Any]:
    """Return what the terminal says of a run, whole: every cause, and the ids of those that failed.

    Args:
        assessment: the run.
        comparisons: what became of the cases of runs since a baseline; a run of which a case became worse is red.
    """
    header = assessment.run.header
    red = [*red_lines(assessment), *regressions(assessment, comparisons)]
    return {
        "backend": header.backend.name,
        "version": header.backend.version,
        "options": header.backend.options,
        "dialect": header.dialect,
        "tier": header.tier,
        "patterns": list(header.patterns),
        "shard": header.shard,
        "strict": assessment.strict,
        "records": str(assessment.run.path),
        "green": not red,
        "red": red,
        "output_computed": assessment.computes,
        "nothing_passed": nothing_passed(assessment),
        "not_asked_again": unasked(assessment),
        "other_waivers": other_waivers(assessment),
        "waivers_of_other_options": waivers_of_other_options(assessment),
        "waivers_of_other_versions": waivers_of_other_versions(assessment),
        "declared_unsupported_that_agree": [implemented(use) for use in assessment.waivers.implemented],
        "unpinned": list(assessment.pins.unpinned),
        "waivers_that_waive_nothing": [use.waiver.name for use in assessment.waivers.shadowed],
        "cases": len(assessment.run.records),
        "counts": {str(status): assessment.counts[status] for status in Status},
        "causes": list(_causes(assessment)),
        "notes": [{"name": note.name, "count": note.count, "example": note.example} for note in notes_of(assessment)],
    }


def _causes(assessment: Assessment) -> Iterator[dict[str, Any]]:
    for status in STATUSES:
        if not (STATUSES[status].heading and assessment.counts[status]):
            continue
        for cause in causes(assessment, status):
            cases = {"cases": [member.record.case for member in cause.members]} if status is Status.FAILED else {}
            shown = {"status": str(status), "what": cause.what, "count": cause.count, "example": cause.example}
            yield shown | cases


def _compared(comparison: Comparison) -> dict[str, Any]:
    return {
        "old": str(comparison.old.run.path),
        "new": str(comparison.new.run.path),
        "worse": comparison.worse,
        "same": comparison.same,
        "added": comparison.added,
        "notes": comparison.notes,
        "counts": {str(transition): comparison.count(transition) for transition in Transition},
        "differences": [difference._asdict() for difference in comparison.differences],
        "causes": [
            {"transition": str(group.transition), "what": group.what, "cases": list(group.cases)}
            for group in comparison.groups
        ],
    }


def badge(assessments: Sequence[Assessment], comparisons: Sequence[Comparison] = ()) -> dict[str, Any]:
    """Return what shields.io's endpoint badge is made of: how many of the cases that were answered conform.

    It is red, too, if a case became worse since a baseline. The refusals of a run conform only beside an output of it.

    Source: https://shields.io/badges/endpoint-badge, the schema's version 1.
    """
    names = {assessment.run.header.backend.name for assessment in assessments}
    conforming = answered = 0
    for assessment in assessments:
        counts = assessment.counts
        conforming += counts[Status.PASSED] + counts[Status.DISPUTED] if assessment.computes else 0
        answered += assessment.judged
    red, computes = is_red(assessments, comparisons), any(assessment.computes for assessment in assessments)
    message = f"{conforming:,} of {answered:,} conform" if computes else "no output was computed"
    green = "lightgrey" if not computes else "brightgreen" if conforming == answered else "green"
    return {
        "schemaVersion": 1,
        "label": f"tconv {names.pop()}" if len(names) == 1 else "tconv",
        "message": message + (", red" if red else ""),
        "color": "red" if red else green,
    }
