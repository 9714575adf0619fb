"""Pins: an answer by another allowed reading than the pinned one is a failure, and records write their own pins."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_records import DIALECT, header, waiver_file
from played_backends import run_following as run_of
from reporting import red_lines
from strategies import examples
from tconv.dialects import DIALECTS
from tconv.dialects.rules import QUESTIONS
from tconv.documents import read
from tconv.gate.answers import PRIMARY, list_readings
from tconv.gate.assessment import assess
from tconv.gate.entries import ActiveEntries
from tconv.gate.pins import choose_pins, write_pins
from tconv.gate.status import MixedReadings, ReadingChanged, Status
from tconv.gate.waivers import WaiverFile, load
from tconv.records.record import FreshAnswer
from tconv.reports.causes import find_causes
from tconv.reports.proposed_waivers import proposed
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from small_corpus import Command
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects.readings import Reading
    from tconv.gate.assessment import Assessment
    from tconv.records.record_file import Run

READINGS = {reading.name: reading for reading in DIALECTS[DIALECT].disputed}
SHRUNK, APPENDED = READINGS["negative-same-shrunk"], READINGS["negative-same-appended"]


def following(*readings: Reading) -> Callable[[Case], Sequence[Reading]]:
    return lambda _: readings


def pinned(run: Run, corpus: Corpus) -> WaiverFile:
    file = waiver_file()
    chosen = choose_pins(run, corpus.find, ActiveEntries())
    assert not chosen.mixed
    return file.model_copy(update={"pins": chosen.pins})


def judged(run: Run, file: WaiverFile, corpus: Corpus) -> Assessment:
    """Return what the gate says of records of a smaller run."""
    part = run.header.model_copy(update={"tier": "smoke"})
    run.header = part
    return assess(run, file, corpus.find_facts, find=corpus.find)


def changes(assessment: Assessment) -> set[tuple[str, str, str]]:
    rulings = [member.ruling for member in assessment.statuses if member.status is Status.FAILED]
    assert all(isinstance(ruling, ReadingChanged) for ruling in rulings)
    return {(each.question, each.was, each.now) for each in rulings if isinstance(each, ReadingChanged)}


def test_another_allowed_reading_is_a_failure(corpus: Corpus, telling: list[Case]) -> None:
    """A runtime that goes from one reading to another is red, with one line for all of its cases."""
    file = pinned(run_of(telling, DIALECT, following(SHRUNK)), corpus)
    assert not judged(run_of(telling, DIALECT, following(SHRUNK)), file, corpus).red
    changed = judged(run_of(telling, DIALECT, following(APPENDED)), file, corpus)
    assert changes(changed) == {("negative_same", SHRUNK.name, APPENDED.name)}
    (cause,) = find_causes(changed, Status.FAILED)
    assert cause.count == changed.counts[Status.FAILED] > 1
    assert SHRUNK.name in cause.what
    assert APPENDED.name in cause.what
    assert red_lines(changed) == [f"{cause.count} cases failed without a waiver"]


def test_without_a_pin_another_reading_is_none(corpus: Corpus, telling: list[Case]) -> None:
    """The question is named as one that is not pinned, and no longer so if it is pinned."""
    run = run_of(telling, DIALECT, following(APPENDED))
    assessment = judged(run, waiver_file(), corpus)
    assert not assessment.red
    assert "negative_same" in assessment.pins.unpinned
    assert judged(run, pinned(run, corpus), corpus).pins.unpinned == ()


def test_a_refusing_reading_is_a_reading(corpus: Corpus, telling: list[Case]) -> None:
    refused = READINGS["negative-same-refused"]
    refusing, answering = (run_of(telling, DIALECT, following(each)) for each in (refused, SHRUNK))
    ways = ((refusing, answering, refused, SHRUNK), (answering, refusing, SHRUNK, refused))
    for before, after, was, now in ways:
        assessment = judged(after, pinned(before, corpus), corpus)
        assert changes(assessment) == {("negative_same", was.name, now.name)}


def test_a_tenth_that_changes_is_red(corpus: Corpus, telling: list[Case]) -> None:
    file = pinned(run_of(telling, DIALECT, following(SHRUNK)), corpus)
    decided = judged(run_of(telling, DIALECT, following(APPENDED)), file, corpus)
    tenth = {member.record.case for member in decided.statuses if member.status is Status.FAILED}
    tenth = set(sorted(tenth)[::10])
    run = run_of(telling, DIALECT, lambda case: (APPENDED if case.id in tenth else SHRUNK,))
    assessment = judged(run, file, corpus)
    assert {m.record.case for m in assessment.statuses if m.status is Status.FAILED} == tenth
    assert len(find_causes(assessment, Status.FAILED)) == 1


def test_a_runtime_that_chooses_at_random_is_red(corpus: Corpus, telling: list[Case]) -> None:
    """Also if its failures, asked again, have other answers: then one line says that."""
    file = pinned(run_of(telling, DIALECT, following(SHRUNK)), corpus)
    choice = random.Random(7)  # noqa: S311 - a runtime that chooses
    run = run_of(telling, DIALECT, lambda _: (choice.choice((SHRUNK, APPENDED)),))
    assert changes(judged(run, file, corpus)) == {("negative_same", SHRUNK.name, APPENDED.name)}
    other = FreshAnswer("disputed", same=False)
    run.records = [replace(r, alone=other) if r.verdict.kind == "disputed" else r for r in run.records]
    assessment = judged(run, file, corpus)
    assert assessment.red
    assert len(find_causes(assessment, Status.FAILED)) == 1


@examples(15)
@given(data=st.data())
def test_who_follows_a_reading_is_green_by_its_own_pins(
    data: st.DataObject, corpus: Corpus, telling: list[Case]
) -> None:
    """In any dialect, with any readings; and whoever gives another output of the text in a case is red there.

    Several readings may give one output: such a case shows no change.
    """
    name = data.draw(st.sampled_from(sorted(DIALECTS)), label="dialect")
    first, second = (_readings(data, name) for _ in range(2))
    before, after = (run_of(telling, name, following(*each.values())) for each in (first, second))
    file = pinned(before, corpus)
    assert not judged(before, file, corpus).counts[Status.FAILED]
    answers = {record.case: _answer(record.verdict) for record in before.records}
    changed = {record.case for record in after.records if _answer(record.verdict) != answers[record.case]}
    failed = [member for member in judged(after, file, corpus).statuses if member.status is Status.FAILED]
    assert {member.record.case for member in failed} == changed


def _readings(data: st.DataObject, name: str) -> Mapping[str, Reading]:
    by_question = {
        question: [reading for reading in DIALECTS[name].disputed if reading.change.question == question]
        for question in QUESTIONS
    }
    chosen = {
        question: data.draw(st.sampled_from([None, *readings]), label=question)
        for question, readings in by_question.items()
        if readings
    }
    return {question: reading for question, reading in chosen.items() if reading is not None}


def _answer(verdict: ver.Verdict) -> object:
    if isinstance(verdict, ver.Disputed):
        return "refusal" if verdict.rule == "refusal" else verdict.readings
    return verdict.kind


def test_pins_with_conditions_decide_a_mixed_question(corpus: Corpus, telling: list[Case]) -> None:
    def follows(case: Case) -> Sequence[Reading]:
        return (SHRUNK if case.attributes.auto_pad == "same_upper" else APPENDED,)

    run = run_of(telling, DIALECT, follows)
    assert any(isinstance(m.ruling, MixedReadings) for m in judged(run, waiver_file(), corpus).statuses)
    file = pinned(run, corpus)
    assert {pin.reading for pin in file.pins if pin.question == "negative_same"} == {SHRUNK.name, APPENDED.name}
    assert not judged(run, file, corpus).red


def test_what_no_facts_tell_apart_is_not_pinned(corpus: Corpus, telling: list[Case]) -> None:
    """Chance is no condition."""
    choice = random.Random(3)  # noqa: S311 - as above
    run = run_of(telling, DIALECT, lambda _: (choice.choice((SHRUNK, APPENDED)),))
    chosen = choose_pins(run, corpus.find, ActiveEntries())
    assert chosen.mixed == ["negative_same"]
    assert "negative_same" not in {pin.question for pin in chosen.pins}


def test_a_pin_that_no_case_needs_is_stale_in_a_whole_run(corpus: Corpus, telling: list[Case]) -> None:
    """In a run of a part it is not judged."""
    run = run_of([case for case in telling if case.attributes.auto_pad is None], DIALECT, following())
    pins = [{"dialects": [DIALECT], "question": "negative_same", "reading": PRIMARY}]
    file = WaiverFile.model_validate({"format": 1, "backend": "acme", "pins": pins})
    run.header = run.header.model_copy(update={"tier": "gate"})
    assert [pin.question for pin in assess(run, file, corpus.find_facts, find=corpus.find).pins.stale] == [
        "negative_same"
    ]
    assert judged(run, file, corpus).pins.stale == ()


def test_no_waiver_is_proposed_for_a_changed_reading(corpus: Corpus, telling: list[Case]) -> None:
    """A pin accepts it, and `tconv waivers pin` writes that."""
    file = pinned(run_of(telling, DIALECT, following(SHRUNK)), corpus)
    assessment = judged(run_of(telling, DIALECT, following(APPENDED)), file, corpus)
    assert changes(assessment)
    assert proposed(assessment) == ""


FILE = f"""\
# Of the vendor.
format: 1
backend: acme  # ours
pins:
  # Asked of the authors.
  - {{question: negative_same, reading: negative-same-shrunk, dialects: [{DIALECT}]}}  # until 2.0
  - {{question: negative_sized, reading: primary, dialects: [onnx/ConvTranspose-1], versions: '<1'}}
# The end.
waivers: []
"""


def test_pins_are_written(tmp_path: Path, corpus: Corpus, telling: list[Case]) -> None:
    """A pin of another dialect or version stays, changed lines are returned, and the rest of the file stays."""
    path = tmp_path / "acme.yaml"
    path.write_text(FILE, encoding="utf-8")
    run = run_of(telling, DIALECT, following(APPENDED))
    chosen = choose_pins(run, corpus.find, ActiveEntries())
    text, changes = write_pins(load(path), read(path), FILE, {DIALECT: chosen.pins}, header().backend, whole=True)
    path.write_text(text, encoding="utf-8")
    pins = {(pin.question, pin.versions): pin.reading for pin in load(path).pins}
    assert pins["negative_same", ""] == APPENDED.name
    assert pins["negative_sized", "<1"] == PRIMARY
    of_question = [line for line in changes if "negative_same," in line]
    assert [line[0] for line in of_question] == ["-", "+"]
    assert (SHRUNK.name in of_question[0], APPENDED.name in of_question[1]) == (True, True)
    for comment in ("# Of the vendor.", "# ours", "# The end."):
        assert text.count(comment) == 1
    again = write_pins(load(path), read(path), text, {DIALECT: chosen.pins}, header().backend, whole=True)
    assert again == (text, [])
    # A condition that a person wrote stays if all answers follow it.
    by_hand = text.replace("question: negative_same, ", "question: negative_same, cases: '*/**', ")
    path.write_text(by_hand, encoding="utf-8")
    held = choose_pins(run, corpus.find, ActiveEntries(pins=tuple(load(path).pins)))
    assert write_pins(load(path), read(path), by_hand, {DIALECT: held.pins}, header().backend, whole=True) == (
        by_hand,
        [],
    )
    path.write_text(text, encoding="utf-8")
    sized = {DIALECT: [pin for pin in chosen.pins if pin.question == "negative_sized"]}
    part, less = (
        write_pins(load(path), read(path), text, sized, header().backend, whole=whole)[1] for whole in (False, True)
    )
    assert part == []
    assert [line for line in less if line.startswith("-") and "negative_same," in line]


@pytest.mark.parametrize(
    "pins", ["", "pins: []\n", f"pins:\n  - {{question: negative_same, reading: primary, dialects: [{DIALECT}]}}\n"]
)
def test_what_stands_around_pins_stays(pins: str, tmp_path: Path, corpus: Corpus, telling: list[Case]) -> None:
    path, head, tail = tmp_path / "acme.yaml", "format: 1\nbackend: acme\n", "waivers: []\n# Later.\nunsupported: []\n"
    path.write_text(f"{head}{pins}{tail}", encoding="utf-8")
    chosen = {DIALECT: choose_pins(run_of(telling, DIALECT, following(SHRUNK)), corpus.find, ActiveEntries()).pins}
    text, _ = write_pins(load(path), read(path), path.read_text(), chosen, header().backend, whole=True)
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("  - {")]
    assert "".join(lines) == (f"{head}pins:\n{tail}" if pins else f"{head}{tail}pins:\n")


def test_a_pin_keeps_its_own_versions(tmp_path: Path, corpus: Corpus, telling: list[Case]) -> None:
    """Those of a pin of another question are not its own."""
    path = tmp_path / "acme.yaml"
    text = FILE.replace("[onnx/ConvTranspose-1], versions: '<1'", f"[{DIALECT}], versions: '>=1'")
    path.write_text(text, encoding="utf-8")
    chosen = choose_pins(run_of(telling, DIALECT, following(APPENDED)), corpus.find, ActiveEntries())
    written, _ = write_pins(load(path), read(path), text, {DIALECT: chosen.pins}, header().backend, whole=True)
    path.write_text(written, encoding="utf-8")
    versions = {pin.question: pin.versions for pin in load(path).pins}
    assert (versions["negative_same"], versions["negative_sized"]) == ("", ">=1")


def test_of_two_pins_the_first_counts(corpus: Corpus, telling: list[Case]) -> None:
    """One that is left with no case is stale, and red, in a whole run."""
    run = run_of(telling, DIALECT, following(SHRUNK))
    run.header = run.header.model_copy(update={"cases": len(run.records), "tier": "gate"})
    file = pinned(run, corpus)
    (first,) = (pin for pin in file.pins if pin.question == "negative_same")
    other = first.model_copy(update={"reading": APPENDED.name})
    later, earlier = (file.model_copy(update={"pins": pins}) for pins in ([*file.pins, other], [other, *file.pins]))
    assessment = assess(run, later, corpus.find_facts, find=corpus.find)
    assert (changes(assessment), assessment.pins.stale) == (set(), (other,))
    assessment = assess(run, earlier, corpus.find_facts, find=corpus.find)
    assert changes(assessment) == {("negative_same", APPENDED.name, SHRUNK.name)}
    assert [pin.reading for pin in assessment.pins.stale] == [SHRUNK.name]


def test_the_command_writes_pins_that_make_its_records_red_after_a_change(command: Command, tmp_path: Path) -> None:
    """From a run without a file to a file, and a run by that file has no question without a pin."""
    run = ("run", "--tier", "smoke", "padding/**", "--waivers")
    assert command(*run, "none", "--output", "out").returncode in {0, 1}
    written = command("waivers", "pin", "out", "--waivers", "acme.yaml")
    assert (written.returncode, written.stderr) == (0, "")
    text = (tmp_path / "acme.yaml").read_text(encoding="utf-8")
    file = load(tmp_path / "acme.yaml")
    assert file.backend == "onnxruntime"
    readings = {pin.question: pin.reading for pin in file.pins}
    question, reading = next(pair for pair in readings.items() if pair[1] != PRIMARY)
    other = next(name for name in list_readings(question, DIALECTS[DIALECT]) if name not in {reading, PRIMARY})
    (tmp_path / "acme.yaml").write_text(text.replace(reading, other), encoding="utf-8")
    report = command("report", "out", "--waivers", "acme.yaml", "-q")
    assert report.returncode == 1
