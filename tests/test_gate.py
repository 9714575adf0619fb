"""The gate tells from records and waivers what is known, what is not, and whether that is green."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_records import (
    AGREED,
    CASES,
    DIALECT,
    DIFFERED,
    EVERY_RULING,
    facts,
    named,
    ruled,
    run_of,
    waiver,
    waiver_file,
    with_records,
)
from reporting import json_of, noted_of, notes_on, red_lines, run_report
from tconv.gate.assessment import Assessment, assess
from tconv.gate.entries import ActiveEntries, correct_refusals, select_active
from tconv.gate.status import RULINGS, RecordStatus, Ruling, Status
from tconv.records.headers import WaiversHeader
from tconv.records.record import FreshAnswer, Record
from tconv.reports import job_summary, plain
from tconv.reports.notes import NOTE_MEANINGS
from tconv.reports.page.overview import answer, overviews
from tconv.reports.phrases import reason
from tconv.reports.report import make_report
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.gate.waivers import WaiverFile
    from tconv.records.record_file import Run

FIRST, SECOND, THIRD, OTHER = CASES
AFTER_OTHERS: dict[str, Any] = {"after-others": True, "versions": "==1.*"}
STATUSES = {
    "agreed": Status.PASSED,
    "disputed": Status.DISPUTED,
    "mixed-readings": Status.FAILED,
    "reading-changed": Status.FAILED,
    "inconclusive": Status.INCONCLUSIVE,
    "imprecise": Status.FAILED,
    "differed": Status.FAILED,
    "wrong-shape": Status.FAILED,
    "wrong-dtype": Status.FAILED,
    "refused-valid": Status.FAILED,
    "accepted-invalid": Status.REPORTED,
    "unsupported": Status.UNDECLARED,
    "not-applicable": Status.NOT_APPLICABLE,
    "crashed": Status.FAILED,
    "timed-out": Status.FAILED,
    "unstable": Status.FAILED,
    "backend-error": Status.FAILED,
}


def judged(
    verdicts: dict[str, ver.Verdict], file: WaiverFile | None = None, version: str = "1.2.0", *, strict: bool = False
) -> Assessment:
    return assess(run_of(verdicts, version), file, facts, strict=strict)


def status(ruling: Ruling, file: WaiverFile | None = None, *, strict: bool = False) -> Status:
    """Return the status of a case of which the gate makes this."""
    return ruled(assess(run_of({FIRST: ruling}), file, facts, strict=strict), {FIRST: ruling}).statuses[0].status


@pytest.mark.parametrize("verdict", EVERY_RULING, ids=lambda verdict: verdict.kind)
def test_each_ruling_has_its_status(verdict: Ruling) -> None:
    """Without waivers; and --strict changes what accepting a model is that the text calls invalid, and nothing else."""
    assert set(STATUSES) == set(RULINGS)
    assert status(verdict) is STATUSES[verdict.kind]
    invalid = isinstance(verdict, ver.AcceptedInvalid) and verdict.stated
    assert status(verdict, strict=True) is (Status.FAILED if invalid else STATUSES[verdict.kind])


def test_green_is_a_pass_and_no_failure() -> None:
    verdicts: dict[str, ver.Verdict] = {
        FIRST: AGREED,
        SECOND: ver.Disputed(("other",), "exact"),
        THIRD: ver.AcceptedInvalid("pads-length"),
        OTHER: ver.NotApplicable("no"),
    }
    assessment = judged(verdicts)
    assert red_lines(assessment) == []
    assert dict(assessment.counts) == dict.fromkeys(
        (Status.PASSED, Status.DISPUTED, Status.REPORTED, Status.NOT_APPLICABLE), 1
    )


REFUSED = ver.Agreed("refusal")
DECLARED = waiver_file(
    waiver(verdict={"kind": "refused-valid"}, example=THIRD),
    unsupported=({"cases": "a/d", "because": "no device"},),
)
"""Refusals of a/b/c are waived, and a/d/e is declared unsupported."""


def chosen(verdicts: dict[str, ver.Verdict], **header: Any) -> Assessment:  # noqa: ANN401 - of each key's type
    """Return what a run of a pattern, or of a shard, comes to."""
    run = run_of(verdicts)
    return assess(replace(run, header=run.header.model_copy(update=header)), DECLARED, facts)


@pytest.mark.parametrize("verdicts", [{}, {FIRST: ver.NotApplicable("no"), OTHER: ver.Unsupported("later")}])
@pytest.mark.parametrize("patterns", [(), ("a/**",)])
def test_a_run_without_a_judged_case_is_red(verdicts: dict[str, ver.Verdict], patterns: tuple[str, ...]) -> None:
    """A gate that is green because nothing could be compared would be worse than none."""
    (reason,) = red_lines(chosen(verdicts, patterns=patterns))
    assert reason.startswith("no case was judged")
    assert red_lines(chosen(verdicts, shard="1/2")) == []


@pytest.mark.parametrize(
    "verdict",
    [
        REFUSED,
        ver.Disputed(("other",), "refusal", message="no"),
        ver.RefusedValid("no"),
        ver.AcceptedInvalid("pads-length"),
    ],
    ids=["agreed", "disputed", "waived", "an invalid call is answered"],
)
def test_a_run_of_all_cases_needs_an_output(verdict: ver.Verdict) -> None:
    """Refusals do not show that anything is computed. A choice of cases need not show it, but its reports say so."""
    verdicts: dict[str, ver.Verdict] = {FIRST: verdict, OTHER: ver.Unsupported("no device")}
    said = f"no output {'of a valid call ' if isinstance(verdict, ver.AcceptedInvalid) else ''}was computed"
    (reason,) = red_lines(chosen(verdicts))
    assert reason.startswith(said)
    for part in (chosen(verdicts, patterns=("a/**",)), chosen(verdicts, shard="1/2")):
        assert red_lines(part) == []
        assert said in notes_on(part)
        assert {"name": "nothing-passed", "text": said} in json_of(part)["notes"]
        assert said in job_summary.markdown(make_report([part]))
        assert answer(overviews([run_report(part)])).lower().startswith(said)
        assert plain.badge(make_report([part]))["message"] == "no output was computed"
    assert red_lines(chosen(verdicts | {SECOND: AGREED})) == []


@pytest.mark.parametrize(
    "verdict", [AGREED, ver.Agreed("bound"), ver.Agreed("shape"), ver.Disputed(("other",), "exact"), DIFFERED]
)
def test_one_output_is_enough(verdict: ver.Verdict) -> None:
    assert red_lines(judged({SECOND: verdict, OTHER: REFUSED}, waiver_file(waiver()))) == []


def test_refusals_conform_beside_an_output_only() -> None:
    """A badge adds up runs: the refusals of one that computes nothing are no part of what conforms."""
    computing = chosen({FIRST: AGREED, SECOND: REFUSED})
    refusing = chosen({FIRST: REFUSED, SECOND: REFUSED}, patterns=("a/**",))
    assert plain.badge(make_report([computing, refusing]))["message"] == "2 of 4 conform"


def test_a_choice_of_waived_cases_is_green_and_says_so() -> None:
    """The command that a waived case prints runs that case alone."""
    file = waiver_file(waiver())
    run = run_of({FIRST: DIFFERED})
    run.header = run.header.model_copy(update={"patterns": (FIRST,)})
    assessment = assess(run, file, facts)
    assert (red_lines(assessment), notes_on(assessment)) == ([], ["nothing passed: all cases are waived"])
    beside = judged({FIRST: DIFFERED, SECOND: ver.NotApplicable("no")}, file)
    assert notes_on(beside) == ["nothing passed: all cases that were judged are waived"]
    assert not any("nothing passed" in note for note in notes_on(judged({FIRST: DIFFERED, SECOND: AGREED}, file)))


INCONCLUSIVE = ver.Inconclusive(4, 8)


def typed(case_id: str) -> dict[str, str]:
    """Return facts with an element type: f16 for the first two cases."""
    return {"dtype": "f16" if case_id in {FIRST, SECOND} else "f32"}


@pytest.mark.parametrize(
    ("beside", "red"),
    [
        ({SECOND: AGREED}, False),
        ({SECOND: ver.Agreed("exact", ("cropped",))}, False),
        ({SECOND: ver.Disputed(("other",), "exact")}, False),
        ({SECOND: ver.Agreed("bound"), THIRD: AGREED}, True),
        ({SECOND: ver.Agreed("refusal"), THIRD: AGREED}, True),
        ({THIRD: AGREED}, True),
        ({SECOND: INCONCLUSIVE, THIRD: AGREED}, True),
    ],
    ids=[
        "exact",
        "exact with a note",
        "exact by another reading",
        "within a bound",
        "a refusal",
        "exact in another type",
        "inconclusive too",
    ],
)
def test_inconclusive_values_are_red_where_nothing_of_their_type_agrees_exactly(
    beside: dict[str, ver.Verdict],
    red: bool,  # noqa: FBT001
) -> None:
    """They have a status of their own and are no pass; another case of the type must show that it is computed."""
    assessment = assess(run_of({FIRST: INCONCLUSIVE} | beside), None, typed)
    assert assessment.counts[Status.INCONCLUSIVE] == 1 + (beside.get(SECOND) == INCONCLUSIVE)
    assert bool(red_lines(assessment)) is red
    if red:
        assert "of f16 would pass as zeros too, and no case of f16 agrees exactly" in red_lines(assessment)[0]


@pytest.mark.parametrize("data", ["normal", "wide", "wide-full", "all-bits"])
@pytest.mark.parametrize(
    ("twin", "red"),
    [(AGREED, False), (ver.Disputed(("other",), "exact"), False), (DIFFERED, True), (INCONCLUSIVE, True)],
)
def test_inconclusive_values_are_shown_by_the_same_call_on_integers(data: str, twin: ver.Verdict, red: bool) -> None:  # noqa: FBT001
    """Where the run has that case, an exact case of the same type shows nothing: it may have far fewer products."""
    real, integers, other = (f"a/b/c[n=9,data={kind},dtype=f16]" for kind in (data, "integers", "special"))
    run = run_of({real: INCONCLUSIVE, integers: twin, other: AGREED})
    reasons = [reason for reason in red_lines(assess(run, None, lambda _: {"dtype": "f16"})) if "zeros" in reason]
    assert any(f"the same on integers does not agree exactly, such as {integers}" in why for why in reasons) is red
    assert red or not reasons


def test_notes_are_counted_over_verdicts() -> None:
    """Of values that agree, follow a reading or are inconclusive: the most frequent first, with the shortest id."""
    verdicts: dict[str, ver.Verdict] = {
        FIRST: ver.Agreed("bound", ("reduced-precision",)),
        SECOND: ver.Disputed(("other",), "bound", ("flushed-subnormals", "reduced-precision")),
        OTHER: ver.Inconclusive(1, 2, (), ("reduced-precision",)),
    }
    noted = noted_of(judged(verdicts))
    assert [(note.name, note.count, note.example) for note in noted] == [
        ("reduced-precision", 3, OTHER),
        ("flushed-subnormals", 1, SECOND),
    ]
    assert all(note.meaning == NOTE_MEANINGS[note.name] for note in noted)


@pytest.mark.parametrize(
    "settings",
    [
        {"cases": "a/d"},
        {"cases": "a/b/c[s=2]"},
        {"where": {"s": 2}},
        {"where": {"s": [2, 3]}},
        {"where": {"no-such-fact": 1}},
        {"verdict": {"kind": "wrong-shape"}},
        {"verdict": {"kind": "differed", "wrong": 3}},
        {"verdict": {"kind": "differed", "wrong": 2, "first": [0, 0, 2]}},
        {"versions": ">=2"},
        {"versions": "<1.2"},
        {"dialects": ["onnx/ConvTranspose-11"]},
    ],
    ids=str,
)
def test_a_waiver_is_for_its_cases_its_verdict_its_versions_and_its_dialects(settings: dict[str, object]) -> None:
    """Anything else of the same backend still fails."""
    assessment = judged({FIRST: DIFFERED, OTHER: AGREED}, waiver_file(waiver(**settings)))
    assert assessment.counts[Status.FAILED] == 1
    assert assessment.counts[Status.WAIVED] == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"where": {"s": 1}},
        {"where": {"s": [1, 2]}},
        {"cases": "**", "where": {"s": 1}},
        {"cases": "a/b/c[s=1|2]"},
        {"verdict": {"kind": "differed", "wrong": 2, "first": [0, 0, 3], "expected": 3.0}},
        {"versions": ">=1.2,<2"},
        {"dialects": ["onnx/ConvTranspose-11", DIALECT]},
    ],
    ids=str,
)
def test_a_waiver_may_say_less_or_more(settings: dict[str, object]) -> None:
    assert judged({FIRST: DIFFERED}, waiver_file(waiver(**settings))).counts[Status.WAIVED] == 1


def test_a_refusal_with_a_better_cause_than_a_reading_is_held_against_the_waivers_too() -> None:
    """It has the words of a refusal that no reading explains: it is one of these, and may be a known one."""
    refused = ver.Disputed(("total-refused",), "refusal", message="no kernel of 3 taps")
    run = run_of({CASES[0]: ver.RefusedValid("no kernel of 2 taps"), CASES[1]: refused})
    file = waiver_file(waiver(verdict={"kind": "refused-valid"}, cases=CASES[1], example=CASES[1]))
    for waivers, status in ((None, Status.FAILED), (file, Status.WAIVED)):

        def of(record: Record, ruling: Ruling | None = None, waivers: WaiverFile | None = waivers) -> RecordStatus:
            active = select_active(waivers, DIALECT, run.header.backend)
            return active.assign_status(record, facts(record.case) or {}, ruling)

        first, second = correct_refusals([of(record) for record in run.records], of)
        assert (first.status, second.status) == (Status.FAILED, status)
        assert second.ruling == ver.RefusedValid("no kernel of 3 taps")
        assert second.record is run.records[1]


def test_a_run_says_how_strictly_it_was_judged() -> None:
    """Whoever reads its records without --strict is told so, as it may be green here and was red there."""
    run = run_of({FIRST: ver.AcceptedInvalid("pads-length"), OTHER: AGREED})
    run.header = run.header.model_copy(update={"waivers": WaiversHeader(file="none", strict=True)})
    strict, lenient = (assess(run, None, facts, strict=strict) for strict in (True, False))
    assert (len(red_lines(strict)), notes_on(strict)) == (1, [])
    assert red_lines(lenient) == []
    assert notes_on(lenient) == ["the run began with the waivers none --strict; here they are none"]
    assert [json_of(each)["strict"] for each in (strict, lenient)] == [True, False]


def test_that_no_values_were_compared_is_noted() -> None:
    assessment = assess(run_of({FIRST: ver.Agreed("shape"), SECOND: AGREED, OTHER: AGREED}), None, facts)
    ((note,),) = [noted_of(assessment)]
    assert (note.name, note.example) == ("no-values", FIRST)
    assert note.meaning


@given(st.lists(st.sampled_from(["a", "b", "\n", "*"]), min_size=1, max_size=8), st.text("ab\n", max_size=8))
def test_a_star_in_a_message_stands_for_anything(parts: list[str], message: str) -> None:
    """Each for any text, also none, and also over several lines; between the others lines may end where words do."""
    expected = "".join(parts)
    known = waiver_file(waiver(verdict={"kind": "refused-valid", "message": f"-{expected}"})).waivers[0]
    meant = re.compile("-" + ".*".join(map(re.escape, expected.split("*"))), re.DOTALL)
    lines = f"-{message}", " ".join(f"-{message}".split()) if "*" in expected else f"-{message}"
    assert known.waives(refused(f"-{message}"), {}) == any(map(meant.fullmatch, lines))


def test_a_message_of_several_lines_is_waived_by_its_words_in_one_line() -> None:
    """As reports show them, and as proposed waivers have them."""
    known = waiver_file(waiver(verdict={"kind": "refused-valid", "message": "no kernel for*in node*"})).waivers[0]
    assert known.waives(refused("no kernel\n  for 3 taps\nin node Y"), {})
    assert not known.waives(refused("no kernel\n  of 3 taps\nin node Y"), {})


def test_many_stars_in_a_message_are_no_work() -> None:
    known = waiver_file(waiver(verdict={"kind": "refused-valid", "message": "*a" * 40 + "*b"})).waivers[0]
    assert not known.waives(refused("a" * 1000), {})
    assert known.waives(refused("a" * 1000 + "b"), {})


def refused(message: str) -> RecordStatus:
    """Return the record of a case that was refused with a message."""
    return ActiveEntries().assign_status(Record(FIRST, "acme", DIALECT, ver.RefusedValid(message), 0.25), {})


def test_a_refusal_that_is_named_by_its_message_is_waived_also_where_a_reading_refuses() -> None:
    """The runtime gives another reason than the reading; what it says tells them apart, and only that does."""
    refused = ver.Disputed(("total-refused",), "refusal", message="one group is too few")
    verdicts = {CASES[0]: ver.RefusedValid("one group is too few"), CASES[1]: refused, CASES[3]: AGREED}
    other = ver.Disputed(("total-refused",), "refusal", message="padding must not be negative")
    value = ver.Disputed(("total-shrunk",), "exact")
    named = waiver(verdict={"kind": "refused-valid", "message": "one group is too few"}, cases="a/**")
    assessment = assess(run_of(verdicts | {CASES[2]: other}), waiver_file(named), facts)
    statuses = {judged.record.case: judged.status for judged in assessment.statuses}
    assert statuses == dict(zip(CASES, [Status.WAIVED, Status.WAIVED, Status.DISPUTED, Status.PASSED], strict=True))
    assert assessment.waived == {CASES[0], CASES[1]}
    part = waiver(verdict={"kind": "refused-valid", "message": "one * is too *"}, cases="a/**")
    assert assess(run_of(verdicts | {CASES[2]: other}), waiver_file(part), facts).waived == {CASES[0], CASES[1]}
    unnamed = waiver(verdict={"kind": "refused-valid"}, cases="a/**")
    for verdict in (refused, value):
        assessment = assess(run_of(verdicts | {CASES[1]: verdict}), waiver_file(unnamed), facts)
        assert {j.record.case: j.status for j in assessment.statuses}[CASES[1]] is Status.DISPUTED


def ended(run: Run, case: str, *earlier: str) -> Run:
    """Return a run in which a process ended at a case that does not end one alone, after others."""
    (record,) = (record for record in run.records if record.case == case)
    alone = FreshAnswer("agreed", same=False)
    return with_records(run, replace(record, verdict=ver.Crashed("SIGSEGV", ""), alone=alone, earlier=earlier))


HARMING = waiver(**AFTER_OTHERS, where={"s": 1})
CHANCE = {"name": "chance", "verdict": {"kind": "crashed", "cause": "SIGSEGV"}, "where": {"s": 2}, "example": SECOND}


@pytest.mark.parametrize(
    ("earlier", "waivers", "failed"),
    [
        ((FIRST,), [waiver()], 1),
        # What deviates in another process, or is not covered with `after-others`, has not harmed this one.
        ((FIRST,), [HARMING], 0),
        ((), [HARMING], 1),
        ((OTHER,), [HARMING], 1),
        ((THIRD, OTHER), [HARMING], 1),
        ((OTHER, FIRST), [HARMING], 0),
        ((FIRST,), [waiver(), waiver(**AFTER_OTHERS, cases="a/e", example="a/e/f")], 1),
        # Of the case itself, without `after-others`, a waiver says that it dies alone.
        ((), [waiver(), waiver(**CHANCE, **AFTER_OTHERS)], 0),
        ((), [waiver(), waiver(**CHANCE)], 1),
    ],
)
def test_an_end_of_a_process_that_a_case_alone_does_not_repeat_is_red(
    earlier: tuple[str, ...], waivers: list[dict[str, Any]], failed: int
) -> None:
    """Unless a waiver with `after-others` is for the case, or for one that the process was asked before."""
    run = run_of({FIRST: DIFFERED, SECOND: AGREED, THIRD: AGREED, OTHER: DIFFERED})
    file = waiver_file(*waivers, waiver(name="other", cases="a/d/e", example=OTHER))
    assessment = assess(ended(run, SECOND, *earlier), file, facts, own=False)
    assert assessment.counts[Status.FAILED] == failed


def test_a_waiver_whose_example_is_a_reading_s_refusal_is_stale() -> None:
    """It waives refusals that a reading explains beside one that none does; without that one it shows nothing."""
    refused = ver.Disputed(("total-refused",), "refusal", message="no")
    named = waiver(verdict={"kind": "refused-valid", "message": "no"})
    assessment = assess(run_of({CASES[0]: refused, CASES[3]: AGREED}), waiver_file(named), facts)
    assert [use.waiver.name for use in assessment.waivers.of_state("stale")] == ["known"]
    (reason,) = red_lines(assessment)
    assert reason.endswith(
        "is no failure without it, as total-refused says; take an example that no reading explains, or remove it"
    )


def test_a_waiver_is_not_stale_where_an_earlier_one_waives_its_example_too() -> None:
    """Two entries may overlap: the example deviates as both say, so neither may go as if it did not."""
    broad, narrow = waiver(name="broad"), waiver(name="narrow", where={"s": 1})
    for file in (waiver_file(broad, narrow), waiver_file(narrow, broad)):
        assessment = judged({FIRST: DIFFERED, SECOND: DIFFERED, OTHER: AGREED}, file)
        assert assessment.waivers.of_state("stale") == []
        assert assessment.counts[Status.WAIVED] == 2


def test_a_waiver_whose_example_ran_and_does_not_deviate_is_stale() -> None:
    """It must go: it would hide the next deviation. Neither agreeing nor deviating otherwise keeps it."""
    for verdict, now in ((AGREED, "agrees now"), (ver.WrongShape((1,), (2,)), "does not deviate as it says")):
        assessment = judged({FIRST: verdict, SECOND: DIFFERED, OTHER: AGREED}, waiver_file(waiver()))
        sentence = f"waiver 'known' is stale: its example {FIRST!r} ran and {now}; remove it"
        assert sentence in red_lines(assessment)
        assert [use.waiver.name for use in assessment.waivers.of_state("stale")] == ["known"]


def test_a_waiver_after_others_is_needed_in_some_runs_only() -> None:
    """Its example may be no failure, and others that it covers; what deviates differently is still not waived."""
    file = waiver_file(waiver(**AFTER_OTHERS))
    for verdict in (AGREED, DIFFERED):
        assessment = judged({FIRST: verdict, SECOND: AGREED, OTHER: AGREED}, file)
        assert (red_lines(assessment), assessment.waivers.of_state("stale")) == ([], [])
        assert notes_on(assessment) == []
    for verdict in (ver.Disputed(("other",), "exact"), ver.AcceptedInvalid("strides-positive")):
        assert red_lines(judged({FIRST: verdict, SECOND: AGREED, OTHER: AGREED}, file)) == []
    for verdict in (ver.WrongShape((1,), (2,)), ver.Crashed("SIGSEGV", "")):
        otherwise = judged({FIRST: verdict, OTHER: AGREED}, file)
        assert [use.waiver.name for use in otherwise.waivers.of_state("stale")] == ["known"]
        assert otherwise.counts[Status.FAILED] == 1
    unknown = waiver_file(waiver(**AFTER_OTHERS, example="x/y/z"))
    assert red_lines(judged({FIRST: AGREED, OTHER: AGREED}, unknown)) == [
        "waiver 'known' is invalid: its example 'x/y/z' is no case of this corpus; correct it"
    ]


def test_a_waiver_whose_example_fails_by_chance_is_not_stale() -> None:
    """What the example does otherwise is known to come by chance, and says nothing of the other waiver."""
    crashes = waiver(name="chance", verdict={"kind": "crashed"}, example=SECOND, **AFTER_OTHERS)
    for known in (waiver(), waiver(**AFTER_OTHERS)):
        run = {FIRST: ver.Crashed("SIGABRT", ""), SECOND: AGREED, OTHER: AGREED}
        assert red_lines(judged(run, waiver_file(crashes, known))) == []


def test_waivers_of_a_relative_waive_and_those_that_are_not_needed_are_no_fault() -> None:
    """A relative need not have all deviations of the backend that the file is of; a note says whose they are."""
    used, unneeded = waiver(), waiver(name="gone", cases="a/d/e", example=OTHER)
    file = waiver_file(used, unneeded).model_copy(update={"backend": "acme-original"}).of_relative("acme")
    assessment = judged({FIRST: DIFFERED, OTHER: AGREED}, file)
    assert (red_lines(assessment), assessment.waivers.of_state("stale")) == ([], [])
    assert [use.waiver.name for use in assessment.waivers.of_state("unneeded")] == ["gone"]
    assert assessment.waived == {FIRST}
    note = "the waivers are those of 'acme-original', for whatever version: 1 cases are waived, and 1 waivers are not"
    assert any(text.startswith(note) for text in notes_on(assessment))
    assert "is stale" in " ".join(red_lines(judged({FIRST: DIFFERED, OTHER: AGREED}, waiver_file(used, unneeded))))


@pytest.mark.parametrize(
    ("verdicts", "versions"),
    [
        ({}, ">=1"),
        ({SECOND: AGREED}, ">=1"),
        ({FIRST: ver.NotApplicable("no word")}, ">=1"),
        ({FIRST: AGREED}, "<1.2"),
    ],
    ids=["none of its cases", "some of them", "not applicable", "another version"],
)
def test_a_waiver_is_left_alone_if_its_example_shows_nothing(verdicts: dict[str, ver.Verdict], versions: str) -> None:
    """A run of some cases says nothing of the others; the next release may have repaired it, the one after may not."""
    assessment = judged(verdicts | {OTHER: AGREED}, waiver_file(waiver(versions=versions)))
    assert (red_lines(assessment), assessment.waivers.of_state("stale", "invalid")) == ([], [])


def test_a_waiver_may_be_for_one_explanation_alone() -> None:
    run = run_of({FIRST: DIFFERED, SECOND: DIFFERED, OTHER: AGREED})
    names = {FIRST: named("pads-exchanged", "one-too-late"), SECOND: named("bias-doubled")}
    explained = replace(run, records=[replace(item, diagnosis=names.get(item.case, ())) for item in run.records])
    assessment = assess(explained, waiver_file(waiver(diagnosis=["pads-exchanged"])), facts)
    statuses = {item.record.case: item.status for item in assessment.statuses}
    assert (statuses[FIRST], statuses[SECOND]) == (Status.WAIVED, Status.FAILED)


def test_a_waiver_of_another_machine_is_neither_used_nor_stale_nor_void() -> None:
    """It cannot be checked here; on its own machine it can."""
    file = waiver_file(
        waiver(machine={"without": ["avx512_fp16"]}), waiver(name="gone", machine={"with": ["amx_bf16"]})
    )
    verdicts = {FIRST: DIFFERED, OTHER: AGREED}
    old = assess(run_of(verdicts, machine={"simd": "avx avx2"}), file, facts)
    assert (red_lines(old), old.waived) == ([], {FIRST})
    new = assess(run_of(verdicts | {FIRST: AGREED}, machine={"simd": "avx512_fp16"}), file, facts)
    assert (red_lines(new), new.waived) == ([], frozenset())
    assert assess(run_of(verdicts, machine={"simd": "avx512_fp16"}), file, facts).counts[Status.FAILED] == 1


def test_waivers_of_other_versions_are_told_where_they_would_cover_failures() -> None:
    """A run of an older version fails with what is known of the newer one alone; a pass is no reason to speak of it."""
    file = waiver_file(waiver(versions=">=1.3"), waiver(name="gone", versions=">=1.3", where={"s": 2}))
    old = judged({FIRST: DIFFERED, OTHER: AGREED}, file)
    assert [each.name for each in old.waivers.of_other_versions] == ["known"]
    assert judged({FIRST: AGREED, OTHER: AGREED}, file).waivers.of_other_versions == ()
    assert judged({FIRST: DIFFERED, OTHER: AGREED}, file, "1.3.0").waivers.of_other_versions == ()
    assert "waivers that would cover failures are not for version 1.2.0: known (>=1.3)" in " ".join(notes_on(old))


def test_what_is_unsupported_may_depend_on_the_machine() -> None:
    """The declaration holds where the machine lacks what the runtime needs; elsewhere the runtime expects the call."""
    entry = {"where": {"s": 1}, "machine": {"without": ["avx512_fp16"]}, "because": "no such kernel there"}
    verdicts: dict[str, ver.Verdict] = {FIRST: ver.Unsupported("x"), OTHER: AGREED}
    for simd, red in (("avx2", []), ("avx2 avx512_fp16", [UNDECLARED])):
        run = run_of(verdicts, machine={"simd": simd})
        assert red_lines(assess(run, waiver_file(unsupported=(entry,)), facts)) == red


def test_a_declaration_says_where_the_runtime_implements_it_by_now() -> None:
    """Else a kernel that a later release loses again would be declared before anybody has seen that it is lost."""
    entry = {"where": {"s": [1, 2]}, "because": "no such kernel"}
    for verdicts, note in (
        (
            {FIRST: AGREED, SECOND: AGREED},
            f"covers 2 cases that agree, such as {FIRST}, and none that is unsupported: remove the entry",
        ),
        (
            {FIRST: AGREED, SECOND: ver.Unsupported("x")},
            f"covers 1 case that agrees, such as {FIRST}, together with 1 that is unsupported: narrow it",
        ),
    ):
        assessment = judged(verdicts, waiver_file(unsupported=(entry,)))
        sentence = f"s=1|2 is declared unsupported, and {note}"
        assert json_of(assessment)["notes"] == [{"name": "wide-declaration", "text": sentence}]


def test_a_declaration_that_fits_is_not_told() -> None:
    """Of an invalid call that is refused nobody learns whether a valid one is implemented; nor of none at all."""
    entry = {"where": {"s": [1, 2]}, "because": "no such kernel"}
    file = waiver_file(unsupported=(entry,))
    assert judged({FIRST: ver.Unsupported("x"), SECOND: ver.NotApplicable("no word")}, file).waivers.implemented == []

    def invalid(case: str) -> dict[str, str]:
        return dict(facts(case) or {}, breaks="groups-positive")

    assert assess(run_of({FIRST: AGREED}), file, invalid).waivers.implemented == []
    relative = file.model_copy(update={"backend": "another"})
    assert judged({FIRST: AGREED}, relative).waivers.implemented == []


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"example": "a/b/gone"}, "is no case of this corpus"),
        ({"example": "a/b/c[s=9]"}, "is no case of this corpus"),
        ({"example": OTHER}, "does not match its own pattern"),
        ({"where": {"s": 2}}, "does not match its own pattern"),
    ],
    ids=["no such case", "no such label", "not its case", "not its fact"],
)
def test_a_waiver_whose_example_is_no_case_of_its_own_is_void(settings: dict[str, object], why: str) -> None:
    made = waiver(**settings)
    assessment = judged({OTHER: AGREED}, waiver_file(made))
    assert red_lines(assessment) == [f"waiver 'known' is invalid: its example {made['example']!r} {why}; correct it"]
    assert [use.waiver.name for use in assessment.waivers.of_state("invalid", "unknown")] == ["known"]


def test_waivers_that_ship_are_not_void_in_a_corpus_of_someone_s_own() -> None:
    """Their examples are cases of the corpus that ships; an example that is there and not theirs is wrong anywhere."""
    run = run_of({OTHER: AGREED})
    assert red_lines(assess(run, waiver_file(waiver(example="a/b/gone")), facts, own=False)) == []
    assert len(assess(run, waiver_file(waiver(example=OTHER)), facts, own=False).waivers.of_state("invalid")) == 1


def test_records_that_are_not_all_or_of_another_corpus_are_red() -> None:
    """What was not run was not shown; what another corpus said is not what this one says."""
    run = run_of({FIRST: AGREED})
    digest = run.header.corpus
    assert red_lines(assess(run, None, facts, digest=digest)) == []
    run.header = run.header.model_copy(update={"cases": 3})
    assert red_lines(assess(run, None, facts)) == ["3 cases must have a record (got 1); resume the run"]
    run.header = run.header.model_copy(update={"cases": 1})
    (reason,) = red_lines(assess(run, None, facts, digest="sha256:1"))
    assert reason == f"the records must be of this corpus, sha256:1 (got {digest}); run it again"


def test_a_waiver_that_covers_agreeing_cases_too_is_told() -> None:
    """It is wider than what it knows; that is told with an example, and is not red."""
    assessment = judged({FIRST: DIFFERED, SECOND: AGREED, THIRD: AGREED}, waiver_file(waiver()))
    (use,) = assessment.waivers.of_state("wide")
    assert (use.waived, use.agreeing) == (1, (SECOND, THIRD))
    assert red_lines(assessment) == []


UNDECLARED = "1 case is unsupported, and not declared so; declare them: tconv waivers propose RECORDS --output FILE"


def test_unsupported_is_a_failure_unless_it_is_declared() -> None:
    """A runtime may leave things out, and says which; what it leaves out besides is red."""
    declared = waiver_file(unsupported=({"where": {"s": [1, 2]}, "because": "no such kernel"},))
    verdicts: dict[str, ver.Verdict] = {FIRST: ver.Unsupported("x"), THIRD: ver.Unsupported("y"), OTHER: AGREED}
    assessment = judged(verdicts, declared)
    reasons = {member.record.case: (member.status, reason(member)) for member in assessment.statuses}
    assert reasons[FIRST] == (Status.UNSUPPORTED, "no such kernel")
    assert reasons[THIRD] == (Status.UNDECLARED, "unsupported, and not declared so: y")
    assert red_lines(assessment) == [UNDECLARED]
    both = judged({FIRST: DIFFERED, THIRD: ver.Unsupported("y"), OTHER: AGREED})
    assert red_lines(both) == ["1 case failed without a waiver", UNDECLARED]


def test_what_is_undeclared_is_reason_enough() -> None:
    """A run of all cases in which everything is unsupported has one reason for red, and says the rest in a note."""
    assessment = judged({FIRST: ver.Unsupported("x"), SECOND: ver.Unsupported("x"), OTHER: ver.Unsupported("x")})
    assert [reason["name"] for reason in json_of(assessment)["red"]] == ["cases-undeclared"]
    assert "no output was computed" in notes_on(assessment)


def test_a_case_that_the_corpus_no_longer_has_keeps_its_verdict() -> None:
    """Old records can be judged; what a pattern's path covers is covered still, what needs facts is not."""
    gone = "a/b/c[gone=1]"
    assert judged({gone: DIFFERED, OTHER: AGREED}, waiver_file(waiver())).counts[Status.WAIVED] == 1
    narrow = waiver_file(waiver(where={"gone": 1}))
    assert judged({gone: DIFFERED, OTHER: AGREED}, narrow).counts[Status.FAILED] == 1
