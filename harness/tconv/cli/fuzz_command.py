"""`tconv fuzz`: cases that nobody wrote."""

from __future__ import annotations

import os
import shlex
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

import click
from rich import box
from rich.table import Table
from rich.text import Text

from tconv.cli import options
from tconv.corpus import Corpus
from tconv.corpus.writing import case_file, flow, settings
from tconv.dialects import dialect_named
from tconv.errors import UsageError, writing
from tconv.execution.pool import Pool, answered
from tconv.execution.worker import Assignment
from tconv.gate.status import Status, judged
from tconv.gate.waivers import chosen
from tconv.investigation.choices import LARGEST_SEED
from tconv.investigation.differing import side_by_side
from tconv.investigation.drawing import drawn
from tconv.investigation.fuzzing import findings, fuzz, looking
from tconv.records.failure import failure
from tconv.reports.phrases import summary
from tconv.reports.terminal import console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.gate.waivers import WaiverFile
    from tconv.investigation.fuzzing import Deviation, Finding
    from tconv.records.failure import Failure
    from tconv.records.record_file import Record

_SECONDS = 60.0
_SECONDS_BETWEEN_LINES = 5.0
FILE = "findings.yaml"


@click.command(name="fuzz")
@click.option("--backend", default="onnxruntime", show_default=True, help="Whom to ask.")
@click.option("--dialect", default=None, help="The dialect to speak; default: the backend's first.")
@click.option("--against", default=None, metavar="BACKEND", help="Ask this one too, and tell where the two differ.")
@click.option("--against-dialect", default=None, help="The dialect that --against speaks; default: its first.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1),
    default=None,
    help=f"How long cases are drawn; default: {_SECONDS:g}, without --examples.",
)
@click.option("--examples", type=click.IntRange(1), default=None, help="How many cases are drawn.")
@click.option(
    "--seed", type=click.IntRange(0, LARGEST_SEED), default=0, show_default=True, help="Another: other cases."
)
@click.option(
    "--faults/--no-faults", default=True, show_default=True, help="Whether some cases break one constraint on purpose."
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
    against: str | None,
    against_dialect: str | None,
    seconds: float | None,
    examples: int | None,
    seed: int,
    faults: bool,  # noqa: FBT001 - click gives it by name
    waivers: str | None,
    jobs: int,
    timeout: float,
    output: Path,
) -> int:
    """Ask a backend what no case file asks: cases drawn at random over all attributes.

    Failures that no waiver knows of are told once each, shrunk to the smallest case that fails alike, and written to
    findings.yaml, which `tconv run --cases` takes. With --against, what is told is where two backends answer the same
    case differently. The same seed draws the same cases. Exits with 1 where something is found.
    """
    if seconds is None and examples is None:
        seconds = _SECONDS
    if against is None and against_dialect is not None:
        raise UsageError("--against-dialect must be beside --against")
    named = [(backend, dialect), *([] if against is None else [(against, against_dialect)])]
    if against is not None and waivers not in {None, "none"}:
        raise UsageError("--waivers must be 'none' beside --against, or left out: each backend has a file of its own")
    # Before anything is run for an hour, and nobody can be told of it.
    with writing(output, "folder"):
        output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        asked = [stack.enter_context(_asked(*one, waivers, jobs, timeout)) for one in named]
        row, look, clock = (
            asked[0].row,
            _look(asked),
            _Clock(" and ".join(one.pool.backend.name for one in asked), seconds),
        )
        deviations = fuzz(islice(drawn(seed, row, broken=faults), examples), look, clock)
        familiar = _familiar(asked[0]) if deviations and against is None else {}
        found = findings(deviations, row, look, familiar, _shrinking)
        who = "  against  ".join(f"{one.pool.backend.name} {one.pool.backend.version}  {one.row.name}" for one in asked)
    return _tell(asked, found, len(deviations), f"{who}  seed {seed}  {clock.ran:,} cases", output)


def _tell(asked: list[_Asked], found: list[Finding], count: int, who: str, output: Path) -> int:
    """Print what was found, and write it to a file; return the exit code."""
    out = console()
    out.print(who, markup=False)
    if not found:
        out.print(_NOTHING[len(asked)], style="green")
        return 0
    out.print(_table(found))
    path = _written(found, output, who)
    cases = "1 case" if count == 1 else f"{count:,} cases"
    out.print(f"{cases} {'failed' if len(asked) == 1 else 'differ'}; kept in {path}:", markup=False)
    for one in asked:
        words = ["tconv", "run", "--cases", str(path), "--backend", one.spec, "--dialect", one.row.name]
        out.print(shlex.join(words), markup=False, soft_wrap=True)
    return 1


_NOTHING = {
    1: "nothing found: every case passed, or is known",
    2: "nothing found: the two answered every case alike, but for what is known",
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A backend, its dialect and its waivers."""

    spec: str
    pool: Pool
    row: Dialect
    file: WaiverFile | None

    def passes(self, case: Case, record: Record) -> bool:
        """Return whether the gate would let a record pass."""
        return self._status(case, record) is not Status.FAILED

    def waived(self, case: Case, record: Record) -> bool:
        """Return whether a waiver knows of it."""
        return self._status(case, record) is Status.WAIVED

    def _status(self, case: Case, record: Record) -> Status:
        return judged(record, case.facts, self.file, self.pool.backend.version).status


@contextmanager
def _asked(spec: str, dialect: str | None, waivers: str | None, jobs: int, timeout: float) -> Iterator[_Asked]:
    file = chosen(waivers, spec)
    if dialect is not None:
        dialect_named(dialect)
    with Pool(Assignment(spec, dialect, None, ""), jobs, timeout) as pool:
        if ":" in spec:
            file = chosen(waivers, pool.backend.name)
        yield _Asked(spec, pool, dialect_named(pool.dialect), file)


def _look(asked: list[_Asked]) -> Callable[[Sequence[Case]], list[Deviation]]:
    if len(asked) == 1:
        return looking(asked[0].pool, asked[0].passes)
    one, other = asked
    return side_by_side((one.pool, other.pool), (one.row, other.row), (one.waived, other.waived))


def _familiar(asked: _Asked) -> dict[str, Failure]:
    """Return how the examples of the backend's waivers fail, by the names of the waivers."""
    if asked.file is None:
        return {}
    version, corpus = asked.pool.backend.version, Corpus.load()
    examples = {
        waiver.name: case
        for waiver in asked.file.waivers
        if waiver.active(asked.row.name, version) and (case := corpus.find(waiver.example)) is not None
    }
    records = answered(asked.pool, list({case.id: case for case in examples.values()}.values()))
    return {name: found for name, case in examples.items() if (found := failure(records[case.id])) is not None}


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


def _shrinking(number: int, count: int) -> None:
    click.echo(f"tconv: shrinking finding {number + 1} of {count}", err=True)


def _written(found: list[Finding], folder: Path, who: str) -> Path:
    cases = [
        replace(
            one.smallest.case,
            about=f"{'; '.join(map(_of, one.smallest.records))}; {one.count} such, first {one.first}",
        )
        for one in found
    ]
    path = folder / FILE
    with writing(path):
        path.write_text(case_file(cases, f"What tconv fuzz found: {' '.join(who.split())}"), encoding="utf-8")
    return path


def _of(record: Record) -> str:
    return f"{record.backend} {summary(record)}"


def _table(found: list[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("finding", overflow="fold")
    table.add_column("cases", justify="right")
    table.add_column("smallest case", overflow="fold")
    for one in found:
        smallest = flow(settings(one.smallest.case))
        what = one.what if one.like is None else f"{one.what} (as {one.like}, which does not cover this case)"
        table.add_row(Text(what), f"{one.count:,}", Text(smallest if one.whole else f"not shrunk: {smallest}"))
    return table
