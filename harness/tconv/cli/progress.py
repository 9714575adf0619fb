"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from tconv.reports.listing import PrintableConsole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.records.record import Record

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def showing(backend: str, *, quiet: bool = False) -> Iterator[Callable[[int, int, Record | None], None]]:
    """Yield a function that shows how many of all cases are done; a quiet one shows nothing."""
    if quiet:
        yield lambda _done, _total, _record: None
    elif sys.stderr.isatty():
        with _bar() as bar:
            task = bar.add_task(backend, total=None, rate="")
            started = monotonic()

            def advance(done: int, total: int, record: Record | None) -> None:
                rate = done / max(monotonic() - started, 1e-9) if record else 0.0
                bar.update(task, completed=done, total=total, rate=f"{rate:,.0f}/s" if record else "")

            yield advance
    else:
        yield _lines(backend)


def _bar() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        # See `reports.listing.console`.
        console=PrintableConsole(file=getattr(sys.stderr, "unescaped", sys.stderr)),
        transient=True,
    )


def _lines(backend: str) -> Callable[[int, int, Record | None], None]:
    """Return a function that prints a line now and then."""
    last = monotonic()

    def advance(done: int, total: int, record: Record | None) -> None:
        nonlocal last
        now = monotonic()
        if record is None or done == total or now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            print(f"tconv: {backend}: {done} of {total} cases", file=sys.stderr, flush=True)  # noqa: T201

    return advance
