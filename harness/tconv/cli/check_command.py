"""`tconv check`: check case files and waiver files, or show what the cases cover."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tconv import schemas
from tconv.cases.patterns import path_of
from tconv.cli import options
from tconv.cli.output import printing
from tconv.corpus import Corpus, tiers
from tconv.corpus.corpus import TIERS_TO_FULL
from tconv.corpus.coverage import measure_coverage
from tconv.corpus.lint import lint
from tconv.dialects import find_dialect
from tconv.errors import UsageError
from tconv.gate import waiver_lint
from tconv.reports.listing import console, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.corpus.coverage import Coverage
    from tconv.vocabulary import Tier

_SHOWN = 5
_COLUMNS = ("sweep", "dialect", "cases", "values", "pairs", "triples", "quadruples")
_SCHEMAS = "\n".join(["JSON Schemas, for an editor or a validator:", *(f"  {path}" for path in schemas.SCHEMAS)])


@click.command(name="check", epilog=f"\b\n{_SCHEMAS}")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--coverage", "covers", is_flag=True, help="Print what the cases cover, instead of checking them.")
@click.option("--tier", type=click.Choice(TIERS_TO_FULL), help="With --coverage: the tier; default: gate.")
@click.option("--dialect", "dialect_name", help="With --coverage: only this dialect; default: all.")
@click.option(
    "--write-tiers", is_flag=True, help=f"First choose the cases of the tiers again, and write {tiers.FILE_NAME}."
)
@click.option("--all", "everything", is_flag=True, help=f"Print every finding, not only {_SHOWN} of each sweep.")
@options.cases
def command(
    path: Path | None,
    tier: Tier | None,
    dialect_name: str | None,
    cases: Path | None,
    *,
    covers: bool,
    write_tiers: bool,
    everything: bool,
) -> int:
    """Check a case file, a folder of them, or a waiver file; without PATH, tconv's own corpus.

    In case files it finds duplicate ids, wrong citations, expected values that differ from the reference, and a skip
    without an effect. It finds cases that no cited dialect can express, invalid cases that do not break exactly one
    constraint, and equal cases. It checks only a sample of the exhaustive tier. In waiver files it finds wrong names of
    facts and wrong examples; --cases names the case files of the waivers. The exit code is 2 if something is found.

    --coverage prints a table of sweeps and dialects: how many values, pairs, triples and quadruples of values the tier
    has. 12/14 means that the tier has 12 of the 14 that the dialect can express. Below the table are the values and
    pairs that never occur, with the reason.
    """
    if covers:
        if write_tiers or cases is not None:
            raise UsageError("--coverage must be without --write-tiers and --cases: it checks nothing")
        corpus, tier = Corpus.load(path), tier or "gate"
        _print_coverage(corpus, tier, dialect_name)
        return 0
    if tier is not None or dialect_name is not None:
        raise UsageError("--tier and --dialect need --coverage: without it every case is checked")
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
        click.echo(", ".join(_counted(*count) for count in counts) + beyond)
    return 2 if findings else 0


def _of_waivers(path: Path, corpus: Corpus) -> int:
    file, findings = waiver_lint.lint(path, corpus)
    for finding in findings:
        click.echo(finding, err=True)
    with printing():
        waivers, pins = _counted(len(file.waivers), "waiver"), _counted(len(file.pins), "pin")
        click.echo(f"{waivers}, {pins}, {len(file.unsupported)} unsupported, {_counted(len(findings), 'finding')}")
    return 2 if findings else 0


def _counted(number: int, what: str) -> str:
    return f"{number} {what if number == 1 else f'{what}s'}"


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


def _print_coverage(corpus: Corpus, tier: Tier, dialect_name: str | None) -> None:
    if dialect_name is not None:
        find_dialect(dialect_name)
    coverages = [entry for entry in measure_coverage(corpus, tier) if dialect_name in (None, entry.dialect_name)]
    rows = [
        (
            entry.sweep,
            entry.dialect_name,
            str(entry.cases),
            *(f"{c.covered}/{c.reachable}" if c.conceivable else "-" for c in entry.counts),
        )
        for entry in coverages
    ]
    show(console(), _COLUMNS, rows, title=f"{tier} tier: covered/reachable")
    _print_missing(coverages)


def _print_missing(coverages: Sequence[Coverage]) -> None:
    """Print the values and pairs that never occur, by dialect and reason."""
    missing: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for entry in coverages:
        for values, reason in entry.never:
            missing[entry.dialect_name, reason, entry.sweep].append(values)
    click.echo("never occurs:" if missing else "everything that the axes can say occurs")
    heading = ("", "")
    for (dialect_name, reason, sweep), values_of_sweep in sorted(missing.items()):
        if heading != (dialect_name, reason):
            heading = dialect_name, reason
            click.echo(f"  in {dialect_name}, for {reason}")
        click.echo(f"    {sweep}: {'; '.join(values_of_sweep)}")
