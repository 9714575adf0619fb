"""What helps an author of cases and waivers: where the schemas are, errors that are told together, folded lines."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tconv import schemas
from tconv.backends import extras
from tconv.backends.extras import installing

if TYPE_CHECKING:
    import pytest

    from small_corpus import Command


def test_check_says_where_the_schemas_are(command: Command) -> None:
    printed = command("check", "--help").stdout.split()
    shown = [Path(word) for word in printed if word.endswith(".schema.json")]
    assert shown == list(schemas.SCHEMAS)
    assert all(path.is_absolute() and path.is_file() for path in shown)


def test_errors_of_several_files_are_told_together(command: Command, tmp_path: Path) -> None:
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text("format: 2\nabout: a\ncites: []\n", encoding="utf-8")
    lines = command("check", ".").stderr.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        f"{name}:{place}" for name in ("one.yaml", "two.yaml") for place in ("1:9", "3:8")
    ]


def test_the_strategies_name_their_extra(tmp_path: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ModuleNotFoundError('No module named hypothesis')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tconv.investigation.strategies"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"install it with: {installing(['hypothesis'])}\n" in done.stderr


def test_an_extra_is_told_by_what_it_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index of packages has tconv, but each has what its extras bring; from sources, the clone is named."""
    needs = ["numpy>=2", "onnx>=2026.1; extra == 'two'", "openvino>=1; extra == 'two'", "jax; extra == 'jax'"]
    monkeypatch.setattr(extras, "requires", lambda _: needs)
    assert installing(["two"]) == "pip install 'onnx>=2026.1' 'openvino>=1'"
    monkeypatch.setattr(extras, "requires", lambda _: None)
    assert installing(["two"]) == "pip install '.[two]' in the clone"


def test_words_are_folded_on_a_narrow_terminal() -> None:
    """Between words, and what goes on is indented; in a pipe each is one line, for the programs that read it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "FORCE_COLOR"}}
    command = [sys.executable, "-m", "tconv", "show", "padding/output-shape/odd-unit-by-hand"]
    with subprocess.Popen(command, stdout=theirs, env=variables | {"TERM": "xterm"}) as process:
        os.close(theirs)
        shown = b""
        # The system ends the terminal with an error, or with nothing to read.
        with suppress(OSError):
            while part := os.read(ours, 65536):
                shown += part
    os.close(ours)
    lines = shown.decode().splitlines()
    assert process.returncode == 0
    assert max(map(len, lines)) <= 60
    assert any(line.startswith("    ") for line in lines)
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert max(map(len, piped)) > 60
