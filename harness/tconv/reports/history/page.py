"""Histories as a page in Markdown: the causes of each status, and in which releases each is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.investigation.history.strips import ORDER, Mark
from tconv.reports.history.wording import heading, mended, since, what
from tconv.reports.markdown import code, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.investigation.history.strips import Strip
    from tconv.reports.history.content import History

_HEAD = """\
<!-- Written by `tconv history --records FOLDER --format markdown`; do not edit. -->
# History: since which release a runtime does what it does

Each release was installed in an environment of its own, in the oldest Python of the machine that it has a wheel for,
and asked through a small runner, as [investigation.md](investigation.md#since-which-release) tells. The reference, the
judge and the diagnosis are those of every run, and no release is treated in a way of its own. The waivers are those of
today, taken as if they held for every release, so that a known deviation has its name wherever it is seen.

A number is how many cases show the cause, the most of any release where it stands beside the cause. Where none does,
its smallest case decides: `·` it passes there, `o` it fails there of another cause, `u` it is unsupported there; an
empty cell says that it was not asked. *Since* is the first release that shows the cause, with the last before it in
which the smallest case passes; *mended in* is the first after it in which that passes. Between two releases in a table
there may be others, which `tconv history --bisect` asks. The same fault may have several lines, where its message or
what it spoils changed from release to release.
"""
_SIGNS = {Mark.BAD: "", Mark.GOOD: "·", Mark.OTHERWISE: "o", Mark.UNSUPPORTED: "u", Mark.SILENT: ""}


def markdown(histories: Sequence[History]) -> str:
    """Return the page of histories."""
    lines = [_HEAD]
    for history in histories:
        lines += _section(history)
    return "\n".join(lines)


def _section(history: History) -> Iterator[str]:
    machine = history.header.backend.machine
    on = ", ".join(filter(None, (machine.get("processor"), machine.get("architecture"), machine.get("system"))))
    yield f"## {escaped(history.title)}\n"
    yield (
        f"{len(history.versions)} releases, {history.versions[0]} to {history.versions[-1]}; {history.asked}, "
        f"{history.header.timeout:g} s for each; {escaped(on)}.\n"
    )
    for line in history.incomplete:
        yield f"**{escaped(line)}**\n"
    numbers = {id(strip): number for number, strip in enumerate(history.strips, start=1)}
    for status in ORDER:
        if of_status := {numbers[id(strip)]: strip for strip in history.strips if strip.status is status}:
            yield f"### {escaped(history.title)}: {heading(status)}\n"
            yield from _causes(of_status, history.versions)
            yield ""
            yield from _matrix(of_status, history.versions)
            yield ""


def _causes(strips: dict[int, Strip], versions: Sequence[str]) -> Iterator[str]:
    yield from _table("|---:|---|---:|---|---|---|", "", "what", "cases", "since", "mended in", "smallest case")
    for number, strip in strips.items():
        begun = "<br>".join(since(span, versions) for span in strip.spans)
        ended = "<br>".join(mended(span, versions) for span in strip.spans)
        example = code(strip.example.record.case)
        yield _line(str(number), escaped(what(strip)), f"{max(strip.counts):,}", begun, ended, example)


def _matrix(strips: dict[int, Strip], versions: Sequence[str]) -> Iterator[str]:
    yield from _table("|---:" * (len(versions) + 1) + "|", "", *versions)
    for number, strip in strips.items():
        pairs = zip(strip.counts, strip.marks, strict=True)
        yield _line(str(number), *(str(count) if count else _SIGNS[mark] for count, mark in pairs))


def _table(rule: str, *columns: str) -> tuple[str, str]:
    return _line(*columns), rule


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
