"""The HTML report: one file for one or several runs, which loads nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING

from tconv.reports import atomic_write
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.page import overview
from tconv.reports.page.arrays import MOST, array_blocks
from tconv.reports.page.cause_lines import cause_lines
from tconv.reports.page.records import MOST_CAUSES, record_blocks
from tconv.reports.templates import content, environment
from tconv.reports.words import STATUSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.reports.page.cause_lines import CauseLine
    from tconv.reports.page.overview import Overview
    from tconv.reports.page.records import RecordBlocks
    from tconv.reports.report import Report

_MOST_SINCE = 12
"""The most causes of changes since a baseline on the page; the terminal has all."""
PAGE_LIMIT = 24 * 2**20
"""The most characters of a page; arrays beyond this limit stay in their artifacts."""


def write(
    report: Report,
    destination: Path,
    find: Callable[[str], Case | None] = lambda _: None,
    issue: Callable[[Assessment, RecordStatus], str | None] = lambda *_: None,
) -> None:
    """Write the page; it replaces an older one as a whole.

    Args:
        report: the runs.
        destination: the file.
        find: returns the case with an id, for what its dialect says; None if the corpus does not have it.
        issue: returns the bug report of a record, for the examples of causes; None if there is nothing to report.
    """
    # The same records make the same page, in any order of their runs.
    in_order = sorted(report.runs, key=lambda run: run.assessment.run.path.name)
    runs = overview.overviews(in_order)
    lines = cause_lines(in_order)
    blocks = record_blocks(runs, lines, find, issue)
    empty = _render(report, runs, lines, blocks, [])
    arrays = array_blocks([run.assessment for run in in_order], lines, PAGE_LIMIT - len(empty))
    atomic_write.write(destination, _render(report, runs, lines, blocks, arrays))


def write_waiting(destination: Path, words: str) -> None:
    """Write a page with the progress of a run. It reloads itself until the report replaces it."""
    head = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
    text = escape(f"{words}. This page reloads itself until the report replaces it.")
    atomic_write.write(destination, f"{head}<title>tconv: {escape(words)}</title><p>{text}</p>")


def _render(
    report: Report,
    runs: Sequence[Overview],
    lines: Sequence[CauseLine],
    blocks: RecordBlocks,
    arrays: Sequence[tuple[int, str]],
) -> str:
    style, script = content("page.css") + content("case.css"), content("page.min.js")
    template = environment().get_template("page.html.j2")
    return template.render(
        runs=runs,
        lines=lines,
        red=report.is_red,
        answer=overview.answer(runs),
        most_since=_MOST_SINCE,
        most_causes=MOST_CAUSES,
        transitions=Transition,
        columns=overview.shown_statuses(runs),
        overview=overview,
        statuses=STATUSES,
        blocks=blocks,
        arrays=arrays,
        limits=f"the {MOST} smallest members of each cause, and at most {PAGE_LIMIT // 2**20} MiB",
        style=style,
        script=script,
        policy=_policy(style, script),
    )


def _policy(style: str, script: str) -> str:
    """Return the page's content security policy: it allows only this style and this script, by their digests."""
    style_digest, script_digest = (b64encode(sha256(text.encode()).digest()).decode() for text in (style, script))
    return (
        f"default-src 'none'; script-src 'sha256-{script_digest}'; style-src 'sha256-{style_digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
