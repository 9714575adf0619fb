"""The atlas: docs/atlas.py prints it from records and rules alone, safe whatever a waiver says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from following import run_of
from small_corpus import environment
from tconv.dialects import DIALECTS
from tconv.records.headers import header_line
from tconv.records.record import record_line

if TYPE_CHECKING:
    from tconv.corpus import Corpus

DOCS = Path(__file__).parents[1] / "docs"
ONNX, OPENVINO = "onnx/ConvTranspose-22", "openvino/ConvolutionBackpropData-1"


@pytest.fixture(scope="module")
def printed(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the atlas of a small run of each of two dialects; ONNX's runtime shrinks under a negative total."""
    cases = list(corpus.cases("gate", ["porting/**"]))
    shrunk = next(reading for reading in DIALECTS[ONNX].disputed if reading.name == "negative-same-shrunk")
    runs = [
        run_of(cases, ONNX, lambda _: (shrunk,)),
        run_of(cases, OPENVINO, lambda _: ()),
    ]
    files = [str(tmp_path_factory.mktemp("atlas") / "records.jsonl") for _ in runs]
    for file, run in zip(files, runs, strict=True):
        lines = [header_line(run.header), *map(record_line, run.records)]
        Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, str(DOCS / "atlas.py"), *files]
    done = subprocess.run(command, env=environment(), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_says_who_follows_what(printed: str) -> None:
    """An answer is marked if it is not the one that its text gives first; what no case asks is empty."""
    assert "| same | input-times-stride | no-padding |" in printed
    assert "| negative_same | shrink\\* | |" in printed
    disputed = {reading.name for dialect in DIALECTS.values() for reading in dialect.disputed}
    assert disputed
    assert all(f"| {name} |" in printed for name in disputed)


@pytest.mark.parametrize("committed", [False, True])
def test_tables_are_regular(printed: str, committed: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """Every row of a table has as many cells as its head, in what is printed and in what is committed."""
    text = (DOCS / "reference/atlas.md").read_text(encoding="utf-8") if committed else printed
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 9
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table[:200]
    headings = re.findall(r"^#.*$", printed, re.MULTILINE)
    assert re.findall(r"^#.*$", text, re.MULTILINE) == headings
