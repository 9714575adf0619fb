"""`tconv run`: run cases on backends, judge them, report."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from tconv.backends import names
from tconv.cli import options
from tconv.cli.finished_run import finished_run
from tconv.cli.last_failed import failed_last
from tconv.cli.option_fields import by, taking
from tconv.cli.progress import showing
from tconv.cli.record_files import record_files
from tconv.cli.reporting import Reporting, reporting
from tconv.cli.stopping import Resumable
from tconv.corpus import Corpus, Tier
from tconv.corpus.corpus import EXCLUDING
from tconv.corpus.literals import refuse_contradicted
from tconv.errors import BackendLost, BackendMissing, DialectError, OptionError, UsageError, writing
from tconv.execution.company import WORTHWHILE
from tconv.execution.run import RunSettings, running
from tconv.execution.selection import Selection
from tconv.gate.record_files import assessed_files
from tconv.gate.status import Status, judged
from tconv.gate.waivers import chosen, header_of
from tconv.gate.waivers_of_run import active_entries
from tconv.records.shards import Shards
from tconv.reports import between_runs, html
from tconv.reports.page.problems import CaseParts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import WaiverFile
    from tconv.records.headers import BackendHeader
    from tconv.records.record import Line

_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be run."""

    patterns: tuple[str, ...] = by(click.argument("patterns", nargs=-1, metavar="[PATTERN]..."))
    backends: tuple[str, ...] = by(
        "--backend",
        "backends",
        multiple=True,
        default=("onnxruntime",),
        show_default=True,
        help="The backend to judge; 'all' for all that are installed.",
    )
    option: dict[str, str] = by(options.backend_options())
    dialect: str | None = by(options.spoken)
    tier: Tier = by(options.tier)
    cases: Path | None = by(options.cases)
    waivers: str | None = by(options.waivers)
    jobs: int | None = by(options.jobs)
    dask: str | None = by(
        "--dask", metavar="ADDRESS", help="Run on the workers of the dask cluster with this scheduler."
    )
    timeout: float = by(options.timeout())
    isolate: bool | None = by(options.isolate)
    repeat: int = by(
        "--repeat",
        type=click.IntRange(1, 1000),
        default=1,
        show_default=True,
        help="Ask each case so often; answers that differ are unstable.",
    )
    together: int | None = by(
        "--together",
        type=click.IntRange(1, 1000),
        help=f"Ask so many valid cases in one model; default: 1, and {WORTHWHILE} in the tiers full and exhaustive.",
    )
    shard: str | None = by(
        "--shard", metavar="I/N", help="Run the I-th of N parts; 'tconv report' joins the records of all."
    )
    exclude: tuple[str, ...] = by(
        "--exclude", multiple=True, metavar="PATTERN", help="Leave out the cases of this pattern; repeatable."
    )
    last_failed: bool = by("--last-failed", is_flag=True, help="Run what failed last, by the records in --output.")
    maxfail: int | None = by("--maxfail", type=click.IntRange(1), metavar="N", help="End the run after N failures.")
    baseline: tuple[Path, ...] = by(
        options.baseline("Records to compare with: exit with 1 too where a case became worse; repeatable.")
    )
    output: Path = by(options.output)
    resume: bool = by("--resume", is_flag=True, help="Go on with the records of the same run.")
    strict: bool = by(options.strict)


@click.command(name="run", cls=Resumable)
@taking(Asked)
@reporting
def command(asked: Asked, **reports: Any) -> int:  # noqa: ANN401 - the options of `reporting`
    """Run cases on a backend, judge every answer, and say whether the gate is green.

    PATTERN is a glob over case ids, `*` within a segment and `**` across, with conditions where wanted:
    'padding/*/grow[auto_pad=same_upper]'. Without one, the whole tier is run.
    """
    backends = _backends(asked)
    _refuse_contradictions(asked)
    report = Reporting.of(**reports)
    with writing(asked.output, "folder"):
        asked.output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=asked.output).close()
    # Read before the run, which may write over the records.
    before = _baseline(asked)
    corpus = Corpus.load(asked.cases)
    if asked.cases is not None:
        refuse_contradicted(corpus)
    dialect = options.dialect(asked.dialect)
    between_runs.refuse_ambiguous(before, backends, dialect, asked.option, corpus.digest, str(asked.cases or ""))
    whole = _selection(asked, corpus)
    # A bad waiver file is reported before the run, not after it.
    waiver_files = {backend: chosen(asked.waivers, backend) for backend in backends}
    selections = {backend: _last_failed(asked, backend, whole) for backend in backends}
    assessments, parts = [], CaseParts()
    for backend, selection in selections.items():
        settings = _settings(asked, backend, dialect, corpus, waiver_files[backend], parts)
        assessments += _run(asked, settings, selection, waiver_files[backend], quiet=report.detail == "quiet")
    if not assessments:
        raise BackendMissing("a backend must be there (got none)")
    page = asked.output / f"{_page_name(selections)}.html"
    comparisons = between_runs.paired(before, assessments) if before else []
    html.write(assessments, page, whole.find, comparisons, parts)
    report.report(assessments, asked.cases, asked.waivers, page, comparisons)
    return int(any(assessment.red for assessment in assessments) or any(each.worse for each in comparisons))


def _backends(asked: Asked) -> tuple[str, ...]:
    """Return the backends that are asked, by name."""
    if len(set(asked.backends)) != len(asked.backends):
        raise UsageError(f"--backend must name each backend once (got {', '.join(asked.backends)})")
    if _ALL not in asked.backends:
        return asked.backends
    if len(asked.backends) > 1:
        raise UsageError(f"--backend must be '{_ALL}', or names (got {', '.join(asked.backends)})")
    if asked.waivers not in (None, "none"):
        raise UsageError(f"--waivers FILE is of one backend: it must not go with --backend {_ALL}")
    return tuple(names())


def _refuse_contradictions(asked: Asked) -> None:
    """Refuse options that must not go together, before anything is written."""
    if asked.last_failed and (asked.resume or asked.shard):
        raise UsageError("--last-failed must be without --resume and --shard: it is a selection of its own")
    if asked.together is not None and asked.together > 1 and asked.repeat > 1:
        raise UsageError(f"--together must be 1 beside --repeat, which asks each case alone (got {asked.together})")
    if asked.dask is not None and asked.jobs is not None:
        raise UsageError("--jobs must not go with --dask ADDRESS (each thread of a dask worker runs a case at a time)")


def _baseline(asked: Asked) -> list[Assessment]:
    """Return the runs that this one is compared with."""
    files = record_files(asked.baseline, asked.cases) if asked.baseline else []
    return assessed_files(files, asked.cases, asked.waivers, strict=asked.strict)[0] if files else []


def _selection(asked: Asked, corpus: Corpus) -> Selection:
    """Return the cases that are asked for; a pattern that matches nothing is reported now."""
    patterns = (*asked.patterns, *(EXCLUDING + text for text in asked.exclude))
    shard = Shards.parse(asked.shard) if asked.shard else None
    selection = Selection(corpus, asked.tier, patterns, str(asked.cases or ""), shard)
    _ = selection.count
    return selection


def _page_name(selections: Mapping[str, Selection]) -> str:
    """Return the name of the page of all runs: that of their selection, where they have one in common."""
    names = {selection.name for selection in selections.values()}
    return (names.pop() if len(names) == 1 else "") or "index"


def _last_failed(asked: Asked, backend: str, whole: Selection) -> Selection:
    """Return the part of a selection that failed last, where that is asked for and any case did; else all of it."""
    if not asked.last_failed:
        return whole
    failed = failed_last(
        asked.output,
        backend,
        asked.dialect,
        asked.option,
        whole.corpus,
        asked.waivers,
        own=_own(asked),
        strict=asked.strict,
    )
    if not failed:
        return whole
    part = replace(whole, only=failed)
    _ = part.count
    return part


def _own(asked: Asked) -> bool:
    """Return whether the waivers were written for this corpus."""
    return asked.cases is None or asked.waivers is not None


def _settings(
    asked: Asked,
    backend: str,
    dialect: Dialect | None,
    corpus: Corpus,
    file: WaiverFile | None,
    parts: CaseParts,
) -> RunSettings:
    """Return how the cases are run on a backend."""
    return RunSettings(
        backend,
        dialect=dialect,
        jobs=options.jobs_of(asked.jobs),
        timeout=asked.timeout,
        output=asked.output,
        resume=asked.resume,
        repeat=asked.repeat,
        together=_company(asked),
        dask=asked.dask,
        options=asked.option,
        waivers=lambda name: header_of(chosen(asked.waivers, name), asked.waivers, strict=asked.strict),
        isolate=asked.isolate,
        enough=_enough(asked.maxfail, corpus, file, asked.waivers, strict=asked.strict),
        asks_again=True,
        foresee=parts.of,
    )


def _run(
    asked: Asked, settings: RunSettings, selection: Selection, file: WaiverFile | None, *, quiet: bool
) -> list[Assessment]:
    """Run a selection and return what the gate says of it; nothing for one of all backends that is not there."""
    try:
        with ExitStack() as held:
            with showing(settings.backend, quiet=quiet) as progress:
                path = held.enter_context(running(selection, settings, progress))
            return [finished_run(asked, settings, path, file, selection, own=_own(asked), quiet=quiet)]
    except (BackendMissing, DialectError, OptionError) as error:
        # 'all' leaves out a backend that is not there, but not one that was lost: its run is not complete.
        if _ALL not in asked.backends or isinstance(error, BackendLost):
            raise
        click.echo(f"tconv: {settings.backend} is left out: {error}", err=True)
        return []


def _enough(
    maxfail: int | None, corpus: Corpus, file: WaiverFile | None, waivers: str | None, *, strict: bool
) -> Callable[[Line, BackendHeader], bool]:
    """Return what says after which line so many cases have failed that the run ends, as a waiver may know them."""
    failed = 0
    # The name of one's own backend, and so its waivers, are known with its first record.
    of_name = cache(lambda name: chosen(waivers, name))

    def enough(line: Line, backend: BackendHeader) -> bool:
        nonlocal failed
        if maxfail is None or '"kind":"agreed"' in line.text:
            return False
        known = of_name(backend.name) if ":" in backend.spec and waivers != "none" else file
        record, facts = line.record, corpus.facts(line.case) or {}
        active = active_entries(known, record.dialect, backend)
        failed += judged(record, facts, active, strict=strict).status is Status.FAILED
        return failed >= maxfail

    return enough


def _company(asked: Asked) -> int:
    """Return how many cases are asked in company: none in the gate, so that a failure there is the case's own."""
    if asked.together is not None:
        return asked.together
    return WORTHWHILE if asked.tier in {"full", "exhaustive"} and asked.repeat == 1 else 1
