"""`tconv atlas`: where the texts differ, and which text each backend follows."""

from __future__ import annotations

from pathlib import Path

import click

from tconv.cli import options
from tconv.cli.record_files import argument, cases_of, record_files
from tconv.errors import writing
from tconv.gate.record_files import assess_files
from tconv.reports import atlas, atomic_write


@click.command(name="atlas")
@argument
@options.cases
@options.waivers
@click.option(
    "--markdown",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("reports/atlas.md"),
    show_default=True,
    help="Where the Markdown goes.",
)
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("reports/atlas.html"),
    show_default=True,
    help="Where the page goes.",
)
def command(records: tuple[Path, ...], cases: Path | None, waivers: str | None, markdown: Path, page: Path) -> None:
    """Write the atlas of RECORDS: which answer each backend gives where the texts differ, and how to port a call."""
    files = record_files(records, cases)
    assessments, corpus = assess_files(files, cases_of(files, cases), waivers)
    contents = atlas.atlas(assessments, corpus)
    for source in contents.red:
        click.echo(f"note: {source.name}, {source.dialect} is red: {'; '.join(source.assessment.red)}", err=True)
    for path, text in ((markdown, atlas.markdown(contents)), (page, atlas.html(contents))):
        with writing(path):
            atomic_write.write(path, text)
        click.echo(f"atlas {path}")
