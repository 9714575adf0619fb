"""`tconv coverage`: which values and combinations of values a tier covers, and which never occur."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - click's annotations are for the reader
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.output import json_text, write_output
from tconv.corpus import Corpus
from tconv.corpus.coverage import Coverage, coverage
from tconv.dialects import dialect_named
from tconv.reports.listing import console, show

if TYPE_CHECKING:
    from tconv.corpus import Tier

_COLUMNS = ("sweep", "dialect", "cases", "values", "pairs", "triples", "quadruples")


@click.command(name="coverage")
@options.tier_to_full
@options.cases
@click.option("--dialect", "dialect_name", default=None, help="One dialect; default: all.")
@options.as_json
def command(tier: Tier, cases: Path | None, dialect_name: str | None, *, as_json: bool) -> None:
    """Print, for each sweep and dialect, how many values, pairs, triples and quadruples the tier covers.

    A count is covered/reachable; reachable is what any case of the sweep has that the dialect can say. Below the table
    stands what never occurs, values and pairs, with the reason.
    """
    if dialect_name is not None:
        dialect_named(dialect_name)
    coverages = [entry for entry in coverage(Corpus.load(cases), tier) if dialect_name in (None, entry.dialect_name)]
    if as_json:
        write_output(json_text({"tier": tier, "coverage": [asdict(entry) for entry in coverages]}), None)
        return
    rows = [
        (
            entry.sweep,
            entry.dialect_name,
            str(entry.cases),
            *(f"{c.covered}/{c.reachable}" if c.conceivable else "-" for c in entry.counts),
        )
        for entry in coverages
    ]
    show(console(), _COLUMNS, rows, numbers=_COLUMNS[2:], title=f"{tier} tier: covered/reachable")
    _print_missing(coverages)


def _print_missing(coverages: list[Coverage]) -> None:
    """Print which values and pairs never occur, by dialect and reason."""
    missing: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entry in coverages:
        for values, reason in entry.never:
            missing[entry.dialect_name, reason, entry.sweep].append(values)
    click.echo("never occurs:" if missing else "everything that the axes can say occurs")
    heading = ("", "")
    for (dialect_name, reason, sweep), values_of_sweep in sorted(missing.items()):
        if heading != (dialect_name, reason):
            heading = dialect_name, reason
            click.echo(f"  in {dialect_name}, for {reason}")
        click.echo(f"    {sweep}: {'; '.join(values_of_sweep)}")
