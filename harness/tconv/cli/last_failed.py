"""Which cases failed last, by the records that a folder has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tconv.errors import FileError
from tconv.gate.assessment import assessed
from tconv.gate.status import Status
from tconv.gate.waivers import chosen
from tconv.records.record_file import read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tconv.corpus import Corpus


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
    runs = []
    for path in folder.glob("*.jsonl"):
        try:
            run = read(path)
        except FileError:
            # An earlier run may have been cut off, or left by another release: it is run anew then.
            continue
        header = run.header
        named = backend in {header.backend.spec, header.backend.name}
        if named and dialect_name in {None, header.dialect} and dict(header.backend.options) == dict(options):
            runs.append(run)
    latest: dict[str, Status] = {}
    for run in sorted(runs, key=lambda run: run.header.started):
        waiver_file = chosen(waivers, run.header.backend.name)
        judged = assessed(run, waiver_file, corpus, strict=strict, own=own).judged
        latest |= {member.record.case: member.status for member in judged}
    failed = frozenset(case for case, status in latest.items() if status is Status.FAILED and corpus.find(case))
    if not failed:
        what = "no case failed last" if runs else f"{folder} has no records"
        click.echo(f"tconv: {backend}: {what}; the whole selection is run", err=True)
    return failed
