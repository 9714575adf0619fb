"""Siblings: what the other cases of a run say about a refusal, and about a value that follows a disputed reading."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml

from made_records import DIFFERED, waiver, waiver_file, with_records
from played_backends import run_following as run_of
from reporting import noted_of, red_lines, run_report
from tconv.backends import outcome as out
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import resolution
from tconv.evidence.hypotheses import Explanation, Relates
from tconv.expectation.problem import Problem
from tconv.gate.answers import compare_answers
from tconv.gate.assessment import assess
from tconv.gate.pins import PinUses
from tconv.gate.status import MixedReadings, Status
from tconv.records.record import FreshAnswer
from tconv.reports import terminal
from tconv.reports.causes import find_causes
from tconv.reports.phrases import phrase
from tconv.reports.proposed_waivers import proposed
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects.readings import Reading
    from tconv.gate.answers import QuestionAnswers
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import Ruling
    from tconv.gate.waivers import WaiverFile
    from tconv.records.record_file import Run

ONNX = "onnx/ConvTranspose-22"
RULES = DIALECTS[ONNX].rules
OUT_OF_MEMORY = out.Refused("out of memory: 4096 bytes")
NEGATIVE = "padding/auto-pad/negative-total-by-hand"


def reading(name: str) -> Reading:
    return next(reading for reading in DIALECTS[ONNX].disputed if reading.name == name)


def always(*readings: Reading) -> Callable[[Case], Sequence[Reading]]:
    return lambda _: readings


def refusing(*cases: str) -> Callable[[Case], out.Outcome | None]:
    return lambda case: OUT_OF_MEMORY if case.id in cases else None


def verdicts(run: Run) -> Mapping[str, ver.Verdict]:
    return {record.case: record.verdict for record in run.records}


def compared(
    run: Run, corpus: Corpus, *, vary: bool = False
) -> tuple[Mapping[str, Ruling], tuple[QuestionAnswers, ...]]:
    """Return what the gate makes of each answer, and the questions that are answered in several ways."""
    before = [*run.records]
    rulings, mixed = compare_answers(run, corpus.find, PinUses(), vary=vary)
    assert run.records == before
    return {**verdicts(run), **rulings}, mixed


def test_a_refusal_that_siblings_deny_is_no_reading(corpus: Corpus, telling: list[Case]) -> None:
    run = run_of(telling, ONNX, always(), refusing(NEGATIVE))
    assert isinstance(verdicts(run)[NEGATIVE], ver.Disputed)
    after, mixed = compared(run, corpus)
    assert after[NEGATIVE] == ver.RefusedValid(OUT_OF_MEMORY.message)
    assert mixed == ()
    assessment = assess(run, None, corpus.find_facts, find=corpus.find)
    assert red_lines(assessment) == ["1 case failed without a waiver"]
    # The record is as it was read, and nobody asked again, so that it is not known whether the refusal varies.
    assert assessment.run.records == run.records == [member.record for member in assessment.statuses]
    assert assessment.unasked == 1


def test_a_wrong_answer_denies_a_refusing_reading_too(corpus: Corpus, telling: list[Case]) -> None:
    refusing_readings = {"negative-same-refused", "negative-sized-refused"}

    def instead(case: Case) -> out.Outcome | None:
        expected = Problem(case, DIALECTS[ONNX]).values
        if case.id == NEGATIVE:
            return OUT_OF_MEMORY
        if expected and refusing_readings & set(map(str, expected.refusals)):
            return out.Produced(np.zeros((1, 1, 99), np.float32))
        return None

    run = run_of(telling, ONNX, always(), instead)
    assert {verdict.kind for verdict in verdicts(run).values()} == {"agreed", "disputed", "wrong-shape"}
    after, _ = compared(run, corpus)
    assert after[NEGATIVE] == ver.RefusedValid(OUT_OF_MEMORY.message)


def test_a_refusal_with_which_no_sibling_agrees_is_only_perhaps_a_reading(corpus: Corpus, telling: list[Case]) -> None:
    """The only negative total of a run is refused: it may be for that, and nothing shows it."""
    negatives = {"negative_same", "negative_sized"}
    others = [
        case
        for case in telling
        if case.id == NEGATIVE
        or negatives.isdisjoint(resolution(Problem(case, DIALECTS[ONNX]).signature, RULES).questions)
    ]
    after, _ = compared(run_of(others, ONNX, always(), refusing(NEGATIVE)), corpus)
    assert after[NEGATIVE] == ver.Disputed(("negative-same-refused",), "refusal", ("ambiguous",), OUT_OF_MEMORY.message)


def test_a_refusal_follows_a_reading_where_all_siblings_refuse(corpus: Corpus, telling: list[Case]) -> None:
    run = run_of(telling, ONNX, always(reading("negative-same-refused"), reading("negative-sized-refused")))
    after, mixed = compared(run, corpus)
    assert mixed == ()
    assert {verdict.kind for verdict in after.values()} == {"agreed", "disputed"}
    assert after[NEGATIVE] == ver.Disputed(("negative-same-refused",), "refusal", message="no")


def test_readings_that_siblings_deny_are_left_out(corpus: Corpus) -> None:
    asked = corpus.case("found/onnx/same-of-nothing")
    run = run_of([corpus.case(NEGATIVE), asked], ONNX, always(), refusing(asked.id))
    before = verdicts(run)[asked.id]
    assert isinstance(before, ver.Disputed)
    assert {"spatial-not-empty-refused", "output-not-empty-refused", "negative-same-refused"} < set(before.readings)
    after = compared(run, corpus)[0][asked.id]
    assert isinstance(after, ver.Disputed)
    assert set(before.readings) - set(after.readings) == {"negative-same-refused", "negative-same-shrunk"}


def test_a_refusal_with_the_words_of_unexplained_refusals_has_their_cause(corpus: Corpus, telling: list[Case]) -> None:
    refused = (reading("negative-same-refused"), reading("negative-sized-refused"))
    plain = "padding/output-shape/odd-unit-by-hand"
    run = run_of(telling, ONNX, always(*refused), lambda case: out.Refused("no") if case.id == plain else None)
    assessment = assess(run, None, corpus.find_facts, find=corpus.find)
    assert assessment.counts[Status.DISPUTED] == 0
    assert {member.ruling.kind for member in assessment.statuses if member.status is Status.FAILED} == {"refused-valid"}
    # They are no failures once the plain call is waived, and nothing is noted of what fails.
    (entry,) = yaml.safe_load(proposed(assessment))["waivers"]
    assert entry["example"] == plain
    assert noted_of(assessment) == []


def test_a_value_that_siblings_contradict_has_mixed_readings(corpus: Corpus, telling: list[Case]) -> None:
    run = run_of(telling, ONNX, lambda case: [reading("negative-same-shrunk")] if case.id == NEGATIVE else [])
    after, (mixed,) = compared(run, corpus)
    assert mixed.question == "negative_same"
    assert after[NEGATIVE] == MixedReadings(("negative-same-shrunk",), "negative_same", "floor")
    assessment = assess(run, None, corpus.find_facts, find=corpus.find)
    failed = [member.ruling for member in assessment.statuses if member.status is Status.FAILED]
    assert {verdict.kind for verdict in failed} == {"mixed-readings"}


ONE_BELOW = "porting/asked[shape=reach,auto_pad=same_upper,output_shape=full+1,output_padding=none]"
"""A total padding of -1, of which half is nothing: towards zero, or all at the end."""


def test_readings_that_give_one_output_are_one_fact(corpus: Corpus) -> None:
    """A single case does not tell whether a runtime halves towards zero or appends all: it follows either."""
    truncated = ver.Disputed(("negative-sized-appended",), "exact", alike=("negative-sized-truncated",))
    run = run_of([corpus.case(ONE_BELOW)], ONNX, always(reading("negative-sized-truncated")))
    after, _ = compared(run, corpus)
    assert after[ONE_BELOW] == truncated
    assert phrase(truncated) == (
        "follows negative-sized-appended or negative-sized-truncated, which give the same output"
    )


@pytest.mark.parametrize("name", ["negative-sized-appended", "negative-sized-truncated"])
def test_other_cases_tell_readings_apart_that_give_one_output(name: str, corpus: Corpus, telling: list[Case]) -> None:
    """Totals of -2 and less show which one is followed: the run has that one reading, and no other."""
    run = run_of(telling, ONNX, always(reading(name)))
    assert {bool(verdict.alike) for verdict in verdicts(run).values() if isinstance(verdict, ver.Disputed)} == {
        True,
        False,
    }
    after, mixed = compared(run, corpus)
    assert mixed == ()
    followed = {verdict for verdict in after.values() if isinstance(verdict, ver.Disputed)}
    assert followed == {ver.Disputed((name,), "exact")}
    (cause,) = find_causes(assess(run, None, corpus.find_facts, find=corpus.find), Status.DISPUTED)
    assert cause.details == (f"follows {name}",)


def test_answers_that_vary_make_no_others_failures(corpus: Corpus, telling: list[Case]) -> None:
    run = run_of(telling, ONNX, lambda case: [reading("negative-same-shrunk")] if case.id == NEGATIVE else [])
    other = next(record for record in run.records if record.case != NEGATIVE)
    run = with_records(run, replace(other, verdict=DIFFERED, alone=FreshAnswer("agreed", same=False)))
    after, (mixed,) = compared(run, corpus, vary=True)
    assert mixed.question == "negative_same"
    assert after[NEGATIVE].kind == "disputed"

    def failed(file: WaiverFile | None) -> list[str]:
        found = assess(run, file, corpus.find_facts, find=corpus.find)
        return [member.ruling.kind for member in found.statuses if member.status is Status.FAILED]

    assert failed(None) == ["differed"]
    # A waiver of the answer that varies does not excuse the others with it.
    assert failed(waiver_file(waiver(cases=other.case, example=other.case))) == ["mixed-readings"]


def test_one_case_makes_many_others_no_failures(corpus: Corpus, telling: list[Case]) -> None:
    truncated = always(reading("negative-sized-truncated"))
    everyone = run_of(telling, ONNX, truncated)
    followers = [case for case, verdict in verdicts(everyone).items() if verdict.kind == "disputed"]
    assert len(followers) > 8
    odd = "porting/asked[shape=reach,auto_pad=none,output_shape=full+3,output_padding=none]"
    assert odd in followers
    run = run_of(telling, ONNX, lambda case: [] if case.id == odd else truncated(case))
    assessment = assess(run, None, corpus.find_facts, find=corpus.find)
    assert [answers.question for answers in assessment.mixed] == ["negative_sized"]
    (failed,) = [member for member in assessment.statuses if member.status is Status.FAILED]
    assert (failed.record.case, failed.ruling) == (odd, MixedReadings((), "negative_sized", "truncate"))
    words = "follows the text's first answer; other cases answer negative_sized by truncate"
    assert phrase(failed.ruling) == words
    assert [cause.count for cause in find_causes(assessment, Status.FAILED)] == [1]


def test_answers_that_a_cause_explains_have_no_note_of_their_own(
    corpus: Corpus, telling: list[Case], capsys: pytest.CaptureFixture[str]
) -> None:
    """The note stands where nothing else says why; with --verbose it always does."""

    def notes(assessment: Assessment, detail: terminal.Detail = "screen") -> int:
        terminal.show(run_report(assessment), None, detail)
        return capsys.readouterr().out.count("note: mixed readings: the question negative_same is answered by")

    run = run_of(telling, ONNX, lambda case: [reading("negative-same-shrunk")] if case.id == NEGATIVE else [])
    failed = assess(run, None, corpus.find_facts, find=corpus.find)
    assert notes(failed) == 1
    learnt = replace(failed, explained=(Explanation(Relates("are 0"), None, (NEGATIVE,), 1, frozenset(), 1),))
    assert (notes(learnt), notes(learnt, "verbose")) == (0, 1)
    file = waiver_file(waiver(cases=NEGATIVE, verdict={"kind": "mixed-readings"}, example=NEGATIVE))
    waived = assess(run, file, corpus.find_facts, find=corpus.find)
    assert (notes(waived), notes(waived, "verbose")) == (0, 1)


def test_mixed_readings_can_be_waived(corpus: Corpus, telling: list[Case]) -> None:
    """A waiver of the kind holds in the whole run; in a part of it the example shows nothing and is not stale."""
    known = waiver_file(
        waiver(
            cases="**[auto_pad=same_upper]",
            verdict={"kind": "mixed-readings", "question": "negative_same"},
            example=NEGATIVE,
        )
    )
    shrunk = [reading("negative-same-shrunk")]
    run = run_of(telling, ONNX, lambda case: shrunk if case.id == NEGATIVE else [])
    whole = assess(run, known, corpus.find_facts, find=corpus.find)
    assert red_lines(whole) == []
    assert whole.counts[Status.WAIVED] == 1
    part = run_of([corpus.case(NEGATIVE)], ONNX, always(*shrunk))
    part.header = part.header.model_copy(update={"patterns": (NEGATIVE,)})
    assert assess(part, known, corpus.find_facts, find=corpus.find).waivers.of_state("stale") == []
    consistent = run_of(telling, ONNX, always(*shrunk))
    uses = assess(consistent, known, corpus.find_facts, find=corpus.find).waivers
    assert [use.waiver.name for use in uses.of_state("stale")] == ["known"]


def test_a_value_of_which_siblings_deny_every_reading_has_mixed_readings(corpus: Corpus, telling: list[Case]) -> None:
    assert ONE_BELOW in {case.id for case in telling}
    truncated = [reading("negative-sized-truncated")]
    run = run_of(telling, ONNX, lambda case: truncated if case.id == ONE_BELOW else [])
    assert verdicts(run)[ONE_BELOW] == ver.Disputed(
        ("negative-sized-appended",), "exact", alike=("negative-sized-truncated",)
    )
    after, _ = compared(run, corpus)
    denied = MixedReadings(("negative-sized-appended",), "negative_sized", "floor")
    assert after[ONE_BELOW] == denied
    assert red_lines(assess(run, None, corpus.find_facts, find=corpus.find)) == ["1 case failed without a waiver"]
    # Where answers vary, none of them shows how the question is answered.
    varying, _ = compared(run, corpus, vary=True)
    assert varying[ONE_BELOW] == verdicts(run)[ONE_BELOW]


def test_one_case_makes_no_failures_of_many_that_several_readings_give(
    corpus: Corpus, gate_cases: tuple[Case, ...]
) -> None:
    """A single case denies all readings of eight and more: it is the one that is not like the others."""
    odd = "porting/asked[shape=reach,auto_pad=none,output_shape=full+3,output_padding=none]"
    truncated = always(reading("negative-sized-truncated"))
    sized = [case for case in gate_cases if case.attributes.output_shape is not None]
    undecided = [
        case for case, verdict in verdicts(run_of(sized, ONNX, truncated)).items() if getattr(verdict, "alike", ())
    ]
    assert len(undecided) >= 8
    for count, red in ((8, [odd]), (7, undecided[:7])):
        asked = [corpus.case(case) for case in (odd, *undecided[:count])]
        run = run_of(asked, ONNX, lambda case: [] if case.id == odd else truncated(case))
        after = compared(run, corpus)[0]
        assert [case for case, verdict in after.items() if isinstance(verdict, MixedReadings)] == red
        if red == [odd]:
            assert after[odd] == MixedReadings((), "negative_sized", "append")
