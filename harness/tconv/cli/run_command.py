"""`tconv run`: run cases on backends, judge them, report."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import click

from tconv.backends import names
from tconv.cli import options
from tconv.cli.last_failed import failed_last
from tconv.cli.progress import showing
from tconv.cli.record_files import record_files
from tconv.cli.reporting import Reporting, reporting
from tconv.corpus import Corpus, Tier
from tconv.corpus.corpus import EXCLUDING
from tconv.corpus.literals import refuse_contradicted
from tconv.errors import BackendLost, BackendMissing, DialectError, OptionError, UsageError, writing
from tconv.execution.company import WORTHWHILE
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.gate.assessment import assessed
from tconv.gate.reading import read_of
from tconv.gate.record_files import assessed_files
from tconv.gate.status import Status, judged
from tconv.gate.waivers import chosen, header_of
from tconv.records.shards import Shards
from tconv.reports import between_runs, html

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tconv.gate.waivers import WaiverFile
    from tconv.records.headers import BackendHeader
    from tconv.records.record import Line

_ALL = "all"


@click.command(name="run")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    default=("onnxruntime",),
    show_default=True,
    help="Whom to judge; 'all' for those that are there.",
)
@options.backend_options()
@click.option("--dialect", "dialect_name", default=None, help="The dialect to speak; default: the backend's first.")
@options.tier
@options.cases
@options.waivers
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), default=None, help="Worker processes; default: one for each core."
)
@click.option(
    "--dask", default=None, metavar="ADDRESS", help="Run on the workers of the dask cluster with this scheduler."
)
@options.timeout()
@options.isolate
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Ask each case so often; answers that differ are unstable.",
)
@click.option(
    "--together",
    type=click.IntRange(1, 1000),
    default=None,
    help=f"Ask so many valid cases in one model; default: 1, and {WORTHWHILE} in the tiers full and exhaustive.",
)
@click.option(
    "--shard", default=None, metavar="I/N", help="Run the I-th of N parts; 'tconv report' joins the records of all."
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out the cases of this pattern; repeatable.")
@click.option("--last-failed", is_flag=True, help="Run what failed last, by the records in the folder of --output.")
@click.option("--maxfail", type=click.IntRange(1), default=None, metavar="N", help="End the run after N failures.")
@options.baseline("Records to compare with: exit with 1 too where a case became worse; repeatable.")
@options.output
@click.option("--resume", is_flag=True, help="Go on with the records of the same run.")
@options.strict
@reporting
def command(
    patterns: tuple[str, ...],
    backends: tuple[str, ...],
    option: dict[str, str],
    dialect_name: str | None,
    tier: Tier,
    cases: Path | None,
    waivers: str | None,
    jobs: int | None,
    dask: str | None,
    timeout: float,
    isolate: bool | None,  # noqa: FBT001 - click passes it by name
    repeat: int,
    together: int | None,
    shard: str | None,
    exclude: tuple[str, ...],
    maxfail: int | None,
    baseline: tuple[Path, ...],
    output: Path,
    *,
    last_failed: bool,
    resume: bool,
    strict: bool,
    **reports: Any,  # noqa: ANN401 - the options of `reporting`
) -> int:
    """Run cases on a backend, judge every answer, and say whether the gate is green.

    PATTERN is a glob over case ids, `*` within a segment and `**` across, with conditions where wanted:
    'padding/*/grow[auto_pad=same_upper]'. Without one, the whole tier is run.
    """
    together = _company(together, tier, repeat)
    if len(set(backends)) != len(backends):
        raise UsageError(f"--backend must name each backend once (got {', '.join(backends)})")
    if (everyone := _ALL in backends) and len(backends) > 1:
        raise UsageError(f"--backend must be '{_ALL}', or names (got {', '.join(backends)})")
    if everyone and waivers not in (None, "none"):
        raise UsageError(f"--waivers FILE is of one backend: it must not go with --backend {_ALL}")
    jobs = _jobs(jobs, dask)
    backends = tuple(names()) if everyone else backends
    if last_failed and (resume or shard):
        raise UsageError("--last-failed must be without --resume and --shard: it is a selection of its own")
    report = Reporting.of(**reports)
    with writing(output, "folder"):
        output.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=output).close()
    own = cases is None or waivers is not None
    # Read before the run, which may write over the records.
    before = assessed_files(record_files(baseline, cases), cases, waivers, strict=strict)[0] if baseline else []
    corpus = Corpus.load(cases)
    if cases is not None:
        refuse_contradicted(corpus)
    asked_in = options.dialect(dialect_name)
    between_runs.refuse_ambiguous(before, backends, asked_in, option, corpus.digest, str(cases or ""))
    patterns = (*patterns, *(EXCLUDING + text for text in exclude))
    whole = Selection(corpus, tier, patterns, str(cases or ""), Shards.parse(shard) if shard else None)
    # A pattern that matches nothing and a bad waiver file are reported before the run, not after it.
    _ = whole.count
    waiver_files = {backend: chosen(waivers, backend) for backend in backends}
    last = partial(failed_last, output, dialect_name=dialect_name, options=option, corpus=corpus, waivers=waivers)
    selections = {
        backend: _of_last(whole, last(backend=backend, own=own, strict=strict)) if last_failed else whole
        for backend in backends
    }
    assessments = []
    for backend, selection in selections.items():
        enough = _enough(maxfail, corpus, waiver_files[backend], waivers, strict=strict)
        settings = RunSettings(
            backend,
            asked_in,
            jobs,
            timeout,
            output,
            resume,
            repeat,
            together,
            dask,
            option,
            lambda name: header_of(chosen(waivers, name), waivers),
            isolate,
            enough,
        )
        try:
            with showing(backend, quiet=report.detail == "quiet") as progress:
                path = run(selection, settings, progress)
        except (BackendMissing, DialectError, OptionError) as error:
            # 'all' leaves out a backend that is not there, but not one that was lost: its run is not complete.
            if not everyone or isinstance(error, BackendLost):
                raise
            click.echo(f"tconv: {backend} is left out: {error}", err=True)
            continue
        finished = read_of(path, corpus)
        file = waiver_files[backend] if ":" not in backend else chosen(waivers, finished.header.backend.name)
        assessments.append(assessed(finished, file, corpus, strict=strict, own=own, find=selection.find))
    if not assessments:
        raise BackendMissing("a backend must be there (got none)")
    page = output / f"{selection.name or 'index'}.html"
    comparisons = between_runs.paired(before, assessments) if before else []
    html.write(assessments, page, selection.find, comparisons)
    report.report(assessments, cases, waivers, page, comparisons)
    return int(any(assessment.red for assessment in assessments) or any(each.worse for each in comparisons))


def _of_last(whole: Selection, failed: frozenset[str]) -> Selection:
    """Return the part of a selection that failed last, or all of it where none did."""
    if not failed:
        return whole
    part = replace(whole, only=failed)
    _ = part.count
    return part


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
        facts = corpus.facts(line.case) or {}
        failed += judged(line.record, facts, known, backend, strict=strict).status is Status.FAILED
        return failed >= maxfail

    return enough


def _company(together: int | None, tier: Tier, repeat: int) -> int:
    """Return how many cases are asked in company: none in the gate, so that a failure there is the case's own."""
    if together is None:
        return WORTHWHILE if tier in {"full", "exhaustive"} and repeat == 1 else 1
    if together > 1 and repeat > 1:
        raise UsageError(f"--together must be 1 beside --repeat, which asks each case alone (got {together})")
    return together


def _jobs(jobs: int | None, dask: str | None) -> int:
    """Return how many workers there are."""
    if dask is not None and jobs is not None:
        raise UsageError("--jobs must not go with --dask ADDRESS (each thread of a dask worker runs a case at a time)")
    return jobs or os.cpu_count() or 1
