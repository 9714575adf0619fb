"""What a run prints at its end: totals, causes, notes, and whether the gate is green."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tconv.backends.machine import VARIABLES
from tconv.errors import printable
from tconv.gate.status import Status
from tconv.reports.causes import causes
from tconv.reports.phrases import inconsistency
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import ConsoleOptions, RenderableType

    from tconv.gate.assessment import Assessment

_PIPED_WIDTH = 400
_MOST_GROUPS = 20


class PrintableConsole(Console):
    """A console that makes printable what it is given, so that the only escape codes are its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of something."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def console() -> Console:
    """Return a console for standard output: colours only on a terminal, and wide lines into a pipe.

    The environment variable COLUMNS sets the width of a line, in a pipe too.
    """
    wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    # The command escapes what is written to its streams; on a terminal a console needs the one below, for its colours.
    below = getattr(sys.stdout, "unescaped", None) if sys.stdout.isatty() else None
    return PrintableConsole(file=below, width=_PIPED_WIDTH if wide else None, highlight=False, soft_wrap=False)


def show(assessment: Assessment, page: Path | None) -> None:
    """Print the result of a run.

    Args:
        assessment: the run, judged by the gate.
        page: the path of its HTML page; None where there is none.
    """
    out, header = console(), assessment.run.header
    out.print()
    out.print(
        Text.assemble(
            (header.backend.title, "bold"),
            f"  {header.dialect}  {header.tier} tier  {assessment.run.cases} cases",
            f"  shard {header.shard}" if header.shard else "",
        )
    )
    out.print(_totals(assessment))
    out.print()
    for status in Status:
        if assessment.counts[status] and (heading := STATUSES[status].heading):
            out.print(_grouped(heading, assessment, status))
    if assessment.notes:
        out.print(_noted(assessment))
    for note in _notes(assessment):
        out.print(f"note: {note}", markup=False)
    for reason in assessment.red:
        out.print(Text(f"red: {reason}", style="bold red"))
    if not assessment.red:
        out.print(Text("green: every deviation is known", style="bold green"))
    of_page = f"   page {page}" if page else ""
    out.print(f"records {assessment.run.path}{of_page}", markup=False, style="dim")


def _totals(assessment: Assessment) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(style="dim", overflow="fold")
    counts = assessment.counts
    for status in Status:
        if counts[status] or status in (Status.PASSED, Status.FAILED):
            style = STATUSES[status].style if counts[status] else "dim"
            table.add_row(Text(f"{counts[status]:,}", style=style), Text(status, style=style), STATUSES[status].total)
    return table


def _noted(assessment: Assessment) -> Table:
    """Return a table with a line for each note of verdicts."""
    table = _of_causes("noted, and no failure")
    for note in assessment.notes:
        # A backend's own note stands for itself.
        what = f"{note.name}: {note.meaning}" if note.meaning else note.name
        table.add_row(f"{note.count:,}", Text(what), Text(shlex.quote(note.example)))
    return table


def _of_causes(title: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("cases", justify="right", no_wrap=True)
    table.add_column("what", overflow="fold", ratio=2)
    table.add_column("for example: tconv show", overflow="fold", ratio=3)
    return table


def _notes(assessment: Assessment) -> Iterator[str]:
    for answers in assessment.mixed:
        yield inconsistency(answers)
    if harmed := [judged.record for judged in assessment.judged if judged.record.harmed]:
        yield (
            f"a process that had run other cases died in {len(harmed)} that do not die alone, "
            f"such as {harmed[0].case} ({harmed[0].harmed}): some earlier case has harmed it"
        )
    if assessment.run.header.shard:
        yield "a shard is not judged by cases of other shards; 'tconv report' and 'tconv gate' join the records of all"
    environment = assessment.run.header.backend.environment
    if chosen := [f"{name}={environment[name]}" for name in VARIABLES if name in environment]:
        yield f"the environment chooses kernels: {', '.join(chosen)}"
    if assessment.relative:
        yield (
            f"the waivers are those of {assessment.relative!r}, for whatever version: "
            f"{len(assessment.waived)} cases are waived, and {len(assessment.unneeded)} waivers are not needed here"
        )
    for waiver in assessment.elsewhere:
        yield f"waiver {waiver.name!r} is for machines {waiver.machine}, which this one is not: it was not checked"
    for use in assessment.wide:
        yield f"waiver {use.waiver.name!r} also covers {len(use.agreeing)} cases that agree, such as {use.agreeing[0]}"
    if assessment.counts[Status.FAILED]:
        backend = assessment.run.header.backend
        words = ["tconv", "diagnose", "CASE", *backend.arguments]
        yield f"{shlex.join(words)} tells why one fails"


def _grouped(title: str, assessment: Assessment, status: Status) -> Table:
    """Return a table with a line for each cause, the largest first."""
    table = _of_causes(title)
    largest_first = causes(assessment, status)
    for cause in largest_first[:_MOST_GROUPS]:
        table.add_row(f"{cause.count:,}", Text(cause.what), Text(shlex.quote(cause.example)))
    if rest := largest_first[_MOST_GROUPS:]:
        table.add_row(f"{sum(cause.count for cause in rest):,}", f"in {len(rest)} further groups; see the page", "")
    return table
