"""`tconv mutants`: which misreadings the corpus notices."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
from rich import box
from rich.table import Table
from rich.text import Text

from tconv.cli import options
from tconv.corpus import Corpus
from tconv.diagnosis.misreadings import misreadings_of
from tconv.dialects import dialect_named
from tconv.investigation.company import killed
from tconv.investigation.mutants import measure
from tconv.reports.terminal import console

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.corpus import Tier
    from tconv.dialects import Dialect
    from tconv.investigation.mutants import Measured


@click.command(name="mutants")
@options.tier_to_full
@options.cases
@click.option(
    "--dialect", "dialect_name", default="onnx/ConvTranspose-22", show_default=True, help="Whose text is misread."
)
@click.option(
    "--in-company", is_flag=True, help="Ask alone and in company, and print misreadings whose cases are not the same."
)
@click.option("--redundant", is_flag=True, help="Print each case that another one of its topic makes redundant.")
def command(tier: Tier, cases: Path | None, dialect_name: str, in_company: bool, redundant: bool) -> int:  # noqa: FBT001 - click's flags
    """Take each misreading for a backend, and print which cases notice it. Exits with 1 where one survives.

    A case is redundant where one other case of its topic notices all that it does. It may be wanted all the same: what
    a runtime gets wrong depends on layouts and types too, of which a misreading knows nothing.
    """
    dialect = dialect_named(dialect_name)
    if in_company:
        return _alone_and_in_company(list(Corpus.load(cases).cases(tier)), dialect)
    measured = measure(Corpus.load(cases).cases(tier), dialect)
    if redundant:
        for topic in measured.topics:
            for case, stronger in sorted(topic.redundant.items()):
                click.echo(f"{case}  by {stronger}" if stronger else f"{case}  notices nothing")
        return int(any(power.survives and power.affected for power in measured.powers))
    out = console()
    out.print(_misreadings(measured))
    out.print(_topics(measured))
    # A misreading may change no case: in a dialect without a bias, for example, one that is about the bias.
    survivors = [power.misreading.name for power in measured.powers if power.survives and power.affected]
    without_effect = [power.misreading.name for power in measured.powers if not power.affected]
    count = len(measured.powers) - len(without_effect)
    out.print(
        f"{count - len(survivors)} of {count} misreadings are noticed by {measured.cases:,} cases of the {tier} tier "
        f"in {dialect.name}; {len(measured.needed)} cases would do for them",
        markup=False,
    )
    if without_effect:
        out.print(f"not to be noticed, as they change no case: {', '.join(without_effect)}", markup=False)
    if survivors:
        out.print(f"survivors: {', '.join(survivors)}", markup=False)
    return int(bool(survivors))


def _alone_and_in_company(cases: Sequence[Case], dialect: Dialect) -> int:
    """Print which misreadings are noticed by other cases in company than alone; return 1 where there are any."""
    misreadings = [misreading for misreading in misreadings_of(dialect) if misreading.playable]
    noticed, differing = 0, 0
    for misreading in misreadings:
        alone, together = killed(cases, dialect, misreading, 1), killed(cases, dialect, misreading)
        noticed += len(alone)
        differing += alone != together
        for case in sorted(alone ^ together):
            click.echo(f"{misreading.name}: {case} notices it {'alone' if case in alone else 'in company'} only")
    click.echo(
        f"{len(misreadings) - differing} of {len(misreadings)} misreadings are noticed by the same cases alone and in "
        f"company: {noticed:,} times, by {len(cases):,} cases in {dialect.name}"
    )
    return int(bool(differing))


def _misreadings(measured: Measured) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("misreading", overflow="fold")
    table.add_column("changes", justify="right")
    table.add_column("noticed by", justify="right")
    table.add_column("smallest example", overflow="fold")
    for power in sorted(measured.powers, key=lambda power: len(power.killed)):
        survives = "SURVIVES" if power.affected else "changes no case"
        example = shlex.quote(min(power.killed, key=len)) if power.killed else survives
        table.add_row(power.misreading.name, f"{len(power.affected):,}", f"{len(power.killed):,}", Text(example))
    return table


def _topics(measured: Measured) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("topic, weakest first", overflow="fold")
    for column in ("cases", "notice", "redundant"):
        table.add_column(column, justify="right")
    table.add_column("noticed by this topic alone", overflow="fold")
    for topic in measured.topics:
        counts = (topic.cases, len(topic.noticed), len(topic.redundant))
        table.add_row(topic.name, *(f"{count:,}" for count in counts), ", ".join(sorted(topic.alone)))
    return table
