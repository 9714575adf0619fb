"""`tconv history`: since which release a runtime does what it does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from tconv.cli import options
from tconv.cli.option_fields import by, taking
from tconv.cli.progress import showing
from tconv.cli.record_files import cases_of, record_files
from tconv.cli.stopping import Resumable
from tconv.corpus import Corpus
from tconv.dialects import dialect_named
from tconv.errors import BackendMissing, UsageError
from tconv.execution.selection import Selection
from tconv.execution.starting import prepare
from tconv.gate.waivers import chosen
from tconv.investigation.history.asking import Fleet
from tconv.investigation.history.bisecting import bisected
from tconv.investigation.history.environments import Environments, default_cache, with_uv_or_venv
from tconv.investigation.history.interpreters import interpreters
from tconv.investigation.history.package_index import between, last_of_each_minor, wheels
from tconv.investigation.history.runtimes import RUNTIMES, Runtime
from tconv.nearest_word import nearest
from tconv.reports import history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.corpus import Tier
    from tconv.investigation.history.interpreters import Interpreter
    from tconv.records.record import Record

_LATEST = "latest"
_DIALECT = "onnx/ConvTranspose-11"
Format = Literal["text", "markdown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which releases of which runtime are asked what."""

    backend: str | None = by(click.argument("backend", required=False))
    arguments: tuple[str, ...] = by(click.argument("arguments", nargs=-1, metavar="[VERSION]... [PATTERN]..."))
    first: str | None = by("--from", "first", metavar="VERSION", help="One release of each minor version, from here.")
    last: str | None = by("--to", "last", metavar="VERSION|latest", help="One of each minor version, up to here.")
    bisect: str | None = by("--bisect", metavar="CASE", help="Find the release that changed this case.")
    records: Path | None = by(
        "--records", type=click.Path(path_type=Path, exists=True), help="Run nothing: read these."
    )
    propose: bool = by("--propose", is_flag=True, help="Print which releases each waiver is for, as its example shows.")
    form: Format = by(
        "--format",
        "form",
        type=click.Choice(["text", "markdown"]),
        default="text",
        show_default=True,
        help="markdown: a page for docs.",
    )
    package: str | None = by("--package", help="The distribution that brings a runtime of your own.")
    runner: Path | None = by(
        "--runner",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="The script that speaks for a runtime of your own; its argument is the dialect.",
    )
    dialect: str | None = by("--dialect", help="The dialect; default: one that most releases speak.")
    tier: Tier = by(options.tier)
    cases: Path | None = by(options.cases)
    waivers: str | None = by(options.waivers)
    jobs: int | None = by(options.jobs)
    timeout: float = by(options.timeout(10.0))
    output: Path = by(options.folder("The folder of the record files."))
    resume: bool = by("--resume", is_flag=True, help="Go on with the records of the same releases.")
    cache: Path = by(
        "--cache",
        type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
        default=default_cache,
        show_default="below XDG_CACHE_HOME or ~/.cache",
        help="The folder of the releases' environments.",
    )
    rebuild: bool = by("--rebuild", is_flag=True, help="Make the environments anew.")


@click.command(name="history", cls=Resumable)
@taking(Asked)
def command(asked: Asked) -> int:
    """Ask several releases of a runtime, each in an environment of its own, and print since which release it does what.

    BACKEND is one of onnxruntime, openvino, openvino-onnx, or any name with --package and --runner. Releases are named
    by VERSIONs, or by --from and --to. PATTERNs select cases, as of `tconv run`. Each release leaves a record file.

    --bisect asks one case alone, of as few releases as can be; exit with 1 where it does not change.
    """
    if asked.records is not None:
        files = record_files([asked.records], asked.cases)
        return _print(asked, files, Corpus.load(cases_of(files, asked.cases)))
    corpus = Corpus.load(asked.cases)
    if asked.backend is None:
        raise UsageError("BACKEND must be given, or --records with records to read")
    versions, patterns = _parsed(asked.arguments)
    runtime = _runtime(asked.backend, asked.package, asked.runner)
    selection = Selection(corpus, asked.tier, patterns, str(asked.cases or ""))
    # What is wrong with the command line is reported before anything is installed.
    dialect = dialect_named(asked.dialect or runtime.dialect)
    bounds = _bound(asked.first), _bound(asked.last)
    case = None if asked.bisect is None else corpus.case(asked.bisect)
    if not versions and asked.first is None and asked.last is None and case is None:
        raise UsageError("releases must be named, by VERSIONs or by --from and --to (got neither)")
    if case is None:
        _ = selection.count
        _ = chosen(asked.waivers, asked.backend)
    prepare()
    pre, lost = any(version.is_prerelease for version in versions), list[str]()
    pythons = wheels(runtime.package, interpreters(), lost.append, prereleases=pre)
    if lost and pythons.keys().isdisjoint(versions):
        raise BackendMissing(lost[0])
    named = _named(versions, pythons, runtime, *lost) if versions else between(pythons, *bounds)
    environments = Environments(asked.cache, _make, asked.rebuild)
    fleet = Fleet(runtime, dialect, environments, pythons, options.jobs_of(asked.jobs), asked.timeout)
    if case is not None:
        return _bisect(fleet, named, case.id, corpus)
    releases = named if versions else last_of_each_minor(named)
    paths = list(_recorded(fleet, asked.backend, releases, selection, asked.output, resume=asked.resume))
    if not paths:
        raise BackendMissing(f"a release of {asked.backend} must be there (got none)")
    return _print(asked, paths, corpus)


def _make(folder: Path, interpreter: Interpreter, requirements: Sequence[str]) -> None:
    """Say what is installed, which may take minutes, and install it."""
    click.echo(f"tconv: installing {' '.join(requirements)} for Python {interpreter.name}", err=True)
    with_uv_or_venv(folder, interpreter, requirements)


def _parsed(arguments: Iterable[str]) -> tuple[list[Version], tuple[str, ...]]:
    """Tell releases from patterns: a version begins with a digit, and no case does."""
    versions, patterns = [], []
    for argument in arguments:
        if argument[:1].isdigit():
            versions.append(_version(argument))
        else:
            patterns.append(argument)
    return sorted(set(versions)), tuple(patterns)


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UsageError(f"a release must be a version such as 1.15.1 (got {text!r})") from None


def _bound(text: str | None) -> Version | None:
    return None if text is None or text == _LATEST else _version(text)


def _runtime(backend: str, package: str | None, runner: Path | None) -> Runtime:
    known = RUNTIMES.get(backend)
    if package is not None and runner is not None:
        try:
            name = canonicalize_name(package, validate=True)
        except InvalidName:
            raise UsageError(f"--package must be the name of a distribution (got {package!r})") from None
        return Runtime(name, runner.resolve(), known.dialect if known else _DIALECT)
    if known is None or package is not None or runner is not None:
        must = f"be one of {', '.join(RUNTIMES)}, or have both --package and --runner"
        raise UsageError(f"BACKEND must {must} (got {backend!r}){nearest(backend, RUNTIMES)}")
    return known


def _named(
    versions: Sequence[Version],
    pythons: Mapping[Version, Interpreter],
    runtime: Runtime,
    reason: str = "it has no wheel for a Python of this machine",
) -> list[Version]:
    for version in versions:
        if version not in pythons:
            _left_out(runtime.package, version, reason)
    return [version for version in versions if version in pythons]


def _left_out(name: str, version: Version, reason: object) -> None:
    click.echo(f"tconv: {name} {version} is left out: {reason}", err=True)


def _recorded(
    fleet: Fleet, backend: str, versions: Sequence[Version], selection: Selection, output: Path, *, resume: bool
) -> Iterator[Path]:
    """Run the selection on each release, and yield the record files; one that cannot be had is told and left out."""
    for version in versions:
        try:
            with showing(f"{backend} {version}") as progress:
                yield fleet.recorded(version, selection, output, progress, resume=resume)
        except BackendMissing as error:
            _left_out(backend, version, error)


def _print(asked: Asked, files: Sequence[Path], corpus: Corpus) -> int:
    found = list(history.histories(files, corpus, asked.waivers))
    if asked.form == "markdown":
        click.echo(history.markdown(found), nl=False)
        return 0
    for each in found:
        history.show(each, propose=asked.propose)
    return 0


def _bisect(fleet: Fleet, versions: Sequence[Version], case_id: str, corpus: Corpus) -> int:
    case = corpus.case(case_id)

    def ask(version: Version) -> Record:
        record = fleet.record(version, case)
        click.echo(history.answer(version, record), err=True)
        return record

    change = bisected(versions, ask)
    for version, reason in change.left_out:
        _left_out(fleet.runtime.package, version, reason)
    for line in history.changed(change, len(versions)):
        click.echo(line)
    return 0 if change.changed else 1
