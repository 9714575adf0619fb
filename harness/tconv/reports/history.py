"""The history of a runtime: a line for each cause, with a sign for each release."""

from __future__ import annotations

import shlex
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from tconv.errors import UsageError
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.record_files import read_selected
from tconv.gate.status import AGREEING, Status
from tconv.gate.waivers import choose_waivers
from tconv.records.headers import cases_option
from tconv.records.shards import merged
from tconv.reports.causes import find_causes
from tconv.reports.listing import console, folded, print_line
from tconv.reports.red import sentence
from tconv.reports.statuses import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.records.record_file import Run
    from tconv.reports.causes import Cause

_SHOWN = (Status.FAILED, Status.UNDECLARED, Status.WAIVED, Status.REPORTED, Status.DISPUTED, Status.UNSUPPORTED)
_MEANINGS = (
    "'x' has it, '.' its smallest case passes, 'o' that fails differently, 'u' it is unsupported, ' ' it was not asked"
)
_HAS, _PASSES, _DIFFERS, _UNSUPPORTED, _NOT_ASKED = "x.ou "
_BEGINNING, _END = 60, 120


def print_histories(files: Sequence[Path], corpus: Corpus, waivers: str | None) -> None:
    """Print the history of each runtime and dialect in record files.

    Args:
        files: the record files.
        corpus: the corpus of the records.
        waivers: the value of --waivers; they count for every version.

    Raises:
        UsageError: there is no record file, or a version cannot be put in order.
        FileError: a file is not valid.
    """
    by_runtime: dict[tuple[object, ...], list[Run]] = defaultdict(list)
    for run in merged([read_selected(file, corpus) for file in files]):
        header = run.header
        by_runtime[header.backend.name, header.dialect, header.tier, header.patterns].append(run)
    if not by_runtime:
        raise UsageError("there must be record files (got none)")
    for _, runs in sorted(by_runtime.items(), key=lambda item: item[0]):
        file = choose_waivers(waivers, runs[0].header.backend.name)
        for_all = None if file is None else file.for_every_version()
        runs.sort(key=_version)
        _print([assess_with_corpus(run, for_all, corpus, strict=False, own=True) for run in runs])


def _version(run: Run) -> Version:
    try:
        return Version(run.header.backend.version)
    except InvalidVersion:
        must = f"a version must be one of PEP 440 (got {run.header.backend.version!r} in {run.path})"
        raise UsageError(must) from None


def _print(releases: Sequence[Assessment]) -> None:
    """Print the history of one runtime in one dialect; its releases are in order."""
    out, header = console(), releases[-1].run.header
    versions = [release.run.header.backend.version for release in releases]
    patterns = f" that match {' or '.join(header.patterns)}" if header.patterns else ""
    asked = f"{header.cases:,} cases of the {header.tier} tier{patterns}"
    print_line(out, f"{header.backend.name}, {header.dialect}, {asked}", "bold")
    for line in (f"releases, a sign each: {' '.join(versions)}", _MEANINGS, *_incomplete(releases, versions)):
        print_line(out, "\n".join(folded(line, out.width, indent="  ")))
    for status in _SHOWN:
        rows: dict[object, dict[int, Cause]] = defaultdict(dict)
        for place, release in enumerate(releases):
            for cause in find_causes(release, status):
                rows[cause.group][place] = cause
        if rows:
            print_line(out, f"\n{STATUSES[status].heading or status}", "bold")
        for row in sorted(rows.values(), key=lambda row: -max(cause.count for cause in row.values())):
            print_line(out, "\n".join(_lines(row, releases, versions, out.width)))


def _incomplete(releases: Sequence[Assessment], versions: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the records themselves, each reason once, with its releases."""
    told = [
        (sentence(reason, release), version)
        for release, version in zip(releases, versions, strict=True)
        for reason in release.incomplete
    ]
    for reason, of in groupby(sorted(told), key=lambda pair: pair[0]):
        yield f"note: {', '.join(version for _, version in of)}: {reason}"


def _lines(row: Mapping[int, Cause], releases: Sequence[Assessment], versions: Sequence[str], width: int) -> list[str]:
    """Return the lines of a cause: its signs, the number of cases and the first release, its sentence, its example."""
    last = row[max(row)]
    signs = [_HAS if place in row else _sign(release, last) for place, release in enumerate(releases)]
    counts = max(cause.count for cause in row.values())
    spans = "; ".join(_spans(signs, versions))
    line = last.line if len(last.line) <= _BEGINNING + _END else f"{last.line[:_BEGINNING]} ... {last.line[-_END:]}"
    command = ["tconv", "show", last.example, *cases_option(releases[-1].run.header.path)]
    title = f"{''.join(signs)}  {counts:,} {'case' if counts == 1 else 'cases'}, {spans}"
    return [title, *folded(line, width, "  "), f"  {shlex.join(command)}"]


def _sign(release: Assessment, cause: Cause) -> str:
    """Return the sign of a release without this cause, by its answer to the cause's smallest case."""
    of: RecordStatus | None = next((each for each in release.statuses if each.record.case == cause.example), None)
    if of is None or of.status is Status.NOT_APPLICABLE:
        return _NOT_ASKED
    if of.ruling.kind == "unsupported":
        return _UNSUPPORTED
    fine = (Status.PASSED,) if cause.status is Status.DISPUTED else AGREEING
    return _PASSES if of.status in fine else _DIFFERS


def _spans(signs: Sequence[str], versions: Sequence[str]) -> Iterator[str]:
    """Yield each span of releases with a cause: its first, the last good one before, and the first without it.

    A release that does not have the cause and does not pass is not a limit of a span.
    """
    good, first = "", ""
    for sign, version in zip(signs, versions, strict=True):
        if sign == _HAS and not first:
            first = f"since {version} ({f'good in {good}' if good else 'no earlier pass known'})"
        elif sign == _PASSES:
            if first:
                yield f"{first}, fixed in {version}"
            good, first = version, ""
    if first:
        yield first
