"""`tconv history`: since which release a runtime does what it does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from tconv.cli import options
from tconv.cli.options import option_field, with_options
from tconv.cli.progress import showing
from tconv.cli.record_files import cases_of, record_files
from tconv.cli.stopping import Resumable
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.errors import BackendMissing, UsageError
from tconv.execution.selection import Selection
from tconv.execution.zygote import prepare
from tconv.gate.waivers import choose_waivers
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

    from tconv.cases.case import Case
    from tconv.corpus import Tier
    from tconv.investigation.history.interpreters import Interpreter
    from tconv.records.record import Record

_LATEST = "latest"
_NO_WHEEL = "it has no wheel for a Python of this machine"
_DIALECT = "onnx/ConvTranspose-11"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryArguments:
    """Which releases of which runtime are asked what."""

    backend: str | None = option_field(click.argument("backend", required=False))
    releases_and_patterns: tuple[str, ...] = option_field(
        click.argument("releases_and_patterns", nargs=-1, metavar="[VERSION]... [PATTERN]...")
    )
    first: str | None = option_field(
        "--from", "first", metavar="VERSION", help="One release of each minor version, from here."
    )
    last: str | None = option_field(
        "--to", "last", metavar="VERSION|latest", help="One of each minor version, up to here."
    )
    bisect: str | None = option_field("--bisect", metavar="CASE", help="Find the release that changed this case.")
    records: Path | None = option_field(
        "--records", type=click.Path(path_type=Path, exists=True), help="Run nothing: read these."
    )
    package: str | None = option_field("--package", help="The distribution that brings a runtime of your own.")
    runner: Path | None = option_field(
        "--runner",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="The script that speaks for a runtime of your own; its argument is the dialect.",
    )
    dialect: str | None = option_field("--dialect", help="The dialect; default: one that most releases speak.")
    tier: Tier = option_field(options.tier)
    cases: Path | None = option_field(options.cases)
    waivers: str | None = option_field(options.waivers)
    jobs: int | None = option_field(options.jobs)
    timeout: float = option_field(options.timeout(10.0))
    output: Path = option_field(options.folder("The folder of the record files."))
    resume: bool = option_field("--resume", is_flag=True, help="Go on with the records of the same releases.")
    cache: Path = option_field(
        "--cache",
        type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
        default=default_cache,
        show_default="below XDG_CACHE_HOME or ~/.cache",
        help="The folder of the releases' environments.",
    )
    rebuild: bool = option_field("--rebuild", is_flag=True, help="Make the environments anew.")


@click.command(name="history", cls=Resumable)
@with_options(HistoryArguments)
def command(arguments: HistoryArguments) -> int:
    """Ask several releases of a runtime, each in an environment of its own, and print since which release it does what.

    BACKEND is one of onnxruntime, openvino, openvino-onnx, or any name with --package and --runner. Releases are named
    by VERSIONs, or by --from and --to. PATTERNs select cases, as of `tconv run`. Each release leaves a record file.

    --bisect asks one case alone, of as few releases as can be; exit with 1 where it does not change.
    """
    if arguments.records is not None:
        files = record_files([arguments.records], arguments.cases)
        return _print(files, Corpus.load(cases_of(files, arguments.cases)), arguments.waivers)
    corpus = Corpus.load(arguments.cases)
    if arguments.backend is None:
        raise UsageError("BACKEND must be given, or --records with records to read")
    versions, patterns = _parsed(arguments.releases_and_patterns)
    runtime = _runtime(arguments.backend, arguments.package, arguments.runner)
    selection = Selection(corpus, arguments.tier, patterns, str(arguments.cases or ""))
    # What is wrong with the command line is reported before anything is installed.
    dialect = find_dialect(arguments.dialect or runtime.dialect)
    bounds = _bound(arguments.first), _bound(arguments.last)
    case = None if arguments.bisect is None else corpus.case(arguments.bisect)
    if not versions and arguments.first is None and arguments.last is None and case is None:
        raise UsageError("releases must be named, by VERSIONs or by --from and --to (got neither)")
    if case is None:
        _ = selection.count
        _ = choose_waivers(arguments.waivers, arguments.backend)
    prepare()
    pythons, named = _available(runtime, versions, bounds)
    environments = Environments(arguments.cache, _make, arguments.rebuild)
    fleet = Fleet(runtime, dialect, environments, pythons, options.jobs_of(arguments.jobs), arguments.timeout)
    if case is not None:
        return _bisect(fleet, named, case)
    releases = named if versions else last_of_each_minor(named)
    paths = list(_recorded(fleet, arguments.backend, releases, selection, arguments.output, resume=arguments.resume))
    if not paths:
        raise BackendMissing(f"a release of {arguments.backend} must be there (got none)")
    return _print(paths, corpus, arguments.waivers)


def _available(
    runtime: Runtime, versions: Sequence[Version], bounds: tuple[Version | None, Version | None]
) -> tuple[Mapping[Version, Interpreter], list[Version]]:
    """Return a Python for each release that can be installed, and those releases that the command line names.

    Args:
        runtime: the runtime.
        versions: the releases that are named one by one; none for those between the bounds.
        bounds: the first and the last release; None for no bound.

    Raises:
        BackendMissing: none of the named releases can be installed.
    """
    prereleases, reasons = any(version.is_prerelease for version in versions), list[str]()
    pythons = wheels(runtime.package, interpreters(), reasons.append, prereleases=prereleases)
    if reasons and pythons.keys().isdisjoint(versions):
        raise BackendMissing(reasons[0])
    for version in versions:
        if version not in pythons:
            _left_out(runtime.package, version, reasons[0] if reasons else _NO_WHEEL)
    named = [version for version in versions if version in pythons]
    return pythons, named if versions else between(pythons, *bounds)


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
    runtime = RUNTIMES.get(backend)
    if package is not None and runner is not None:
        try:
            name = canonicalize_name(package, validate=True)
        except InvalidName:
            raise UsageError(f"--package must be the name of a distribution (got {package!r})") from None
        return Runtime(name, runner.resolve(), runtime.dialect if runtime else _DIALECT)
    if runtime is None or package is not None or runner is not None:
        must = f"be one of {', '.join(RUNTIMES)}, or have both --package and --runner"
        raise UsageError(f"BACKEND must {must} (got {backend!r}){nearest(backend, RUNTIMES)}")
    return runtime


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


def _print(files: Sequence[Path], corpus: Corpus, waivers: str | None) -> int:
    for of_runtime in history.histories(files, corpus, waivers):
        history.show(of_runtime)
    return 0


def _bisect(fleet: Fleet, versions: Sequence[Version], case: Case) -> int:
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
