"""Annotations stand at the line of the file that a person has to change, and a runtime's words cannot forge one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from made_records import DIALECT, run_of, waiver
from reporting import run_report
from small_corpus import written
from tconv.gate.assessment import assess
from tconv.reports.annotations import case_place, workflow_commands
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from small_corpus import Command


def test_a_stale_waiver_is_annotated_in_its_file(command: Command, tmp_path: Path) -> None:
    """At its name; a fault that no file shows has no place."""
    written(tmp_path)
    stale = waiver(name="gone", cases="small", example="small/padded", dialects=[DIALECT])
    file = {"format": 1, "backend": "Right", "waivers": [stale]}
    (tmp_path / "known.yaml").write_text(yaml.safe_dump(file, sort_keys=False))
    where = ("--cases", "small.yaml", "--waivers", "known.yaml", "--annotate", "--output", "out")
    done = command("run", "--backend", "wrong_backends:Right", *where)
    assert done.returncode == 1
    assert "::error file=known.yaml,line=4,col=9,title=tconv%3A Right 1.0::waiver 'gone' is stale: " in done.stderr


def test_a_sweep_is_found_by_the_id_of_any_of_its_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a folder below; a file that is not below the current folder has no place that GitHub knows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases" / "a").mkdir(parents=True)
    (tmp_path / "cases" / "a" / "b.yaml").write_text("cases:\n- name: one\nsweeps:\n- name: two\n")
    place = case_place(tmp_path / "cases", "a/b/two[strides=1]")
    assert place is not None
    assert (place.path, place.line, place.column) == (tmp_path / "cases" / "a" / "b.yaml", 4, 9)
    assert case_place(tmp_path / "cases", "a/c/two") is None
    monkeypatch.chdir(tmp_path / "cases" / "a")
    assert case_place(tmp_path / "cases" / "elsewhere", "a/b/two") is None


def test_a_message_stays_one_command(tmp_path: Path) -> None:
    """A line break, a percent sign and GitHub's own syntax in a runtime's message are data."""
    hostile = ver.BackendError("50%\n::error file=/etc/passwd::forged\r\n::stop-commands::x")
    lines = list(workflow_commands(run_report(assess(run_of({"a/b": hostile}), None, lambda _: None)), tmp_path, None))
    assert all("\n" not in line and "\r" not in line for line in lines)
    assert all(re.match(r"::(error|notice) title=tconv%3A acme 1\.2\.0::", line) for line in lines)
    assert "50%25" in lines[0]


def test_more_causes_than_github_shows_are_counted(tmp_path: Path) -> None:
    causes = {f"a/b{number}": ver.BackendError(f"reason {chr(97 + number)}") for number in range(15)}
    report = run_report(assess(run_of(causes), None, lambda _: None))
    lines = list(workflow_commands(report, tmp_path, None))
    notes = [line for line in lines if line.startswith("::notice ")]
    assert len(notes) == len(report.notes) > 0
    assert len(lines) == 10 + len(notes)
    assert lines[9].endswith("::and 6 more; the job's summary and the page have all of them")
