"""What `run` and `report` write about judged runs: terminal or JSON, JUnit XML, a summary, annotations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.options import option_field
from tconv.cli.output import json_text, printing, refuse_unwritable
from tconv.cli.record_files import record_files
from tconv.datafiles import data_folder
from tconv.errors import UsageError, writing
from tconv.gate.record_files import assess_files
from tconv.reports import job_summary, junit, plain, terminal
from tconv.reports.annotations import workflow_commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.gate.assessment import Assessment
    from tconv.reports.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """What to write about judged runs.

    Raises:
        UsageError: both --quiet and --verbose are given.
        FileError: a file cannot be written. This is reported before a run that may take an hour.
    """

    junit: Path | None = option_field("--junit", type=options.FILE, help="Write JUnit XML too.")
    summary: Path | None = option_field("--summary", type=options.FILE, help="Add a summary in Markdown to this file.")
    annotate: bool = option_field(
        "--annotate", is_flag=True, help="Print GitHub's annotations at the lines of case and waiver files."
    )
    as_json: bool = option_field(options.as_json)
    quiet: bool = option_field("-q", "--quiet", is_flag=True, help="Print one line for each run, and why it is red.")
    verbose: bool = option_field("-v", "--verbose", is_flag=True, help="Print every cause, not only the largest.")

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise UsageError("there must be --quiet or --verbose (got both)")
        refuse_unwritable([self.junit, self.summary])

    def write(
        self,
        report: Report,
        cases: Path | None,
        waivers: str | None,
        page: Path | None = None,
        *,
        recorded: bool = False,
    ) -> None:
        """Write the files and print the result.

        Args:
            report: the judged runs.
            cases: the value of --cases.
            waivers: the value of --waivers.
            page: the path of the HTML page; None if there is no page.
            recorded: whether the record files were written by this command.
        """
        if self.junit is not None:
            junit.write(report, self.junit)
        if self.summary is not None:
            # On GitHub, all steps of a job append to one file.
            with writing(self.summary), self.summary.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(job_summary.markdown(report))
        detail: terminal.Detail = "quiet" if self.quiet else "verbose" if self.verbose else "screen"
        with printing():
            if self.as_json:
                click.echo(json_text(plain.results(report)), nl=False)
            else:
                for number, run in enumerate(report.runs):
                    if number and detail != "quiet":
                        click.echo()
                    terminal.show(run, page, detail, recorded=recorded)
                for comparison in report.comparisons:
                    terminal.show_comparison(comparison, detail)
            if self.annotate:
                _annotate(report, cases, waivers)


def baseline_runs(paths: Sequence[Path], cases: Path | None, waivers: str | None, *, strict: bool) -> list[Assessment]:
    """Return the runs to compare with, judged in the same way as the new runs.

    Args:
        paths: the values of --baseline.
        cases: the cases that judge the new runs.
        waivers: the value of --waivers.
        strict: the value of --strict.
    """
    return assess_files(record_files(paths, cases), cases, waivers, strict=strict)[0] if paths else []


def _annotate(report: Report, cases: Path | None, waivers: str | None) -> None:
    folder = data_folder("cases") if cases is None else cases if cases.is_dir() else cases.parent
    for run in report.runs:
        shipped = data_folder("waivers") / f"{run.assessment.run.header.backend.name}.yaml"
        file = None if waivers == "none" else Path(waivers) if waivers else shipped
        for line in workflow_commands(run, folder, file):
            click.echo(line, err=True)
