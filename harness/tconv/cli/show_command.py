"""`tconv show`: everything about one case."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click's annotations are for the reader

import click

from tconv.cli import options
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS, dialect_named
from tconv.reports import account


@click.command(name="show")
@click.argument("case")
@click.option("--dialect", "only", default=None, help="One dialect; default: all.")
@options.cases
def command(case: str, only: str | None, cases: Path | None) -> None:
    """Print CASE in each dialect: call, geometry, readings, what is owed, and how the tolerance is derived."""
    found = Corpus.load(cases).one(case)
    rows = [dialect_named(only)] if only else list(DIALECTS.values())
    for line in account.of_case(found):
        click.echo(line)
    for row in rows:
        click.echo()
        for line in account.in_dialect(found, row):
            click.echo(line)
