"""`tconv history`: since which release a runtime does what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from tconv.cli import options
from tconv.cli.progress import showing
from tconv.cli.record_files import record_files
from tconv.corpus import Corpus
from tconv.dialects import dialect_named
from tconv.errors import BackendMissing, UsageError, nearest
from tconv.execution.selection import Selection
from tconv.execution.signals import prepare
from tconv.gate.waivers import chosen
from tconv.investigation.history.asking import Fleet
from tconv.investigation.history.bisecting import bisected
from tconv.investigation.history.environments import Environments, default_cache, with_uv_or_venv
from tconv.investigation.history.interpreters import interpreters
from tconv.investigation.history.package_index import between, last_of_each_minor, wheels
from tconv.investigation.history.runtimes import RUNTIMES, Runtime
from tconv.reports import history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.corpus import Tier
    from tconv.investigation.history.interpreters import Interpreter
    from tconv.records.record import Record

_LATEST = "latest"
_DIALECT = "onnx/ConvTranspose-11"
Format = Literal["text", "markdown"]


@click.command(name="history")
@click.argument("backend", required=False)
@click.argument("arguments", nargs=-1, metavar="[VERSION]... [PATTERN]...")
@click.option("--from", "first", default=None, metavar="VERSION", help="One release of each minor version, from here.")
@click.option("--to", "last", default=None, metavar="VERSION|latest", help="One of each minor version, up to here.")
@click.option("--bisect", "case_id", default=None, metavar="CASE", help="Find the release that changed this case.")
@click.option("--records", type=click.Path(path_type=Path, exists=True), default=None, help="Run nothing: read these.")
@click.option("--propose", is_flag=True, help="Print which releases each waiver is for, as its example shows.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="markdown: a page for docs.",
)
@click.option("--package", default=None, help="The distribution that brings a runtime of your own.")
@click.option(
    "--runner",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="The script that speaks for a runtime of your own; its argument is the dialect.",
)
@click.option("--dialect", "dialect_name", default=None, help="The dialect; default: one that most releases speak.")
@options.tier
@options.cases
@options.waivers
@options.jobs
@options.timeout(10.0)
@options.output
@click.option("--resume", is_flag=True, help="Go on with the records of the same releases.")
@click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False, resolve_path=True),
    default=default_cache,
    show_default="below XDG_CACHE_HOME or ~/.cache",
    help="The folder of the releases' environments.",
)
@click.option("--rebuild", is_flag=True, help="Make the environments anew.")
def command(
    backend: str | None,
    arguments: tuple[str, ...],
    first: str | None,
    last: str | None,
    case_id: str | None,
    records: Path | None,
    propose: bool,  # noqa: FBT001 - click passes it by name
    form: Format,
    package: str | None,
    runner: Path | None,
    dialect_name: str | None,
    tier: Tier,
    cases: Path | None,
    waivers: str | None,
    jobs: int,
    timeout: float,
    output: Path,
    resume: bool,  # noqa: FBT001
    cache: Path,
    rebuild: bool,  # noqa: FBT001
) -> int:
    """Ask several releases of a runtime, each in an environment of its own, and print since which release it does what.

    BACKEND is one of onnxruntime, openvino, openvino-onnx, or any name with --package and --runner. Releases are named
    by VERSIONs, or by --from and --to. PATTERNs select cases, as of `tconv run`. Each release leaves a record file.

    --bisect asks one case alone, of as few releases as can be; exit with 1 where it does not change.
    """
    corpus = Corpus.load(cases)
    if records is not None:
        return _print(record_files([records], cases), corpus, waivers, form, propose=propose)
    if backend is None:
        raise UsageError("BACKEND must be given, or --records with records to read")
    versions, patterns = _parsed(arguments)
    runtime = _runtime(backend, package, runner)
    selection = Selection(corpus, tier, patterns, str(cases or ""))
    # What is wrong with the command line is reported before anything is installed.
    dialect = dialect_named(dialect_name or runtime.dialect)
    bounds = _bound(first), _bound(last)
    if not versions and first is None and last is None and case_id is None:
        raise UsageError("releases must be named, by VERSIONs or by --from and --to (got neither)")
    case = None if case_id is None else corpus.case(case_id)
    if case is None:
        _ = selection.count
        _ = chosen(waivers, backend)
    prepare()
    pre, lost = any(version.is_prerelease for version in versions), list[str]()
    pythons = wheels(runtime.package, interpreters(), lost.append, prereleases=pre)
    if lost and pythons.keys().isdisjoint(versions):
        raise BackendMissing(lost[0])
    named = _named(versions, pythons, runtime, *lost) if versions else between(pythons, *bounds)
    fleet = Fleet(runtime, dialect, Environments(cache, _make, rebuild), pythons, jobs, timeout)
    if case is not None:
        return _bisect(fleet, named, case.id, corpus)
    paths = list(
        _recorded(fleet, backend, named if versions else last_of_each_minor(named), selection, output, resume=resume)
    )
    if not paths:
        raise BackendMissing(f"a release of {backend} must be there (got none)")
    return _print(paths, corpus, waivers, form, propose=propose)


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


def _print(files: Sequence[Path], corpus: Corpus, waivers: str | None, form: Format, *, propose: bool) -> int:
    found = list(history.histories(files, corpus, waivers))
    if form == "markdown":
        click.echo(history.markdown(found), nl=False)
        return 0
    for each in found:
        history.show(each, propose=propose)
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
