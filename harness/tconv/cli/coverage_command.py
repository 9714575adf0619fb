"""`tconv coverage`: what a tier covers, and what never occurs."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path  # noqa: TC003 - click's annotations are for the reader
from typing import TYPE_CHECKING

import click
from rich import box
from rich.table import Table
from rich.text import Text

from tconv.cli import options
from tconv.corpus import Corpus
from tconv.corpus.coverage import Coverage, coverage
from tconv.dialects import dialect_named
from tconv.reports.terminal import console

if TYPE_CHECKING:
    from tconv.corpus import Tier


@click.command(name="coverage")
@options.tier
@options.cases
@click.option("--dialect", "only", default=None, help="One dialect; default: all.")
def command(tier: Tier, cases: Path | None, only: str | None) -> None:
    """Print, for each sweep and dialect, how many values, pairs, triples and quadruples the tier covers.

    A count is covered/reachable; reachable is what any case of the sweep has that the dialect can say. Below the table
    stands what never occurs, values and pairs, with the reason.
    """
    wanted = None if only is None else dialect_named(only).name
    found = [one for one in coverage(Corpus.load(cases), tier) if wanted in (None, one.dialect)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{tier} tier: covered/reachable", title_justify="left")
    for column in ("sweep", "dialect", "cases", "values", "pairs", "triples", "quadruples"):
        table.add_column(column, justify="left" if column in ("sweep", "dialect") else "right", overflow="fold")
    for one in found:
        counts = [f"{c.covered}/{c.reachable}" if c.conceivable else "-" for c in one.counts]
        table.add_row(*map(Text, (one.sweep, one.dialect, str(one.cases), *counts)))
    console().print(table)
    _never(found)


def _never(found: list[Coverage]) -> None:
    """Print what never occurs, dialects and values with the same reason together."""
    grouped: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for one in found:
        for words, reason in one.never:
            grouped[one.dialect, reason, one.sweep].append(words)
    click.echo("never occurs:" if grouped else "everything that the axes can say occurs")
    heading = ("", "")
    for (dialect, reason, sweep), absent in sorted(grouped.items()):
        if heading != (dialect, reason):
            heading = dialect, reason
            click.echo(f"  in {dialect}, for {reason}")
        click.echo(f"    {sweep}: {'; '.join(absent)}")
