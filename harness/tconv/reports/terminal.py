"""What a run prints at its end: totals, causes, notes, whether the gate is green, and what changed since a baseline.

Of a comparison, the differences between the runs come first, and then the causes of the changes.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal, NamedTuple

from tconv.gate.status import Status
from tconv.records.headers import cases_option
from tconv.reports import commands
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.listing import folded, print_line
from tconv.reports.notes import NOTHING_PASSED
from tconv.reports.phrases import counted
from tconv.reports.words import EXPLAINED, STATUSES, TRANSITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tconv.gate.assessment import Assessment
    from tconv.reports.between_runs.comparing import Comparison, Group
    from tconv.reports.report import RunReport

Detail = Literal["quiet", "screen", "verbose"]
"""How much is printed: the answer alone, about a screen of causes, or every cause."""
_FAILED = STATUSES[Status.FAILED].heading
_MOST_WHOLE, _MOST_HEADS = {True: 8, False: 1}, 60
"""The most causes of a section with all their lines, if it is the urgent one or not, and with at least one line."""


class Entry(NamedTuple):
    """The lines of one cause.

    Attributes:
        head: what happens, in one sentence.
        rest: the details, and a command to copy.
    """

    head: list[str]
    rest: list[str]


def show(run: RunReport, page: Path | None, detail: Detail = "screen", *, recorded: bool = True) -> None:
    """Print the result of a run.

    Args:
        run: the run.
        page: the path of the HTML page; None if there is no page.
        detail: how much is printed.
        recorded: whether this command wrote the record file.
    """
    red, assessment = run.red, run.assessment
    if detail == "quiet":
        header = assessment.run.header
        counts = ", ".join(f"{count:,} {status}" for status in Status if (count := assessment.counts[status]))
        said = "; ".join([counts, *(note.text for note in run.notes if note.name == NOTHING_PASSED)])
        print_line(f"{header.backend.title}  {header.dialect}  {'red' if red else 'green'}: {said}")
    else:
        _show_causes(run, verbose=detail == "verbose")
    for reason in red:
        for line in folded(reason, "red: ", "  "):
            print_line(line, "bold red")
    if detail != "quiet":
        if not red:
            print_line("green: every deviation is known", "bold green")
        files = [f"records {assessment.run.path}"] if recorded else []
        if files := [*files, *([f"page {page}"] if page else [])]:
            print_line("   ".join(files), "dim")


def _show_causes(run: RunReport, *, verbose: bool) -> None:
    """Print the title, the totals, the causes and the notes of a run; of the causes the largest, unless verbose."""
    assessment = run.assessment
    header = assessment.run.header
    cases = len(assessment.run.records)
    count = counted(cases, "case")
    if smaller := assessment.smaller:
        count += f", and {counted(smaller, 'smaller context')}"
    words = [header.backend.title, header.dialect, f"{header.tier} tier", count]
    print_line("  ".join([*words, f"shard {header.shard}"] if header.shard else words), "bold")
    for line, style in _totals(assessment):
        print_line(line, style)
    notes = [line for note in _notes(run, verbose=verbose) for line in folded(note, "note: ", "  ")]
    for line, style in listed(_sections(run), verbose=verbose):
        print_line(line, style)
    for line in notes:
        print_line(line)


def listed(
    sections: Iterable[tuple[str, list[Entry]]], urgent: str = _FAILED, *, verbose: bool
) -> Iterator[tuple[str, str]]:
    """Yield the lines of sections, each with its style: all of the first entries, and the beginnings of the others.

    Args:
        sections: heading and entries of each, the most urgent section first, and its largest entry first.
        urgent: the heading of the section that has the most whole entries, and whose sentences are never cut.
        verbose: whether every entry is whole.
    """
    heading = ""
    for heading, entries in sections:
        yield "", ""
        yield heading, "bold"
        is_urgent = heading == urgent
        whole = len(entries) if verbose else _MOST_WHOLE[is_urgent]
        shown = entries if verbose else entries[:_MOST_HEADS]
        for number, (head, rest) in enumerate(shown):
            if number < whole or is_urgent or len(head) == 1:
                yield from ((line, "") for line in head)
            else:
                yield f"{head[0]} ...", ""
            # Several causes may have one sentence: the next line has what is different, such as the message.
            yield from ((line, "dim") for line in (rest if number < whole else rest[: int(is_urgent)]))
        if more := len(entries) - len(shown):
            yield f"  and {counted(more, 'more cause')}; --verbose lists them", "dim"
        elif whole < len(shown):
            yield "  --verbose says more of each", "dim"
    if heading:
        yield "", ""


def entry(count: int, what: str, more: Sequence[str], to_copy: Sequence[str]) -> Entry:
    """Return the lines of one cause: the number of cases, the sentence, the details, and commands to copy."""
    indent = " " * 8
    rest = [line for text in more for line in folded(text, indent, f"{indent}  ")]
    return Entry(folded(what, f"{count:>6,}  "), [*rest, *(f"{indent}{command}" for command in to_copy if command)])


def _totals(assessment: Assessment) -> Iterator[tuple[str, str]]:
    counts = assessment.counts
    for status in Status:
        if counts[status] or status in (Status.PASSED, Status.FAILED):
            first = f"{counts[status]:>6,}  {status:<14}  "
            # If the run has no output, all passed cases are refusals.
            refused = "refused, " if status is Status.PASSED and counts[status] and not assessment.computes else ""
            for line in folded(refused + STATUSES[status].meaning, first, " " * 8):
                yield line, STATUSES[status].style if counts[status] else "dim"


def _sections(run: RunReport) -> Iterator[tuple[str, list[Entry]]]:
    """Yield heading and causes of each status that has causes, failures first, and then of the notes."""
    for status in EXPLAINED:
        if causes := run.causes.get(status):
            shown = ((cause, commands.of_cause(run.assessment, cause)) for cause in causes)
            yield STATUSES[status].heading, [entry(of.count, of.line, of.more, [word]) for of, word in shown]
    if run.record_notes:
        # A backend's own note has no further meaning.
        texts = [": ".join(filter(None, (note.name, note.meaning))) for note in run.record_notes]
        noted = [
            entry(note.count, text, (), [commands.of_case(run.assessment, note.example)])
            for note, text in zip(run.record_notes, texts, strict=True)
        ]
        yield "noted, and no failure", noted


def _notes(run: RunReport, *, verbose: bool) -> Iterator[str]:
    minor = sum(note.is_minor for note in run.notes)
    yield from (note.text for note in run.notes if verbose or not note.is_minor)
    if minor and not verbose:
        yield f"{counted(minor, 'more note')}; --verbose lists {'it' if minor == 1 else 'them'}"


def show_comparison(comparison: Comparison, detail: Detail = "screen") -> None:
    """Print a comparison; with the detail `verbose`, every cause, and every case below its cause."""
    if detail != "quiet":
        print_line(f"\n{comparison.title}", "bold")
        for text in _differing(comparison):
            print_line("\n".join(folded(text, "  ", "    ")))
        is_verbose = detail == "verbose"
        sections = _changes(comparison, verbose=is_verbose)
        for line, style in listed(sections, _heading(Transition.NEW), verbose=is_verbose):
            print_line(line, style)
    print_line(comparison.sentence, "bold red" if comparison.worse else "bold green")


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


def _changes(comparison: Comparison, *, verbose: bool) -> Iterator[tuple[str, list[Entry]]]:
    for transition in Transition:
        groups = [group for group in comparison.groups if group.transition is transition]
        if groups:
            run = comparison.old if transition is Transition.GONE else comparison.new
            entries = [_changed(group, run.assessment.run.header.path, verbose=verbose) for group in groups]
            yield _heading(transition), entries


def _heading(transition: Transition) -> str:
    return f"{transition}: {TRANSITIONS[transition]}"


def _changed(group: Group, cases: str, *, verbose: bool) -> Entry:
    ids = group.cases if verbose else group.cases[:1]
    commands = [shlex.join(["tconv", "show", case, *cases_option(cases)]) for case in ids]
    return entry(len(group.cases), group.what, (), commands)
