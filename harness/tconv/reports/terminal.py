"""What a run prints at its end: totals, causes, notes, and whether the gate is green."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal

from tconv.backends.machine import chosen_kernels
from tconv.gate.status import Status
from tconv.records.headers import cases_option
from tconv.reports.causes import causes
from tconv.reports.listing import console, folded, print_line
from tconv.reports.notes import notes_of
from tconv.reports.phrases import mixed_answers, notes_on, nothing_passed, reproduce_run, sums_found
from tconv.reports.red import red_lines
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console

    from tconv.gate.assessment import Assessment
    from tconv.reports.causes import Cause

Detail = Literal["quiet", "screen", "verbose"]
"""How much is printed: the answer alone, at most about a screen of causes, or every cause."""
_PIPED_LINES = 60
"""Lines of a screen where there is none."""
_AROUND = 5
_ORDER = (Status.FAILED, Status.MISTRUSTED, Status.WAIVED, Status.DISPUTED, Status.REPORTED)
_FAILED = STATUSES[Status.FAILED].heading
Entry = list[str]
"""The lines of one cause."""


def show(
    assessment: Assessment,
    page: Path | None,
    detail: Detail = "screen",
    regressions: Sequence[str] = (),
    *,
    recorded: bool = True,
) -> None:
    """Print the result of a run.

    Args:
        assessment: the run, judged by the gate.
        page: the path of its HTML page; None where there is none.
        detail: how much is printed.
        regressions: why it is red since its baselines, in sentences.
        recorded: whether its record file was written just now.
    """
    out, red = console(), [*red_lines(assessment), *regressions]
    if detail == "quiet":
        header = assessment.run.header
        counts = ", ".join(f"{count:,} {status}" for status in Status if (count := assessment.counts[status]))
        said = "; ".join([counts, *nothing_passed(assessment)])
        print_line(out, f"{header.backend.title}  {header.dialect}  {'red' if red else 'green'}: {said}")
    else:
        _show_causes(out, assessment, verbose=detail == "verbose")
    for reason in red:
        for line in folded(reason, out.width, "red: ", "  "):
            print_line(out, line, "bold red")
    if detail != "quiet":
        if not red:
            print_line(out, "green: every deviation is known", "bold green")
        files = [f"records {assessment.run.path}"] if recorded else []
        if files := [*files, *([f"page {page}"] if page else [])]:
            print_line(out, "   ".join(files), "dim")


def _show_causes(out: Console, assessment: Assessment, *, verbose: bool) -> None:
    """Print the head, the totals, the causes and the notes of a run; no more than a screen has, unless verbose."""
    header = assessment.run.header
    cases = len(assessment.run.records)
    count = f"{cases:,} {'case' if cases == 1 else 'cases'}"
    words = [header.backend.title, header.dialect, f"{header.tier} tier", count]
    print_line(out, "  ".join([*words, f"shard {header.shard}"] if header.shard else words), "bold")
    for line, style in _totals(assessment, out.width):
        print_line(out, line, style)
    notes = [line for note in _notes(assessment, verbose=verbose) for line in folded(note, out.width, "note: ", "  ")]
    # A screen also has the head, the totals, the answer and the prompt.
    screen = (out.height if out.is_terminal else _PIPED_LINES) - len(assessment.counts) - len(notes) - _AROUND
    for line, style in listed(_sections(assessment, out.width), None if verbose else screen):
        print_line(out, line, style)
    for line in notes:
        print_line(out, line)


def listed(
    sections: Iterable[tuple[str, list[Entry]]], room: int | None, urgent: str = _FAILED
) -> Iterator[tuple[str, str]]:
    """Yield the lines of sections, each with its style; one that does not fit whole says how much it leaves out.

    Args:
        sections: heading and entries of each, the most urgent section first, and in each the largest entry.
        room: how many lines there are; None for as many as there have to be.
        urgent: the heading of the section that is given room for three entries where each other is given it for one.
    """
    parts = list(sections)
    fitting = [len(entries) if room is None else 0 for _, entries in parts]
    turns = sorted(
        (number // (3 if heading == urgent else 1), at, number)
        for at, (heading, entries) in enumerate(parts)
        for number in range(len(entries))
    )
    # A heading, the line before it, and the line that says what is left out.
    room_left = (room or 0) - 3 * len(parts)
    for _, at, number in turns if room is not None else ():
        lines = len(parts[at][1][number])
        if fitting[at] == number and (lines <= room_left or (number == 0 and parts[at][0] == urgent)):
            fitting[at], room_left = number + 1, room_left - lines
    for (heading, entries), count in zip(parts, fitting, strict=True):
        more = len(entries) - count
        rest = f"{more:,}{' more' if count else ''} {'cause' if more == 1 else 'causes'}; --verbose lists them"
        yield "", ""
        yield f"{heading}: {rest}" if more and not count else heading, "bold"
        yield from ((line, "") for entry in entries[:count] for line in entry)
        if more and count:
            yield f"  and {rest}", "dim"
    if parts:
        yield "", ""


def entry(count: int, what: str, command: str, width: int) -> Entry:
    """Return the lines of one cause: how many cases, what it is, and on a line of its own a command to copy."""
    lines = folded(what, width, f"{count:>6,}  ")
    return [*lines, f"{'':8}{command}"] if command else lines


def _totals(assessment: Assessment, width: int) -> Iterator[tuple[str, str]]:
    counts = assessment.counts
    for status in Status:
        if counts[status] or status in (Status.PASSED, Status.FAILED):
            first = f"{counts[status]:>6,}  {status:<13}  "
            # Without an output, what passed are refusals.
            refused = "refused, " if status is Status.PASSED and counts[status] and not assessment.computes else ""
            for line in folded(refused + STATUSES[status].total, width, first, " " * 8):
                yield line, STATUSES[status].style if counts[status] else "dim"


def _sections(assessment: Assessment, width: int) -> Iterator[tuple[str, list[Entry]]]:
    """Yield heading and causes of each status that has causes to tell, failures first, and of what is noted."""
    for status in _ORDER:
        if assessment.counts[status] and (heading := STATUSES[status].heading):
            entries = [
                entry(cause.count, cause.what, command_of(assessment, cause, status), width)
                for cause in causes(assessment, status)
            ]
            yield heading, entries
    if notes := notes_of(assessment):
        # A backend's own note stands for itself.
        texts = [": ".join(filter(None, (note.name, note.meaning))) for note in notes]
        noted = [
            entry(note.count, text, command(assessment, note.example), width)
            for note, text in zip(notes, texts, strict=True)
        ]
        yield "noted, and no failure", noted


def _notes(assessment: Assessment, *, verbose: bool) -> Iterator[str]:
    # Of the others, a cause or a waiver says why.
    for answers in assessment.mixed if verbose else assessment.mixed_unexplained:
        yield mixed_answers(answers)
    if assessment.run.header.shard:
        yield "a shard is not judged by cases of other shards; 'tconv report' joins the records of all"
    for of, chosen in chosen_kernels(assessment.run.header.backend.environment).items():
        yield f"the environment chooses kernels of {of}: {', '.join(chosen)}"
    yield from sums_found(assessment.run.records)
    yield from _of_waivers(assessment, verbose=verbose)


def _of_waivers(assessment: Assessment, *, verbose: bool) -> Iterator[str]:
    uses = assessment.waivers
    if uses.relative:
        yield (
            f"the waivers are those of {uses.relative!r}, for whatever version: {len(assessment.waived)} cases are "
            f"waived, and {len(uses.of_state('unneeded'))} waivers are not needed here"
        )
    yield from notes_on(assessment)
    for waiver in uses.elsewhere:
        yield f"waiver {waiver.name!r} is for machines {waiver.machine}, which this one is not: it was not checked"
    wide = uses.of_state("wide")
    for use in wide[: None if verbose else 1]:
        cases = f"{len(use.agreeing)} {'case that agrees' if len(use.agreeing) == 1 else 'cases that agree'}"
        yield f"waiver {use.waiver.name!r} also covers {cases}, such as {use.agreeing[0]}"
    if wide[1:] and not verbose:
        yield f"{len(wide) - 1} more {'waivers are' if wide[2:] else 'waiver is'} as wide; --verbose lists them"


def command_of(assessment: Assessment, cause: Cause, status: Status) -> str:
    """Return the command that shows a cause: of answers that vary only the run that had them."""
    if not cause.varies:
        return command(assessment, cause.example, status)
    return reproduce_run(assessment.run.header)


def command(assessment: Assessment, case: str, status: Status = Status.PASSED) -> str:
    """Return the command, quoted for a shell, that shows a case of the run, or tells why it fails."""
    header = assessment.run.header
    words = ["tconv", "show", case]
    if status is Status.FAILED:
        words = ["tconv", "explain", case, *header.arguments, "--dialect", header.dialect]
    return shlex.join([*words, *cases_option(header.path)])
