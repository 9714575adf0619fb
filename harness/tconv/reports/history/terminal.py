"""A history on the terminal: a strip for each cause."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tconv.investigation.history.strips import MEANINGS, ORDER
from tconv.records.headers import cases_option
from tconv.reports.history.wording import heading, mended, since, what
from tconv.reports.listing import console, folded, print_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.investigation.history.strips import Strip
    from tconv.reports.history.content import History


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
            print_line(out, f"\n{heading(status)}", "bold")
            for strip in of_status:
                lines = _strip(strip, history.versions, history.header.path, out.width)
                print_line(out, "\n".join(lines))


def _strip(strip: Strip, versions: Sequence[str], cases: str, width: int) -> list[str]:
    """Return the lines of a cause: its signs, how many cases and since when, what it is, and its smallest case."""
    when = [(since(span, versions), mended(span, versions)) for span in strip.spans]
    spans = "; ".join(f"since {first}{f', mended in {last}' if last != '-' else ''}" for first, last in when)
    signs = f"{''.join(strip.marks)}  {max(strip.counts):,} {'case' if max(strip.counts) == 1 else 'cases'}, {spans}"
    command = ["tconv", "show", strip.example.record.case, *cases_option(cases)]
    return [signs, *folded(what(strip), width, "  "), f"  {shlex.join(command)}"]
