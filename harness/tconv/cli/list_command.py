"""`tconv list`: the ids of cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003 - click's annotations are for the reader

import click

from tconv.cli import options
from tconv.corpus import Corpus, Tier
from tconv.execution.selection import Selection


@click.command(name="list")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@options.tier
@options.cases
@options.as_json
def command(patterns: tuple[str, ...], tier: Tier, cases: Path | None, *, as_json: bool) -> None:
    """Print the ids of a tier's cases that match any PATTERN.

    As JSON, each case has the facts that patterns may ask for.
    """
    selection = Selection(Corpus.load(cases), tier, patterns)
    if as_json:
        separator = "[\n"
        for case in selection.stream() if selection.count else ():
            sys.stdout.write(separator + json.dumps({"id": case.id, "about": case.about, "facts": dict(case.facts)}))
            separator = ",\n"
        sys.stdout.write("\n]\n")
        sys.stdout.flush()
        return
    sys.stdout.writelines(f"{case_id}\n" for case_id in selection.ids())
    sys.stdout.flush()
