"""Case files that are mutated are read, or refused at their place, in seconds."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from faults.place import EITHER, Place
from strategies import examples
from tconv.datafiles import data_folder

WORDS = (
    "-1", "0", "2147483648", "9" * 90, "1e999", ".nan", "null", "true", "[]", "{}", "[1, [2]]", '"\\e"', '"\\0"', '"\\u202e"',
    "&a [*a]", "*x", "!!python/name:os.system", "- -", "? :", "'", '"', "\t", "\x1b", "\u2028", "full-999999", "{raw: x}", "<<",
)  # fmt: skip


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
