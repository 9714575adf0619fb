"""`tconv fuzz`: cases drawn at random."""

from __future__ import annotations

import shlex
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.corpus import Corpus
from tconv.corpus.writing import case_file, flow, settings
from tconv.errors import UsageError, writing
from tconv.execution.company import WORTHWHILE
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from tconv.gate.status import Status, judged
from tconv.gate.waivers import chosen
from tconv.investigation import fuzzing
from tconv.investigation.random_cases import drawn
from tconv.investigation.random_choices import LARGEST_SEED
from tconv.investigation.two_backends import side_by_side
from tconv.records.failure import failure
from tconv.reports.listing import console, say, show
from tconv.reports.phrases import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.gate.waivers import WaiverFile
    from tconv.investigation.fuzzing import Deviation, Finding
    from tconv.records.failure import Failure
    from tconv.records.record import Record

_SECONDS = 60.0
_SECONDS_BETWEEN_LINES = 5.0
FILE = "findings.yaml"


@click.command(name="fuzz")
@click.option("--backend", default="onnxruntime", show_default=True, help="Whom to ask.")
@options.backend_options()
@click.option("--dialect", "dialect_name", default=None, help="The dialect to speak; default: the backend's first.")
@click.option("--against", default=None, metavar="BACKEND", help="Ask this one too, and tell where the two differ.")
@options.backend_options("--against-option", "--against")
@click.option(
    "--against-dialect",
    "against_dialect_name",
    default=None,
    help="The dialect that --against speaks; default: its first.",
)
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
@options.jobs
@options.timeout(10.0)
@options.isolate
@options.output
def command(
    backend: str,
    option: dict[str, str],
    dialect_name: str | None,
    against: str | None,
    against_option: dict[str, str],
    against_dialect_name: str | None,
    seconds: float | None,
    examples: int | None,
    seed: int,
    faults: bool,  # noqa: FBT001 - click passes it by name
    waivers: str | None,
    jobs: int,
    timeout: float,
    isolate: bool | None,  # noqa: FBT001 - click passes it by name
    output: Path,
) -> int:
    """Ask a backend what no case file asks: cases drawn at random over all attributes.

    Failures that no waiver knows of are told once each, shrunk to the smallest case that fails alike, and written to
    findings.yaml, which `tconv run --cases` takes. With --against, what is told is where two backends answer the same
    case differently. The same seed draws the same cases. Exits with 1 where something is found.
    """
    if seconds is None and examples is None:
        seconds = _SECONDS
    if against is None and (against_dialect_name is not None or against_option):
        raise UsageError("--against-dialect and --against-option must be beside --against")
    named = [(backend, dialect_name, option, isolate)]
    if against is not None:
        named.append((against, against_dialect_name, against_option, isolate))
    if against is not None and waivers not in {None, "none"}:
        raise UsageError("--waivers must be 'none' beside --against, or left out: each backend has a file of its own")
    # An unusable folder is reported before the run, which may take an hour.
    with writing(output, "folder"):
        output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        targets = [stack.enter_context(_target(*words, waivers, jobs, timeout)) for words in named]
        dialect, look = targets[0].dialect, _look(targets)
        clock = _Clock(" and ".join(target.pool.backend.name for target in targets), seconds)
        deviations = fuzzing.fuzz(islice(drawn(seed, dialect, broken=faults), examples), look, clock)
        familiar = _familiar(targets[0]) if deviations and against is None else {}
        findings = fuzzing.findings(deviations, dialect, look, familiar, _shrinking)
        title = "  against  ".join(f"{target.pool.backend.title}  {target.dialect.name}" for target in targets)
    return _report(targets, findings, len(deviations), f"{title}  seed {seed}  {clock.ran:,} cases", output)


def _report(targets: list[_Target], findings: list[Finding], count: int, title: str, output: Path) -> int:
    """Print the findings, and write them to a file; return the exit code."""
    out = console()
    say(out, title)
    if not findings:
        say(out, _NOTHING[len(targets)], "green")
        return 0
    show(out, ("finding", "cases", "smallest case"), [*map(_row, findings)], numbers={"cases"})
    path = _write(findings, output, title)
    cases = "1 case" if count == 1 else f"{count:,} cases"
    say(out, f"{cases} {'failed' if len(targets) == 1 else 'differ'}; kept in {path}:")
    for target in targets:
        words = ["tconv", "run", "--cases", str(path), *target.pool.backend.arguments, "--dialect", target.dialect.name]
        say(out, shlex.join(words))
    return 1


_NOTHING = {
    1: "nothing found: every case passed, or is known",
    2: "nothing found: the two answered every case alike, but for what is known",
}


@dataclass(frozen=True, slots=True)
class _Target:
    """A backend, its dialect and its waivers."""

    pool: Pool
    dialect: Dialect
    waivers: WaiverFile | None

    def passes(self, case: Case, record: Record) -> bool:
        """Return whether a record does not fail at the gate."""
        return self._status(case, record) is not Status.FAILED

    def waived(self, case: Case, record: Record) -> bool:
        """Return whether a record is waived."""
        return self._status(case, record) is Status.WAIVED

    def _status(self, case: Case, record: Record) -> Status:
        return judged(record, case.facts, self.waivers, self.pool.backend).status


@contextmanager
def _target(
    spec: str,
    dialect_name: str | None,
    given: dict[str, str],
    isolate: bool | None,  # noqa: FBT001 - a value that is passed on
    waiver_file: str | None,
    jobs: int,
    timeout: float,
) -> Iterator[_Target]:
    waivers, dialect = chosen(waiver_file, spec), options.dialect(dialect_name)
    assignment = Assignment(spec, dialect, None, "", together=WORTHWHILE, options=given, isolate=isolate)
    with Pool(assignment, jobs, timeout) as pool:
        if ":" in spec:
            waivers = chosen(waiver_file, pool.backend.name)
        yield _Target(pool, pool.dialect, waivers)


def _look(targets: list[_Target]) -> Callable[[Sequence[Case]], list[Deviation]]:
    if len(targets) == 1:
        return fuzzing.looking(targets[0].pool, targets[0].passes)
    first, second = targets
    return side_by_side((first.pool, second.pool), (first.dialect, second.dialect), (first.waived, second.waived))


def _familiar(target: _Target) -> dict[str, Failure]:
    """Return the failures of the examples of the backend's waivers, by the names of the waivers."""
    if target.waivers is None:
        return {}
    backend, corpus = target.pool.backend, Corpus.load()
    examples = {
        waiver.name: case
        for waiver in target.waivers.waivers
        if waiver.active(target.dialect.name, backend) and (case := corpus.find(waiver.example)) is not None
    }
    records = target.pool.records(list({case.id: case for case in examples.values()}.values()))
    failures = {name: failure(records[case.id]) for name, case in examples.items()}
    return {name: known for name, known in failures.items() if known is not None}


class _Clock:
    """Whether to go on; it also prints a line on standard error now and then."""

    def __init__(self, backend: str, seconds: float | None) -> None:
        self.ran = 0
        self._backend = backend
        self._ends = None if seconds is None else monotonic() + seconds
        self._printed = monotonic()

    def __call__(self, ran: int, failed: int) -> bool:
        self.ran, now = ran, monotonic()
        if now - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = now
            click.echo(f"tconv: {self._backend}: {ran} cases, {failed} failed", err=True)
        return self._ends is None or now < self._ends


def _shrinking(number: int, count: int) -> None:
    click.echo(f"tconv: shrinking finding {number + 1} of {count}", err=True)


def _write(findings: list[Finding], folder: Path, title: str) -> Path:
    cases = [
        replace(
            finding.smallest.case,
            about=f"{'; '.join(map(_about, finding.smallest.records))}; {finding.count} such, first {finding.first}",
        )
        for finding in findings
    ]
    path = folder / FILE
    with writing(path):
        path.write_text(case_file(cases, f"What tconv fuzz found: {' '.join(title.split())}"), encoding="utf-8")
    return path


def _about(record: Record) -> str:
    return f"{record.backend} {summary(record)}"


def _row(finding: Finding) -> tuple[str, str, str]:
    smallest, what = flow(settings(finding.smallest.case)), finding.what
    if finding.like is not None:
        what += f" (as {finding.like}, which does not cover this case)"
    return what, f"{finding.count:,}", smallest if finding.whole else f"not shrunk: {smallest}"
