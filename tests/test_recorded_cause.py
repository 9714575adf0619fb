"""`tconv explain CASE` beside the records of a run: the cause that all cases of the run give to the case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command

CASE = "groups/ranks[shape=line,auto_pad=explicit,strides=1,dilations=1,bias=true,shapes=symbolic]"
BACKEND = ("--backend", "wrong_backends:BiasOfTheFirstGroup")


def said(command: Command, *arguments: str) -> str:
    """Return what a diagnosis of the case prints, in one line."""
    done = command("explain", CASE, *BACKEND, *arguments)
    assert done.returncode == 1, done.stderr
    return " ".join(done.stdout.split())


@pytest.fixture
def ran(command: Command, tmp_path: Path) -> Path:
    """Return the record file of a run of the backend, in the folder where runs put their records."""
    command("run", "bias", "groups", *BACKEND, "--dialect", "onnx/ConvTranspose-22", "--tier", "smoke", "-j", "1")
    (path,) = (tmp_path / "reports").glob("*.jsonl")
    return path


def test_the_cause_of_a_run_is_told_beside_the_diagnosis(ran: Path, command: Command) -> None:
    """With the file that it is from; a single case cannot show where a bug is."""
    file = f"reports/{ran.name}"
    told = said(command)
    assert f"by all cases of a run, which are not asked again here: {file}, a run of 20" in told
    assert "more failures: differed where bias=true and groups >= 2: " in told
    assert said(command, file).count("differed where bias=true and groups >= 2: ") == 1


@pytest.mark.thorough
def test_records_of_another_version_or_dialect_say_nothing(ran: Path, command: Command) -> None:
    """They are of another runtime, or of another text; where they are named, that is said."""
    no_run = "reports has no run of BiasOfTheFirstGroup 1.0, onnx/ConvTranspose-"
    of_another_text = said(command, "reports", "--dialect", "onnx/ConvTranspose-11")
    assert ("by all cases of a run" in of_another_text, no_run in of_another_text) == (False, True)
    text = ran.read_text(encoding="utf-8")
    ran.write_text(text.replace('"version":"1.0"', '"version":"1.1"', 1), encoding="utf-8")
    of_another_version = said(command, "reports")
    assert ("by all cases of a run" in of_another_version, no_run in of_another_version) == (False, True)
    assert no_run not in said(command)


def test_without_records_nothing_is_said_of_a_run(command: Command) -> None:
    """No folder has to be there."""
    assert "by all cases of a run" not in said(command)
