"""`tconv fuzz`: cases that nobody wrote."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

import click
from rich import box
from rich.table import Table
from rich.text import Text

from tconv.cli import options
from tconv.cli.shrink_command import told, write
from tconv.corpus.writing import case_file, flow, settings
from tconv.dialects import dialect as dialect_of
from tconv.errors import FileError
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from tconv.gate import Status, judged
from tconv.investigation.fuzzing import LARGEST_SEED, drawn, findings, fuzz
from tconv.reports.terminal import console
from tconv.waivers import chosen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tconv.case import Case
    from tconv.investigation.fuzzing import Finding
    from tconv.records import Record
    from tconv.waivers import WaiverFile

_SECONDS = 60.0
_SECONDS_BETWEEN_LINES = 5.0
FILE = "findings.yaml"


@click.command(name="fuzz")
@click.option("--backend", default="onnxruntime", show_default=True, help="Whom to ask.")
@click.option("--dialect", default=None, help="The dialect to speak; default: the backend's first.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=None,
    help=f"How long cases are drawn; default: {_SECONDS:g}, without --examples.",
)
@click.option("--examples", type=click.IntRange(1), default=None, help="How many cases are drawn.")
@click.option(
    "--seed", type=click.IntRange(0, LARGEST_SEED - 1), default=0, show_default=True, help="Another: other cases."
)
@options.waivers
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), default=lambda: os.cpu_count() or 1, help="Worker processes."
)
@click.option(
    "--timeout", type=click.FloatRange(min=0.05), default=10.0, show_default=True, help="Seconds for one case."
)
@options.output
def command(
    backend: str,
    dialect: str | None,
    seconds: float | None,
    examples: int | None,
    seed: int,
    waivers: str | None,
    jobs: int,
    timeout: float,
    output: Path,
) -> int:
    """Ask a backend what no case file asks: cases drawn at random over all attributes.

    Failures that no waiver knows of are told once each, shrunk to the smallest case that fails alike, and written to
    findings.yaml, which `tconv run --cases` takes. The same seed draws the same cases. Exits with 1 where one fails.
    """
    if seconds is None and examples is None:
        seconds = _SECONDS
    file = chosen(waivers, backend)
    if dialect is not None:
        dialect_of(dialect)
    with Pool(Assignment(backend, dialect, None, ""), jobs, timeout) as pool:
        if ":" in backend:
            file = chosen(waivers, pool.backend.name)
        row, known = dialect_of(pool.dialect), _known(file, pool.backend.version)
        more = _Clock(backend, seconds)
        deviations = fuzz(islice(drawn(seed, row), examples), pool, known, more)
        found = findings(deviations, row, pool, known, _shrinking)
    out = console()
    who = f"{pool.backend.name} {pool.backend.version}  {row.name}  seed {seed}  {more.ran:,} cases"
    out.print(who, markup=False)
    if not found:
        out.print("nothing found: every case passed, or is known", style="green")
        return 0
    path = _written(found, output, who)
    out.print(_table(found))
    words = ["tconv", "run", "--cases", str(path), "--backend", backend, "--dialect", row.name]
    failed = "1 case" if len(deviations) == 1 else f"{len(deviations):,} cases"
    out.print(f"{failed} failed; kept in {path}: {shlex.join(words)}", markup=False)
    return 1


class _Clock:
    """Whether to go on, with a line on standard error now and then."""

    def __init__(self, backend: str, seconds: float | None) -> None:
        self.ran = 0
        self._backend = backend
        self._ends = None if seconds is None else monotonic() + seconds
        self._told = monotonic()

    def __call__(self, ran: int, failed: int) -> bool:
        self.ran, now = ran, monotonic()
        if now - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = now
            click.echo(f"tconv: {self._backend}: {ran} cases, {failed} failed", err=True)
        return self._ends is None or now < self._ends


def _known(file: WaiverFile | None, version: str) -> Callable[[Case, Record], bool]:
    """Return what tells whether the gate would let a record pass."""
    return lambda case, record: judged(record, case.facts, file, version).status is not Status.FAILED


def _shrinking(number: int, count: int) -> None:
    click.echo(f"tconv: shrinking finding {number + 1} of {count}", err=True)


def _written(found: list[Finding], folder: Path, who: str) -> Path:
    cases = [
        replace(one.smallest.case, about=f"{told(one.smallest.record)}; {one.count} such, first {one.first}")
        for one in found
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, f"must be a folder that can be written ({error.strerror})") from None
    path = folder / FILE
    write(path, case_file(cases, f"What tconv fuzz found: {' '.join(who.split())}"))
    return path


def _table(found: list[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("finding", overflow="fold")
    table.add_column("cases", justify="right")
    table.add_column("smallest case", overflow="fold")
    for one in found:
        smallest = flow(settings(one.smallest.case))
        table.add_row(Text(one.what), f"{one.count:,}", Text(smallest if one.whole else f"not shrunk: {smallest}"))
    return table
