"""`tconv fuzz`: cases drawn at random."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.options import option_field, with_options
from tconv.cli.output import refuse_unwritable
from tconv.cli.stopping import Stopped
from tconv.corpus.writing import flow, settings, write_case_file
from tconv.errors import BackendLost, UsageError, writing
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.gate.entries import select_active
from tconv.gate.status import FAILING
from tconv.gate.waivers import choose_waivers
from tconv.investigation.fuzzing import Fuzzing, looking
from tconv.investigation.random_cases import drawn
from tconv.investigation.random_choices import LARGEST_SEED
from tconv.records.headers import timeout_option
from tconv.reports.commands import NO_WAIVERS
from tconv.reports.listing import print_line, show
from tconv.reports.phrases import counted, summary

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.investigation.fuzzing import Finding
    from tconv.records.record import Record

_SECONDS = 60.0
_SECONDS_BETWEEN_LINES = 5.0
FILE = "findings.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzArguments:
    """The backend and dialect to draw cases for, and how many cases."""

    backend: str = option_field("--backend", default="onnxruntime", help="The backend that runs the cases.")
    option: dict[str, str] = option_field(options.backend_options)
    dialect: str | None = option_field(options.spoken)
    seconds: float | None = option_field(
        "--seconds",
        type=click.FloatRange(min=0.1),
        help=f"Stop after so many seconds; default: {_SECONDS:g}, or no limit with --examples.",
    )
    examples: int | None = option_field("--examples", type=click.IntRange(1), help="Stop after so many cases.")
    seed: int = option_field(
        "--seed",
        type=click.IntRange(0, LARGEST_SEED),
        default=0,
        help="Another seed gives other cases.",
    )
    faults: bool = option_field(
        "--faults/--no-faults",
        default=True,
        help="Whether some cases are invalid on purpose.",
    )
    contexts: bool = option_field(
        "--contexts", is_flag=True, help="Put graphs of other operations around the operator; no case is invalid."
    )
    waivers: str | None = option_field(options.waivers)
    jobs: int | None = option_field(options.jobs)
    timeout: float = option_field(options.timeout(10.0))
    isolate: bool | None = option_field(options.isolate)
    output: Path = option_field(options.folder(f"The folder of {FILE}."))


@click.command(name="fuzz")
@with_options(FuzzArguments)
def command(arguments: FuzzArguments) -> int:
    """Run random cases on a backend, with all attributes.

    Each kind of failure without a waiver is reported once, as the smallest case that fails in the same way. These cases
    are written to findings.yaml. `tconv run --cases findings.yaml` runs them again. The same seed gives the same cases.
    The exit code is 1 if something is found.
    """
    seconds = _SECONDS if arguments.seconds is None and arguments.examples is None else arguments.seconds
    # Report an unusable folder before the run, which may take an hour.
    with writing(arguments.output, "folder"):
        arguments.output.mkdir(parents=True, exist_ok=True)
    refuse_unwritable([arguments.output / FILE])
    backend, jobs = arguments.backend, options.jobs_of(arguments.jobs)
    waivers, dialect = choose_waivers(arguments.waivers, backend), options.dialect(arguments.dialect)
    asking = Asking(backend, dialect, arguments.option, arguments.timeout, isolate=arguments.isolate)
    with Pool(asking, jobs) as pool:
        if ":" in backend:
            waivers = choose_waivers(arguments.waivers, pool.backend.name)
        if arguments.contexts and not pool.dialect.operations:
            raise UsageError(f"--contexts must have a dialect with graphs (got {pool.dialect.name}); leave it out")
        active = select_active(waivers, pool.dialect.name, pool.backend)

        def passes(case: Case, record: Record) -> bool:
            return active.assign_status(record, case.facts).status not in FAILING

        clock = _Clock(pool.backend.name, seconds)
        drawing = drawn(arguments.seed, pool.dialect, broken=arguments.faults, contexts=arguments.contexts)
        cases = islice(drawing, arguments.examples)
        fuzzing = Fuzzing(pool.dialect)
        try:
            fuzzing.draw(cases, looking(pool, passes), clock)
            fuzzing.shrink(looking(pool, passes), _shrinking)
        except (Stopped, BackendLost) as end:
            saved = _saved(fuzzing, _title(pool, arguments.seed, clock.ran), arguments.output)
            if isinstance(end, BackendLost):
                raise BackendLost(f"{end}; {saved}") from None
            end.outcome = saved
            raise
    return _report(pool, fuzzing, _title(pool, arguments.seed, clock.ran), arguments.output, arguments.timeout)


def _title(pool: Pool, seed: int, ran: int) -> str:
    return f"{pool.backend.title}  {pool.dialect.name}  seed {seed}  {ran:,} cases"


def _saved(fuzzing: Fuzzing, title: str, output: Path) -> str:
    """Write what was found before the command ended early; return a sentence about it."""
    findings = fuzzing.findings()
    if not findings:
        return "nothing was found until then"
    path = _write(findings, output, f"{title}, interrupted")
    shrunk, count = sum(finding.is_shrunk for finding in findings), len(fuzzing.deviations)
    these = f"{counted(len(findings), 'finding')}, {shrunk} of them shrunk"
    return f"{counted(count, 'deviation')} found until then ({these}) written to {path}"


def _report(pool: Pool, fuzzing: Fuzzing, title: str, output: Path, timeout: float) -> int:
    """Print the findings, and write them to a file; return the exit code."""
    findings, count = fuzzing.findings(), len(fuzzing.deviations)
    print_line(title)
    if not findings:
        print_line("nothing found: every case passed, or is known", "green")
        return 0
    show(("finding", "cases", "smallest case"), [*map(_row, findings)])
    path = _write(findings, output, title)
    print_line(f"{counted(count, 'case')} failed; written to {path}:")
    asked = (*pool.backend.arguments, *timeout_option(timeout), "--dialect", pool.dialect.name)
    print_line(shlex.join(["tconv", "run", "--cases", str(path), *asked, *NO_WAIVERS]))
    return 1


class _Clock:
    """Decides whether to go on, and prints a progress line on standard error now and then."""

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
    cases = []
    for finding in findings:
        case, record = finding.smallest.case, finding.smallest.record
        about = f"{record.backend} {summary(record)}; {finding.count} such, first {finding.first}"
        cases.append(replace(case, about=about))
    path = folder / FILE
    with writing(path):
        path.write_text(write_case_file(cases, f"What tconv fuzz found: {' '.join(title.split())}"), encoding="utf-8")
    return path


def _row(finding: Finding) -> tuple[str, str, str]:
    smallest = flow(settings(finding.smallest.case))
    return finding.what, f"{finding.count:,}", smallest if finding.is_shrunk else f"not shrunk: {smallest}"
