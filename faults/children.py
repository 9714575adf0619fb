"""A child of `exec:` that says, writes, replaces and leaves behind whatever it likes, confined and not."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from campaign import Surroundings, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNNER = Path(__file__).parent / "hostile_runner.py"
MUST_START = ("name", "version")
MUST_NOT_START = ("long-name", "list-name", "no-name", "dialect", "dies-at-hello")
WAYS = (
    *MUST_START, *MUST_NOT_START, "path-name", "refuses", "unsupported", "backend-error", "nested", "number", "links", "folders", "pipes",
    "removes-folder", "replaces-folder", "sparse-stderr", "prints", "claims-gigabytes", "sparse-output", "grandchild",
    "stops", "deaf", "kills-parent", "abort", "exit", "bytes", "endless-line", "forks-on", "fills-folder",
)  # fmt: skip
ONLY_CONFINED = ("writes-outside", "connects", "kills-all", "frees-itself")
"""What a child may do that is not confined."""
_CASES = 25
_CODES = frozenset({0, 1, 3})


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies of children that are confined and that are not; `count` limits the ways."""
    del seed
    for option, ways in (("--isolate", (*WAYS, *ONLY_CONFINED)), ("--no-isolate", WAYS)):
        tally = Tally(f"hostile children, {option}")
        for how in ways[:count]:
            with Surroundings() as surroundings:
                spec = f"exec:{shlex.join([sys.executable, str(RUNNER), how, str(surroundings.outside)])}"
                code = surroundings.run(
                    "run", "--cases", "cases.yaml", "--tier", "full", "--waivers", "none", "-j", "1", "--timeout", "2",
                    option, "--backend", spec,
                )  # fmt: skip
                codes = frozenset({3}) if how in MUST_NOT_START else _CODES
                tally.count(how, surroundings.wrong(code, codes) or _lost(surroundings, how))
        yield tally


def _lost(surroundings: Surroundings, how: str) -> str | None:
    """Return what is wrong with the records: one is missing, or another case than the one with stride 7 is harmed."""
    if how in MUST_NOT_START:
        return None
    records = next((surroundings.folder / "reports").glob("*.jsonl"))
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    if len(lines) != _CASES + 1:
        return f"{len(lines) - 1} of {_CASES} records"
    others = {line["verdict"]["kind"] for line in lines[1:] if line["case"] != "cases/trouble"}
    return f"other cases are {sorted(others)}" if others - {"unsupported"} else None
