"""`tconv list`: the ids of cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003 - click's annotations are for the reader

import click

from tconv.cli import options
from tconv.corpus import Corpus, Tier
from tconv.dialects import find_dialect
from tconv.execution.selection import Selection
from tconv.expectation.expected import can_express


@click.command(name="list")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@options.tier
@options.cases
@click.option("--dialect", help="List only the cases that this dialect can say; default: all.")
@options.as_json
def command(patterns: tuple[str, ...], tier: Tier, cases: Path | None, dialect: str | None, *, as_json: bool) -> None:
    """Print the ids of a tier's cases that match any PATTERN.

    With --json, each case has the facts that patterns may ask for.
    """
    speaker = find_dialect(dialect) if dialect else None
    selection = Selection(Corpus.load(cases), tier, patterns)
    found = selection.stream() if selection.count else iter(())
    if speaker is not None:
        found = (case for case in found if can_express(case, speaker))
    if as_json:
        separator = "[\n"
        for case in found:
            sys.stdout.write(separator + json.dumps({"id": case.id, "about": case.about, "facts": dict(case.facts)}))
            separator = ",\n"
        sys.stdout.write("\n]\n" if separator != "[\n" else "[]\n")
    else:
        # Ids alone need no cases.
        ids = selection.ids() if speaker is None else (case.id for case in found)
        sys.stdout.writelines(f"{case_id}\n" for case_id in ids)
    sys.stdout.flush()
