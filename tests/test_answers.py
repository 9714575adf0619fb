"""Answers: which reading a backend follows is learnt from its verdicts, and told where it follows several."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from made_records import DIFFERED
from played_backends import answered, run_following
from strategies import WIDE
from tconv.backends import outcome as out
from tconv.cases.layouts import to_ncx
from tconv.dialects import DIALECTS
from tconv.dialects.rules import QUESTIONS
from tconv.expectation.problem import Problem
from tconv.gate.answers import Opened, collect_answers, compare_answers
from tconv.gate.assessment import assess
from tconv.gate.pins import PinUses
from tconv.gate.status import MixedReadings, RecordStatus, Status, choose_example
from tconv.records.record import Record
from tconv.reports.notes import mixed_answers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects.readings import Reading
    from tconv.vocabulary import Array

READINGS = [(name, reading) for name, dialect in DIALECTS.items() for reading in dialect.disputed]


@pytest.mark.parametrize("name", WIDE)
def test_whoever_follows_the_text_is_told_to_do_so(name: str, corpus: Corpus, telling: list[Case]) -> None:
    """Every question that the cases ask has the text's own answer, also where no other reading is allowed."""
    dialect = DIALECTS[name]
    run = run_following(telling, name, lambda _: ())
    found = collect_answers(run, corpus.find, dialect.every_reading())
    told = {shown.question: [told.answer for told in shown.answers] for shown in found if shown.question in QUESTIONS}
    assert told == {question: [getattr(dialect.rules, question)] for question in told}
    # Plain geometry leaves no question open.
    assert len(told) >= 3 or (name, told) == ("geometry/1", {})
    assert compare_answers(run, corpus.find, PinUses()) == ({}, ())


@pytest.mark.parametrize(("name", "reading"), READINGS, ids=lambda shown: getattr(shown, "name", shown))
def test_whoever_follows_another_reading_is_told_which(
    name: str, reading: Reading, corpus: Corpus, telling: list[Case]
) -> None:
    """The question has that one answer, as often as the cases tell it, and nothing else is mixed."""
    # The texts of ConvolutionBackpropData pad nothing under SAME, unless that is read otherwise too.
    needed = [
        shown for shown in DIALECTS[name].disputed if shown.name == "same-as-convolution" and shown is not reading
    ]
    run = run_following(telling, name, lambda _: (*needed, reading))
    found = {shown.question: shown for shown in collect_answers(run, corpus.find)}
    if (name, reading.name.rpartition("-")[0]) == ("onnx/ConvTranspose-1", "negative-same"):
        # Under SAME opset 1 has the input's size, so that the total is never negative where there are data.
        assert reading.change.question not in found
        return
    assert [told.answer for told in found[reading.change.question].answers] == [reading.change.answer]
    rulings, mixed = compare_answers(run, corpus.find, PinUses())
    assert mixed == ()
    assert all(rulings[record.case].kind == record.verdict.kind for record in run.records if record.case in rulings)


def test_an_answer_that_no_reading_of_the_text_allows_is_told_from_what_was_produced(
    corpus: Corpus, telling: list[Case]
) -> None:
    """ONNX's opset 1 has the input's size; a runtime with input * stride deviates, and its arrays say how."""
    name = "onnx/ConvTranspose-1"
    dialect = DIALECTS[name]
    other = next(shown for shown in dialect.every_reading() if shown.change.answer == "input-times-stride")
    run = run_following(telling, name, lambda _: (other,))
    assert {"wrong-shape"} <= {record.verdict.kind for record in run.records}

    def actual(record: Record) -> Array | None:
        case = corpus.find(record.case)
        assert case is not None
        outcome = answered(Problem(case, dialect), (other,))
        if not isinstance(outcome, out.Produced):
            return None
        return to_ncx(outcome.array, Problem(case, dialect).call.data_format)

    (same,) = (
        shown
        for shown in collect_answers(run, corpus.find, dialect.every_reading(), actual)
        if shown.question == "same"
    )
    assert [told.answer for told in same.answers] == ["input-times-stride"]
    assert not any(shown.question == "same" for shown in collect_answers(run, corpus.find, dialect.every_reading()))


def test_answers_that_whoever_mixes_are_named(corpus: Corpus, telling: list[Case]) -> None:
    """A case of each answer is named, and how many there are; the other questions are not touched."""
    name = "onnx/ConvTranspose-22"
    shrunk = next(one for one in DIALECTS[name].disputed if one.name == "negative-same-shrunk")
    run = run_following(telling, name, lambda case: (shrunk,) if case.attributes.auto_pad == "same_upper" else ())
    (one,) = compare_answers(run, corpus.find, PinUses())[1]
    assert assess(run, None, corpus.find_facts, find=corpus.find).mixed == (one,)
    assert assess(run, None, corpus.find_facts).mixed == ()
    assert one.question == "negative_same"
    told = {told.answer: told for told in one.answers}
    assert set(told) == {"floor", "shrink"}
    assert told["shrink"].example.attributes.auto_pad == "same_upper"
    assert told["floor"].example.attributes.auto_pad == "same_lower"
    said = mixed_answers(one)
    assert said.startswith("mixed readings: the question negative_same is answered by ")
    assert f"shrink in {told['shrink'].count} cases, such as {told['shrink'].example.id}" in said


def test_a_failure_that_other_cases_show_is_not_the_example_of_a_cause() -> None:
    """The command that is printed for an example runs that case alone, where mixed readings do not fail."""
    mixed = MixedReadings(("negative-same-truncated",), "negative_same", "floor")
    disputed = ver.Disputed(mixed.readings, "exact")
    verdicts: dict[str, ver.Verdict] = {"a/b": disputed, "a/much-longer": DIFFERED}
    records = [Record(case, "acme", "onnx/ConvTranspose-22", verdict) for case, verdict in verdicts.items()]
    rulings = (mixed, DIFFERED)
    members = [
        RecordStatus(record, Status.FAILED, ruling, record.why) for record, ruling in zip(records, rulings, strict=True)
    ]
    assert choose_example(members, ("learnt",)).record.case == "a/much-longer"
    assert choose_example(members[:1], ("learnt",)).record.case == "a/b"


def test_a_shape_tells_sizes_and_nothing_of_where_the_padding_goes(corpus: Corpus, telling: list[Case]) -> None:
    """Whoever gives shapes alone is told to follow what makes the size, and none of what shares it."""
    name = "onnx/ConvTranspose-22"
    run = run_following(telling, name, lambda _: ())
    shapes = [replace(r, verdict=replace(r.verdict, rule="shape")) for r in run.records if r.verdict.kind == "agreed"]
    found = collect_answers(replace(run, records=shapes), corpus.find, DIALECTS[name].every_reading())
    told = {shown.question: [told.answer for told in shown.answers] for shown in found if shown.question in QUESTIONS}
    assert told == {"same": ["input-times-stride"]}


def test_what_has_no_elements_tells_nothing(corpus: Corpus) -> None:
    cases = list(corpus.cases("gate", ["empty/batch"]))
    found = collect_answers(run_following(cases, "onnx/ConvTranspose-22", lambda _: ()), corpus.find)
    assert {given.answer for collect_answers in found for given in collect_answers.answers} == {Opened.ANSWERED}


def test_a_case_that_is_there_no_more_tells_nothing(telling: list[Case]) -> None:
    """Records may be older than the corpus."""
    run = run_following(telling, "onnx/ConvTranspose-22", lambda _: ())
    assert collect_answers(run, lambda _: None) == []
