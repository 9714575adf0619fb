"""`tconv site`: which engine follows which reading, as a static site made from records."""

from __future__ import annotations

from pathlib import Path

import click

from tconv.cli import options
from tconv.cli.record_files import cases_of, record_files
from tconv.datafiles import data_folder
from tconv.gate.record_files import assess_files
from tconv.reports.report import make_report
from tconv.reports.site import writing


@click.command(name="site")
@click.argument("records", nargs=-1, type=click.Path(path_type=Path))
@options.cases
@options.waivers
@options.folder("The folder of the site; index.html is its first page.")
def command(records: tuple[Path, ...], cases: Path | None, waivers: str | None, output: Path) -> int:
    """Write a site from RECORDS, with a page for each runtime, question and finding.

    RECORDS are files or folders. Without RECORDS, tconv uses its own records. If there are several releases of a
    runtime, the tables show the newest one, and a page says what changed. The site needs no server and no network. Each
    page has its data as JSON. Other files in the folder stay.
    """
    writing.refuse_other_files(output)
    files = record_files(records or [data_folder("records"), data_folder("unwaived")], cases)
    cases = cases_of(files, cases)
    assessments, corpus = assess_files(files, cases, waivers)
    pages = writing.write(make_report(assessments), list(corpus.cases("gate")), corpus.find, output)
    click.echo(f"{pages} pages in {output}; begin with {output / 'index.html'}")
    return 0
