"""Runs one after another in one process: no handle, process, file or memory is lost, and records are alike."""

from __future__ import annotations

import json
import os
import tempfile
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import TYPE_CHECKING

from faults.place import GREEN

if TYPE_CHECKING:
    import pytest

    from faults.place import Place

RUN = ("run", "--backend", "onnxruntime", "--quiet", "--output", "out", "-j", "2", "examples/**")
"""What is run again and again: a part of the gate tier."""
_SETTLED = 5
"""So many runs, and all that is loaded once has been loaded."""
_MOST_GROWTH = 2**24
"""Bytes by which this process may have grown since then."""


def test_runs_one_after_another(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty runs have the same records, and the last ones need no more than those before."""
    # It is made in the usual place, and goes when this process ends.
    get_temp_dir()
    monkeypatch.setattr(tempfile, "tempdir", str(place.temporary))
    states, first = [], None
    for _ in range(20):
        place.command(*RUN, codes=GREEN, seconds=300)
        records = _records(place.folder / "out")
        first = first or records
        assert records == first
        states.append(_state(place))
    settled = states[_SETTLED]
    for state in states[_SETTLED:]:
        assert all(now <= before for now, before in zip(state[:3], settled[:3], strict=True)), (settled, state)
        assert state[3] - settled[3] < _MOST_GROWTH


def _records(folder: Path) -> list[object]:
    """Return the lines of the record file, without times."""
    (path,) = folder.glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["run"]["started"] = ""
    return [lines[0], *sorted((line | {"seconds": 0} for line in lines[1:]), key=lambda line: line["case"])]


def _state(place: Place) -> tuple[int, int, int, int]:
    """Return how many handles this process has, its children, the files of the place, and its memory in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    children = sum(_is_child(folder) for folder in Path("/proc").glob("[0-9]*"))
    files = sum(not path.name.startswith("pymp-") for path in place.temporary.iterdir())
    return len(os.listdir("/proc/self/fd")), children, files, pages * os.sysconf("SC_PAGE_SIZE")  # noqa: PTH208 - only counted


def _is_child(folder: Path) -> bool:
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid())
    except OSError:
        return False
