"""Runs one after another, all in one process: no handle, no process, no file and no memory is lost, and records are alike."""

from __future__ import annotations

import json
import os
import tempfile
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import TYPE_CHECKING

from campaign import Surroundings, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN = ("run", "--backend", "onnxruntime", "--quiet", "--output", "out")
PART = ("-j", "2", "examples/**")
"""What is run again and again: a part of the gate tier."""
_SETTLED = 5
"""So many runs, and all that is loaded once has been loaded."""
_MOST_GROWTH = 2**24
"""Bytes by which this process may have grown since it had settled."""
_MINUTES = 300


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tally of so many runs of a part of the gate tier."""
    del seed
    from in_process import command  # noqa: PLC0415 - it imports tconv

    tally = Tally("runs one after another")
    with Surroundings() as surroundings:
        # Made in the usual place: it goes when this process ends.
        get_temp_dir()
        usual, tempfile.tempdir = tempfile.tempdir, str(surroundings.temporary)
        first = before = None
        for number in range(count):
            code, printed = command(surroundings, *RUN, *PART, seconds=_MINUTES)
            records = _records(surroundings.folder / "out")
            first = first or records
            wrong = None if code == 0 else f"exit code {code}: {printed[-300:]!r}"
            now = _state(surroundings)
            if number == _SETTLED:
                before = now
            wrong = wrong or ("other records" if records != first else None) or _grown(before, now)
            tally.count(f"run {number + 1}", wrong)
        if before is not None:
            tally.name += f" (handles, processes, files: {before[:3]} and at last {now[:3]}; {before[3] >> 20} and {now[3] >> 20} MiB)"
        tempfile.tempdir = usual
    yield tally


def _records(folder: Path) -> list[object]:
    """Return the lines of the record file, without times."""
    (path,) = folder.glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["run"]["started"] = ""
    return [lines[0], *sorted((line | {"seconds": 0} for line in lines[1:]), key=lambda line: line["case"])]


def _state(surroundings: Surroundings) -> tuple[int, int, int, int]:
    """Return how many handles this process has, how many processes and files there are of it, and its memory in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    children = sum(_is_child(folder) for folder in Path("/proc").glob("[0-9]*"))
    files = sum(not path.name.startswith("pymp-") for path in surroundings.temporary.iterdir())
    return len(os.listdir("/proc/self/fd")), children, files, pages * os.sysconf("SC_PAGE_SIZE")  # noqa: PTH208 - only counted


def _is_child(folder: Path) -> bool:
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid())
    except OSError:
        return False


def _grown(before: tuple[int, int, int, int] | None, now: tuple[int, int, int, int]) -> str | None:
    """Return what there is more of than when this process had settled."""
    if before is None:
        return None
    if any(new > old for old, new in zip(before[:3], now[:3], strict=True)):
        return f"handles, processes, files: {now[:3]}, and {before[:3]} before"
    return f"{now[3] - before[3]} bytes more" if now[3] - before[3] > _MOST_GROWTH else None
