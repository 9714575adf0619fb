"""A history on the terminal: a strip for each cause, and what the releases show of the waivers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from tconv.investigation.history.strips import MEANINGS, ORDER
from tconv.reports.history.wording import evidence, heading, mended, seen, since, what
from tconv.reports.terminal import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.investigation.history.proposals import Proposal
    from tconv.investigation.history.strips import Strip
    from tconv.reports.history.content import History


def show(history: History, *, propose: bool) -> None:
    """Print a history; with `propose`, which releases each waiver is for."""
    out = console()
    out.print(Text(f"{history.title}, {history.asked}", style="bold"))
    out.print(f"releases, a sign each: {' '.join(history.versions)}", markup=False)
    out.print(", ".join(f"'{mark}' {meaning}" for mark, meaning in MEANINGS.items()), markup=False)
    for line in history.incomplete:
        out.print(f"note: {line}", markup=False)
    for status in ORDER:
        if of_status := [strip for strip in history.strips if strip.status is status]:
            out.print(_causes(heading(status), of_status, history.versions))
    if propose:
        out.print(_proposals(history.proposals))


def _causes(title: str, of_status: Sequence[Strip], versions: Sequence[str]) -> Table:
    table = _table(title, "releases", "since", "mended in")
    table.add_column("cases", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold", ratio=2)
    table.add_column("smallest case", overflow="fold", ratio=2)
    for strip in of_status:
        table.add_row(
            Text("".join(strip.marks)),
            "\n".join(since(span, versions) for span in strip.spans),
            "\n".join(mended(span, versions) for span in strip.spans),
            f"{max(strip.counts):,}",
            Text(what(strip)),
            Text(shlex.quote(strip.example.record.case)),
        )
    return table


def _proposals(proposals: Sequence[Proposal]) -> Table:
    table = _table("versions of the waivers, by their examples", "releases", "written", "seen", "evidence", "waiver")
    for proposal in proposals:
        signs = Text("".join(proposal.marks))
        table.add_row(signs, proposal.waiver.versions, seen(proposal), evidence(proposal), proposal.waiver.name)
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
