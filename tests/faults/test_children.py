"""A child of `exec:` says, writes, replaces and leaves behind whatever it likes, confined and not."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faults.place import COUNT, RUN

if TYPE_CHECKING:
    from faults.place import Place

RUNNER = Path(__file__).parent / "hostile_runner.py"
MUST_NOT_START = ("long-name", "list-name", "no-name", "dialect", "dies-at-hello")
WAYS = (
    *MUST_NOT_START, "name", "version", "path-name", "refuses", "unsupported", "backend-error", "nested", "number", "links",
    "folders", "pipes", "removes-folder", "replaces-folder", "sparse-stderr", "prints", "claims-gigabytes", "sparse-output",
    "grandchild", "stops", "deaf", "kills-parent", "abort", "exit", "bytes", "endless-line", "forks-on", "fills-folder",
)  # fmt: skip
ONLY_CONFINED = ("writes-outside", "connects", "kills-all", "frees-itself")


@pytest.mark.parametrize(
    ("how", "option"), [(h, "--isolate") for h in (*WAYS, *ONLY_CONFINED)] + [(h, "--no-isolate") for h in WAYS]
)
def test_a_hostile_child_harms_one_case(place: Place, how: str, option: str) -> None:
    """No record is missing, and only the case with stride 7 is harmed."""
    spec = f"exec:{shlex.join([sys.executable, str(RUNNER), how, str(place.outside)])}"
    code = place.run(*RUN, spec, "--timeout", "2", option)
    place.check(code, {3} if how in MUST_NOT_START else {0, 1, 3})
    if how not in MUST_NOT_START:
        (records,) = (place.folder / "reports").glob("*.jsonl")
        lines = [json.loads(line) for line in records.read_text().splitlines()[1:]]
        assert len(lines) == COUNT
        assert {line["verdict"]["kind"] for line in lines if line["case"] != "cases/trouble"} == {"unsupported"}
