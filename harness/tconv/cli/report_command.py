"""`tconv report`: judge records without a run, and show how each case changed since a baseline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.options import with_options
from tconv.cli.output import json_text, refuse_unwritable, write_output
from tconv.cli.record_files import argument, cases_of, record_files
from tconv.cli.reporting import Reporting, baseline_runs
from tconv.export.issue import recorded_issue
from tconv.gate.record_files import assess_files
from tconv.reports import html, plain
from tconv.reports.report import make_report

if TYPE_CHECKING:
    from pathlib import Path


@click.command(name="report")
@argument
@options.cases
@options.waivers
@options.strict
@options.baseline
@click.option(
    "--page",
    type=options.FILE,
    help="The file of the HTML page; default: index.html next to the first records.",
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@click.option("--badge", type=options.FILE, help="Write the JSON of a shields.io badge.")
@with_options(Reporting)
def command(
    reporting: Reporting,
    records: tuple[Path, ...],
    cases: Path | None,
    waivers: str | None,
    baseline: tuple[Path, ...],
    page: Path | None,
    badge: Path | None,
    *,
    strict: bool,
    open_page: bool,
) -> int:
    """Judge RECORDS by the waivers, print the result, and make the HTML page.

    RECORDS are files or folders. The shards of one run are joined. With --baseline, each run is compared with the
    newest older run of the same backend and dialect.

    The exit code is 1 if a run is red, or if a case is worse than in the baseline. It is 2 if the baseline has no run
    of this backend and dialect.
    """
    if page is None:
        page = (records[0] if records[0].is_dir() else records[0].parent) / "index.html"
    refuse_unwritable([page, badge])
    files = record_files(records, cases)
    cases = cases_of(files, cases)
    assessments, corpus = assess_files(files, cases, waivers, strict=strict)
    before = baseline_runs(baseline, cases, waivers, strict=strict)
    report = make_report(assessments, before)
    html.write(report, page, corpus.find, partial(recorded_issue, find=corpus.find))
    if badge is not None:
        write_output(json_text(plain.badge(report)), badge)
    reporting.write(report, cases, waivers, page)
    if open_page:
        click.launch(str(page))
    return int(report.is_red)
