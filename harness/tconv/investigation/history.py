"""The releases of a runtime on the index of packages, and the choice of some of them."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from tconv.errors import BackendMissing, UsageError
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tconv.backends.environments import Engine

LATEST = "latest"
_RANGE = ".."
_AVAILABLE = "Available versions:"
_LAST_TRY = re.compile(r"Retry\(total=0,.*?connection broken by ['\"](\w+)(?:.*\[Errno -?\d+\] ([^'\")\n]+))?")
"""The words of pip before its last try of an index: the error, and the words of its number if it has one."""


def chosen_releases(words: Sequence[str], engine: Engine) -> list[Version]:
    """Return the releases that some words name, the oldest first.

    A word is a version, or a range such as `1.15..1.20`: the last patch of each minor release between the two, both
    included. The end may be `latest`. The index is only asked for ranges.

    Raises:
        UsageError: a word is neither.
        BackendMissing: the index cannot be reached, or has no wheel.
    """
    ranges = [word.split(_RANGE, 1) for word in words if _RANGE in word]
    bounds = [(_version(first), None if last == LATEST else _version(last)) for first, last in ranges]
    chosen = {_version(word) for word in words if _RANGE not in word}
    if bounds:
        there = last_of_each_minor(_on_index(engine))
        chosen.update(each for each in there for first, last in bounds if first <= each and _is_up_to(each, last))
    return sorted(chosen)


def last_of_each_minor(versions: Collection[Version]) -> list[Version]:
    """Return the last patch of every minor release, such as `1.15.1` of `1.15`, in order."""
    return sorted({(version.epoch, version.major, version.minor): version for version in sorted(versions)}.values())


def _is_up_to(version: Version, last: Version | None) -> bool:
    """Return whether a release is not newer than `last`; `1.15` includes 1.15.1."""
    return last is None or version <= last or version.release[: len(last.release)] == last.release


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise UsageError(f"a release must be a version such as 1.15.1, or 1.15..1.20 (got {text!r})") from None


def _on_index(engine: Engine) -> set[Version]:
    """Return the releases of a runtime that have a wheel for a Python in its table."""
    package = engine.row["package"].partition("[")[0]
    pythons = engine.row.get("pythons", {"": engine.python}).values()
    found: set[Version] = set()
    for python in pythons:
        command = [sys.executable, "-m", "pip", "index", "versions", package, "--python-version", python]
        command += ["--only-binary", ":all:", "--disable-pip-version-check"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own Python
        if lost := _LAST_TRY.search(answer.stderr):
            raise BackendMissing(
                f"the index of packages must be reachable (got: {lost[2] or lost[1]}); connect this machine to it, or "
                "set PIP_NO_INDEX=1 and PIP_FIND_LINKS to a folder with the wheels"
            )
        line = next((line for line in answer.stdout.splitlines() if line.startswith(_AVAILABLE)), "")
        found |= {Version(word) for word in line.removeprefix(_AVAILABLE).replace(",", " ").split()}
    if not found:
        got = one_line(answer.stderr.strip().rpartition("\n")[2])
        raise BackendMissing(f"{package} must have a wheel for Python {', '.join(pythons)} (got: {got})")
    return found
