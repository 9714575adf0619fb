"""`tconv report`: what records say, without a run: the page, or another form."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from tconv.cli import options
from tconv.cli.output import json_text, write_output
from tconv.cli.record_files import STANDARD_INPUT, argument, cases_of, record_files
from tconv.cli.reporting import Reporting, reporting, result
from tconv.errors import UsageError
from tconv.gate.record_files import assess_files
from tconv.reports import between_runs, html, job_summary, junit

Form = Literal["html", "markdown", "junit", "json"]


@click.command(name="report")
@argument
@options.cases
@options.waivers
@options.strict
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "junit", "json"]),
    default="html",
    show_default=True,
    help="What is written: the page and the totals, or one of the others alone.",
)
@click.option(
    "--output",
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="The file to write; default: a page beside the first records, and standard output for the other formats.",
)
@options.baseline("Records to compare with; repeatable.")
@reporting
def command(
    records: tuple[Path, ...],
    cases: Path | None,
    waivers: str | None,
    form: Form,
    output: Path | None,
    baseline: tuple[Path, ...],
    *,
    strict: bool,
    **reports: Any,  # noqa: ANN401 - the options of `reporting`
) -> int:
    """Make the HTML page of RECORDS and print their totals, or write them in another format.

    RECORDS are files, folders, or - for standard input. The shards of one run are joined; exit with 1 where one is
    missing.
    """
    if form != "html" and any(reports.values()):
        raise UsageError(f"--format {form} must be alone: reports and details are written beside --format html")
    if form == "html" and output is None and records[0] == STANDARD_INPUT:
        raise UsageError("--output must say where the page goes, as standard input has no folder")
    report = Reporting.of(**reports)
    files = record_files(records, cases)
    cases = cases_of(files, cases)
    assessments, corpus = assess_files(files, cases, waivers, strict=strict)
    before = assess_files(record_files(baseline, cases), cases, waivers, strict=strict)[0] if baseline else []
    comparisons = between_runs.paired(before, assessments) if before else []
    match form:
        case "html":
            beside = records[0] if records[0].is_dir() else records[0].parent
            destination = output or beside / "index.html"
            html.write(assessments, destination, corpus.find, comparisons)
            report.report(assessments, cases, waivers, destination, comparisons)
        case "markdown":
            write_output(job_summary.markdown(assessments, comparisons), output)
        case "junit":
            write_output(junit.text(assessments, comparisons), output)
        case "json":
            write_output(json_text(result(assessments, comparisons)), output)
    return int(any(assessment.run.header.shard for assessment in assessments))
