"""`tconv learn`: the formulas by which a runtime computes sizes and pads, beside the text's."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from tconv.cli import options
from tconv.cli.output import print_text
from tconv.cli.progress import showing
from tconv.cli.record_files import cases_of, record_files
from tconv.corpus import Corpus
from tconv.errors import UsageError
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.execution.starting import prepare
from tconv.gate.selected_records import read_selected
from tconv.learning import sheet
from tconv.learning.axis_terms import LEGEND
from tconv.records.shards import merged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.corpus import Tier
    from tconv.dialects import Dialect
    from tconv.records.record_file import Run


@click.command(name="learn")
@click.argument("records", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@click.option("--backend", "backends", multiple=True, help="Instead of RECORDS: the backend to ask.")
@options.backend_options()
@click.option("--dialect", "dialect_name", default=None, help="With --backend: the dialect to speak.")
@options.tier_to_full
@options.cases
@options.jobs
def command(
    records: tuple[Path, ...],
    backends: tuple[str, ...],
    option: dict[str, str],
    dialect_name: str | None,
    tier: Tier,
    cases: Path | None,
    jobs: int | None,
) -> None:
    """Print the rule sheet of a runtime, learnt from RECORDS or from a run of the tier.

    RECORDS are files, folders, or - for standard input.

    For each padding mode, with output_shape and without: the simplest formula for the size of an axis, and for where
    the output begins in all that the taps reach, that gives the runtime's answers; the text's own formula; how many of
    the answers fit. A star marks what is not the text's.
    """
    if bool(records) == bool(backends):
        raise UsageError("RECORDS must be given, or --backend, and not both")
    if records and (option or dialect_name or jobs):
        raise UsageError("--option, --dialect and --jobs must be beside --backend: records have theirs")
    files = record_files(records, cases) if records else []
    corpus = Corpus.load(cases_of(files, cases))
    runs = (
        merged([read_selected(path, corpus) for path in files])
        if records
        else _asked(backends, option, options.dialect(dialect_name), Selection(corpus, tier), jobs)
    )
    for learnt in runs:
        _print(learnt, corpus)


def _asked(
    backends: tuple[str, ...], option: dict[str, str], dialect: Dialect | None, selection: Selection, jobs: int | None
) -> Iterator[Run]:
    """Yield a run of each backend, whose records are not kept."""
    prepare()
    for backend in backends:
        with TemporaryDirectory(prefix="tconv-learn-") as folder, showing(backend) as progress:
            settings = RunSettings(
                backend, dialect, options.jobs_of(jobs), timeout=60.0, output=Path(folder), options=option
            )
            yield read_selected(run(selection, settings, progress), selection.corpus)


def _print(learnt: Run, corpus: Corpus) -> None:
    header = learnt.header
    if header.corpus != corpus.digest:
        raise UsageError(f"records must be of this corpus, {corpus.digest} (got {header.corpus}); run it again")
    lines = sheet(learnt.records, corpus.find, learnt.dialect)
    print_text(f"{header.backend.title}  {header.dialect}  {len(learnt.records):,} records")
    for line in lines:
        print_text(f"{'*' if line.deviates else ' '} {line}")
    print_text(f"  {LEGEND}" if lines else "  no answer tells a size")
