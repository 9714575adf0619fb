"""`tconv show`: everything about one case."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click's annotations are for the reader

import click

from tconv.cli import options
from tconv.cli.output import json_text, print_text, printing, write_output
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS, dialect_named
from tconv.reports import case_details


@click.command(name="show")
@click.argument("case_id", metavar="CASE")
@click.option("--dialect", "dialect_name", default=None, help="One dialect; default: all.")
@options.cases
@options.as_json
def command(case_id: str, dialect_name: str | None, cases: Path | None, *, as_json: bool) -> None:
    """Print CASE in each dialect: call, geometry, readings, what is owed, and how the tolerance is derived.

    What several dialects say alike stands once, below the names of all of them.
    """
    case = Corpus.load(cases).case(case_id)
    dialects = [dialect_named(dialect_name)] if dialect_name else list(DIALECTS.values())
    if as_json:
        write_output(json_text(case_details.as_json(case, dialects)), None)
        return
    with printing():
        for line in case_details.of_case(case):
            print_text(line)
        for heading, lines in case_details.in_dialects(case, dialects):
            print_text(f"\n{heading}")
            for line in lines:
                print_text(line)
