"""`tconv waivers`: propose waivers for the failures of records, and prove those that there are."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv.backends import names
from tconv.cli import options
from tconv.cli.output import printing
from tconv.cli.record_files import argument, cases_of, record_files
from tconv.corpus import Corpus
from tconv.errors import BackendLost, BackendMissing, FileError, OptionError, UsageError, writing
from tconv.gate.proof import Prover, Standing
from tconv.gate.record_files import assess_files
from tconv.gate.status import Status
from tconv.gate.waivers import OPEN, chosen_waivers, load
from tconv.reports import phrases
from tconv.reports.phrases import run_again
from tconv.reports.proposed_waivers import is_open, proposed

if TYPE_CHECKING:
    from tconv.gate.assessment import Assessment
    from tconv.gate.proof import Proof

_WIDTH = max(map(len, Standing))


@click.group(name="waivers")
def command() -> None:
    """Write waivers for the failures of a run, or run the examples of waivers again."""


@command.command(name="propose", short_help="Write a waiver for each cause of failures.")
@argument
@options.cases
@options.waivers
@options.strict
@click.option("--output", type=options.FILE, required=True, help="The file to write; it must not be there yet.")
def propose(records: tuple[Path, ...], cases: Path | None, waivers: str | None, output: Path, *, strict: bool) -> None:
    """Write a waiver for each cause of the failures in RECORDS, for a person to complete.

    RECORDS are those of one run: files, folders, or - for standard input.
    """
    if output.exists():
        raise FileError(output, "must not be there yet (got a file); choose another FILE, or remove it")
    files = record_files(records, cases)
    assessments, _ = assess_files(files, cases_of(files, cases), waivers, strict=strict)
    if len(assessments) != 1:
        paths = ", ".join(str(assessment.run.path) for assessment in assessments)
        raise UsageError(f"RECORDS must be of one run (got {paths}); name its file")
    _propose(assessments[0], output, waivers)


@command.command(name="prove", short_help="Run the examples of waivers alone.")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    help="Whose waivers; default: the backend of --waivers, or all that are there.",
)
@options.backend_options
@options.cases
@options.waivers
@options.timeout(text="Seconds for one example.")
@options.isolate
def prove(
    backends: tuple[str, ...],
    option: dict[str, str],
    cases: Path | None,
    waivers: str | None,
    timeout: float,
    isolate: bool | None,  # noqa: FBT001 - click passes it by name
) -> int:
    """Run each waiver's example alone, and say whether its reason still stands.

    Each example runs in a process of its own, on the backend that is installed here. A line for each waiver and dialect
    begins with "stands", "stands no longer" or "not here" (this backend, machine or process cannot show it: the line
    says why). Exit with 1 if one stands no longer.
    """
    corpus, standings = Corpus.load(cases), Counter[Standing]()
    if not backends and waivers not in {None, "none"}:
        backends = (load(Path(waivers)).backend,)
    for spec in backends or names():
        try:
            prover = Prover(spec, corpus, timeout, option, isolate)
        except (BackendMissing, OptionError) as error:
            if backends or isinstance(error, BackendLost):
                raise
            click.echo(f"tconv: {spec} is left out: {error}", err=True)
            continue
        file = chosen_waivers(waivers, spec if ":" not in spec else prover.backend.name)
        for proof in prover.proofs(file) if file else ():
            standings[proof.standing] += 1
            with printing():
                click.echo(_line(prover, proof))
    if not standings:
        raise UsageError("there must be waivers to prove (got none); name their file with --waivers FILE")
    with printing():
        click.echo(", ".join(f"{standing}: {standings[standing]}" for standing in Standing))
    return int(standings[Standing.FALLEN] > 0)


def _propose(assessment: Assessment, path: Path, waivers: str | None) -> None:
    text = proposed(assessment)
    if not text:
        all_ = "; --waivers none asks for what is waived now" if assessment.counts[Status.WAIVED] else ""
        click.echo(f"there is nothing to propose, as no case failed: {path} is not written{all_}", err=True)
        return
    with writing(path), path.open("x", encoding="utf-8") as file:
        file.write(text)
    first = f"complete what says {OPEN}" if is_open(text) else "read whether what it declares is as it must be"
    click.echo(f"proposed waivers {path}: {first}{_then(assessment, path, waivers)}", err=True)


def _then(assessment: Assessment, path: Path, waivers: str | None) -> str:
    """Return what to do with a proposal once it is complete: a run takes one file of waivers."""
    again = run_again(assessment.run.header)
    file = chosen_waivers(waivers, assessment.run.header.backend.name)
    if file is None or assessment.of_other_options or not (file.waivers or file.unsupported):
        return f"; then {shlex.join([*again, '--waivers', str(path)])}"
    own = f"a copy of tconv's own {file.backend}.yaml"
    together = shlex.join([*again, "--waivers", waivers or "FILE"])
    return f", and add its entries to {waivers or own}, by which these records were judged; then {together}"


def _line(prover: Prover, proof: Proof) -> str:
    backend = prover.backend
    words = f"{backend.title}  {proof.dialect}  {proof.waiver.name}"
    outcome = phrases.summary(proof.record) if proof.record else ""
    return f"{proof.standing:{_WIDTH}}  {words}: {proof.reason or f'{proof.waiver.example}: {outcome}'}"
