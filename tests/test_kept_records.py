"""The records that ship: small, of the runners and backends that there are, and green by today's cases and waivers."""

from __future__ import annotations

import json
import lzma
import shutil
from typing import TYPE_CHECKING

import pytest

from strategies import part
from tconv.backends import names
from tconv.backends.environments import engines
from tconv.datafiles import data_folder
from tconv.records.record_file import header_in

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command

FILES = sorted(data_folder("records").glob("*.jsonl.xz"))
LARGEST = 3_000_000


def test_together_they_are_small() -> None:
    assert FILES
    older = data_folder("unwaived").glob("*.jsonl.xz")
    assert sum(file.stat().st_size for file in (*FILES, *older)) <= LARGEST


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_is_of_a_backend_that_there_is(file: Path) -> None:
    header = header_in(file)
    assert header.backend.name in {*engines(), *names()}
    assert file.name == f"{header.backend.name}-{header.backend.version}-{header.dialect.replace('/', '-')}.jsonl.xz"


@pytest.mark.thorough
# In the profile `quick` a third of them, each day the next: `tox -e docs` reads all.
@pytest.mark.parametrize("file", part(FILES, 3), ids=lambda file: file.name)
def test_the_report_on_each_is_green(file: Path, command: Command) -> None:
    done = command("report", str(file), "--quiet", "--page", "page.html")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_kept_records_may_be_older_than_the_cases(tmp_path: Path, command: Command) -> None:
    smallest = min(FILES, key=lambda file: file.stat().st_size)
    with lzma.open(smallest, "rt", encoding="utf-8") as lines:
        header = json.loads(next(lines))
        records = [line for line in lines if '"not-applicable"' in line][:3]
    header["run"] |= {"corpus": "sha256:0", "cases": len(records)}
    text = "".join([json.dumps(header) + "\n", *records])
    (tmp_path / "now.jsonl").write_text(text)
    with lzma.open(tmp_path / "kept.jsonl.xz", "wt", encoding="utf-8") as kept:
        kept.write(text)
    red, kept_too = (command("report", name, "--waivers", "none") for name in ("now.jsonl", "kept.jsonl.xz"))
    assert "other cases" in red.stdout or "corpus" in red.stdout
    assert "corpus" not in kept_too.stdout


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not there")
def test_the_runners_are_listed(command: Command) -> None:
    found = {each["name"]: each for each in json.loads(command("backends", "--json").stdout)}
    for name, row in engines().items():
        assert found[f"runner:{name}"]["runtime"] == row["runtime"]
    assert found["runner:ncnn"]["recorded"] >= "2026-11-27"
