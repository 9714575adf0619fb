"""What helps an author of cases and waivers: where the schemas are, errors that are told together, folded lines."""

from __future__ import annotations

import subprocess
import sys
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
