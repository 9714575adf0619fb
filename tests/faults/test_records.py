"""Record files and waivers that are edited, cut or made anew are refused with their line, or red, and never green."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.place import RUN, Place
from strategies import examples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE: tuple[Any, ...] = (
    "", "\0", "\x1b[2J", "\ud800", "\u202e", "x" * 5000, "../../outside", "onnx/ConvTranspose-1", None, True, -1, 10**30, math.inf,
    [], {}, [[[[]]]], {"kind": "agreed"}, {"kind": "agreed", "rule": "exact"}, ["nothing"], "NaN",
)  # fmt: skip
WORDS = (
    '"\\e[2J"',
    "*a",
    "&a",
    "!!python/object:os.system",
    "{",
    "]",
    "~",
    "9" * 500,
    '"\\ud800"',
    "- - -",
    "\t",
    "<<: *x",
)
WAIVERS = """\
format: 1
backend: PadsSwapped
waivers:
  - name: known
    dialects: [onnx/ConvTranspose-22]
    verdict: {kind: differed}
    versions: ""
    clause: of a text
    because: it is so
    example: cases/plain[strides=1,dilations=1,pads_begin=1,dtype=f32]
    date: "2026-11-20"
"""


@pytest.fixture(scope="module")
def red() -> Iterator[tuple[Place, Path]]:
    with Place() as place:
        assert place.run(*RUN, "wrong_backends:PadsSwapped") == 1
        (path,) = (place.folder / "reports").glob("*.jsonl")
        yield place, path


def reported(place: Place, name: str, waivers: str = "none") -> None:
    """Report records that are red: they stay red, or are refused."""
    place.command("report", name, "--cases", "cases.yaml", "--waivers", waivers, codes={1, 2})


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - JSON values
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*above, key)
        yield from places(value[key], (*above, key))


@examples(50)
@given(st.data())
def test_edited_records_are_not_green(red: tuple[Place, Path], data: st.DataObject) -> None:
    """A value anywhere in a file is another one; a key is gone; a line is doubled or missing."""
    place, path = red
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    line = data.draw(st.integers(0, len(lines) - 1))
    how = data.draw(st.sampled_from(("replace", "remove", "double", "drop")))
    if how in {"replace", "remove"}:
        *above, key = data.draw(st.sampled_from(list(places(lines[line]))))
        value = lines[line]
        for segment in above:
            value = value[segment]
        if how == "replace":
            value[key] = data.draw(st.sampled_from(HOSTILE))
        else:
            del value[key]
    elif how == "double":
        lines.append(lines[line])
    else:
        del lines[line]
    (place.folder / "edited.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    reported(place, "edited.jsonl")


@examples(50)
@given(st.data())
def test_records_with_other_bytes_are_not_green(red: tuple[Place, Path], data: st.DataObject) -> None:
    place, path = red
    text = path.read_bytes()
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.binary(max_size=1))
    gone = data.draw(st.sampled_from((0, 1, 10, 500, len(text))))
    (place.folder / "changed.jsonl").write_bytes(text[:at] + new + text[at + gone :])
    if new + text[at + gone :] != text[at:]:
        reported(place, "changed.jsonl")


@examples(50)
@given(st.data())
def test_edited_waivers_waive_nothing_more(red: tuple[Place, Path], data: st.DataObject) -> None:
    """A line of a waiver file is changed, doubled or missing, or has another word."""
    place, path = red
    lines = WAIVERS.splitlines()
    line = data.draw(st.integers(0, len(lines) - 1))
    match data.draw(st.sampled_from(("word", "double", "delete"))):
        case "word":
            lines[line] = f"{lines[line].partition(': ')[0]}: {data.draw(st.sampled_from(WORDS))}"
        case "double":
            lines.insert(line, lines[line])
        case _:
            del lines[line]
    (place.folder / "waivers.yaml").write_text("\n".join(lines) + "\n")
    reported(place, f"reports/{path.name}", "waivers.yaml")
