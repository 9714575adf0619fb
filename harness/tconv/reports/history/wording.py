"""The words for causes by release, the same on the terminal and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.gate.status import FAILING, Status
from tconv.reports.phrases import NOT_ASKED, headline, phrase, summary
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packaging.version import Version

    from tconv.investigation.history.bisecting import Change
    from tconv.investigation.history.strips import Span, Strip
    from tconv.records.record import Record

_BEGINNING, _END = 60, 120


def heading(status: Status) -> str:
    """Return the title of the causes of a status."""
    return STATUSES[status].heading or str(status)


def what(strip: Strip) -> str:
    """Return the line of a cause: of the waiver, or of what its smallest case does."""
    example = strip.example
    ruling = example.ruling
    of = "invalid calls: " if strip.invalid else ""
    if example.waiver is not None:
        return f"{of}{example.waiver.name}: {example.waiver.because}"
    if example.is_spoilt:
        return f"{of}{ruling.kind}, and {NOT_ASKED}"
    if strip.status is Status.DISPUTED:
        text = phrase(ruling)
    elif strip.rule:
        return strip.rule + (f" (known as {strip.explained})" if strip.explained else "")
    elif strip.explained is not None:
        text = f"{ruling.kind} as if {strip.explained}: {phrase(ruling)}"
    elif strip.status in FAILING and ruling.kind != "wrong-shape":
        text = summary(example.record, ruling, example.why)
    else:
        # The phrase of a wrong shape already has both shapes.
        text = headline(ruling)
    # A runtime's message begins with where it comes from, and ends with what it says.
    return of + (text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]} ... {text[-_END:]}")


def since(span: Span, versions: Sequence[str]) -> str:
    """Return the first release that has a cause, and the last before it whose smallest case passes."""
    good = "none before tells" if span.good_before is None else f"good in {versions[span.good_before]}"
    return f"{versions[span.first]} ({good})"


def mended(span: Span, versions: Sequence[str]) -> str:
    """Return the first release after a cause whose smallest case passes."""
    return "-" if span.mended is None else versions[span.mended]


def answer(version: Version, record: Record) -> str:
    """Return a line for what a release did with the case of a bisection."""
    return f"{version}  {summary(record)}"


def changed(change: Change, of: int) -> Iterator[str]:
    """Yield lines for where a verdict changed.

    Args:
        change: where it changed.
        of: how many releases there are.
    """
    (before, old), (after, new) = change.before, change.after
    if change.changed:
        yield f"{before} is the last with {summary(old)}"
        yield f"{after} is the first with {summary(new)}"
    else:
        yield f"{before} and {after} do the same: {summary(new)}"
    yield f"{change.asked} of {of} releases were asked"
