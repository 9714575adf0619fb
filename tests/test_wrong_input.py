"""What a person reads of wrong input: `tests/golden/` has each wrong call, command and case file with its message.

A message names the place, says what must be, what it got, and what to do if that is not plain. Read a changed message
as somebody who does not know tconv. `TCONV_GOLDEN=write` rewrites the messages.
"""

from __future__ import annotations

import os
import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import tconv
from small_corpus import HEAD, written
from tconv.cli import _tconv
from tconv.documents import tree
from tconv.errors import Invalid, TconvError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from small_corpus import Command

GOLDEN = Path(__file__).parent / "golden"
CALLS, FILES = GOLDEN / "api_messages.yaml", GOLDEN / "case_file_messages.yaml"
COMMANDS = GOLDEN / "command_messages.yaml"
OPERANDS: dict[str, Any] = {
    "np": np,
    "x": np.ones((1, 1, 4), np.float32),
    "w": np.ones((1, 1, 3), np.float32),
    "y": np.ones((1, 1, 6), np.float32),
    "image": np.ones((1, 2, 5, 4)),
    "filters": np.ones((2, 3, 3, 2)),
}


class _Block(str):
    """A text of several lines, which is written as such."""

    __slots__ = ()


yaml.SafeDumper.add_representer(
    _Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")
)


def of_call(code: str) -> str:
    with pytest.raises((TconvError, Invalid)) as caught:
        eval(code, {name: getattr(tconv, name) for name in tconv.__all__} | OPERANDS)  # noqa: S307 - our own file
    return f"{type(caught.value).__name__}: {caught.value}"


def of_file(text: str, folder: Path) -> str:
    (folder / "mine.yaml").write_bytes(text.encode())
    done = CliRunner().invoke(_tconv, ["check", "mine.yaml"], standalone_mode=False)
    assert done.exception or done.return_value == 2, text
    return str(done.exception or done.stderr).rstrip("\n")


@cache
def entries_of(golden: Path) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = yaml.safe_load(golden.read_text(encoding="utf-8"))
    return entries


def compare(golden: Path, messages: Sequence[str | None]) -> None:
    """Compare messages with those of a golden file, or write them into it."""
    entries = entries_of(golden)
    if os.environ.get("TCONV_GOLDEN") == "write":
        found = [entry | ({"message": text} if text else {}) for entry, text in zip(entries, messages, strict=True)]
        blocks = [{key: _Block(text) if "\n" in text else text for key, text in entry.items()} for entry in found]
        golden.write_text(yaml.safe_dump(blocks, sort_keys=False, allow_unicode=True, width=4096), encoding="utf-8")
        entries_of.cache_clear()
    assert messages == [entry.get("message") for entry in entries_of(golden)]


def test_each_wrong_call_has_its_message() -> None:
    compare(CALLS, [of_call(entry["call"]) for entry in entries_of(CALLS)])


@pytest.mark.parametrize("number", range(len(entries_of(COMMANDS))))
def test_each_wrong_command_has_its_message(
    number: int, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with 2, or with 3 if there is no such backend, says so in one line, and runs nothing."""
    written(tmp_path)
    written(tmp_path, HEAD.replace("groups", "group"), "bad.yaml")
    (tmp_path / "waivers.yaml").write_text("format: 2\nbackend: acme\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dies_at_import.py").write_text(
        "import os, sys\nprint('illegal instruction', file=sys.stderr, flush=True)\nos._exit(11)\n"
    )
    (tmp_path / "needs_another.py").write_text("import no_such_runtime\n")
    monkeypatch.syspath_prepend(tmp_path)
    entries = entries_of(COMMANDS)
    done = command(*shlex.split(entries[number]["command"]))
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    messages = [entry.get("message") for entry in entries]
    messages[number] = f"exit {done.returncode}: {done.stderr.strip()}".replace(str(tmp_path), "FOLDER")
    compare(COMMANDS, messages)
    assert not list(tmp_path.glob("reports/*.jsonl"))


def test_each_broken_case_file_has_its_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    compare(FILES, [of_file(entry["file"], tmp_path) for entry in entries_of(FILES)])


def test_each_broken_case_file_has_its_message_without_libyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a syntax error the line is the same; the words are the parser's own, and the column of an empty value is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tree, "_LOADER", yaml.SafeLoader)
    entries = entries_of(FILES)
    found = [_without_words(of_file(entry["file"], tmp_path)) for entry in entries]
    assert found == [_without_words(entry["message"]) for entry in entries]


def _without_words(message: str) -> str:
    return re.sub(r"^(mine\.yaml:\d+):\d+", r"\1", message.partition("YAML (got:")[0])
