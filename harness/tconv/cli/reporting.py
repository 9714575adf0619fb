"""What `run` and `report` make of runs that are judged: the terminal or JSON, JUnit XML, a summary, annotations."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tconv.cli import options
from tconv.cli.output import json_text, printing, refuse_unwritable
from tconv.cli.record_files import record_files
from tconv.datafiles import data_folder
from tconv.errors import writing
from tconv.gate.record_files import assess_files
from tconv.reports import between_runs, job_summary, junit, plain, terminal
from tconv.reports.annotations import workflow_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.reports.between_runs import Comparison

_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option("--junit", "junit_file", type=options.FILE, default=None, help="Write JUnit XML too."),
    click.option("--summary", type=options.FILE, default=None, help="Add a summary in Markdown to this file."),
    click.option("--annotate", is_flag=True, help="Print GitHub's annotations at the lines of case and waiver files."),
    options.as_json,
    options.detail,
)


def reporting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `Reporting`; the command hands its keyword arguments on."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Reporting:
    """What is made of runs, as the options of `reporting` say it."""

    junit_file: Path | None
    summary: Path | None
    annotate: bool
    as_json: bool
    detail: terminal.Detail = field(default="screen")

    @classmethod
    def of(cls, *, quiet: bool, verbose: bool, **chosen: Any) -> Reporting:  # noqa: ANN401 - of each option's type
        """Return it, and try whether the files can be written, before a run that may take an hour.

        Raises:
            FileError: one cannot.
        """
        refuse_unwritable([chosen["junit_file"], chosen["summary"]])
        return cls(**chosen, detail=options.detail_of(quiet=quiet, verbose=verbose))

    def report(
        self,
        assessments: list[Assessment],
        cases: Path | None,
        waivers: str | None,
        page: Path | None = None,
        comparisons: Sequence[Comparison] = (),
    ) -> None:
        """Write the files and print the result.

        Args:
            assessments: the runs.
            cases: the value of --cases.
            waivers: the value of --waivers.
            page: the path of the HTML page; None where there is none.
            comparisons: what became of the cases since a baseline.
        """
        if self.junit_file is not None:
            junit.write(assessments, self.junit_file, comparisons)
        if self.summary is not None:
            # GitHub gives all steps of a job one file.
            with writing(self.summary), self.summary.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(job_summary.markdown(assessments, comparisons))
        with printing():
            if self.as_json:
                click.echo(json_text(plain.results(assessments, comparisons)), nl=False)
            else:
                for assessment in assessments:
                    terminal.show(assessment, page, self.detail, between_runs.regressions(assessment, comparisons))
                for comparison in comparisons:
                    between_runs.show(comparison, self.detail)
            if self.annotate:
                _annotate(assessments, cases, waivers, comparisons)


def baseline_runs(paths: Sequence[Path], cases: Path | None, waivers: str | None, *, strict: bool) -> list[Assessment]:
    """Return the runs to compare with, judged as those that are compared with them.

    Args:
        paths: the values of --baseline.
        cases: the cases that the new runs are judged by.
        waivers: the value of --waivers.
        strict: the value of --strict.
    """
    return assess_files(record_files(paths, cases), cases, waivers, strict=strict)[0] if paths else []


def _annotate(
    assessments: Sequence[Assessment], cases: Path | None, waivers: str | None, comparisons: Sequence[Comparison]
) -> None:
    folder = data_folder("cases") if cases is None else cases if cases.is_dir() else cases.parent
    for assessment in assessments:
        shipped = data_folder("waivers") / f"{assessment.run.header.backend.name}.yaml"
        file = None if waivers == "none" else Path(waivers) if waivers else shipped
        of_run = next((comparison for comparison in comparisons if comparison.new is assessment), None)
        for line in workflow_commands(assessment, folder, file, of_run):
            click.echo(line, err=True)
