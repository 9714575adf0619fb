"""`tconv mutants`: what the corpus notices."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
from rich import box
from rich.table import Table
from rich.text import Text

from tconv.cli import options
from tconv.corpus import Corpus
from tconv.dialects import dialect as dialect_of
from tconv.investigation.mutants import measure
from tconv.reports.terminal import console

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.corpus import Tier


@click.command(name="mutants")
@options.tier
@options.cases
@click.option("--dialect", default="onnx/ConvTranspose-22", show_default=True, help="Whose text is misread.")
def command(tier: Tier, cases: Path | None, dialect: str) -> int:
    """Take each misreading for a backend, and print which cases notice it. Exits with 1 where one survives."""
    row = dialect_of(dialect)
    measured = measure(Corpus.load(cases).cases(tier), row)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("misreading", overflow="fold")
    table.add_column("changes", justify="right")
    table.add_column("noticed by", justify="right")
    table.add_column("smallest example", overflow="fold")
    for power in sorted(measured.powers, key=lambda power: len(power.killed)):
        example = shlex.quote(min(power.killed, key=len)) if power.killed else "SURVIVES"
        table.add_row(power.misreading.name, f"{len(power.affected):,}", f"{len(power.killed):,}", Text(example))
    out = console()
    out.print(table)
    survivors = [power.misreading.name for power in measured.powers if power.survives]
    topics = ", ".join(f"{topic} {count}" for topic, count in measured.topics.items())
    out.print(f"misreadings noticed by topic, weakest first: {topics}", markup=False, highlight=False)
    out.print(
        f"{len(measured.powers) - len(survivors)} of {len(measured.powers)} misreadings are noticed by "
        f"{measured.cases:,} cases of the {tier} tier in {row.name}; {len(measured.needed)} cases would do for them",
        markup=False,
    )
    if survivors:
        out.print(f"survivors: {', '.join(survivors)}", markup=False)
    return int(bool(survivors))
