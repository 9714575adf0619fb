"""What a run prints at its end: totals, causes, notes, and whether the gate is green."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal, NamedTuple

from tconv.gate.status import FAILING, Status
from tconv.records.headers import cases_option
from tconv.reports.listing import console, folded, print_line
from tconv.reports.notes import NOTHING_PASSED
from tconv.reports.phrases import reproduce_run
from tconv.reports.statuses import EXPLAINED, STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from tconv.gate.assessment import Assessment
    from tconv.reports.causes import Cause
    from tconv.reports.report import RunReport

Detail = Literal["quiet", "screen", "verbose"]
"""How much is printed: the answer alone, about a screen of causes, or every cause."""
_PIPED_LINES = 100
"""The lines of a screen if the output is a pipe."""
_AROUND = 5
_FAILED = STATUSES[Status.FAILED].heading
_MOST_HEADS = 60
"""The most causes of a section with at least one line."""


_Part = Literal["whole", "head", "first"]
"""How much of a cause is printed: all, its sentence, or the sentence's first line."""


class Entry(NamedTuple):
    """The lines of one cause.

    Attributes:
        head: what happens, in one sentence.
        rest: the details, and a command to copy.
    """

    head: list[str]
    rest: list[str]

    def lines(self, detail: _Part) -> Iterator[tuple[str, str]]:
        """Yield its lines, or only the first ones, each with its style."""
        first, *others = self.head
        yield first + (" ..." if others and detail == "first" else ""), ""
        yield from ((line, "") for line in others if detail != "first")
        yield from ((line, "dim") for line in self.rest if detail == "whole")


def show(run: RunReport, page: Path | None, detail: Detail = "screen", *, recorded: bool = True) -> None:
    """Print the result of a run.

    Args:
        run: the run.
        page: the path of the HTML page; None if there is no page.
        detail: how much is printed.
        recorded: whether this command wrote the record file.
    """
    out, red, assessment = console(), run.red, run.assessment
    if detail == "quiet":
        header = assessment.run.header
        counts = ", ".join(f"{count:,} {status}" for status in Status if (count := assessment.counts[status]))
        said = "; ".join([counts, *(note.text for note in run.notes if note.name == NOTHING_PASSED)])
        print_line(out, f"{header.backend.title}  {header.dialect}  {'red' if red else 'green'}: {said}")
    else:
        _show_causes(out, run, verbose=detail == "verbose")
    for reason in red:
        for line in folded(reason, out.width, "red: ", "  "):
            print_line(out, line, "bold red")
    if detail != "quiet":
        if not red:
            print_line(out, "green: every deviation is known", "bold green")
        files = [f"records {assessment.run.path}"] if recorded else []
        if files := [*files, *([f"page {page}"] if page else [])]:
            print_line(out, "   ".join(files), "dim")


def _show_causes(out: Console, run: RunReport, *, verbose: bool) -> None:
    """Print the title, the totals, the causes and the notes of a run; at most one screen, unless verbose."""
    assessment = run.assessment
    header = assessment.run.header
    cases = len(assessment.run.records)
    count = f"{cases:,} {'case' if cases == 1 else 'cases'}"
    if smaller := assessment.smaller:
        count += f", and {smaller:,} smaller context{'' if smaller == 1 else 's'}"
    words = [header.backend.title, header.dialect, f"{header.tier} tier", count]
    print_line(out, "  ".join([*words, f"shard {header.shard}"] if header.shard else words), "bold")
    for line, style in _totals(assessment, out.width):
        print_line(out, line, style)
    notes = [line for note in _notes(run, verbose=verbose) for line in folded(note, out.width, "note: ", "  ")]
    # A screen also needs room for the title, the totals, the answer and the prompt.
    screen = (out.height if out.is_terminal else _PIPED_LINES) - len(assessment.counts) - len(notes) - _AROUND
    for line, style in listed(_sections(run, out.width), None if verbose else screen):
        print_line(out, line, style)
    for line in notes:
        print_line(out, line)


def listed(
    sections: Iterable[tuple[str, list[Entry]]], room: int | None, urgent: str = _FAILED
) -> Iterator[tuple[str, str]]:
    """Yield the lines of sections, each with its style: the sentence of each entry, and all of it if there is room.

    Args:
        sections: heading and entries of each, the most urgent section first, and its largest entry first.
        room: the number of lines; None for no limit.
        urgent: the heading of the section that gets room for three entries for each one of other sections, and whose
            sentences are never cut.
    """
    parts = list(sections)
    turns = sorted(
        (number // (3 if heading == urgent else 1), at, number)
        for at, (heading, entries) in enumerate(parts)
        for number in range(len(entries))
    )
    brief: dict[str, _Part] = {heading: "head" if heading == urgent else "first" for heading, _ in parts}
    # A heading, the line before it, and the line that counts what is left out.
    left = (room or 0) - sum(3 + _height(entries[:_MOST_HEADS], brief[heading]) for heading, entries in parts)
    whole: set[tuple[int, int]] = set()
    for _, at, number in turns:
        heading, entries = parts[at]
        lines = _height([entries[number]], "whole") - _height([entries[number]], brief[heading])
        if room is None or lines <= left or (number == 0 and heading == urgent):
            whole.add((at, number))
            left -= lines
    for at, (heading, entries) in enumerate(parts):
        yield "", ""
        yield heading, "bold"
        shown = entries if room is None else entries[:_MOST_HEADS]
        for number, each in enumerate(shown):
            yield from each.lines("whole" if (at, number) in whole else brief[heading])
        if more := len(entries) - len(shown):
            yield f"  and {more:,} more {'cause' if more == 1 else 'causes'}; --verbose lists them", "dim"
        elif any((at, number) not in whole for number in range(len(shown))):
            yield "  --verbose says more of each", "dim"
    if parts:
        yield "", ""


def _height(entries: Iterable[Entry], detail: _Part) -> int:
    return sum(len([*each.lines(detail)]) for each in entries)


def entry(count: int, what: str, more: Sequence[str], commands: Sequence[str], width: int) -> Entry:
    """Return the lines of one cause: the number of cases, the sentence, the details, and commands to copy."""
    indent = " " * 8
    rest = [line for text in more for line in folded(text, width, indent, f"{indent}  ")]
    return Entry(
        folded(what, width, f"{count:>6,}  "), [*rest, *(f"{indent}{command}" for command in commands if command)]
    )


def _totals(assessment: Assessment, width: int) -> Iterator[tuple[str, str]]:
    counts = assessment.counts
    for status in Status:
        if counts[status] or status in (Status.PASSED, Status.FAILED):
            first = f"{counts[status]:>6,}  {status:<14}  "
            # If the run has no output, all passed cases are refusals.
            refused = "refused, " if status is Status.PASSED and counts[status] and not assessment.computes else ""
            for line in folded(refused + STATUSES[status].total, width, first, " " * 8):
                yield line, STATUSES[status].style if counts[status] else "dim"


def _sections(run: RunReport, width: int) -> Iterator[tuple[str, list[Entry]]]:
    """Yield heading and causes of each status that has causes, failures first, and then of the notes."""
    for status in EXPLAINED:
        if causes := run.causes.get(status):
            yield (
                STATUSES[status].heading,
                [entry(each.count, each.line, each.more, [command_of(run.assessment, each)], width) for each in causes],
            )
    if run.record_notes:
        # A backend's own note has no further meaning.
        texts = [": ".join(filter(None, (note.name, note.meaning))) for note in run.record_notes]
        noted = [
            entry(note.count, text, (), [command(run.assessment, note.example)], width)
            for note, text in zip(run.record_notes, texts, strict=True)
        ]
        yield "noted, and no failure", noted


def _notes(run: RunReport, *, verbose: bool) -> Iterator[str]:
    minor = sum(note.is_minor for note in run.notes)
    yield from (note.text for note in run.notes if verbose or not note.is_minor)
    if minor and not verbose:
        yield f"{minor} more {'note' if minor == 1 else 'notes'}; --verbose lists {'it' if minor == 1 else 'them'}"


def command_of(assessment: Assessment, cause: Cause) -> str:
    """Return the command that shows a cause; if its answers vary, the command that repeats the run."""
    if not cause.varies:
        return command(assessment, cause.example, cause.status)
    return reproduce_run(assessment.run.header)


def command(assessment: Assessment, case: str, status: Status = Status.PASSED) -> str:
    """Return the command, quoted for a shell, that shows a case of the run, or explains why it fails."""
    header = assessment.run.header
    words = ["tconv", "show", case]
    if status in FAILING:
        words = ["tconv", "explain", case, *header.arguments, "--dialect", header.dialect]
    return shlex.join([*words, *cases_option(header.path)])
