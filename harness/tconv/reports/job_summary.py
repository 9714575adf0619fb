"""The summary of a CI job in GitHub's Markdown: the answer, the counts, and the causes of failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.gate.status import FAILING
from tconv.reports.commands import of_cause
from tconv.reports.templates import environment
from tconv.reports.words import STATUSES

if TYPE_CHECKING:
    from tconv.reports.report import Report


def markdown(report: Report) -> str:
    """Return the summary of runs, and the changes of their cases if there is a baseline."""
    template = environment("reports").get_template("job_summary.md.j2")
    shown = [status for status in STATUSES if any(run.assessment.counts[status] for run in report.runs)]
    text = template.render(report=report, shown=shown, failing=FAILING, command_of=of_cause)
    return text.rstrip("\n") + "\n"
