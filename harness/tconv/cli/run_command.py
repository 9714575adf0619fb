"""`tconv run`: run cases on backends, judge them, report."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 - click's annotations are for the reader

import click

from tconv.backends import names
from tconv.cli import options
from tconv.cli.progress import showing
from tconv.corpus import Corpus, Tier
from tconv.errors import BackendLost, BackendMissing, DialectError, OptionError, UsageError
from tconv.execution.company import WORTHWHILE
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.execution.signals import prepare
from tconv.gate.assessment import assessed
from tconv.gate.waivers import chosen
from tconv.records.record_file import read
from tconv.records.shards import Shards
from tconv.reports import html, junit, terminal

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
@click.option(
    "--timeout", type=click.FloatRange(min=0.05), default=60.0, show_default=True, help="Seconds for one case."
)
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
@options.output
@click.option("--resume", is_flag=True, help="Go on with the records of the same run.")
@options.strict
@options.junit
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
    repeat: int,
    together: int | None,
    shard: str | None,
    output: Path,
    *,
    resume: bool,
    strict: bool,
    junit_file: Path | None,
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
    corpus = Corpus.load(cases)
    selection = Selection(corpus, tier, patterns, str(cases or ""), Shards.parse(shard) if shard else None)
    # A pattern that matches nothing and a bad waiver file are reported before the run, not after it.
    _ = selection.count
    waiver_files = {backend: chosen(waivers, backend) for backend in backends}
    assessments = []
    for backend in backends:
        settings = RunSettings(
            backend, options.dialect(dialect_name), jobs, timeout, output, resume, repeat, together, dask, option
        )
        try:
            with showing(backend) as progress:
                path = run(selection, settings, progress)
        except (BackendMissing, DialectError, OptionError) as error:
            # 'all' leaves out a backend that is not there, but not one that was lost: its run is not complete.
            if not everyone or isinstance(error, BackendLost):
                raise
            click.echo(f"tconv: {backend} is left out: {error}", err=True)
            continue
        finished = read(path)
        file = waiver_files[backend] if ":" not in backend else chosen(waivers, finished.header.backend.name)
        assessments.append(assessed(finished, file, corpus, strict=strict, own=cases is None or waivers is not None))
    if not assessments:
        raise BackendMissing("a backend must be there (got none)")
    page = output / f"{selection.name or 'index'}.html"
    html.write(assessments, page, corpus.find)
    if junit_file is not None:
        junit.write(assessments, junit_file)
    for assessment in assessments:
        terminal.show(assessment, page)
    return int(any(assessment.red for assessment in assessments))


def _company(together: int | None, tier: Tier, repeat: int) -> int:
    """Return how many cases are asked in company: none in the gate, so that a failure there is the case's own."""
    if together is None:
        return WORTHWHILE if tier in {"full", "exhaustive"} and repeat == 1 else 1
    if together > 1 and repeat > 1:
        raise UsageError(f"--together must be 1 beside --repeat, which asks each case alone (got {together})")
    return together


def _jobs(jobs: int | None, dask: str | None) -> int:
    """Return how many workers there are; where they are here, what they are forked from starts now."""
    if dask is None:
        prepare()
    elif jobs is not None:
        raise UsageError("--jobs must not go with --dask ADDRESS (each thread of a dask worker runs a case at a time)")
    return jobs or os.cpu_count() or 1
