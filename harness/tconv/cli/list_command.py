"""`tconv list`: the ids of cases."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path  # noqa: TC003 - click's annotations are for the reader

import click

from tconv.cases.patterns import topic_of
from tconv.cli import options
from tconv.corpus import Corpus, Tier
from tconv.dialects import find_dialect
from tconv.execution.selection import Selection
from tconv.expectation.expected import can_express


@click.command(name="list")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@options.tier
@options.cases
@click.option("--dialect", help="List only the cases that this dialect can express; default: all.")
@options.as_json
def command(patterns: tuple[str, ...], tier: Tier, cases: Path | None, dialect: str | None, *, as_json: bool) -> None:
    """Print how many cases of a tier each topic has. With PATTERN, print the ids of the cases that match.

    `tconv list '**'` prints all ids. --json also prints the facts of each case, which patterns may use.
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
        # Ids need no cases to be read.
        ids = selection.ids() if speaker is None else (case.id for case in found)
        if not patterns:
            topics = Counter(map(topic_of, ids))
            ids = (f"{count:>7,}  {topic}/**" for topic, count in sorted(topics.items()))
        sys.stdout.writelines(f"{line}\n" for line in ids)
    sys.stdout.flush()
