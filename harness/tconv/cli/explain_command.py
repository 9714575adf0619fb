"""`tconv explain`: why the answer to a case differs, and what a runtime computes instead of what the text says."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from tconv.cli import call_options, options
from tconv.cli.explained_case import explain_case
from tconv.cli.given_arrays import given_arrays, judge
from tconv.cli.output import print_text
from tconv.cli.progress import showing
from tconv.cli.record_files import STANDARD_INPUT, cases_of, is_stream, record_files
from tconv.corpus import Corpus
from tconv.errors import UsageError
from tconv.execution.asking import Asking
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.execution.zygote import prepare
from tconv.gate.record_files import read_selected
from tconv.learning import sheet
from tconv.learning.axis_terms import LEGEND
from tconv.records.shards import merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.cases.case import Case
    from tconv.records.record_file import Run


@click.command(name="explain", cls=call_options.OfSizes)
@click.argument("targets", nargs=-1, metavar="[CASE|RECORDS]...")
@click.option("--backend", default=None, help="The backend to ask; of CASE by default onnxruntime.")
@options.backend_options
@options.spoken
@options.cases
@options.timeout()
@given_arrays
def command(
    targets: tuple[str, ...],
    backend: str | None,
    option: dict[str, str],
    dialect: str | None,
    cases: Path | None,
    timeout: float,
    **arrays: Any,  # noqa: ANN401 - the values of the options of `given_arrays`
) -> int:
    """Say why the answer to a case differs, or which formulas a runtime computes by.

    RECORDS is the name of a file or folder that is there, or - for standard input; any other name is a CASE.

    CASE: run it, and say which misreading explains the answer. It is asked three times. If several misreadings explain
    it, further cases of tconv's own corpus are run that tell them apart. If the output has another size or lies
    elsewhere, cases of its padding mode are run, and the formula is printed that the backend follows. If a run of the
    same backend, version, options, dialect and cases is in RECORDS (by default in the folder reports), the cause is
    printed that all cases of the run give CASE. Exits with 1 if nothing explains a failure, or if several misreadings
    still do and no formula was found.

    RECORDS alone, or --backend alone, which runs the gate tier: for each padding mode, with output_shape and without,
    the simplest formula that gives the runtime's answers for the size of an axis, and for where the output begins in
    all that the taps reach; the text's own formula; how many of the answers fit. A star marks what is not the text's.

    --x, --w and --y: judge the output of a call that was made elsewhere, with its attributes, and say which misreadings
    explain it. Exits with 1 if it does not conform. Nothing is run.
    """
    if given := {name: value for name, value in arrays.items() if value is not None}:
        _refuse_beside_arrays(
            next(iter(given)), {"CASE or RECORDS": targets, "--backend": backend, "--option": option, "--cases": cases}
        )
        return judge(given, dialect)
    records = [Path(name) for name in targets if _is_records(name)]
    case_ids = [name for name in targets if not _is_records(name)]
    chosen = options.dialect(dialect)
    if case_ids:
        # Of a folder the runs of other cases are left out by what is asked, but a stream can be read only once.
        records = [file for path in records for file in (record_files([path], cases) if is_stream(path) else [path])]
        corpus = Corpus.load(cases)
        asking = Asking(backend or "onnxruntime", chosen, option, timeout)
        of_ids = [_case(corpus, case_id) for case_id in case_ids]
        return max(explain_case(case, asking, corpus, cases, records) for case in of_ids)
    if not records and backend is None:
        raise UsageError("there must be CASE, RECORDS, --backend, or the arrays of a call: --x, --w and --y")
    if records and (backend or option or dialect):
        raise UsageError("--backend, --option and --dialect must be without RECORDS alone: records have theirs")
    if backend is not None:
        corpus = Corpus.load(cases)
        with TemporaryDirectory(prefix="tconv-explain-") as folder, showing(backend) as progress:
            prepare()
            jobs = options.jobs_of(None)
            settings = RunSettings(Asking(backend, chosen, option, timeout), Path(folder), jobs)
            _print_sheets([read_selected(run(Selection(corpus, "gate"), settings, progress).path, corpus)], corpus)
        return 0
    files = record_files(records, cases)
    corpus = Corpus.load(cases_of(files, cases))
    _print_sheets(merged([read_selected(path, corpus) for path in files]), corpus)
    return 0


def _refuse_beside_arrays(array: str, others: dict[str, Any]) -> None:
    if both := [f"{name} {value}" for name, value in others.items() if value]:
        first = f"--{array.replace('_', '-')}"
        raise UsageError(f"{first} must be without {', '.join(others)}: nothing is run of arrays (got {both[0]})")


def _is_records(name: str) -> bool:
    return name == str(STANDARD_INPUT) or os.path.lexists(name)


def _case(corpus: Corpus, name: str) -> Case:
    try:
        return corpus.case(name)
    except UsageError as error:
        raise UsageError(f"{name!r} is no file or folder of records; as a case: {error}") from None


def _print_sheets(runs: Sequence[Run], corpus: Corpus) -> None:
    """Print what a runtime computes beside what the text says, for each run."""
    for learnt in runs:
        header = learnt.header
        if header.corpus != corpus.digest:
            raise UsageError(f"records must be of this corpus, {corpus.digest} (got {header.corpus}); run it again")
        lines = sheet(learnt.records, corpus.find, learnt.dialect)
        print_text(f"{header.backend.title}  {header.dialect}  {len(learnt.records):,} records")
        for line in lines:
            print_text(f"{'*' if line.deviates else ' '} {line}")
        print_text(f"  {LEGEND}" if lines else "  no answer tells a size")
