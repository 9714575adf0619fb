"""Runtimes in environments of their own: `NAME==VERSION`, and `runner:NAME` for an adapter that ships as a runner.

`conformance/runners/engines.yaml` has the runtimes. An environment is made once, by uv or by venv and pip, as a whole
or not at all, and stays in a cache folder.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from filelock import FileLock
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from tconv.backends.interpreters import interpreters
from tconv.datafiles import data_folder
from tconv.errors import BackendMissing, writing
from tconv.nearest_word import nearest
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.backends.interpreters import Interpreter

TABLE = "engines.yaml"
_NEEDED = ("dialects", "package", "runner", "version")
_FORMS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "dialects": (list, "a list"),
    "links": (str, "text"),
    "needs": ((list, dict), "a list, or lists by releases"),
    "no-deps": (bool, "true or false"),
    "package": (str, "text"),
    "runner": (str, "text"),
}
"""What the values of a row must be, for Python and in words."""
_PREFIX = "runner:"
_SPEC = re.compile(r"(?P<runner>runner:)?(?P<name>[^=]+)(?:==(?P<version>.*))?")
_USUAL_PYTHON = "3.11"
# The last pip that runs on 3.6. Those that come with 3.6 and 3.7 do not know manylinux2014 and later platforms.
_PIP = "pip==21.3.1"
_NEEDS_PIP = (3, 7)
_UV_FROM = (3, 8)
_LAST_LINES = 3


@dataclass(frozen=True, slots=True)
class Engine:
    """A release of a runtime, and the runner that asks it.

    Attributes:
        name: its name in the table.
        row: what the table says of it.
        folder: the folder of the table and the runner.
        version: the release.
    """

    name: str
    row: Mapping[str, Any]
    folder: Path
    version: Version

    @property
    def requirements(self) -> list[str]:
        """What an environment must have, in the words of pip or npm."""
        if self.row.get("index") == "npm":
            return [f"{self.row['package']}@{self.version}", *self._chosen("needs")]
        package, _, extra = self.row["package"].partition("[")
        return [f"{package}{'[' if extra else ''}{extra}=={self.version}", *self._chosen("needs")]

    @property
    def python(self) -> str:
        """The oldest Python that the release has wheels for, such as 3.8."""
        return str(self._chosen("pythons") or _USUAL_PYTHON)

    @property
    def dialects(self) -> tuple[str, ...]:
        """Those that the runner speaks, the default first."""
        return tuple(self.row["dialects"])

    def command(self, dialect: str | None) -> str:
        """Return the command line of the runner; its environment is made if it is not there.

        Args:
            dialect: the one to speak; None for the first.

        Raises:
            BackendMissing: the environment cannot be made.
            FileError: the cache folder cannot be written.
        """
        spoken = dialect if dialect in self.dialects else self.dialects[0]
        runner, environment = str(self.folder / self.row["runner"]), self.environment()
        if self.row.get("index") == "npm":
            return shlex.join(["node", runner, spoken, str(environment)])
        # Without -E, PYTHONPATH would bring packages of another Python.
        return shlex.join([str(environment / "bin" / "python"), "-B", "-E", "-s", runner, spoken])

    def environment(self) -> Path:
        """Return the folder of the environment, which is made if it is not there."""
        cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tconv" / "environments"
        alone = ["--no-deps"] if self.row.get("no-deps") else []
        digest = sha256(" ".join([self.python, *alone, *self.requirements]).encode()).hexdigest()[:8]
        # Engines of one package share one. A normalised version has no separator of paths.
        package = re.sub(r"\W+", "-", self.row["package"]).strip("-")
        folder = cached / f"{package}-{self.version}-{digest}"
        if folder.is_dir():
            return folder
        with writing(cached, "folder"):
            cached.mkdir(parents=True, exist_ok=True)
        # Another process may make the same one: it is waited for.
        with FileLock(folder.with_name(f".{folder.name}.lock")):
            if not folder.is_dir():
                partial = folder.with_name(f".{folder.name}.partial")
                # One is there if an earlier process was killed.
                shutil.rmtree(partial, ignore_errors=True)
                sys.stderr.write(f"tconv: installing {' '.join(self.requirements)}\n")
                try:
                    self._make(partial)
                    partial.rename(folder)
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
        return folder

    def _chosen(self, key: str) -> Any:  # noqa: ANN401 - what the table has for the release
        """Return what the table has under a key for this release: the first entry whose releases include it."""
        of = self.row.get(key, [])
        if not isinstance(of, dict):
            return of
        return next(
            (each for some, each in of.items() if SpecifierSet(some).contains(self.version, prereleases=True)), []
        )

    def _make(self, folder: Path) -> None:
        if self.row.get("index") == "npm":
            folder.mkdir()
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
            _run(["npm", "install", *options, *self.requirements])
            return
        python, uv = _interpreter(self), _uv()
        if uv is not None and python.version >= _UV_FROM:
            _run([uv, "venv", "--quiet", "--python", str(python.executable), str(folder)])
            install = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
        else:
            _run([str(python.executable), "-E", "-m", "venv", str(folder)])
            pip = [str(folder / "bin" / "python"), "-E", "-m", "pip", "--disable-pip-version-check"]
            install = [*pip, "install", "--quiet"]
            if python.version <= _NEEDS_PIP:
                _run([*install, _PIP])
        links = os.environ.get("PIP_FIND_LINKS") or self.row.get("links", "")
        install += ["--only-binary", ":all:", *(f"--find-links={link}" for link in links.split())]
        package, *needs = self.requirements
        steps = [["--no-deps", package], needs] if self.row.get("no-deps") else [self.requirements]
        for step in filter(None, steps):
            _run([*install, *step])


def engine_of(spec: str) -> Engine | None:
    """Return the engine that a user names by `NAME==VERSION` or `runner:NAME`; None if it is another kind of backend.

    `runner:FOLDER/NAME` is of the table in that folder.

    Raises:
        BackendMissing: it is of that kind, and not in the table, or its version is none.
    """
    parts = _SPEC.fullmatch(spec)
    if parts is None or spec.startswith("exec:") or not (parts["runner"] or parts["version"]):
        return None
    folder, slash, name = parts["name"].rpartition("/")
    rows = engines(Path(folder) if slash else None)
    if name not in rows:
        must = f"backend {spec!r} must name a runtime of {TABLE}, {', '.join(rows)}"
        raise BackendMissing(f"{must} (got {name!r}){nearest(name, rows)}")
    try:
        version = Version(str(parts["version"] or rows[name]["version"]))
    except InvalidVersion:
        raise BackendMissing(
            f"backend {spec!r} must name a version such as 1.15.1 (got {parts['version']!r})"
        ) from None
    return Engine(name, rows[name], Path(folder) if slash else data_folder("runners"), version)


@cache
def engines(folder: Path | None = None) -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of a table by their names.

    Args:
        folder: the folder of the table; None for the one that ships.

    Raises:
        BackendMissing: it cannot be read.
    """
    path = (folder or data_folder("runners")) / TABLE
    try:
        table: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise BackendMissing(f"{path} must be a table of runtimes (got: {one_line(str(error))})") from None
    rows: dict[str, Any] = table if isinstance(table, dict) else {"the table": table}
    for name, row in rows.items():
        if not isinstance(row, dict) or not row.keys() >= {*_NEEDED}:
            raise BackendMissing(f"{path} must give each runtime {', '.join(_NEEDED)} (got {name}: {row!r:.80})")
        for key, (of, words) in _FORMS.items():
            if key in row and not isinstance(row[key], of):
                raise BackendMissing(f"{path} must give {name} {words} as {key} (got {row[key]!r:.80})")
    return rows


def _interpreter(engine: Engine) -> Interpreter:
    """Return the Python of this machine that is nearest to the one that the release needs, and not older."""
    needed, there = tuple(map(int, engine.python.split("."))), interpreters()
    for python in there:
        if python.version >= needed:
            return python
    names = ", ".join(python.name for python in there)
    raise BackendMissing(f"{engine.name} {engine.version} must have Python {engine.python} or later (got {names})")


def _uv() -> str | None:
    """Return the path of uv: on PATH, or in the folder of the Python that runs tconv, whose extra brings it."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def _run(command: Sequence[str]) -> None:
    """Run a command to its end; if we are interrupted, it ends with all that it has started."""
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, errors="replace", start_new_session=True
        )
    except OSError as error:
        raise BackendMissing(f"{command[0]} must be there (got: {error.strerror})") from None
    try:
        _, printed = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if process.returncode:
        last_lines = [line for line in printed.splitlines() if line.strip()][-_LAST_LINES:]
        raise BackendMissing(f"{shlex.join(command)} must succeed (got: {one_line(' '.join(last_lines))})")
