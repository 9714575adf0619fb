"""Which cases failed last, by the records that a folder has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tconv.errors import FileError
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.status import Status
from tconv.gate.waivers import chosen_waivers
from tconv.records.record_file import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.gate.assessment import Assessment
    from tconv.records.record_file import Run


def failed_last(
    folder: Path,
    backend: str,
    dialect_name: str | None,
    options: Mapping[str, str],
    corpus: Corpus,
    waivers: str | None,
    *,
    own: bool,
    strict: bool,
) -> frozenset[str]:
    """Return the ids of the cases whose last record fails; empty where none does, which is told on standard error.

    Args:
        folder: the folder of --output; of several record files of a backend the one that was started last decides.
        backend: how the backend is named on the command line.
        dialect_name: the value of --dialect.
        options: the options of the backend.
        corpus: the corpus.
        waivers: the value of --waivers.
        own: whether the waivers were written for this corpus.
        strict: whether accepting an invalid model is a failure.
    """
    runs = sorted(_runs(folder, backend, dialect_name, options), key=lambda run: run.header.started)

    def assessment(run: Run, *, without: bool = False) -> Assessment:
        file = None if without else chosen_waivers(waivers, run.header.backend.name)
        return assess_with_corpus(run, file, corpus, strict=strict, own=own)

    now = [assessment(run) for run in runs]
    failed = _failed(now, corpus)
    if not failed:
        then = [
            assessment(run, without=True) if _had_no_waivers(run) else today
            for run, today in zip(runs, now, strict=True)
        ]
        what = _why_none(_failed(then, corpus), now) if runs else f"{folder} has no records"
        click.echo(f"tconv: {backend}: {what}; the whole selection is run", err=True)
    return failed


def _runs(folder: Path, backend: str, dialect_name: str | None, options: Mapping[str, str]) -> Iterator[Run]:
    """Yield the runs of a folder that are of this backend, dialect and options."""
    for path in folder.glob("*.jsonl"):
        try:
            run = read(path)
        except FileError:
            # An earlier run may have been cut off, or left by another release: it is run anew then.
            continue
        header = run.header
        named = backend in {header.backend.spec, header.backend.name}
        if named and dialect_name in {None, header.dialect} and dict(header.backend.options) == dict(options):
            yield run


def _failed(assessments: Sequence[Assessment], corpus: Corpus) -> frozenset[str]:
    """Return the ids of the cases whose last record fails."""
    latest = {member.record.case: member.status for assessment in assessments for member in assessment.statuses}
    return frozenset(case for case, status in latest.items() if status is Status.FAILED and corpus.find(case))


def _had_no_waivers(run: Run) -> bool:
    return run.header.waivers is not None and not run.header.waivers.digest


def _why_none(before: frozenset[str], now: Sequence[Assessment]) -> str:
    """Return why no case fails.

    Args:
        before: the cases that failed as their runs ended, those aside whose waivers of then are not known now.
        now: what the runs are by today's waivers.
    """
    if before:
        cases, them = ("case", "it") if len(before) == 1 else ("cases", "all of them")
        return f"{len(before):,} {cases} failed last, and today's waivers know {them}"
    # Other waivers than today's may not have known what these know.
    by_others = any(assessment.waived_before_by for assessment in now)
    return f"no case failed last{' by the waivers of today' if by_others else ''}"
