"""The walks of the documentation, from nothing to a gate: their own blocks are run, and print what stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from small_corpus import Command

DOCS = Path(__file__).parent.parent / "docs"


class Walk(NamedTuple):
    """What stands before a walk on its page and what behind it, and the exit codes of its commands."""

    page: str
    before: str
    behind: str
    codes: tuple[int, ...]


WALKS = {
    "first steps": Walk("start/first-steps.md", "# First steps\n", "\0", (0, 1, 0, 1, 0, 0, 1, 0)),
    "a backend": Walk("start/own-runtime.md", "# Test your own runtime\n", "\0", (1, 0, 0, 0, 0)),
    "torch": Walk("reference/backends.md", "\n### geometry/1\n", "\n## ", (0,)),
}


def blocks(walk: Walk) -> Iterator[tuple[str, str]]:
    """Yield language and text of each fenced block of a walk, in order."""
    text = (DOCS / walk.page).read_text(encoding="utf-8").partition(walk.before)[2].partition(walk.behind)[0]
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield match[1], match[2]


def shown(expected: str, printed: str) -> list[str]:
    """Return the lines of a block that are not printed in this order.

    `...` stands for any lines between; a terminal may fold a line of the page, which may be the beginning of what is
    printed, and counts may be others.
    """
    left, after, missing = " ".join(printed.split()), 0, []
    for line in (" ".join(line.split()) for line in expected.splitlines() if line != "..."):
        pattern = re.compile(r"(?:^|(?<= ))" + re.sub(r"[\d,]*\d", r"[\\d,]+", re.escape(line)))
        if found := pattern.search(left, after):
            after = found.end()
        else:
            missing.append(line)
    return missing


@pytest.mark.thorough
def test_the_readme_shows_what_the_first_run_prints(command: Command) -> None:
    """Its excerpt has these lines in this order, with the same counts; `...` stands for any lines between."""
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    excerpt = re.findall(r"^```text\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[0]
    done = command("run")
    assert done.returncode == 0, done.stderr
    printed, after = " ".join(done.stdout.split()), 0
    for line in (" ".join(line.split()) for line in excerpt.splitlines() if line != "..."):
        found = printed.find(line, after)
        assert found >= 0, line
        after = found + len(line)


@pytest.mark.thorough
@pytest.mark.parametrize("name", WALKS)
def test_a_walk_leads_to_a_gate(name: str, command: Command, tmp_path: Path) -> None:
    """Files are written, commands are run, and what they print is what the page shows; at the end the gate is green."""
    if name == "torch":
        pytest.importorskip("torch", reason="there is no torch; tox -e torch has it")
    walk, printed, codes = WALKS[name], "", ()
    for language, text in blocks(walk):
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
                    printed, codes = printed + done.stdout, (*codes, done.returncode)
    assert codes == walk.codes
    assert (tmp_path / "junit.xml").is_file() == any("--junit" in text for _, text in blocks(walk))


def ran(command: Command, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    if ">" not in words:
        return command(*words)
    at = words.index(">")
    done = command(*words[:at])
    (folder / words[at + 1]).write_text(done.stdout, encoding="utf-8")
    return done
