"""Separating: candidates are told apart by cases on which they part, and only by those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from small_corpus import written
from tconv.dialects import DIALECTS
from tconv.execution.asking import Asking
from tconv.investigation.further_cases import separate

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command
    from tconv.corpus import Corpus

ONNX = DIALECTS["onnx/ConvTranspose-22"]


def asked(backend: str) -> Asking:
    return Asking(f"wrong_backends:{backend}", ONNX, timeout=10.0)


TWO_WAYS = "padding/pads/sides[pads_begin=1,pads_end=2,strides=1,output_padding=none,data_format=NCX]"


def test_two_candidates_are_told_apart_by_a_case_on_which_they_part(corpus: Corpus) -> None:
    """Pads of 1 and 2 exchanged are the output one too late; a case of other pads is neither, and tells."""
    case, others = corpus.case(TWO_WAYS), list(corpus.cases("smoke", ["padding/**", "examples/**"]))
    reasoning = separate(case, others, asked("PadsSwapped"))
    assert set(map(str, reasoning.record.diagnosis)) == {"pads-exchanged", "one-too-late"}
    assert reasoning.left == ("pads-exchanged",)
    assert len(reasoning.further) == 1
    assert reasoning.further[0].record.case != case.id


def test_what_fails_for_another_reason_is_no_evidence(corpus: Corpus) -> None:
    """A further case that dies, is refused or is wrong in another way leaves all candidates, and others are asked."""
    case, others = corpus.case(TWO_WAYS), list(corpus.cases("gate", ["padding/**", "examples/**"]))
    reasoning = separate(case, others, asked("PadsSwappedAndMore"))
    assert reasoning.left == ("pads-exchanged",)
    silent = {further.record.verdict.kind for further in reasoning.further if not further.tells}
    assert silent >= {"crashed", "refused-valid"}
    (telling,) = (further for further in reasoning.further if further.tells)
    assert telling.record.case == reasoning.further[-1].record.case


def test_cases_that_say_nothing_are_not_asked(corpus: Corpus) -> None:
    """An empty output is the same under every candidate: with such cases alone they stay undecided."""
    case, others = corpus.case(TWO_WAYS), list(corpus.cases("gate", ["empty/batch"]))
    reasoning = separate(case, others, asked("PadsSwapped"))
    assert reasoning.further == ()
    assert reasoning.left == tuple(map(str, reasoning.record.diagnosis))


def test_one_candidate_needs_no_other_case(corpus: Corpus) -> None:
    reasoning = separate(corpus.case("bias/alone"), [], asked("BiasDoubled"))
    assert (reasoning.further, reasoning.left) == ((), ("bias-doubled",))


def test_no_other_call_comes_before_the_case(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe might spoil it, and none is needed for single precision."""
    monkeypatch.setenv("WRONG_BACKENDS_LOG", str(tmp_path / "log"))
    separate(corpus.case("bias/alone"), [], asked("Right"))
    assert len((tmp_path / "log").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("backend", "code", "last", "change"),
    [
        (
            "PadsSwapped",
            0,
            "so: pads of begin and end are exchanged (pads-exchanged)",
            "to conform: for calls of this padding mode compute pads_begin as pads_begin, not as pads_end",
        ),
        (
            "Right",
            0,
            "  agreed: exact",
            "to conform: nothing; if it failed in a run",
        ),
        pytest.param(
            "WrongShape",
            1,
            "  no known mistake gives this output: the shape is ",
            "to conform: nothing explains this output; a smaller case may: tconv shrink '",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_the_command_tells_the_reasoning(backend: str, code: int, last: str, change: str, command: Command) -> None:
    done = command("explain", TWO_WAYS, "--backend", f"wrong_backends:{backend}")
    assert done.returncode == code
    lines = done.stdout.splitlines()
    assert lines[0] == TWO_WAYS
    assert lines[-2].startswith(last)
    assert lines[-1].startswith(change)
    same = "  asked 3 times, the output is the same"
    assert (same in lines) is (backend != "Right")


OWN = """
from wrong_backends import PadsAsChosen
from tconv.backends import BackendInfo, Produced

class Mini(PadsAsChosen):
    def info(self):
        return BackendInfo("mini", "0.3", ("onnx/ConvTranspose-11",))

    def answer(self, y):
        return Produced(y * 3 + 1)
"""
"""A backend whose name is not that by which it is given, and whose outputs nothing explains."""


def test_what_to_run_next_names_the_backend_as_it_was_given(command: Command, tmp_path: Path) -> None:
    """With its options, dialect and case file; without --dialect it is asked in its own first one, as of a run."""
    written(tmp_path)
    (tmp_path / "mini_tconv.py").write_text(OWN)
    asked = "small/padded --backend mini_tconv:Mini --option pads=swapped"
    done = command("explain", *asked.split(), "--cases", "small.yaml")
    assert done.returncode == 1
    shrink = f"tconv shrink {asked} --dialect onnx/ConvTranspose-11 --cases small.yaml"
    assert done.stdout.endswith(f"a smaller case may: {shrink}\n")
    assert command(*shrink.split()[1:]).returncode == 0


GRAPHLESS = """
from wrong_backends.right import Right
from tconv.backends import BackendInfo, Refused

class Mini(Right):
    def info(self):
        return BackendInfo("mini", "0.3", ("onnx/ConvTranspose-22",), contexts=True)

    def run(self, call, arrays):
        return Refused("no graph")
"""


def test_a_context_that_fails_has_a_command_that_narrows_it_down(command: Command, tmp_path: Path) -> None:
    """The run shows a failure that is waived, too; a context that agrees has no such line."""
    (tmp_path / "mini_tconv.py").write_text(GRAPHLESS)
    case = "contexts/exported/unet-decoder"
    line = (
        f"find the smallest context that fails: tconv run {case} --backend mini_tconv:Mini"
        " --dialect onnx/ConvTranspose-22 --waivers none"
    )
    assert line in command("explain", case, "--backend", "mini_tconv:Mini").stdout.splitlines()
    done = command("explain", case, "--backend", "onnxruntime")
    assert "  agreed: exact" in done.stdout.splitlines()
    assert "smallest context" not in done.stdout


def test_what_changes_has_no_explanation(command: Command, tmp_path: Path) -> None:
    cases = str(written(tmp_path))
    done = command("explain", "small/trouble", "--cases", cases, "--backend", "wrong_backends:Wavers")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].startswith("  unstable: ")
