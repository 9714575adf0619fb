"""The walks of the documentation, from nothing to a gate: their own blocks are run, and print what stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from small_corpus import Command

DOCS = Path(__file__).parent.parent / "docs"
WALKS = {
    "backends.md": ("## From zero to a gate in ten minutes\n", "\n## ", [1, 0, 0, 0, 0, 0]),
    "first-steps.md": ("# First steps\n", "\0", [0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]),
}
"""For each page what stands before the walk and what behind it, and the exit codes of its commands."""


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Yield language and text of each fenced block of a walk, in order."""
    before, behind, _ = WALKS[page]
    walk = (DOCS / page).read_text(encoding="utf-8").partition(before)[2].partition(behind)[0]
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
@pytest.mark.parametrize("page", WALKS)
def test_a_walk_leads_to_a_gate(page: str, command: Command, tmp_path: Path) -> None:
    """Files are written, commands are run, and what they print is what the page shows; at the end the gate is green."""
    printed, codes = "", []
    for language, text in blocks(page):
        if language in {"python", "yaml"}:
            (tmp_path / text.partition("\n")[0].removeprefix("# ")).write_text(text, encoding="utf-8")
        elif language == "text":
            assert shown(text, printed) == []
        else:
            printed = ""
            for line in text.splitlines():
                words = shlex.split(line, comments=True)
                if words[0] == "tconv":
                    done = ran(command, words[1:], tmp_path)
                    printed, codes = printed + done.stdout, [*codes, done.returncode]
    assert codes == WALKS[page][2]
    assert (tmp_path / "junit.xml").is_file()


def ran(command: Command, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command; what it prints goes into the file behind `>` as well."""
    if ">" not in words:
        return command(*words)
    at = words.index(">")
    done = command(*words[:at])
    (folder / words[at + 1]).write_text(done.stdout, encoding="utf-8")
    return done
