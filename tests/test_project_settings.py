"""Options that the user's pyproject.toml sets for `tconv run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command

CASE = "padding/output-shape/odd-unit-by-hand"
RUN = ("run", CASE, "--no-new-calls")


def settings(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.tconv]\n{text}\n", encoding="utf-8")


def test_the_project_sets_options_and_the_command_line_wins(command: Command, tmp_path: Path) -> None:
    settings(tmp_path, 'backend = ["onnx-reference"]\ndialect = "onnx/ConvTranspose-22"\noutput = "kept"\njobs = 1')
    assert command(*RUN).stdout.startswith("onnx-reference ")
    assert list((tmp_path / "kept").glob("onnx-reference-*.jsonl"))
    assert command(*RUN, "--backend", "onnxruntime", "--output", "other").stdout.startswith("onnxruntime ")
    assert list((tmp_path / "other").glob("onnxruntime-*.jsonl"))


@pytest.mark.parametrize(
    ("text", "must"),
    [
        ('bakend = "onnxruntime"', "tool.tconv.bakend: must be an option of tconv run (got 'bakend')"),
        ('backend = "exec:rm -rf x"', "tool.tconv.backend: must be no command"),
        ('backend = ["onnxruntime", "runner:./tools/acme"]', "tool.tconv.backend: must be no command and no runner"),
        ('tier = ["gate", "full"]', "tool.tconv.tier: must be a single value"),
        ("tier = ", "must be TOML with a table"),
    ],
)
def test_a_wrong_setting_is_wrong_usage(text: str, must: str, command: Command, tmp_path: Path) -> None:
    settings(tmp_path, text)
    done = command(*RUN)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path / 'pyproject.toml'}: " in done.stderr
    assert must in done.stderr


def test_other_projects_set_nothing(command: Command, tmp_path: Path) -> None:
    """A pyproject.toml without the table is not for tconv, whatever is wrong with it."""
    (tmp_path / "pyproject.toml").write_text("this is no TOML", encoding="utf-8")
    assert command(*RUN).returncode == 0
