"""`tconv list`: the ids of cases."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - click's annotations are for the reader

import click

from tconv.cli import options, word_options
from tconv.corpus import Corpus, Tier
from tconv.execution.selection import Selection


@click.command(name="list")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@options.tier
@options.cases
@word_options.words
def command(patterns: tuple[str, ...], tier: Tier, cases: Path | None, what: str | None) -> None:
    """Print the ids of a tier's cases that match any PATTERN; or the words that case and waiver files may use."""
    if what is not None:
        from tconv.cli import words  # noqa: PLC0415 - what it imports takes long, and the ids need none of it

        sys.stdout.writelines(f"{line}\n" for line in words.lines(what, Corpus.load(cases)))
        return
    selection = Selection(Corpus.load(cases), tier, patterns)
    sys.stdout.writelines(f"{case_id}\n" for case_id in selection.ids())
    sys.stdout.flush()
