"""Which releases of a package have a wheel for which Python, as pip answers."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from tconv.errors import BackendMissing
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tconv.investigation.history.interpreters import Interpreter

_AVAILABLE = "Available versions:"
_NO_PIP = "No module named pip"
_LAST_TRY = re.compile(r"Retry\(total=0,.*?connection broken by ['\"](\w+)(?:.*\[Errno -?\d+\] ([^'\")\n]+))?")
"""What pip says before it tries an index for the last time: the error, and its number's words where it has one."""


def wheels(
    package: str,
    pythons: Sequence[Interpreter],
    unreachable: Callable[[str], object],
    *,
    prereleases: bool = False,
) -> dict[Version, Interpreter]:
    """Return the releases that have a wheel for one of some Pythons, oldest first, each with the oldest such Python.

    With the oldest, numpy and whatever else comes along are nearest to what the release was built for.

    Args:
        package: its name on the index.
        pythons: the oldest first.
        unreachable: is given a sentence where the index cannot be reached, so that only releases at hand are found.
        prereleases: whether these count too.

    Raises:
        BackendMissing: pip is not there, the index cannot be reached, or has no wheel for any of the Pythons.
    """
    by_version: dict[Version, Interpreter] = {}
    reason = lost = ""
    for python in pythons:
        command = [sys.executable, "-m", "pip", "index", "versions", package, "--python-version", python.name]
        command += ["--only-binary", ":all:", "--disable-pip-version-check", *(["--pre"] if prereleases else [])]
        # What could not be reached just now is not tried five times for every Python.
        command += ["--retries", "0"] if lost else []
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own Python
        if _NO_PIP in answer.stderr:
            raise BackendMissing(
                f"the Python that runs tconv must have pip (got none in {sys.executable}); "
                f"{sys.executable} -m ensurepip installs it"
            )
        lost = lost or _lost(answer.stderr)
        for version in _listed(answer.stdout):
            by_version.setdefault(version, python)
        reason = answer.stderr.strip().rpartition("\n")[2] or reason
    if lost and not by_version:
        raise BackendMissing(lost)
    if lost:
        unreachable(lost)
    if not by_version:
        names = ", ".join(python.name for python in pythons)
        raise BackendMissing(
            f"{package} must have a wheel for a Python of this machine, {names} (got: {one_line(reason)})"
        )
    return dict(sorted(by_version.items()))


def _lost(printed: str) -> str:
    """Return what to do where pip gave an index up; an empty text where it did not."""
    tried = _LAST_TRY.search(printed)
    if tried is None:
        return ""
    return (
        f"the index of packages must be reachable (got: {tried[2] or tried[1]}); connect this machine to it, or set "
        "PIP_NO_INDEX=1 and PIP_FIND_LINKS to a folder with the wheels"
    )


def _listed(text: str) -> list[Version]:
    line = next((line for line in text.splitlines() if line.startswith(_AVAILABLE)), _AVAILABLE)
    versions = []
    for word in line.removeprefix(_AVAILABLE).split(","):
        try:
            versions.append(Version(word.strip()))
        except InvalidVersion:
            continue
    return versions


def last_of_each_minor(versions: Sequence[Version]) -> list[Version]:
    """Return the last release of every minor one, `1.15.1` of `1.15`, in their order."""
    return sorted({(version.epoch, version.major, version.minor): version for version in sorted(versions)}.values())


def between(versions: Iterable[Version], first: Version | None, last: Version | None) -> list[Version]:
    """Return the releases from one to another, both included; `1.15` as the last includes 1.15.1.

    Args:
        versions: releases.
        first: None for the oldest.
        last: None for the newest.
    """
    return sorted(
        version
        for version in versions
        if (first is None or version >= first)
        and (last is None or version <= last or version.release[: len(last.release)] == last.release)
    )
