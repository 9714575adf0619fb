"""Why a run fails: played runtimes, each with a bug that is known, and what is found of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml

from made_records import run_of
from played_backends import ONNX, assessment_of, calls_of, computed, geometry_of, reports_of
from reporting import noted_of, run_report
from tconv.cases.patterns import topic_of
from tconv.corpus.building import build
from tconv.corpus.case_file import Settings
from tconv.corpus.writing import settings
from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.diagnosis.misreadings.misreading import apply
from tconv.dialects.readings import Combination
from tconv.evidence.calls import Calls, answer_of
from tconv.evidence.explanation import explain
from tconv.evidence.hypotheses import Errs, Follows, Misreads, Relates, Says, Varies
from tconv.expectation.truth import Truth
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.records.record import FreshAnswer
from tconv.reports.cause_sentences import evidence_for
from tconv.reports.causes import find_causes
from tconv.reports.conditions import in_words
from tconv.reports.page.cause_lines import cause_lines
from tconv.reports.proposed_waivers import proposed
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.evidence.calls import Answer
    from tconv.evidence.hypotheses import Explanation
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array


@pytest.fixture(scope="module")
def valid(smoke_cases: tuple[Case, ...]) -> list[Case]:
    """Return valid cases of the smoke tier, few enough for a test."""
    alone = [case for case in smoke_cases if topic_of(case.id) not in {"contexts", "quantised"}]
    return [case for case in alone if case.breaks is None and case.simplicity[1] <= 4096][::2]


def in_group(problem: Problem) -> int:
    return problem.case.x.shape[1] // geometry_of(problem).groups


def is_explicit(problem: Problem) -> bool:
    """Return whether the pads decide the size."""
    explicit = problem.signature.auto_pad == AutoPad.EXPLICIT
    return explicit and problem.case.attributes.output_shape is None


def flips_even_kernels(problem: Problem) -> Array:
    w = problem.truth.operands["w"]
    return computed(problem, w=np.flip(w, [axis for axis in range(2, w.ndim) if w.shape[axis] % 2 == 0]))


def biases_the_first_group(problem: Problem) -> Array:
    bias = problem.truth.operands.get("b")
    if bias is None:
        return computed(problem)
    return computed(problem, b=np.where(np.arange(len(bias)) < len(bias) // geometry_of(problem).groups, bias, 0))


def biases_the_first_item(problem: Problem) -> Array:
    y = computed(problem)
    bias = problem.truth.operands.get("b", np.zeros(y.shape[1])).reshape(-1, *(1,) * (y.ndim - 2))
    return np.concatenate([y[:1], y[1:] - bias])


def misread(name: str, where: Callable[[Problem], bool]) -> Callable[[Problem], Array]:
    """Return a runtime that misreads the calls for which `where` holds."""
    misreading = misreadings_by_name(ONNX)[name]

    def answer(problem: Problem) -> Array:
        found = apply([misreading], problem.signature, ONNX, problem.truth.operands) if where(problem) else None
        if found is None:
            return computed(problem)
        return Truth(found.operands, problem.case.x.dtype).compute_values(found.geometry)

    return answer


def is_grouped(problem: Problem) -> bool:
    return geometry_of(problem).groups > 1


def crops_both_pads_at_the_beginning(problem: Problem) -> Array:
    """Begin where both pads are cropped, with the size that is expected."""
    geometry = geometry_of(problem)
    if not is_explicit(problem):
        return computed(problem)
    pads = (problem.signature.per_axis(name) for name in ("pads_begin", "pads_end"))
    return computed(problem, replace(geometry, pads_begin=tuple(map(sum, zip(*pads, strict=True)))))


def refuses_grouped(problem: Problem) -> Array:
    """Refuse grouped calls that are not depthwise, with numbers in the message."""
    groups = geometry_of(problem).groups
    if groups > 1 and in_group(problem) > 1:
        raise RuntimeError(f"no kernel for {groups} groups of {in_group(problem)} channels")
    return computed(problem)


def correlates_at_stride_1(problem: Problem) -> Array:
    """Compute a correlation if every stride is 1, as a kernel for convolutions does (alibaba/MNN#933)."""
    geometry, w = geometry_of(problem), problem.truth.operands["w"]
    if set(geometry.strides) != {1}:
        return computed(problem)
    axes = zip(geometry.kernel, geometry.dilations, geometry.pads_begin, strict=True)
    begin = tuple((k - 1) * d - 2 * p for k, d, p in axes)
    return computed(problem, replace(geometry, pads_begin=begin), w=np.flip(w, axis=tuple(range(2, w.ndim))))


def repeats_the_last_column(problem: Problem) -> Array:
    """The last column of the data is not read, and the one before it twice, if the kernel is no single column."""
    x = problem.operands["x"].copy()
    if problem.signature.rank and problem.case.w.shape[-1] > 1:
        x[..., -1:] = x[..., -2:][..., :1]
    return computed(problem, x=x)


def saturates(problem: Problem) -> Array:
    return np.clip(computed(problem), -64, 63)


def found_for(answer: Callable[[Problem], Array], cases: Sequence[Case], corpus: Corpus) -> tuple[Explanation, ...]:
    return explain(calls_of(reports_of(answer, cases), corpus))


@pytest.mark.parametrize(
    ("answer", "what", "condition"),
    [
        pytest.param(flips_even_kernels, Errs, "kernel of an axis is even", marks=pytest.mark.thorough),
        (biases_the_first_group, Errs, "bias=true and group!=dense"),
        (biases_the_first_item, Relates, "batch >= 2 and bias=true"),
        (misread("filter-flipped", is_grouped), Misreads, "group!=dense"),
        (refuses_grouped, Says, "group=grouped"),
        pytest.param(
            correlates_at_stride_1,
            Errs,
            "kernel of an axis >= 2 and strides of every axis < 2",
            marks=pytest.mark.thorough,
        ),
        (saturates, Relates, ""),
    ],
)
def test_a_bug_is_one_explanation_with_its_condition(
    answer: Callable[[Problem], Array], what: type[object], condition: str, valid: list[Case], corpus: Corpus
) -> None:
    """Across all sweeps, whether the catalogue has its name or not."""
    records = reports_of(answer, valid)
    calls = calls_of(records, corpus)
    largest, *rest = explain(calls)
    assert (type(largest.what), " and ".join(sorted(largest.condition or ()))) == (what, condition)
    assert len(largest.cases) > 5 * sum(len(each.cases) for each in rest)
    assert len(largest.cases) > 0.85 * calls.failed.sum()


@pytest.mark.thorough
def test_a_condition_of_all_failures_stays_if_nearly_all_answers_are_wrong(valid: list[Case], corpus: Corpus) -> None:
    """Other terms only show which answers are right by chance."""
    calls = calls_of(reports_of(repeats_the_last_column, valid), corpus)
    (found,) = explain(calls)
    assert calls.right.sum() < calls.wrong.sum() / 2
    assert "kernel of the last axis >= 2" in (found.condition or ())
    assert found.met == len(found.cases) == calls.wrong.sum()


def test_a_rule_that_is_no_misreading_is_learnt(valid: list[Case], corpus: Corpus) -> None:
    """With the text's own formula beside it; hardly a failure has another cause, and no call contradicts it."""
    records = reports_of(crops_both_pads_at_the_beginning, valid)
    calls = calls_of(records, corpus)
    largest = explain(calls)[0]
    assert isinstance(largest.what, Follows)
    assert str(largest.what) == "pads_begin is pads_begin + pads_end, the text says pads_begin"
    assert largest.against == frozenset()
    assert len(largest.cases) > 0.9 * calls.failed.sum()


def test_nothing_explains_what_is_wrong_at_random(valid: list[Case], corpus: Corpus) -> None:
    """No condition, no relation and no name: a tenth of the answers has one element that is off by some number."""
    random = np.random.default_rng(5)

    def answer(problem: Problem) -> Array:
        y = computed(problem).copy()
        if y.size > 20 and random.random() < 0.1:
            y.flat[random.integers(y.size)] += random.integers(3, 90)
        return y

    records = reports_of(answer, valid)
    wrong = sum(record.verdict.kind == "differed" for record in records)
    found = explain(calls_of(records, corpus))
    assert wrong > 20
    assert sum(len(each.cases) for each in found) < 0.1 * wrong


def test_the_order_of_records_changes_nothing(valid: list[Case], corpus: Corpus) -> None:
    answers = [*map(answer_of, reports_of(biases_the_first_group, valid[::3]))]

    def said(order: Sequence[int]) -> list[tuple[str, str, str, tuple[str, ...]]]:
        found = explain(Calls([answers[number] for number in order], corpus.find, ONNX))
        return [(str(each.what), each.where, evidence_for(each), tuple(sorted(each.cases))) for each in found]

    order = np.random.default_rng(0).permutation(len(answers))
    assert said(order.tolist()) == said(range(len(answers)))


def test_a_case_more_renames_no_cause(valid: list[Case], corpus: Corpus) -> None:
    """Baselines and waivers use names: a run without one of its cases has the same ones, under the same conditions."""
    answers = [*map(answer_of, reports_of(biases_the_first_group, valid[::3]))]

    def said(some: Sequence[Answer]) -> set[tuple[str, str]]:
        return {(str(each.what), each.where) for each in explain(Calls(some, corpus.find, ONNX))}

    whole = said(answers)
    for left_out in (0, len(answers) // 2, next(n for n, answer in enumerate(answers) if answer.failure)):
        assert said([*answers[:left_out], *answers[left_out + 1 :]]) == whole


@pytest.fixture(scope="module")
def spread(gate_cases: tuple[Case, ...]) -> list[Case]:
    """Return valid cases with dilations and without, in one group and in several."""
    small = [case for case in gate_cases if case.breaks is None and case.simplicity[1] <= 512]
    return [case for case in small if case.id.startswith(("strides-dilations/", "interactions/", "groups/"))][::4]


def test_a_misreading_of_all_calls_has_no_condition(spread: list[Case], corpus: Corpus) -> None:
    (found,) = found_for(misread("dilations-ignored", lambda _: True), spread, corpus)
    assert found.what == Misreads(Combination(("dilations-ignored",)))
    assert (found.condition, found.against) == ((), frozenset())
    assert re.fullmatch(
        r"explains \d+ failures; none of [\d,]+ other calls contradicts it; not tested on new calls",
        evidence_for(found),
    )


def test_a_single_failure_shows_no_condition(spread: list[Case], corpus: Corpus) -> None:
    """One output has the name; that no other call contradicts it does not say where else it holds."""
    dense = [case for case in spread if (case.attributes.groups or 1) == 1]
    one = next(case for case in dense if case.b is not None)
    cases = [case for case in dense if case.b is None or case is one]
    (found,) = found_for(misread("bias-doubled", lambda _: True), cases, corpus)
    assert (found.what, found.condition) == (Misreads(Combination(("bias-doubled",))), None)


def test_a_misreading_with_exceptions_counts_them(spread: list[Case], corpus: Corpus) -> None:
    """A kernel for groups that now and then is right: how many such calls are right is said."""
    numbers = {case.id: number for number, case in enumerate(spread)}
    answer = misread("dilations-ignored", lambda problem: is_grouped(problem) and numbers[problem.case.id] % 9 != 0)
    everywhere = {
        record.case
        for record in reports_of(misread("dilations-ignored", is_grouped), spread)
        if record.verdict.kind in {"differed", "wrong-shape"}
    }
    (found,) = found_for(answer, spread, corpus)
    assert (found.what, found.where) == (Misreads(Combination(("dilations-ignored",))), "group!=dense")
    assert len(found.against) > 2
    assert found.against == everywhere.difference(found.cases)


def test_a_misreading_that_nothing_locates_is_doubted(spread: list[Case], corpus: Corpus) -> None:
    """Who misreads calls that nothing tells apart has the name, and how many calls contradict it."""
    random = np.random.default_rng(3)
    (found,) = found_for(misread("dilations-ignored", lambda _: bool(random.random() < 0.5)), spread, corpus)
    assert (found.what, found.condition) == (Misreads(Combination(("dilations-ignored",))), None)
    assert re.fullmatch(r"[\d,]+ other calls contradict it", evidence_for(found))


def test_a_name_that_fits_one_output_by_chance_is_no_explanation(spread: list[Case], corpus: Corpus) -> None:
    """A single output that is one element off agrees with a misreading that other cases show not to be made."""
    chosen = next(case for case in spread if case.id.startswith("strides-dilations/"))
    assert found_for(misread("one-too-late", lambda problem: problem.case is chosen), spread, corpus) == ()


def test_zeros_alone_show_no_name(spread: list[Case], corpus: Corpus) -> None:
    """Leaving out a tap gives zeros if there is only one tap, but so does every output that is not written."""

    def answer(problem: Problem) -> Array:
        y = computed(problem)
        return np.zeros_like(y) if max(geometry_of(problem).kernel) == 1 and problem.case.b is None else y

    records = reports_of(answer, spread)
    assert any(Combination(("last-tap-dropped",)) in record.diagnosis for record in records)
    (found,) = explain(calls_of(records, corpus))
    assert found.what == Errs()
    assert "bias=false" in (found.condition or ())


def test_wrong_outputs_of_real_numbers_deny_a_name(gate_cases: tuple[Case, ...], corpus: Corpus) -> None:
    """A kernel rounds the filter, and flips it: with integers alone this is a flipped filter."""

    def answer(problem: Problem) -> Array:
        w = problem.truth.operands["w"]
        return computed(problem, w=np.rint(np.flip(w, tuple(range(2, w.ndim)))))

    alone = [case for case in gate_cases if case.breaks is None and case.simplicity[1] <= 512]
    data = {"integers": "strides-dilations/grid", "normal": "real-data/"}
    cases = [case for case in alone if case.x.data in data and case.id.startswith(data[case.x.data])]
    found = found_for(answer, cases, corpus)
    named = [each for each in found if each.what == Misreads(Combination(("filter-flipped",)))]
    assert len(named) == 1
    assert not {case for case in named[0].cases if corpus.case(case).x.data == "normal"}
    assert any("data=" in term for term in named[0].condition or ())


def test_a_condition_that_a_new_call_contradicts_becomes_exact(spread: list[Case]) -> None:
    """Two biases in f64 are right: this may be chance in cases of the run, but not if a new call shows it too."""
    in_f32 = [case for case in spread if case.b is not None and str(case.x.dtype) == "f32"][:4]
    in_f64 = [build(f"{case.id}-f64", {**settings(case), "dtype": "f64"}) for case in in_f32[:2]]
    run = [*(case for case in spread if case.b is None), *in_f32[:3], in_f64[0]]
    new = [in_f32[3], in_f64[1]]

    def answer(problem: Problem) -> Array:
        return computed(problem) + (problem.case in in_f32)

    def condition(asked: Settings | None) -> str:
        records = [*reports_of(answer, run), *(replace(of, asked=asked) for of in reports_of(answer, new))]
        (each,) = explain(Calls([*map(answer_of, records)], {case.id: case for case in (*run, *new)}.get, ONNX))
        return " and ".join(sorted(each.condition or ()))

    assert condition(None) == "bias=true"
    assert condition(Settings.model_validate(settings(new[0]))) == "bias=true and dtype=f32"


def test_new_calls_that_hide_a_defect_leave_the_explanation_of_many_failures(spread: list[Case]) -> None:
    """Of three new calls with a bias only one is wrong, as if padding crops the wrong elements of the others."""
    biased = [case for case in spread if case.b is not None]
    run, new = [*(case for case in spread if case.b is None), *biased[3:]], biased[:3]

    def answer(problem: Problem) -> Array:
        return computed(problem) + (problem.case in biased[2:])

    asked = Settings.model_validate(settings(new[0]))
    records = [*reports_of(answer, run), *(replace(of, asked=asked) for of in reports_of(answer, new))]
    (each,) = explain(Calls([*map(answer_of, records)], {case.id: case for case in spread}.get, ONNX))
    assert each.where == "bias=true"


def test_a_name_that_no_call_contradicts_leaves_nothing_to_one_that_fits_fewer(
    spread: list[Case], corpus: Corpus
) -> None:
    """The bias of the first group is that of the first channel in depthwise calls: that is no cause of its own."""
    (found,) = found_for(misread("bias-of-the-first-group", lambda _: True), spread, corpus)
    assert found.what == Misreads(Combination(("bias-of-the-first-group",)))


def test_a_name_that_is_no_longer_in_the_catalogue_explains_nothing(spread: list[Case], corpus: Corpus) -> None:
    """Records of an older version have it; no call could contradict it."""
    gone = (Combination(("gone",)),)
    records = [
        replace(of, diagnosis=of.diagnosis and gone) for of in reports_of(misread("filter-flipped", is_grouped), spread)
    ]
    assert {of.diagnosis for of in records} == {(), gone}
    found = explain(calls_of(records, corpus))
    assert found
    assert not any(isinstance(each.what, Misreads) for each in found)


def no_kernel(problem: Problem) -> Array:
    """Say the same words for a type and for a short kernel in groups."""
    geometry = geometry_of(problem)
    axes = zip(geometry.kernel, geometry.dilations, geometry.strides, strict=True)
    short = geometry.groups > 1 and any((k - 1) * d < s for k, d, s in axes)
    if problem.call.dtype == "f16" or short:
        raise RuntimeError("no kernel")
    return computed(problem)


def test_words_of_two_reasons_are_two_causes(valid: list[Case], corpus: Corpus) -> None:
    """Each has its condition, on the terminal and on the page."""
    assessment = assessment_of(reports_of(no_kernel, valid), corpus)
    found = find_causes(assessment, Status.FAILED)
    conditions = {cause.explanation.where for cause in found if cause.explanation}
    assert conditions == {"dtype=f16", "group!=dense and (kernel - 1) * dilations < strides on an axis"}
    explained = [cause for cause in found if cause.explanation]
    assert all(in_words(cause.explanation.condition or ()) in cause.line for cause in explained if cause.explanation)
    lines = cause_lines([run_report(assessment)])
    assert {line.words for line in lines} >= {cause.line for cause in explained}
    assert all(line.more[-1].startswith("holds for ") for line in lines)


def test_one_answer_that_varies_stops_no_other_explanation(valid: list[Case], corpus: Corpus) -> None:
    """A case returns memory that nobody wrote; all others have a bug that is found all the same."""
    records = reports_of(biases_the_first_group, valid)
    failed = [record for record in records if record.verdict.kind == "differed"]
    varying = replace(failed[0], alone=FreshAnswer("agreed", same=False))
    assessment = assessment_of([varying if record is failed[0] else record for record in records], corpus)
    largest, *rest = sorted(find_causes(assessment, Status.FAILED), key=lambda cause: -cause.count)
    assert largest.explanation is not None
    assert sorted(largest.explanation.condition or ()) == ["bias=true", "group!=dense"]
    assert largest.count == len(failed) - 1
    assert [cause.count for cause in rest] == [1]


def test_where_answers_vary_is_said(valid: list[Case], corpus: Corpus) -> None:
    """Values that vary explain nothing, but the calls on which they do have something in common."""
    random = np.random.default_rng(1)

    def answer(problem: Problem) -> Array:
        y = computed(problem)
        return random.standard_normal(y.shape) * 1e4 if is_grouped(problem) else y

    records = reports_of(answer, valid)
    failed = [record.case for record in records if record.verdict.kind == "differed"]
    asked = set(failed[::10])
    assessment = assessment_of(
        [
            replace(record, alone=FreshAnswer("differed", same=False)) if record.case in asked else record
            for record in records
        ],
        corpus,
    )
    largest = max(find_causes(assessment, Status.FAILED), key=lambda cause: cause.count)
    assert largest.explanation is not None
    assert (largest.explanation.what, largest.explanation.where) == (Varies(), "group!=dense")
    assert largest.count > 0.9 * len(failed)


def test_one_waiver_is_proposed_for_a_misreading_of_some_calls(spread: list[Case], corpus: Corpus) -> None:
    """It asks for the facts that its cases share, and is not one entry for each sweep."""
    assessment = assessment_of(reports_of(misread("bias-ignored", is_grouped), spread), corpus)
    (waiver,) = yaml.safe_load(proposed(assessment))["waivers"]
    assert waiver["where"] == {"grouped": "true"}
    assert waiver["diagnosis"] == ["bias-ignored"]
    assert "cases" not in waiver


def test_a_misreading_of_the_run_is_no_excuse_that_a_note_tells(gate_cases: tuple[Case, ...], corpus: Corpus) -> None:
    """A bias that is left out is no subnormal that is taken for zero; a runtime that does the latter has the note."""
    cases = [case for case in gate_cases if case.id.startswith("special-values/bias[")]

    def notes_of(where: Callable[[Problem], bool]) -> dict[str, int]:
        records = reports_of(misread("bias-ignored", where), cases)
        run = replace(run_of({}), records=sorted(records, key=lambda record: record.case))
        return {note.name: note.count for note in noted_of(assess(run, None, corpus.find_facts, find=corpus.find))}

    assert notes_of(is_grouped) == {}
    assert notes_of(lambda problem: "kind=subnormal" in problem.case.id).keys() == {"flushed-subnormals"}
