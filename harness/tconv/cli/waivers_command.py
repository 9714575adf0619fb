"""`tconv waivers`: propose waivers for failures, and pin the followed readings."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

import tconv
from tconv.cli import options
from tconv.cli.output import printing
from tconv.cli.record_files import argument, cases_of, record_files
from tconv.corpus import Corpus
from tconv.documents import read
from tconv.errors import FileError, UsageError, writing
from tconv.gate.entries import is_whole, select_active
from tconv.gate.pins import choose_pins, write_pins
from tconv.gate.record_files import assess_files, read_selected
from tconv.gate.status import ReadingChanged, Status
from tconv.gate.waivers import OPEN, choose_waivers, load
from tconv.records.shards import merged
from tconv.reports.atomic_write import write
from tconv.reports.commands import run_again
from tconv.reports.phrases import counted
from tconv.reports.proposed_waivers import is_open, proposed

if TYPE_CHECKING:
    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import Pin


@click.group(name="waivers")
def command() -> None:
    """Keep a file of waivers and pins: propose, pin."""


@command.command(name="propose", short_help="Write a waiver for each cause of failures.")
@argument
@options.cases
@options.waivers
@options.strict
@click.option("--output", type=options.FILE, required=True, help="The file to write. It must not exist yet.")
def propose(records: tuple[Path, ...], cases: Path | None, waivers: str | None, output: Path, *, strict: bool) -> None:
    """Write a waiver for each cause of the failures in RECORDS. A person must complete the file.

    RECORDS are the records of one run: files or folders.
    """
    if output.exists():
        raise FileError(output, "must not be there yet (got a file); choose another FILE, or remove it")
    files = record_files(records, cases)
    assessments, _ = assess_files(files, cases_of(files, cases), waivers, strict=strict)
    if len(assessments) != 1:
        paths = ", ".join(str(assessment.run.path) for assessment in assessments)
        raise UsageError(f"RECORDS must be of one run (got {paths}); name its file")
    _propose(assessments[0], output, waivers)


@command.command(name="pin", short_help="Write which allowed reading the backend follows.")
@argument
@options.cases
@click.option("--waivers", type=options.FILE, required=True, help="The file to change; it need not exist yet.")
def pin(records: tuple[Path, ...], cases: Path | None, waivers: Path) -> None:
    """Write the allowed readings that a backend follows into its waiver file. If it later follows others, a run is red.

    RECORDS are the records of one backend, with one run for each dialect: files or folders. A pin is changed if the
    answers do not follow it. Pins of other dialects, and pins of questions that no case asks, stay. All other text of
    the file stays too, except comments between pins. The changed lines are printed. Answers that fail or are waived
    are not pinned.
    """
    if waivers.resolve().is_relative_to(Path(tconv.__file__).parent):
        raise FileError(waivers, "must be outside of the installed package; copy the file, and name the copy")
    files = record_files(records, cases)
    corpus = Corpus.load(cases_of(files, cases))
    runs = merged([read_selected(path, corpus) for path in files])
    headers = [run.header for run in runs]
    if (
        len({header.dialect for header in headers}) != len(runs)
        or len({header.backend.name for header in headers}) != 1
    ):
        got = ", ".join(f"{header.backend.name} in {header.dialect}" for header in headers)
        raise UsageError(f"RECORDS must be of one backend, one run for each dialect (got {got}); name its files")
    if not waivers.exists():
        with writing(waivers):
            waivers.write_text(f"format: 1\nbackend: {json.dumps(headers[0].backend.name)}\n", encoding="utf-8")
    file, document = load(waivers), read(waivers)
    chosen: dict[str, list[Pin]] = {}
    mixed: list[str] = []
    for run in runs:
        active = select_active(file, run.header.dialect, run.header.backend)
        of_run = choose_pins(run, corpus.find, active)
        chosen[run.header.dialect] = of_run.pins
        mixed += [f"not pinned  {run.header.dialect}  {question}: {_MIXED}" for question in of_run.mixed]
    text, whole = waivers.read_text(encoding="utf-8"), all(map(is_whole, runs))
    written, changes = write_pins(file, document, text, chosen, headers[0].backend, whole=whole)
    write(waivers, written)
    with printing():
        for line in (*changes, *mixed):
            click.echo(line)
        click.echo(f"pinned {waivers}: {len(load(waivers).pins)} pins, {len(changes)} lines changed")


_MIXED = "the answers follow several readings, and no fact of the calls says which"


def _propose(assessment: Assessment, path: Path, waivers: str | None) -> None:
    text = proposed(assessment)
    if changed := sum(isinstance(member.ruling, ReadingChanged) for member in assessment.statuses):
        cases = counted(changed, "case follows", "cases follow")
        accept = "to accept it: tconv waivers pin RECORDS --waivers FILE"
        click.echo(f"{cases} another reading than the pin says, which no waiver covers; {accept}", err=True)
    if not text:
        why = "no case failed that a waiver may cover" if changed else "no case failed"
        all_ = "; --waivers none asks for what is waived now" if assessment.counts[Status.WAIVED] else ""
        click.echo(f"there is nothing to propose, as {why}: {path} is not written{all_}", err=True)
        return
    with writing(path), path.open("x", encoding="utf-8") as file:
        file.write(text)
    first = f"complete what says {OPEN}" if is_open(text) else "read whether what it declares is as it must be"
    click.echo(f"proposed waivers {path}: {first}{_then(assessment, path, waivers)}", err=True)


def _then(assessment: Assessment, path: Path, waivers: str | None) -> str:
    """Return what to do with a proposal after it is completed: a run takes one file of waivers."""
    again = run_again(assessment.run.header)
    file = choose_waivers(waivers, assessment.run.header.backend.name)
    if file is None or assessment.waivers.of_other_options or not (file.waivers or file.unsupported):
        return f"; then {shlex.join([*again, '--waivers', str(path)])}"
    own = f"a copy of tconv's own {file.backend}.yaml"
    together = shlex.join([*again, "--waivers", waivers or "FILE"])
    return f", and add its entries to {waivers or own}, by which these records were judged; then {together}"
