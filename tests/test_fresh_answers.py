"""Failures asked again in a fresh process: what depends on the calls before it is told, and nothing else is changed."""

from __future__ import annotations

import json
import math
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from made_records import AGREED, CASES, DIFFERED, facts, run_of, with_records
from reporting import run_report
from small_corpus import HEAD, written
from tconv.cases.case import Case, Operand
from tconv.dialects.readings import Combination
from tconv.errors import FileError
from tconv.execution import again
from tconv.execution.again import WaitingFailures, is_same
from tconv.execution.lock import exclusive
from tconv.execution.supervisor import WorkerProcess
from tconv.gate.assessment import assess
from tconv.gate.entries import ActiveEntries, correct_refusals
from tconv.gate.status import Status
from tconv.records.record import FreshAnswer, Record
from tconv.records.record_file import read
from tconv.reports.causes import find_causes
from tconv.reports.page.cause_lines import cause_lines
from tconv.reports.phrases import fresh_process_phrase
from tconv.verdict import kinds as ver
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from small_corpus import Command
    from tconv.execution.asking import Asking
    from tconv.gate.status import RecordStatus, Ruling

    Recorded = Callable[..., tuple[dict[str, Record], str]]
    """Runs the cases on a backend; returns the records by their last name, and what was printed."""

# All have the same shapes. The first call's pads stay in a backend that remembers them.
TEXT = f"""{HEAD}
cases:
  - {{name: first, with: {{pads_begin: 1, bias: false}}}}
  - {{name: second, with: {{pads_end: 1, bias: false}}}}
  - {{name: third, with: {{pads_end: 1, strides: 1, bias: false}}}}
  - {{name: with-bias, with: {{pads_begin: 1, bias: true}}}}
"""
AGREES = FreshAnswer("agreed", same=False)
NOT_KNOWN = "it is not known of"
MESSAGE = "Returns wrong values after other calls; if it is asked alone in a fresh process, it is right"


@pytest.fixture
def recorded(command: Command, tmp_path: Path) -> Recorded:
    """Return what runs the cases on a backend, and returns the records by their last name, and what was printed."""
    written(tmp_path, TEXT)

    def run(backend: str, *arguments: str) -> tuple[dict[str, Record], str]:
        words = ("--backend", f"wrong_backends:{backend}", "--cases", "small.yaml", "--output", "out", "-j", "1")
        ended = command("run", *words, *arguments)
        assert (ended.returncode, ended.stderr.count("Traceback")) == (1, 0)
        (path,) = (tmp_path / "out").glob("*.jsonl")
        return {record.case.rpartition("/")[2]: record for record in read(path).records}, ended.stdout

    return run


def test_an_answer_that_earlier_calls_spoil_is_explained_by_that_alone(recorded: Recorded) -> None:
    """Its values are those of other mistakes, which are recorded and not named in the reports."""
    records, printed = recorded("RemembersPads", "--junit", "junit.xml")
    assert records["first"].verdict == AGREED
    for name in ("second", "third"):
        assert (records[name].verdict.kind, records[name].alone) == ("differed", AGREES)
        assert records[name].artifact
    assert f"     2  {MESSAGE}\n" in printed
    # Alone it would agree.
    assert "tconv run --backend wrong_backends:RemembersPads --dialect onnx/ConvTranspose-22 --tier gate" in printed
    assert "tconv explain" not in printed
    assert "exchanged" not in printed + Path("junit.xml").read_text(encoding="utf-8")
    assert Path("junit.xml").read_text(encoding="utf-8").count("after other calls; if it is asked alone") == 2


def test_what_a_fresh_process_does_too_stays_as_it_is(recorded: Recorded) -> None:
    """Beside failures that depend on earlier calls, one that does not has its own cause."""
    records, printed = recorded("RemembersPadsAndDoublesBias")
    assert records["second"].alone == AGREES
    assert records["with-bias"].alone == FreshAnswer("differed", same=True)
    assert "1  Returns wrong values: the bias is added twice" in printed


@pytest.mark.parametrize(("backend", "first_only"), [("WrongAtFirst", True), ("WaversAlways", False)])
def test_an_answer_that_only_the_first_call_of_a_process_has_is_told_from_one_that_varies(
    recorded: Recorded, backend: str, *, first_only: bool
) -> None:
    """Alone in a fresh process the first answer is wrong as well, and those after it are right."""
    records, _ = recorded(backend)
    answers = {record.alone for record in records.values() if record.verdict != AGREED}
    assert answers == {FreshAnswer("unstable", same=False, first_only=first_only)}


WRONG = ver.Differed("exact", 1, 3, (0, 0, 1), 11.0, math.nan)
BEYOND = replace(WRONG, rule="bound")


@pytest.mark.parametrize(
    ("after_others", "alone", "answers"),
    [
        (WRONG, ver.Disputed(("kept",), "exact"), [FreshAnswer("disputed", same=False)]),
        (WRONG, ver.Crashed("SIGSEGV", ""), [FreshAnswer("crashed", same=False)]),
        (WRONG, ver.Unstable("one, and then another"), [FreshAnswer("unstable", same=False)]),
        (WRONG, WRONG, [FreshAnswer("differed", same=True)]),
        (WRONG, replace(WRONG, wrong=2), [FreshAnswer("differed", same=False)]),
        (BEYOND, replace(BEYOND, wrong=2), [FreshAnswer("differed", same=True)]),
        (ver.WrongShape((1,), (2,)), ver.WrongShape((1,), (3,)), [FreshAnswer("wrong-shape", same=False)]),
        (ver.RefusedValid("out of handles"), ver.RefusedValid("no bias"), [FreshAnswer("refused-valid", same=False)]),
        (
            ver.RefusedValid("handle 3 of 9"),
            ver.RefusedValid("handle 1 of 9"),
            [FreshAnswer("refused-valid", same=True)],
        ),
        (WRONG, ver.Crashed("SIGKILL", ""), []),
        (WRONG, ver.TimedOut(1.0), []),
    ],
)
def test_another_failure_alone_is_another_answer(
    after_others: ver.Verdict, alone: ver.Verdict, answers: list[FreshAnswer]
) -> None:
    """Sums with rounding may differ a little from process to process, and so may the numbers of a message.

    Who gets no answer knows nothing.
    """
    first, second = (Record("small/a", "b", "onnx/ConvTranspose-22", verdict) for verdict in (after_others, alone))
    failures = WaitingFailures(lambda *_: True)
    case = Case("small/a", Attributes(), Operand((1, 1, 2), DType.F32), Operand((1, 1, 2), DType.F32))
    assert failures.take(case, first)
    assert failures.next() is case
    found = failures.answered(second)
    assert found is not None
    assert [answer for answer in [found.alone] if answer] == answers
    assert found.verdict is after_others


@pytest.mark.parametrize(("alone", "asked"), [(WRONG, 6), (AGREED, 8)])
def test_all_are_asked_again_only_if_the_answer_of_one_varies(alone: ver.Verdict, asked: int) -> None:
    """Six that give the same answer speak for the others."""
    failures = WaitingFailures(lambda *_: True)
    for number in range(8):
        case = Case(f"small/{number}", Attributes(), Operand((1, 1, 2), DType.F32), Operand((1, 1, 2), DType.F32))
        assert failures.take(case, Record(case.id, "b", "onnx/ConvTranspose-22", WRONG))
    for _ in range(asked):
        following = failures.next()
        assert following is not None
        assert failures.answered(Record(following.id, "b", "onnx/ConvTranspose-22", alone))
    assert failures.next() is None


@pytest.mark.parametrize(("verdict", "words"), [(WRONG, "it gives the same answer"), (BEYOND, "it is wrong too")])
def test_no_more_is_said_of_a_fresh_answer_than_was_compared(verdict: ver.Verdict, words: str) -> None:
    """Of rounded sums figures are not compared."""
    record = Record("a", "b", "onnx/ConvTranspose-22", verdict, alone=FreshAnswer("differed", same=True))
    assert fresh_process_phrase(record).startswith(words)


def test_a_failure_that_a_misreading_explains_only_after_other_calls_varies() -> None:
    """Where a search for names came to no end, they are not compared."""
    first = Record("a", "b", "onnx/ConvTranspose-22", BEYOND, diagnosis=(Combination(("bias-doubled",)),))
    others = [replace(first, diagnosis=names) for names in ((Combination(("bias-ignored",)),), ())]
    assert [is_same(first, other) for other in others] == [False, True]


def test_no_other_run_writes_the_records_meanwhile(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came of the second questions would stand in the file of the other run."""
    refused: list[str] = []

    def asked(_: WaitingFailures) -> None:
        (path,) = Path("out").glob("*.jsonl")
        with pytest.raises(FileError) as other, exclusive(path):
            pass
        refused.append(str(other.value))

    monkeypatch.setattr(WaitingFailures, "next", asked)
    recorded("RemembersPads")
    assert "must be written by one run at a time" in refused[0]


def test_a_backend_that_does_not_start_again_loses_no_answer(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = WorkerProcess.__init__

    def gone(worker: WorkerProcess, asking: Asking, log: Path) -> None:
        if log.stem != "worker-0":
            asking = replace(asking, backend="wrong_backends:Nowhere")
        own(worker, asking, log)

    monkeypatch.setattr(WorkerProcess, "__init__", gone)
    records, printed = recorded("RemembersPads")
    assert {record.alone for record in records.values()} == {None}
    assert "2 cases failed without a waiver" in printed
    assert f"{NOT_KNOWN} 2 failures" in printed


def test_a_run_that_is_stopped_while_failures_are_asked_again_says_so(
    recorded: Recorded, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its failures are written as they are, and every reader says that nobody knows whether they depend on others."""

    def stopped(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    words = ("--backend", "wrong_backends:PadsSwapped", "--cases", "small.yaml", "--output", "out", "-j", "1")
    with monkeypatch.context() as patch:
        patch.setattr(WaitingFailures, "next", stopped)
        ended = command("run", *words)
    assert (ended.returncode, "terminated; a run goes on from here" in ended.stderr) == (143, True)
    (path,) = Path("out").glob("*.jsonl")
    assert not path.with_name("index.html").exists()
    assert [record.alone for record in read(path).records] == [None] * 4
    note = f"note: {NOT_KNOWN} 4 failures"
    assert note in command("report", "out").stdout
    (of_report,) = json.loads(command("report", "out", "--json").stdout)["runs"]
    (told,) = (note["text"] for note in of_report["notes"] if note["name"] == "not-asked-again")
    assert told.startswith(f"{NOT_KNOWN} 4 failures")
    command("report", "out", "--page", "report.html", "--junit", "report.xml", "--summary", "report.md")
    for file in ("report.html", "report.xml", "report.md"):
        assert NOT_KNOWN in Path(file).read_text(encoding="utf-8")
    kept = path.read_bytes()
    _, printed = recorded("PadsSwapped", "--resume", "--no-new-calls")
    assert note in printed
    assert path.read_bytes().splitlines()[1:] == kept.splitlines()[1:]


def test_failures_that_nobody_asks_again_are_counted() -> None:
    """Unless one of them was asked: deaths are confirmed while cases run, and count for neither."""
    verdicts = {CASES[0]: DIFFERED, CASES[1]: ver.Crashed("SIGSEGV", ""), CASES[2]: AGREED}
    run = run_of(verdicts)
    assert assess(run, None, facts).unasked == 1
    dead, differed = (replace(record, alone=AGREES) for record in run.records if record.verdict.kind != "agreed")
    assert {type(record.verdict) for record in (dead, differed)} == {ver.Crashed, ver.Differed}
    died = next(record for record in (dead, differed) if isinstance(record.verdict, ver.Crashed))
    assert assess(with_records(run, died), None, facts).unasked == 1
    assert assess(with_records(run, dead, differed), None, facts).unasked == 0


def test_a_verdict_that_other_cases_settle_is_no_answer_that_varies(command: Command, tmp_path: Path) -> None:
    """A refusal that a reading may explain is refused-valid where another case denies the reading; alone it is not."""
    point = "auto_pad=explicit,output_shape=full+4,strides=3x4,output_padding=0,groups=2,bias=false"
    refused = f"padding/output-shape/grow[{point}]"
    denies = "padding/output-shape/negative-total-by-hand"
    command("run", refused, denies, "--waivers", "none", "--output", "out")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    verdicts = {record.case: record.verdict.kind for record in read(path).records}
    assert verdicts == {refused: "disputed", denies: "disputed"}
    ended = command("report", "out", "--waivers", "none")
    assert "1  Refuses valid calls" in ended.stdout


def test_a_silence_of_an_earlier_call_is_told(recorded: Recorded, tmp_path: Path) -> None:
    """The case that waits for a lock that another one left is not blamed; the values of others say what they said."""
    written(tmp_path, TEXT.replace("pads_begin: 1, bias: false", "strides: 7, bias: false"))
    records, printed = recorded("HangsOfTheCaseBefore", "--timeout", "1")
    assert records["second"].verdict == ver.TimedOut(1.0)
    assert records["second"].alone == AGREES
    assert (
        "  Does not answer in time after other calls; if it is asked alone in a fresh process, it is right" in printed
    )
    assert not records["second"].answer_varies


def test_without_time_the_rest_is_said_to_be_unknown(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have another cause than those that were asked again, or the same; no name is given to them."""
    clock = iter([0.0, 0.0, 100.0])
    monkeypatch.setattr(again, "monotonic", lambda: next(clock))
    records, printed = recorded("RemembersPads", "--junit", "junit.xml")
    assert [record.alone for record in records.values()].count(AGREES) == 1
    assert "     1  Returns wrong values in small/second\n" in printed
    assert "exchanged" not in printed + Path("junit.xml").read_text(encoding="utf-8")


def test_what_was_not_asked_again_is_told_from_what_varies() -> None:
    """Failures beside one that varies have causes of their own, which their sweeps tell."""
    run = run_of(dict.fromkeys(CASES, DIFFERED))
    first, second, *rest = run.records
    same = FreshAnswer("differed", same=True)
    known = assess(
        replace(run, records=[replace(first, alone=AGREES), replace(second, alone=same), *rest]), None, facts
    )
    found = find_causes(known, Status.FAILED)
    assert [cause.varies for cause in found].count(True) == 1
    (varying,) = [cause for cause in found if cause.varies]
    assert (varying.count, varying.line) == (1, MESSAGE)
    assert [line.words for line in cause_lines([run_report(known)])] == [cause.line for cause in found]


def test_a_refusal_that_varies_shows_the_cause_of_others_as_before() -> None:
    """What came alone stands beside the verdict: other cases are settled by the answers of the run."""
    refused = ver.Disputed(("total-refused",), "refusal", message="out of handles")
    run = run_of({CASES[0]: ver.RefusedValid("out of handles"), CASES[1]: refused})

    def of(record: Record, ruling: Ruling | None = None) -> RecordStatus:
        return ActiveEntries().assign_status(record, {}, ruling)

    for answer in (None, AGREES):
        first, second = run.records
        members = correct_refusals([of(replace(first, alone=answer)), of(second)], of)
        assert {member.status for member in members} == {Status.FAILED}


def test_a_failure_is_written_when_it_was_asked_again(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no failure is there before, and no line is written again."""
    seen: list[str] = []
    own = WaitingFailures.next

    def asked(failures: WaitingFailures) -> Case | None:
        (path,) = Path("out").glob("*.jsonl")
        seen.append(path.read_text(encoding="utf-8"))
        return own(failures)

    monkeypatch.setattr(WaitingFailures, "next", asked)
    records, _ = recorded("RemembersPads")
    (path,) = Path("out").glob("*.jsonl")
    assert path.read_text(encoding="utf-8").startswith(seen[0])
    assert seen[0].count('"case":') == 2
    assert {record.alone for record in records.values() if record.verdict.kind == "agreed"} == {None}
    assert {record.alone for record in records.values() if record.verdict.kind == "differed"} == {AGREES}
