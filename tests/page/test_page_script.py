"""The page's script and the command line: one grammar of patterns. Node must be there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from strategies import examples
from tconv.cases.patterns import facts_of, parse
from tconv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = tuple[bool | None, bool, dict[str, str]]

FOLDER = Path(__file__).parent
NODE, NPM = shutil.which("node") or "", shutil.which("npm") or ""
HAS_MODULES = NODE and NPM and (FOLDER / "node_modules").exists()
pytestmark = pytest.mark.skipif(not HAS_MODULES, reason="there is no node, or no `npm ci`; tox -e lint brings both")
SEGMENTS = st.text("abB.+é😀 ", min_size=1, max_size=3)
KEYS = st.sampled_from(["a", "b.c", "constructor"])
VALUES = st.sampled_from(["1", "2", "1x2", "a=b", "*", "é"])
PATHS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
FACTS = st.dictionaries(KEYS, VALUES, max_size=3)
CHARACTERS = "ab12/*?=,|-. \t\\^$(){}+é😀"
ANYTHING = st.text(CHARACTERS + "[]", max_size=12) | st.builds("{}[{}]".format, *[st.text(CHARACTERS, max_size=8)] * 2)


@st.composite
def patterns(draw: st.DrawFn, path: str, facts: dict[str, str]) -> str:
    """Return a pattern that may well match the case: its path with some wildcards, and some conditions."""
    wildcards = st.sampled_from(["*", "**", "?", ""])
    characters = [draw(wildcards) if draw(st.integers(0, 4)) == 0 else character for character in path]
    conditions = [f"{key}={draw(VALUES)}|{value}" for key, value in facts.items() if draw(st.booleans())]
    conditions += draw(st.lists(st.builds(" {} = {} ".format, KEYS, VALUES), max_size=1))
    return "".join(characters) + (f"[{','.join(draw(st.permutations(conditions)))}]" if conditions else "")


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[..., Answer]]:
    """Return a function that asks the page's script about a pattern, an id and facts; it starts node once."""
    subprocess.run([NPM, "run", "modules"], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
    command = [NODE, str(FOLDER / "answer.js")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as node:
        assert node.stdin is not None
        assert node.stdout is not None

        def answer(*question: object) -> Answer:
            node.stdin.write(json.dumps(question) + "\n")
            node.stdin.flush()
            return tuple(json.loads(node.stdout.readline()))

        yield answer
        node.stdin.close()


@examples(500)
@given(PATHS, FACTS, st.data())
def test_page_and_command_line_have_one_grammar(
    ask: Callable[..., Answer], path: str, facts: dict[str, str], data: st.DataObject
) -> None:
    """A text is a pattern for both or for neither, with the same matches; the search finds what the pattern matches."""
    case_id = f"{path}[{','.join(f'{key}={value}' for key, value in facts.items())}]"
    text = data.draw(patterns(path, facts) | ANYTHING)
    try:
        matches = parse(text).matches(case_id, facts)
    except UsageError:
        matches = None
    event(f"matches: {matches}")
    same, found, _ = ask(text, case_id, facts)
    assert same == matches
    assert found or not matches


@examples(200)
@given(st.builds("a[{}{}".format, st.text("ab=,[]", max_size=8), st.sampled_from(["]", "]]"])))
def test_labels_of_an_id_are_its_facts(ask: Callable[..., Answer], case_id: str) -> None:
    """What the page reads from an id is what the gate reads from it."""
    assert ask("a", case_id, {})[2] == facts_of(case_id)
