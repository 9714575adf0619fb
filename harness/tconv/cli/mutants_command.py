"""`tconv mutants`: which misreadings the corpus notices."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.corpus import Corpus
from tconv.dialects import dialect_named
from tconv.investigation.mutants import measure
from tconv.reports.listing import console, folded, print_line, show

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.corpus import Tier
    from tconv.investigation.mutants import Measured

_MISREADINGS = ("misreading", "changes", "noticed by", "smallest example")
_TOPICS = ("topic, weakest first", "cases", "notice", "redundant", "noticed by this topic alone")


@click.command(name="mutants")
@options.tier_to_full
@options.cases
@click.option(
    "--dialect", "dialect_name", default="onnx/ConvTranspose-22", show_default=True, help="The dialect that is misread."
)
@click.option("--redundant", is_flag=True, help="Print each case that another one of its topic makes redundant.")
def command(tier: Tier, cases: Path | None, dialect_name: str, redundant: bool) -> int:  # noqa: FBT001 - click's flags
    """Run each misreading as if it were a backend, and print which cases notice it.

    Exits with 1 where no case notices a misreading. A case is redundant where one other case of its topic notices all
    misreadings that it notices. It may be wanted all the same: what a runtime gets wrong may depend on layouts and
    types too, and a misreading does not.
    """
    dialect = dialect_named(dialect_name)
    measured = measure(Corpus.load(cases).cases(tier), dialect)
    if redundant:
        for topic in measured.topics:
            for case, stronger in sorted(topic.redundant.items()):
                click.echo(f"{case}  by {stronger}" if stronger else f"{case}  notices nothing")
        return int(any(power.survives and power.affected for power in measured.powers))
    out = console()
    show(out, _MISREADINGS, _misreadings(measured), numbers={"changes", "noticed by"})
    show(out, _TOPICS, _topics(measured), numbers={"cases", "notice", "redundant"})
    # A misreading may change no case: in a dialect without a bias, for example, one that is about the bias.
    survivors = [power.misreading.name for power in measured.powers if power.survives and power.affected]
    without_effect = [power.misreading.name for power in measured.powers if not power.affected]
    count = len(measured.powers) - len(without_effect)
    noticed = (
        f"{count - len(survivors)} of {count} misreadings are noticed by {measured.cases:,} cases of the {tier} tier"
    )
    lines = [f"{noticed} in {dialect.name}; {len(measured.needed)} cases would do for them"]
    if without_effect:
        lines.append(f"not to be noticed, as they change no case: {', '.join(without_effect)}")
    if survivors:
        lines.append(f"survivors: {', '.join(survivors)}")
    for line in lines:
        print_line(out, "\n".join(folded(line, out.width, indent="  ")))
    return int(bool(survivors))


def _misreadings(measured: Measured) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for power in sorted(measured.powers, key=lambda power: len(power.killed)):
        survives = "SURVIVES" if power.affected else "changes no case"
        example = shlex.quote(min(power.killed, key=len)) if power.killed else survives
        rows.append((power.misreading.name, f"{len(power.affected):,}", f"{len(power.killed):,}", example))
    return rows


def _topics(measured: Measured) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for topic in measured.topics:
        counts = (topic.cases, len(topic.noticed), len(topic.redundant))
        rows.append((topic.name, *(f"{count:,}" for count in counts), ", ".join(sorted(topic.alone))))
    return rows
