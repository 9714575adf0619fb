"""`tconv check`: check case files and waiver files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from tconv import schemas
from tconv.cases.patterns import path_of
from tconv.cli import options
from tconv.cli.output import printing
from tconv.corpus import Corpus, tiers
from tconv.corpus.lint import lint
from tconv.errors import UsageError
from tconv.gate import waiver_lint
from tconv.reports.phrases import counted

_SHOWN = 5
_SCHEMAS = "\n".join(["JSON Schemas, for an editor or a validator:", *(f"  {path}" for path in schemas.SCHEMAS)])


@click.command(name="check", epilog=f"\b\n{_SCHEMAS}")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--write-tiers", is_flag=True, help=f"First choose the cases of the tiers again, and write {tiers.FILE_NAME}."
)
@click.option("--all", "everything", is_flag=True, help=f"Print every finding, not only {_SHOWN} of each sweep.")
@options.cases
def command(
    path: Path | None,
    cases: Path | None,
    *,
    write_tiers: bool,
    everything: bool,
) -> int:
    """Check a case file, a folder of them, or a waiver file; without PATH, tconv's own corpus.

    In case files it finds duplicate ids, wrong citations, expected values that differ from the reference, and a skip
    without an effect. It finds cases that no cited dialect can express, invalid cases that do not break exactly one
    constraint, and equal cases. It checks only a sample of the exhaustive tier. In waiver files it finds wrong names of
    facts and wrong examples; --cases names the case files of the waivers. The exit code is 2 if something is found.
    """
    if path is not None and path.is_file() and waiver_lint.is_waiver_file(path):
        return _of_waivers(path, Corpus.load(cases))
    if cases is not None:
        raise UsageError("--cases needs a waiver file (got none); name case files as PATH")
    corpus = Corpus.load(path)
    if write_tiers:
        corpus = _with_tiers(corpus, path)
    return _of_cases(corpus, everything=everything)


def _of_cases(corpus: Corpus, *, everything: bool) -> int:
    findings: Counter[str] = Counter()
    for finding in lint(corpus):
        sweep = path_of(finding.where)
        findings[sweep] += 1
        if everything or findings[sweep] <= _SHOWN:
            click.echo(finding, err=True)
    for sweep, count in findings.items():
        if count > _SHOWN and not everything:
            click.echo(f"{sweep}: and {count - _SHOWN} more findings; see them with --all", err=True)
    total = corpus.count("full")
    more = corpus.count("exhaustive") - total
    beyond = f", {more} more in the exhaustive tier" if more else ""
    with printing():
        counts = (total, "case"), (len(corpus.sweeps), "sweep"), (findings.total(), "finding")
        click.echo(", ".join(counted(*count) for count in counts) + beyond)
    return 2 if findings else 0


def _of_waivers(path: Path, corpus: Corpus) -> int:
    file, findings = waiver_lint.lint(path, corpus)
    for finding in findings:
        click.echo(finding, err=True)
    with printing():
        waivers, pins = counted(len(file.waivers), "waiver"), counted(len(file.pins), "pin")
        click.echo(f"{waivers}, {pins}, {len(file.unsupported)} unsupported, {counted(len(findings), 'finding')}")
    return 2 if findings else 0


def _with_tiers(corpus: Corpus, path: Path | None) -> Corpus:
    """Store the tiers of a corpus and return it with them; for a single file only if its folder has stored tiers."""
    if not corpus.whole and not corpus.tiers.path.is_file():
        raise UsageError(
            f"--write-tiers must be for a folder of case files, or a file of one that has {tiers.FILE_NAME} (got "
            f"{path}); name the folder, or leave it out: without {tiers.FILE_NAME} the rows are chosen at each start"
        )
    sweeps = [sweep for sweep in corpus.sweeps.values() if sweep.is_selected]
    tiers.write(corpus.folder, sweeps, {} if corpus.whole else corpus.tiers.selections)
    return Corpus.load(path)
