"""A comparison on the terminal: first the differences between the runs, then the causes of the changes."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tconv.records.headers import cases_option
from tconv.reports.between_runs.transitions import MEANINGS, Transition
from tconv.reports.listing import console, folded, print_line
from tconv.reports.terminal import entry, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.reports.between_runs.comparing import Comparison, Group
    from tconv.reports.terminal import Detail, Entry


def show(comparison: Comparison, detail: Detail = "screen") -> None:
    """Print a comparison; with the detail `verbose`, every cause, and every case below its cause."""
    out = console()
    if detail != "quiet":
        print_line(out, f"\n{comparison.title}", "bold")
        for text in _differing(comparison):
            print_line(out, "\n".join(folded(text, out.width, "  ", "    ")))
        is_verbose = detail == "verbose"
        sections = _sections(comparison, out.width, verbose=is_verbose)
        for line, style in listed(sections, _heading(Transition.NEW), verbose=is_verbose):
            print_line(out, line, style)
    print_line(out, comparison.sentence, "bold red" if comparison.worse else "bold green")


def _differing(comparison: Comparison) -> Iterator[str]:
    if comparison.differences:
        yield "what differs besides the answers:"
    for each in comparison.differences:
        yield f"{each.name}: {each.old or 'not said'} -> {each.new or 'not said'}"
    # The old run is judged by today's waivers, which may differ from those at its time.
    was, now = ("red" if run.assessment.red else "green" for run in (comparison.old, comparison.new))
    if was != now:
        yield f"the result, by today's waivers: {was} -> {now}"
    yield from (f"note: {note.text}" for note in comparison.notes)


def _sections(comparison: Comparison, width: int, *, verbose: bool) -> Iterator[tuple[str, list[Entry]]]:
    for transition in Transition:
        groups = [group for group in comparison.groups if group.transition is transition]
        if groups:
            run = comparison.old if transition is Transition.GONE else comparison.new
            entries = [_entry(group, run.assessment.run.header.path, width, verbose=verbose) for group in groups]
            yield _heading(transition), entries


def _heading(transition: Transition) -> str:
    return f"{transition}: {MEANINGS[transition]}"


def _entry(group: Group, cases: str, width: int, *, verbose: bool) -> Entry:
    ids = group.cases if verbose else group.cases[:1]
    commands = [shlex.join(["tconv", "show", case, *cases_option(cases)]) for case in ids]
    return entry(len(group.cases), group.what, (), commands, width)
