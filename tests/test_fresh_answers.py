"""Failures asked again in a fresh process: what depends on the calls before it is told, and nothing else is changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from made_records import AGREED, CASES, DIFFERED, facts, run_of
from small_corpus import HEAD, written
from tconv.gate import fresh_answers
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.records.record import Record
from tconv.records.record_file import read
from tconv.records.rewriting import replace_records
from tconv.reports.causes import causes
from tconv.reports.page.cause_lines import cause_lines
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from small_corpus import Command

# All have the same shapes. The first call's pads stay in a backend that remembers them.
TEXT = f"""{HEAD}
cases:
  - {{name: first, with: {{pads_begin: 1, bias: false}}}}
  - {{name: second, with: {{pads_end: 1, bias: false}}}}
  - {{name: third, with: {{pads_end: 1, strides: 1, bias: false}}}}
  - {{name: with-bias, with: {{pads_begin: 1, bias: true}}}}
"""
MESSAGE = "differed after other calls, and agreed 3 times alone in a fresh process"


@pytest.fixture
def recorded(command: Command, tmp_path: Path) -> Callable[..., tuple[dict[str, Record], str]]:
    """Return what runs the cases on a backend, and returns the records by their last name, and what was printed."""
    written(tmp_path, TEXT)

    def run(backend: str, *arguments: str) -> tuple[dict[str, Record], str]:
        words = ("--backend", f"wrong_backends:{backend}", "--cases", "small.yaml", "--output", "out", "-j", "1")
        ended = command("run", *words, *arguments)
        assert (ended.returncode, ended.stderr.count("Traceback")) == (1, 0)
        (path,) = (tmp_path / "out").glob("*.jsonl")
        return {record.case.rpartition("/")[2]: record for record in read(path).records}, ended.stdout

    return run


def test_an_answer_that_earlier_calls_spoil_is_unstable(
    recorded: Callable[..., tuple[dict[str, Record], str]],
) -> None:
    """Its values are those of other mistakes, which are not named."""
    records, printed = recorded("RemembersPads")
    assert records["first"].verdict == AGREED
    for name in ("second", "third"):
        assert records[name].verdict == ver.Unstable(MESSAGE)
        assert (records[name].alone, records[name].diagnosis, records[name].artifact) == ("agreed", (), None)
    assert "     2  unstable: differed after other calls, and agreed 3 times" in printed
    assert "pads" not in printed.partition("failed\n")[2].partition("unstable")[0]


def test_what_a_fresh_process_does_too_stays_as_it_is(
    recorded: Callable[..., tuple[dict[str, Record], str]],
) -> None:
    """Beside failures that depend on earlier calls, one that does not has its own cause."""
    records, printed = recorded("RemembersPadsAndDoublesBias")
    assert records["second"].verdict == ver.Unstable(MESSAGE)
    assert records["with-bias"].verdict.kind == "differed"
    assert records["with-bias"].alone == "differed"
    assert "bias-doubled" in map(str, records["with-bias"].diagnosis)
    assert "1  differed as if bias-doubled: " in printed


@pytest.mark.parametrize(
    ("alone", "message"),
    [
        (ver.Disputed(("kept",), "exact"), "differed after other calls, and disputed 3 times alone in a fresh process"),
        (ver.WrongShape((1,), (2,)), "differed after other calls, and wrong-shape 3 times alone in a fresh process"),
        (ver.Died("SIGSEGV", ""), "differed after other calls, and died alone in a fresh process"),
        (ver.Unstable("one, and then another"), "one, and then another"),
        (DIFFERED, None),
        (replace(DIFFERED, wrong=1), None),
    ],
)
def test_another_verdict_alone_is_told(alone: ver.Verdict, message: str | None) -> None:
    """Not only where it agrees: a failure of another kind shows as well that the calls before decide."""
    after_others, answer = (Record("a", "b", "onnx/ConvTranspose-22", verdict) for verdict in (DIFFERED, alone))
    compared = fresh_answers._compared(after_others, answer)
    assert compared.verdict == (DIFFERED if message is None else ver.Unstable(message))
    assert compared.alone == alone.kind


def test_a_backend_that_is_always_wrong_is_recorded_as_it_was(
    recorded: Callable[..., tuple[dict[str, Record], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of records is not written again, and says nothing of the second question."""

    def replaced(*_: object) -> None:
        pytest.fail("the records were replaced")

    monkeypatch.setattr("tconv.cli.run_command.replace_records", replaced)
    records, printed = recorded("PadsSwapped")
    assert {record.alone for record in records.values()} == {None}
    assert "pads-exchanged" in printed


def test_a_verdict_that_other_cases_settle_is_no_answer_that_varies(command: Command, tmp_path: Path) -> None:
    """A refusal that a reading may explain is refused-valid where another case denies the reading; alone it is not."""
    point = "auto_pad=explicit,output_shape=full+4,strides=3x4,output_padding=0,groups=2,bias=false"
    refused = f"padding/output-shape/grow[{point}]"
    denies = "padding/output-shape/negative-total-by-hand"
    command("run", refused, denies, "--waivers", "none", "--output", "out")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    verdicts = {record.case: record.verdict.kind for record in read(path).records}
    assert verdicts == {refused: "disputed", denies: "disputed"}
    ended = command("gate", "out", "--waivers", "none")
    assert "1  refused-valid: " in ended.stdout


def test_an_answer_that_is_never_the_same_is_unstable_as_it_says(
    recorded: Callable[..., tuple[dict[str, Record], str]],
) -> None:
    """Asked three times in a fresh process, it has three answers there."""
    records, _ = recorded("WaversAlways")
    assert isinstance(records["first"].verdict, ver.Unstable)
    assert "and then" in records["first"].verdict.message
    assert records["first"].alone == "unstable"


def test_without_time_the_rest_is_told_to_be_unknown(
    recorded: Callable[..., tuple[dict[str, Record], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may have another cause than those that were asked again, or the same; no name is given to them."""
    monkeypatch.setattr(fresh_answers, "_LONGEST_SECONDS", -1.0)
    monkeypatch.setattr(fresh_answers, "_FIRST", 1)
    records, printed = recorded("RemembersPads")
    assert sorted(record.verdict.kind for record in records.values()) == ["agreed", "agreed", "differed", "unstable"]
    assert "     1  differed, and not asked again: others that were asked again are unstable\n" in printed


def test_causes_are_not_learnt_from_answers_that_depend_on_others() -> None:
    """What was not asked again is the last cause, however many cases it has."""
    run = run_of(dict.fromkeys(CASES, DIFFERED))
    unknown = assess(run, None, facts)
    assert len(causes(unknown, Status.FAILED)) == 2
    first, second, *rest = run.records
    spoiled = replace(first, verdict=ver.Unstable(MESSAGE), alone="agreed")
    known = assess(replace(run, records=[spoiled, replace(second, alone="differed"), *rest]), None, facts)
    found = causes(known, Status.FAILED)
    assert [cause.count for cause in found] == [1, 1, 2]
    assert [cause.what.partition(":")[0] for cause in found[1:]] == [
        "unstable" if found[0].what.startswith("differed") else "differed in a/b/c",
        "differed, and not asked again",
    ]
    assert [line.words.partition(":")[0] for line in cause_lines([known])] == [
        cause.what.partition(":")[0] for cause in found
    ]


def test_records_are_replaced_through_a_link(tmp_path: Path) -> None:
    """The file keeps its mode and its other lines, the last one without its newline too."""
    path, link = tmp_path / "records", tmp_path / "link"
    path.write_text('{"header":1}\n{"case":"a/b","old":1}\n{"case":"a/bc","old":1}\n{"case":"a/b')
    path.chmod(0o640)
    link.symlink_to(path)
    replace_records(link, [Record("a/b", "backend", "onnx/ConvTranspose-22", AGREED)])
    lines = path.read_text().split("\n")
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert [lines[0], *lines[2:]] == ['{"header":1}', '{"case":"a/bc","old":1}', '{"case":"a/b']
    assert lines[1].startswith('{"case":"a/b","backend":"backend"')
    assert sorted(tmp_path.iterdir()) == [link, path]
