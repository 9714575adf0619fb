"""`tconv show`: everything about one case."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click's annotations are for the reader

import click

from tconv.cli import options
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS, dialect_named
from tconv.reports import case_details


@click.command(name="show")
@click.argument("case_id", metavar="CASE")
@click.option("--dialect", "dialect_name", default=None, help="One dialect; default: all.")
@options.cases
def command(case_id: str, dialect_name: str | None, cases: Path | None) -> None:
    """Print CASE in each dialect: call, geometry, readings, what is owed, and how the tolerance is derived."""
    case = Corpus.load(cases).case(case_id)
    dialects = [dialect_named(dialect_name)] if dialect_name else list(DIALECTS.values())
    for line in case_details.of_case(case):
        click.echo(line)
    for dialect in dialects:
        click.echo()
        for line in case_details.in_dialect(case, dialect):
            click.echo(line)
