"""`tconv check`: lint the corpus, or case files of one's own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from tconv.cli.output import printing
from tconv.corpus import Corpus, tiers
from tconv.corpus.lint import lint

_SHOWN = 5


@click.command(name="check")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--write-tiers", is_flag=True, help=f"First choose the tiers' rows anew and keep them in {tiers.FILE_NAME}."
)
@click.option("--all", "everything", is_flag=True, help=f"Print every finding, not {_SHOWN} of each sweep.")
def command(path: Path | None, *, write_tiers: bool, everything: bool) -> int:
    """Lint a case file, or a folder of them; without PATH, tconv's own corpus.

    Unique ids, citations, literal values against the reference, skips that never bite, cases that no dialect can say,
    that break nothing or too much, or that say nothing new. Of the exhaustive tier, a sample is looked at. Exits with 2
    where something is found.
    """
    corpus = Corpus.load(path)
    if write_tiers:
        sweeps = [sweep for sweep in corpus.sweeps.values() if not sweep.exhaustive]
        tiers.write(corpus.folder, sweeps, {} if corpus.whole else corpus.tiers.selections)
        corpus = Corpus.load(path)
    findings: Counter[str] = Counter()
    for finding in lint(corpus):
        sweep = finding.where.partition("[")[0]
        findings[sweep] += 1
        if everything or findings[sweep] <= _SHOWN:
            click.echo(f"{finding.where}: {finding.message}", err=True)
    for sweep, count in findings.items():
        if count > _SHOWN and not everything:
            click.echo(f"{sweep}: and {count - _SHOWN} more findings; see them with --all", err=True)
    cases = corpus.count("full")
    more = corpus.count("exhaustive") - cases
    beyond = f", {more} more in the exhaustive tier" if more else ""
    with printing():
        click.echo(f"{cases} cases, {len(corpus.sweeps)} sweeps, {findings.total()} findings{beyond}")
    return 2 if findings else 0
