"""`tconv run`: run cases on backends, judge them, report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from tconv.backends import is_named_by_start, names
from tconv.cli import options
from tconv.cli.options import option_field, with_options
from tconv.cli.progress import showing
from tconv.cli.reporting import Reporting, baseline_runs
from tconv.cli.stopping import Resumable
from tconv.corpus import Corpus, Tier
from tconv.corpus.corpus import EXCLUDING
from tconv.corpus.lint import refuse_contradicted
from tconv.errors import BackendLost, BackendMissing, DialectError, OptionError, UsageError, writing
from tconv.execution.asking import Asking
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.export.issue import recorded_issue
from tconv.gate.assessment import assess_with_corpus, try_explanations
from tconv.gate.entries import make_failure_test
from tconv.gate.waivers import choose_waivers, make_header
from tconv.investigation.in_graph import ask_with_changes
from tconv.investigation.smaller_contexts import ask_smaller
from tconv.records.shards import Shards
from tconv.reports import html
from tconv.reports.report import make_report, refuse_unpaired

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import WaiverFile
    from tconv.records.headers import RunHeader
    from tconv.records.record import Record
    from tconv.records.record_file import Run

_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """What to run."""

    patterns: tuple[str, ...] = option_field(click.argument("patterns", nargs=-1, metavar="[PATTERN]..."))
    backends: tuple[str, ...] = option_field(
        "--backend",
        "backends",
        multiple=True,
        default=("onnxruntime",),
        help="The backend to judge; 'all' for every installed one.",
    )
    option: dict[str, str] = option_field(options.backend_options)
    dialect: str | None = option_field(options.spoken)
    tier: Tier = option_field(options.tier)
    cases: Path | None = option_field(options.cases)
    waivers: str | None = option_field(options.waivers)
    jobs: int | None = option_field(options.jobs)
    timeout: float = option_field(options.timeout())
    isolate: bool | None = option_field(options.isolate)
    repeat: int = option_field(
        "--repeat",
        type=click.IntRange(1, 1000),
        default=1,
        help="Run each case so many times. If its answers differ, it is unstable.",
    )
    shard: str | None = option_field(
        "--shard",
        metavar="I/N",
        help="Run only part I of N. 'tconv report' joins the records of all parts. The exhaustive tier needs this.",
    )
    exclude: tuple[str, ...] = option_field(
        "--exclude", multiple=True, metavar="PATTERN", help="Leave out the cases of this pattern; repeatable."
    )
    baseline: tuple[Path, ...] = option_field(options.baseline)
    output: Path = option_field(options.output)
    resume: bool = option_field("--resume", is_flag=True, help="Continue an interrupted run.")
    strict: bool = option_field(options.strict)
    new_calls: bool = option_field(
        "--new-calls/--no-new-calls",
        default=True,
        help="After failures, run up to 50 additional calls that test the explanations.",
    )


@click.command(name="run", cls=Resumable)
@with_options(RunArguments)
@with_options(Reporting)
def command(arguments: RunArguments, reporting: Reporting) -> int:
    """Run cases on a backend, judge every answer, and say whether the run is green.

    PATTERN selects cases by their ids: `*` stands for any text without a slash, `**` for any text. Conditions may
    follow, as in 'padding/*/grow[auto_pad=same_upper]'. Without PATTERN, the whole tier is run.
    """
    backends = _backends(arguments)
    with writing(arguments.output, "folder"):
        arguments.output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=arguments.output).close()
    # Read before the run, which may overwrite the records.
    before = baseline_runs(arguments.baseline, arguments.cases, arguments.waivers, strict=arguments.strict)
    corpus = Corpus.load(arguments.cases)
    if arguments.cases is not None:
        refuse_contradicted(corpus)
    dialect = options.dialect(arguments.dialect)
    if before and _ALL not in arguments.backends:
        refuse_unpaired(before, backends, dialect)
    selection = _selection(arguments, corpus)
    # Report a bad waiver file before the run.
    for backend in backends:
        choose_waivers(arguments.waivers, backend)
    page = arguments.output / f"{selection.name or 'index'}.html"
    assessments: list[Assessment] = []
    written: dict[Path, str] = {}
    for backend in backends:
        settings = replace(_settings(arguments, backend, dialect), earlier=written)
        of_backend = _run(arguments, settings, selection, page, quiet=reporting.quiet)
        written |= {assessment.run.path: backend for assessment in of_backend}
        assessments += of_backend
    if not assessments:
        raise BackendMissing("a backend must be there (got none)")
    report = make_report(assessments, before)
    html.write(report, page, selection.find, partial(recorded_issue, find=selection.find))
    reporting.write(report, arguments.cases, arguments.waivers, page, recorded=True)
    return int(report.is_red)


def _backends(arguments: RunArguments) -> tuple[str, ...]:
    """Return the names of the backends to run."""
    if len(set(arguments.backends)) != len(arguments.backends):
        raise UsageError(f"--backend must name each backend once (got {', '.join(arguments.backends)})")
    if _ALL not in arguments.backends:
        return arguments.backends
    if len(arguments.backends) > 1:
        raise UsageError(f"--backend must be '{_ALL}', or names (got {', '.join(arguments.backends)})")
    if arguments.waivers not in (None, "none"):
        raise UsageError(f"--waivers FILE is of one backend: it must not go with --backend {_ALL}")
    return tuple(names())


def _selection(arguments: RunArguments, corpus: Corpus) -> Selection:
    """Return the selected cases; a pattern that matches nothing is reported now."""
    patterns = (*arguments.patterns, *(EXCLUDING + text for text in arguments.exclude))
    shard = Shards.parse(arguments.shard) if arguments.shard else None
    selection = Selection(corpus, arguments.tier, patterns, str(arguments.cases or ""), shard)
    _ = selection.count
    return selection


def _settings(arguments: RunArguments, backend: str, dialect: Dialect | None) -> RunSettings:
    """Return the settings of the run on one backend."""
    asking = Asking(
        backend, dialect, arguments.option, arguments.timeout, repeat=arguments.repeat, isolate=arguments.isolate
    )
    return RunSettings(
        asking,
        arguments.output,
        options.jobs_of(arguments.jobs),
        resume=arguments.resume,
        waivers=lambda name: make_header(
            choose_waivers(arguments.waivers, name), arguments.waivers, strict=arguments.strict
        ),
    )


def _run(
    arguments: RunArguments, settings: RunSettings, selection: Selection, page: Path, *, quiet: bool
) -> list[Assessment]:
    """Run a selection and return the gate's result; empty if 'all' backends are run and this one is not available."""

    def waivers(header: RunHeader) -> WaiverFile | None:
        # The name of a user's own backend is known only from its records. The waivers follow from the name.
        own = is_named_by_start(settings.asking.backend)
        return choose_waivers(arguments.waivers, header.backend.name if own else settings.asking.backend)

    def judge(run: Run) -> Assessment:
        return assess_with_corpus(
            run,
            waivers(run.header),
            selection.corpus,
            strict=arguments.strict,
            # Whether the waivers were written for this corpus.
            own=arguments.cases is None or arguments.waivers is not None,
            find=selection.find,
        )

    def try_out(run: Run, ask: Callable[[list[Case]], list[Record]], keep: Callable[[Case, Record], None]) -> None:
        ask_smaller(run, selection.find, ask)
        # The records of a shard show which new calls are useful.
        whole = replace(run, header=run.header.model_copy(update={"shard": ""}))
        assessment = judge(whole)
        ask_with_changes(assessment.explained, selection.find, settings.asking, keep)
        try_explanations(assessment, waivers(run.header), ask)

    settings = replace(
        settings,
        fails=lambda header: make_failure_test(waivers(header), header),
        try_out=try_out if arguments.new_calls else None,
    )
    try:
        with showing(settings.asking.backend, page, quiet=quiet) as progress:
            done = run(selection, settings, progress)
        return [judge(done)]
    except (BackendMissing, DialectError, OptionError) as error:
        # 'all' leaves out a backend that is not available. A backend that crashed stays: its run is not complete.
        if _ALL not in arguments.backends or isinstance(error, BackendLost):
            raise
        click.echo(f"tconv: {settings.asking.backend} is left out: {error}", err=True)
        return []
