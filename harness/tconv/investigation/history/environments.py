"""Environments of releases: each is made once, as a whole or not at all, and stays in a cache folder."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from filelock import FileLock

from tconv.errors import BackendMissing, writing
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from packaging.version import Version

    from tconv.investigation.history.interpreters import Interpreter
    from tconv.investigation.history.runtimes import Runtime

# The last pip that runs on 3.6; those that come with 3.6 and 3.7 know neither manylinux2014 nor what followed.
_PIP = "pip==21.3.1"
_NEEDS_PIP = (3, 7)
_UV_FROM = (3, 8)
_LAST_LINES = 3


class Maker(Protocol):
    """What makes an environment in a folder that is not there yet, and installs into it."""

    def __call__(self, folder: Path, interpreter: Interpreter, requirements: Sequence[str]) -> None:
        """Make it.

        Raises:
            BackendMissing: something cannot be installed.
        """


def default_cache() -> Path:
    """Return the folder of environments: below XDG_CACHE_HOME, else below `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tconv" / "history"


@dataclass(frozen=True, slots=True)
class Environments:
    """The environments of a cache folder.

    Attributes:
        cache: the folder.
        maker: what makes an environment.
        rebuild: whether those that are there are made anew.
    """

    cache: Path
    maker: Maker
    rebuild: bool = False

    def command(self, runtime: Runtime, version: Version, interpreter: Interpreter, dialect: str) -> str:
        """Return the command line of a release's runner; its environment is made where it is not there.

        Raises:
            BackendMissing: the environment cannot be made.
            FileError: the cache folder cannot be written.
        """
        # A normalised version has no separator of paths.
        folder = self.cache / f"{runtime.package}-{version}-py{interpreter.name}"
        with writing(self.cache, "folder"):
            self.cache.mkdir(parents=True, exist_ok=True)
        # Another process may make the same one: it is waited for.
        with FileLock(folder.with_name(f".{folder.name}.lock")):
            if self.rebuild and folder.is_dir():
                shutil.rmtree(folder)
            if not folder.is_dir():
                self._make(folder, interpreter, runtime.requirements(version))
        # Without -E, PYTHONPATH would bring packages of another Python.
        return shlex.join([str(folder / "bin" / "python"), "-E", "-s", str(runtime.runner), dialect])

    def _make(self, folder: Path, interpreter: Interpreter, requirements: Sequence[str]) -> None:
        """Make an environment beside its place, and move it there when it is whole."""
        partial = folder.with_name(f".{folder.name}.partial")
        # One is there where an earlier process was killed.
        shutil.rmtree(partial, ignore_errors=True)
        try:
            self.maker(partial, interpreter, requirements)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def with_uv_or_venv(folder: Path, interpreter: Interpreter, requirements: Sequence[str]) -> None:
    """Make an environment with uv where it is there and knows the Python, else with venv and pip; only wheels count."""
    uv = shutil.which("uv")
    if uv is not None and interpreter.version >= _UV_FROM:
        _run([uv, "venv", "--quiet", "--python", str(interpreter.executable), str(folder)])
        install = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), "--no-cache"]
    else:
        _run([str(interpreter.executable), "-E", "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-E", "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
        install = [*pip, "install", "--quiet"]
        if interpreter.version <= _NEEDS_PIP:
            _run([*install, _PIP])
    _run([*install, "--only-binary", ":all:", *requirements])


@contextmanager
def _signals_later() -> Iterator[None]:
    """Hear signals when this context ends, and not inside of it; only the main thread hears any."""
    received: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [signal.SIGINT, signal.SIGTERM]
        before = {number: signal.signal(number, lambda heard, _: received.append(heard)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            # A handler that was not set from Python is None.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in received:
            signal.raise_signal(number)


def _run(command: Sequence[str]) -> None:
    """Run a command to its end; where we are interrupted, it ends with all that it has started."""
    process = None
    try:
        # An interrupt before the process is known would leave it running.
        with _signals_later():
            process = subprocess.Popen(  # noqa: S603 - no shell
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, errors="replace", start_new_session=True
            )
        _, printed = process.communicate()
    except BaseException:
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        raise
    if process.returncode:
        last_lines = [line for line in printed.splitlines() if line.strip()][-_LAST_LINES:]
        raise BackendMissing(f"{shlex.join(command)} must succeed (got: {one_line(' '.join(last_lines))})")
