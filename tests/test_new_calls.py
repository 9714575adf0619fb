"""The new calls that test what explains the failures of a run: what they settle, and what they leave alone."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from small_corpus import BARE_HEAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from small_corpus import Command

    Asked = Callable[..., tuple[dict[str, Any], list[dict[str, Any]]]]

RIGHT, WRONG = (3, 5, 8, 12, 17, 21, 26, 30), (40, 44, 49, 57)
"""Rows of an output in the cases: nothing tells what comes of 31 to 39."""
CASES = f"""{BARE_HEAD}base: {{kernel: [1, 1], channels: 2, out_channels: 2}}
sweeps:
  - name: rows
    axes:
      rows: {{{", ".join(f"r{rows}: {{spatial: [{rows}, 4]}}" for rows in RIGHT + WRONG)}}}
      bias: [false, true]
      data_format: [NCX, NXC]
"""
CONDITION = re.compile(r"output size of the (?:first|last|second-last) axis is at least (\d+)")


@pytest.fixture
def asked(command: Command, tmp_path: Path) -> Asked:
    """Return what runs the cases on a backend, and returns the run as `--json` has it, and the lines of the records."""
    (tmp_path / "own.yaml").write_text(CASES, encoding="utf-8")

    def run(backend: str, *arguments: str, code: int = 1) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        named = ("--cases", "own.yaml", "--backend", f"wrong_backends:{backend}", "--waivers", "none", "--json")
        done = command("run", *named, *arguments)
        assert done.returncode == code, done.stderr
        texts = [file.read_text(encoding="utf-8") for file in sorted(tmp_path.glob(f"reports/{backend}-*.jsonl"))]
        lines = [json.loads(line) for text in texts for line in text.splitlines()]
        run: dict[str, Any] = json.loads(done.stdout)["runs"][0]
        asked = [line for line in lines if line.get("asked")]
        assert len({line["case"] for line in asked}) == len(asked), "a new call was made twice"
        return run, asked

    return run


def border(run: dict[str, Any]) -> int:
    """Return the number of rows from which an output is said to be wrong."""
    (found,) = {CONDITION.search(cause["what"]) for cause in run["causes"] if cause["status"] == "failed"}
    assert found is not None, run["causes"]
    return int(found[1])


def test_new_calls_settle_what_the_records_cannot_tell(asked: Asked) -> None:
    """Output rows beyond 32 are wrong, and no case has 31 to 39: the line has the true number, and says so.

    New calls are no cases: counts, examples and the cases of a cause stay.
    """
    without, none = asked("RowsBeyond32Skipped", "--no-new-calls")
    assert border(without) == WRONG[0]
    assert "not tested on new calls" in without["causes"][0]["what"]
    assert none == []
    tested, lines = asked("RowsBeyond32Skipped")
    assert border(tested) == 33
    assert f"tested on {len(lines)} new calls" in tested["causes"][0]["what"]
    assert 0 < len(lines) <= 50
    assert (tested["cases"], tested["counts"]) == (without["cases"], without["counts"])
    assert [cause["cases"] for cause in tested["causes"]] == [cause["cases"] for cause in without["causes"]]
    run, lines = asked("Right", code=0)
    assert (run["causes"], lines) == ([], [])


OF_ONE_AXIS = f"""{BARE_HEAD}base: {{channels: 2, out_channels: 2}}
sweeps:
  - name: lines
    axes:
      batch: [1, 2]
      spatial: {{four: {{spatial: [4]}}, five: {{spatial: [5]}}, six: {{spatial: [6]}}}}
      kernel: [2, 3]
      strides: [1, 2]
"""


@pytest.mark.parametrize(
    ("backend", "name", "without"),
    [
        ("DroppedTap", ["last-column-dropped"], ["last-tap-dropped"]),
        ("FirstItemForTheLast", [], ["batch-repeats-the-first"]),
    ],
)
def test_a_new_call_shows_which_name_is_right(
    asked: Asked, tmp_path: Path, backend: str, name: list[str], without: list[str]
) -> None:
    """In the cases another bug gives the same outputs: it has one axis, or two items in a batch, and the calls more."""
    (tmp_path / "own.yaml").write_text(OF_ONE_AXIS, encoding="utf-8")
    for arguments, right in ((("--no-new-calls",), without), ((), name)):
        run, _ = asked(backend, *arguments)
        assert [re.findall("as if ([a-z-]+)", cause["what"]) for cause in run["causes"]] == [right]


def test_the_records_alone_tell_the_same(asked: Asked, command: Command, tmp_path: Path) -> None:
    """`report` explains as the run did, in any order of lines, and a run that is resumed asks nothing more."""
    tested, lines = asked("RowsBeyond32Skipped")
    (file,) = tmp_path.glob("reports/*.jsonl")
    header, *records = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join([header, *reversed(records)]), encoding="utf-8")
    done = command("report", str(file), "--cases", "own.yaml", "--waivers", "none", "--json")
    assert json.loads(done.stdout)["runs"][0]["causes"] == tested["causes"]
    again, after = asked("RowsBeyond32Skipped", "--resume")
    assert again["causes"] == tested["causes"]
    assert len(after) == len(lines)


def test_shards_that_are_joined_have_the_new_calls_of_each(asked: Asked, command: Command) -> None:
    """A shard asks by what it shows itself, and `report` reads what all have asked."""
    for shard in ("1/2", "2/2"):
        asked("RowsBeyond32Skipped", "--shard", shard)
    done = command("report", "reports", "--cases", "own.yaml", "--waivers", "none", "--json")
    (run,) = json.loads(done.stdout)["runs"]
    assert border(run) == 33
    assert run["cases"] == 4 * len(RIGHT + WRONG)


def test_a_new_call_that_ends_the_process_costs_one_call(asked: Asked) -> None:
    """Each call is isolated: what dies of it is recorded, others are asked, and no case is lost or changed."""
    without, _ = asked("EndsBeforeRow40", "--no-new-calls")
    tested, lines = asked("EndsBeforeRow40")
    ended = [line for line in lines if line["verdict"]["kind"] == "crashed"]
    assert ended
    assert len(ended) < len(lines)
    assert tested["counts"] == without["counts"]
    assert border(tested) in (WRONG[0], 33)


def test_a_waiver_holds_for_new_calls_too(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "own-waivers.yaml").write_text(
        """format: 1
backend: RowsBeyond32Skipped
waivers:
  - name: rows
    dialects: [onnx/ConvTranspose-22]
    versions: ">=1"
    date: 2026-11-26
    cases: own/rows
    verdict: {kind: differed}
    example: own/rows[rows=r40,bias=false,data_format=NCX]
    clause: doc
    because: rows beyond 32 are zero
""",
        encoding="utf-8",
    )
    _, lines = asked("RowsBeyond32Skipped", "--waivers", "own-waivers.yaml", code=0)
    assert lines == []


def test_a_new_call_that_cannot_be_made_is_refused_in_words(asked: Asked, command: Command, tmp_path: Path) -> None:
    asked("RowsBeyond32Skipped")
    (file,) = tmp_path.glob("reports/*.jsonl")
    text = file.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if '"asked":{' in line)
    record = json.loads(line)
    record["asked"]["spatial"] = [2**20, 2**20]
    file.write_text(text.replace(line, json.dumps(record)), encoding="utf-8")
    done = command("report", str(file), "--cases", "own.yaml")
    assert done.returncode == 2
    assert "a new call must have settings of a case" in done.stderr


def test_no_new_call_has_numbers_that_no_formula_can_hold(asked: Asked, tmp_path: Path) -> None:
    """The smallest failure has the largest stride that there is: a call beside it has numbers beyond 64 bits."""
    rows = "".join(f"  - {{name: n{n}, with: {{spatial: [{n + 2}], bias: {str(n > 3).lower()}}}}}\n" for n in range(24))
    large = f"  - {{name: large, with: {{spatial: [1], kernel: [1], bias: true, strides: [{2**63 - 1}]}}}}\n"
    (tmp_path / "own.yaml").write_text(f"{BARE_HEAD}cases:\n{rows}{large}", encoding="utf-8")
    _, lines = asked("BiasDoubled")
    strides = [line["asked"].get("strides", 1) for line in lines]
    assert lines
    assert all(number < 2**20 for entry in strides for number in (entry if isinstance(entry, list) else [entry]))
