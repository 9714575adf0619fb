"""Progress: one line that is rewritten on a terminal, plain lines in a log, and the page."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

import click

from tconv.reports.html import write_waiting
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tconv.records.record import Record

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_ON_A_TERMINAL = 0.2
_SAME_LINE = "\r\x1b[K"
"""Moves to the beginning of a terminal's line, and clears it."""


@contextmanager
def showing(
    backend: str, page: Path | None = None, *, quiet: bool = False
) -> Iterator[Callable[[int, int, Record | None], None]]:
    """Yield a function that reports now and then how many cases are done; if quiet, on the page only."""
    on_terminal, last = sys.stderr.isatty(), monotonic()
    of_page = 0.0
    seconds = _SECONDS_ON_A_TERMINAL if on_terminal else _SECONDS_BETWEEN_LINES

    def advance(done: int, total: int, record: Record | None) -> None:
        nonlocal last, of_page
        now = monotonic()
        if page is not None and now - of_page >= _SECONDS_BETWEEN_LINES:
            of_page = now
            write_waiting(page, f"{backend}: {min(done, total):,} of {total:,} cases")
        if not quiet and (record is None or done == total or now - last >= seconds):
            last = now
            more = f", and {done - total} more calls to explain failures" if done > total else ""
            _say(f"tconv: {one_line(backend)}: {min(done, total)} of {total} cases{more}", on_terminal=on_terminal)

    yield advance
    if on_terminal and not quiet:
        _say("", on_terminal=True)


def _say(line: str, *, on_terminal: bool) -> None:
    if not on_terminal:
        click.echo(line, err=True)
        return
    # The command's stream would escape the code that moves to the beginning of the line. A terminal may be closed.
    with suppress(OSError):
        print(f"{_SAME_LINE}{line}", end="", file=getattr(sys.stderr, "unescaped", sys.stderr), flush=True)
