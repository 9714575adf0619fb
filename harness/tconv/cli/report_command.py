"""`tconv report`: the page of records, without a run."""

from __future__ import annotations

from pathlib import Path

import click

from tconv.cli import options
from tconv.gate.assessment import assessed_files
from tconv.reports import html, terminal


@click.command(name="report")
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.cases
@options.waivers
@options.strict
@click.option(
    "--page", type=click.Path(path_type=Path, dir_okay=False), default=None, help="Default: beside the records."
)
def command(
    records: tuple[Path, ...], cases: Path | None, waivers: str | None, page: Path | None, *, strict: bool
) -> int:
    """Make the HTML page of RECORDS and print their totals.

    The shards of one run are joined; exit with 1 where one is missing.
    """
    assessments, corpus = assessed_files(records, cases, waivers, strict=strict)
    destination = page or records[0].parent / "index.html"
    html.write(assessments, destination, corpus.find)
    for assessment in assessments:
        terminal.show(assessment, destination)
    return int(any(assessment.run.header.shard for assessment in assessments))
