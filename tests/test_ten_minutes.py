"""The walk of docs/backends.md, from nothing to a gate: its own blocks are run, and print what stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from small_corpus import Command

PAGE = Path(__file__).parent.parent / "docs" / "backends.md"
FIRST = ("tconv run --backend acme_tconv:Acme --tier smoke", 1)
SHRUNK = "tconv shrink"


def blocks() -> Iterator[tuple[str, str]]:
    """Yield language and text of each fenced block of the walk, in order."""
    text = PAGE.read_text(encoding="utf-8")
    walk = text.partition("## From zero to a gate in ten minutes\n")[2].partition("\n## ")[0]
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", walk, re.MULTILINE | re.DOTALL):
        yield match[1], match[2]


def shown(expected: str, printed: str) -> list[str]:
    """Return the lines of a block that are not printed in this order.

    `...` stands for any lines between; a line of the page may be the beginning of what is printed, and counts may be
    others.
    """
    left = [" ".join(line.split()) for line in printed.splitlines()]
    missing = []
    for line in (" ".join(line.split()) for line in expected.splitlines() if line != "..."):
        pattern = re.compile(re.sub(r"[\d,]*\d", r"[\\d,]+", re.escape(line)))
        found = next((place for place, other in enumerate(left) if pattern.match(other)), None)
        if found is None:
            missing.append(line)
        else:
            del left[: found + 1]
    return missing


@pytest.mark.thorough
def test_the_walk_leads_to_a_gate(command: Command, tmp_path: Path) -> None:
    """Files are written, commands are run, and what they print is what the page shows; at the end the gate is green."""
    printed, codes = "", {}
    for language, text in blocks():
        if language in {"python", "yaml"}:
            (tmp_path / text.partition("\n")[0].removeprefix("# ")).write_text(text, encoding="utf-8")
        elif language == "text":
            assert shown(text, printed) == []
        else:
            printed = ""
            for line in text.splitlines():
                words = shlex.split(line)
                if words[0] == "tconv":
                    done = command(*words[1:])
                    printed, codes[line] = printed + done.stdout, done.returncode
    assert list(codes.values()) == [1, 0, 0, 0, 0, 0], codes
    assert (tmp_path / "junit.xml").is_file()
