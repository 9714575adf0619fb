"""A history on the terminal: a strip for each cause, and in words what a release did and where a verdict changed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tconv.gate.status import FAILING, Status
from tconv.investigation.history.strips import MEANINGS, ORDER
from tconv.records.headers import cases_option
from tconv.reports.listing import console, folded, print_line
from tconv.reports.phrases import headline, phrase, summary
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packaging.version import Version

    from tconv.investigation.history.bisecting import Change
    from tconv.investigation.history.strips import Span, Strip
    from tconv.records.record import Record
    from tconv.reports.history.content import History

_BEGINNING, _END = 60, 120


def show(history: History) -> None:
    """Print a history."""
    out = console()
    print_line(out, f"{history.title}, {history.asked}", "bold")
    lines = [f"releases, a sign each: {' '.join(history.versions)}"]
    lines.append(", ".join(f"'{mark}' {meaning}" for mark, meaning in MEANINGS.items()))
    lines += [f"note: {line}" for line in history.incomplete]
    for line in lines:
        print_line(out, "\n".join(folded(line, out.width, indent="  ")))
    for status in ORDER:
        if of_status := [strip for strip in history.strips if strip.status is status]:
            print_line(out, f"\n{STATUSES[status].heading or status}", "bold")
            for strip in of_status:
                lines = _strip(strip, history.versions, history.header.path, out.width)
                print_line(out, "\n".join(lines))


def _strip(strip: Strip, versions: Sequence[str], cases: str, width: int) -> list[str]:
    """Return the lines of a cause: its signs, how many cases and since when, what it is, and its smallest case."""
    spans = "; ".join(_when(span, versions) for span in strip.spans)
    signs = f"{''.join(strip.marks)}  {max(strip.counts):,} {'case' if max(strip.counts) == 1 else 'cases'}, {spans}"
    command = ["tconv", "show", strip.example.record.case, *cases_option(cases)]
    return [signs, *folded(what(strip), width, "  "), f"  {shlex.join(command)}"]


def what(strip: Strip) -> str:
    """Return the line of a cause: of the waiver, or of what its smallest case does."""
    example = strip.example
    ruling = example.ruling
    of = "invalid calls: " if strip.invalid else ""
    if example.waiver is not None:
        return f"{of}{example.waiver.name}: {example.waiver.because}"
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


def _when(span: Span, versions: Sequence[str]) -> str:
    """Return the first release with a cause, the last before it and the first after it whose smallest case passes."""
    good = "no earlier pass known" if span.good_before is None else f"good in {versions[span.good_before]}"
    until = "" if span.fixed is None else f", fixed in {versions[span.fixed]}"
    return f"since {versions[span.first]} ({good}){until}"


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
