"""Case files that are mutated or too costly are refused at their place, in seconds."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.place import EITHER, HEAD, WRONG, Place
from strategies import examples
from tconv.datafiles import data_folder

WORDS = (
    "-1", "0", "2147483648", "9" * 90, "1e999", ".nan", "null", "true", "[]", "{}", "[1, [2]]", '"\\e"', '"\\0"', '"\\u202e"',
    "&a [*a]", "*x", "!!python/name:os.system", "- -", "? :", "'", '"', "\t", "\x1b", "\u2028", "full-999999", "{raw: x}", "<<",
)  # fmt: skip


def _labels(count: int) -> str:
    return "{" + ", ".join(f"l{number}: {{}}" for number in range(count)) + "}"


def _axes(count: int, labels: int) -> str:
    return "{" + ", ".join(f"a{number}: {_labels(labels)}" for number in range(count)) + "}"


SWEEP = "sweeps: [{{name: a, axes: {}}}]"
ONES = "[" + ", ".join(["1"] * 70) + "]"
COSTLY = {
    "a sweep of 500,000": SWEEP.format(_axes(2, 708)),
    "a sweep of 18 axes": SWEEP.format(_axes(18, 2)),
    "a sweep of 40 axes": SWEEP.format(_axes(40, 1)),
    "20,000 sweeps": "sweeps: [" + ", ".join(f"{{name: a{n}, axes: {{seed: [1]}}}}" for n in range(20_000)) + "]",
    "an alias used 120 times": f"sweeps: [{{name: a, axes: &x {_axes(3, 40)}}}, "
    + ", ".join(f"{{name: b{number}, axes: *x}}" for number in range(120))
    + "]",
    "exhaustive sweeps": "sweeps: ["
    + ", ".join(f"{{name: a{n}, tier: exhaustive, axes: {_axes(7, 10)}}}" for n in range(3))
    + "]",
    "a tensor beyond the limit": "cases: [{name: a, with: {spatial: [70000, 70000], kernel: [1, 1]}}]",
    "an output beyond the limit": "cases: [{name: a, with: {strides: 99999999}}]",
    "2^46 products": "cases: [{name: a, with: {spatial: [4096, 4096], kernel: [2048, 2048], pads_begin: 1023, pads_end: 1024}}]",
    "rank 64": f"cases: [{{name: a, with: {{spatial: {ONES}, kernel: {ONES}}}}}]",
    "a shape of rank 70": f"cases: [{{name: a, with: {{x: {{shape: {ONES}}}, breaks: filter-rank-matches}}}}]",
    "a NUL": 'cases: [{name: a, about: "\\0"}]',
    "an escape": 'cases: [{name: a, about: "\\e[2J"}]',
    "a bidi control": 'cases: [{name: a, about: "\\u202e"}]',
    "half a character": 'cases: [{name: a, about: "\\ud800"}]',
    "a raw byte": "cases: [{name: \udcff}]",
    "deep nesting": "cases: " + "[" * 10_000,
    "a long number": "cases: [{name: a, with: {seed: " + "9" * 5000 + "}}]",
    "8 MiB": "about: " + "x" * 2**23,
}


@cache
def shipped() -> list[str]:
    return [path.read_text() for path in sorted(data_folder("cases").rglob("*.yaml"))]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A case file of tconv's own, one to three lines of which are changed, doubled, moved, cut or missing."""
    lines = draw(st.sampled_from(shipped())).splitlines()
    for _ in range(draw(st.integers(1, 3))):
        line = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(("word", "double", "delete", "indent", "cut"))):
            case "word":
                words = lines[line].split(" ")
                words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(WORDS))
                lines[line] = " ".join(words)
            case "double":
                lines.insert(line, draw(st.sampled_from(lines)))
            case "delete":
                del lines[line]
                lines = lines or [""]
            case "indent":
                lines[line] = " " * draw(st.integers(0, 4)) + lines[line]
            case _:
                lines[line] = lines[line][: draw(st.integers(0, len(lines[line])))]
    return "\n".join(lines) + "\n"


def listed(text: str, codes: set[int]) -> None:
    with Place() as place:
        (place.folder / "c.yaml").write_text(text, encoding="utf-8", errors="surrogateescape")
        place.command("list", "--tier", "full", "--cases", "c.yaml", codes=codes)


@examples(50)
@given(mutated())
def test_a_mutated_file_is_read_or_refused(text: str) -> None:
    listed(text, EITHER)


@pytest.mark.parametrize("text", COSTLY.values(), ids=COSTLY)
def test_a_costly_file_is_refused(text: str) -> None:
    """It would cost minutes or gigabytes, or has characters that are none."""
    listed(f"{HEAD}{text}\n", WRONG)
