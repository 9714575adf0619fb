"""`tconv history`: since which release a runtime behaves as it does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click
from packaging.version import InvalidVersion, Version

from tconv.backends.environments import engine_of
from tconv.cli import options
from tconv.cli.options import option_field, with_options
from tconv.cli.progress import showing
from tconv.cli.record_files import cases_of, record_files
from tconv.cli.stopping import Resumable
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.errors import BackendMissing, UsageError
from tconv.execution.asking import Asking
from tconv.execution.run import RunSettings
from tconv.execution.run import run as run_cases
from tconv.execution.selection import Selection
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.entries import make_failure_test
from tconv.gate.record_files import read_selected
from tconv.gate.waivers import choose_waivers
from tconv.records.shards import merged
from tconv.reports import terminal
from tconv.reports.between_runs.comparing import compare
from tconv.reports.report import make_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.corpus import Tier
    from tconv.records.record_file import Run

_SECONDS = 10.0
"""The limit for one case: some old releases hang on cases that newer ones answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryArguments:
    """The runtime, its releases, and the cases to run."""

    backend: str | None = option_field(click.argument("backend", required=False))
    releases_and_patterns: tuple[str, ...] = option_field(
        click.argument("releases_and_patterns", nargs=-1, metavar="[VERSION]... [PATTERN]...")
    )
    records: Path | None = option_field(
        "--records", type=click.Path(path_type=Path, exists=True), help="Run nothing: read these records."
    )
    dialect: str | None = option_field("--dialect", help="The dialect; default: one that most releases have.")
    tier: Tier = option_field(options.tier)
    cases: Path | None = option_field(options.cases)
    waivers: str | None = option_field(options.waivers)
    jobs: int | None = option_field(options.jobs)
    output: Path = option_field(options.folder("The folder of the record files."))
    resume: bool = option_field("--resume", is_flag=True, help="Continue an interrupted run.")


@click.command(name="history", cls=Resumable)
@with_options(HistoryArguments)
def command(arguments: HistoryArguments) -> int:
    """Run several releases of a runtime, each in an environment of its own, and print what changed between them.

    BACKEND is a runner that `tconv backends` lists. Each VERSION is run as by `tconv run --backend BACKEND==VERSION`.
    PATTERN selects cases, as for `tconv run`. A record file is written for each release. The oldest release is printed
    as by `tconv report`. For each later one, what changed since the release before it is printed as by `tconv report
    --baseline`, and the result as by `tconv report --quiet`.
    """
    if arguments.records is not None:
        files = record_files([arguments.records], arguments.cases)
        _print(files, Corpus.load(cases_of(files, arguments.cases)), arguments.waivers)
        return 0
    if arguments.backend is None:
        raise UsageError("BACKEND must be given, or --records with records to read")
    corpus = Corpus.load(arguments.cases)
    # A version begins with a digit; no case id does.
    named = [word for word in arguments.releases_and_patterns if word[:1].isdigit()]
    patterns = tuple(word for word in arguments.releases_and_patterns if not word[:1].isdigit())
    selection = Selection(corpus, arguments.tier, patterns, str(arguments.cases or ""))
    dialect = None if arguments.dialect is None else find_dialect(arguments.dialect)
    releases = sorted({_version(word, "a release must be a version such as 1.15.1") for word in named})
    if not releases:
        raise UsageError("releases must be named, as in 1.15.1 1.20.1 (got none)")
    engine = engine_of(f"runner:{arguments.backend}")
    assert engine is not None  # noqa: S101 - the check above found it
    _ = selection.count
    _ = choose_waivers(arguments.waivers, engine.name)
    paths = []
    for version in releases:
        asking = Asking(f"runner:{arguments.backend}=={version}", dialect, timeout=_SECONDS)
        settings = RunSettings(
            asking,
            arguments.output,
            options.jobs_of(arguments.jobs),
            resume=arguments.resume,
            fails=lambda header: make_failure_test(None, header),
        )
        try:
            with showing(f"{engine.name} {version}") as progress:
                paths.append(run_cases(selection, settings, progress).path)
        except BackendMissing as error:
            click.echo(f"tconv: {engine.name} {version} is left out: {error}", err=True)
    if not paths:
        raise BackendMissing(f"a release of {engine.name} must be there (got none)")
    _print(paths, corpus, arguments.waivers)
    return 0


def _version(text: str, must: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UsageError(f"{must} (got {text!r})") from None


def _print(files: Sequence[Path], corpus: Corpus, waivers: str | None) -> None:
    """Print the history of each runtime and dialect in record files; the waivers count for every version.

    Raises:
        UsageError: a version cannot be put in order.
        FileError: a file is not valid.
    """
    by_runtime: dict[tuple[object, ...], list[Run]] = defaultdict(list)
    for run in merged([read_selected(file, corpus) for file in files]):
        header = run.header
        by_runtime[header.backend.name, header.dialect, header.tier, header.patterns].append(run)
    for _, runs in sorted(by_runtime.items(), key=lambda item: item[0]):
        file = choose_waivers(waivers, runs[0].header.backend.name)
        for_all = None if file is None else file.for_every_version()
        runs.sort(key=lambda run: _version(run.header.backend.version, f"{run.path}: a version must be one of PEP 440"))
        judged = [assess_with_corpus(run, for_all, corpus, strict=False, own=True) for run in runs]
        releases = make_report(judged).runs
        terminal.show(releases[0], None, recorded=False)
        printed = {note.text for note in releases[0].notes}
        for old, new in pairwise(releases):
            # A note on all releases, such as one on their waivers, is printed once. Failures are those of one release.
            notes = [note for note in new.notes if note.name == "not-asked-again" or note.text not in printed]
            printed.update(note.text for note in notes)
            terminal.show_comparison(compare(replace(old, notes=()), replace(new, notes=notes)))
            # A release whose records are incomplete must not look as if nothing changed.
            terminal.show(new, None, "quiet")
