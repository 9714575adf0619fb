"""The Pythons of this machine: old releases of runtimes have wheels only for old Pythons."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_OLDEST = (3, 6)
_SECONDS = 20
# It must run on any Python. An environment with pip needs ensurepip. A build without the global lock has other wheels.
_QUESTION = (
    "import sys, venv, ensurepip, sysconfig; "
    "print('%s %d.%d %s' % ((sys.implementation.name,) + sys.version_info[:2] "
    "+ (bool(sysconfig.get_config_var('Py_GIL_DISABLED')),)))"
)
_NAME = re.compile(r"python3\.\d+$")


@dataclass(frozen=True, slots=True, order=True)
class Interpreter:
    """A Python: major and minor version, and its executable."""

    version: tuple[int, int]
    executable: Path

    @property
    def name(self) -> str:
        """The version as text, such as `3.8`."""
        return ".".join(map(str, self.version))


def interpreters() -> list[Interpreter]:
    """Return the CPythons of this machine from 3.6 on, the oldest first, one of each minor version.

    They are those of pyenv, `python3.*` on PATH, and the Python that runs tconv.
    """
    by_version: dict[tuple[int, int], Interpreter] = {}
    for executable in _candidates():
        version = _version(executable)
        if version is not None and version >= _OLDEST:
            by_version.setdefault(version, Interpreter(version, executable))
    return sorted(by_version.values())


def _candidates() -> list[Path]:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    on_path = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if _NAME.match(path.name)]
    return [*sorted(pyenv.glob("3.*/bin/python")), *sorted(on_path), Path(sys.executable)]


def _version(executable: Path) -> tuple[int, int] | None:
    """Return the version of an ordinary CPython that can make environments; None for anything else."""
    try:
        words = subprocess.run(  # noqa: S603 - a Python of this machine
            [str(executable), "-E", "-c", _QUESTION], capture_output=True, text=True, timeout=_SECONDS, check=True
        ).stdout.split()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    match words:
        case ["cpython", version, "False"]:
            major, minor = map(int, version.split("."))
            return major, minor
        case _:
            return None
