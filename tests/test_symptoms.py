"""What wrong answers have in common that follow no formula: relations of elements, and conditions on calls."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from played_backends import ONNX, presented, records_of
from strategies import examples
from tconv.diagnosis.relations import related
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.learning import JudgedCalls, symptoms
from tconv.learning.conditions import HARDLY, condition_of
from tconv.learning.terms import Features, _terms, features_of, terms_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from small_corpus import Command
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.learning import Symptom
    from tconv.vocabulary import Array


@pytest.fixture(scope="module")
def valid(gate_cases: tuple[Case, ...]) -> list[Case]:
    """Return valid cases of the gate tier, few enough for a test."""
    valid = [case for case in gate_cases if case.breaks is None and not case.id.startswith("special-values")]
    # Calls without a spatial axis, or without an element, have nothing to compare.
    return sorted(
        {*valid[::18], *[case for case in valid if 0 in case.x.shape or len(case.x.shape) < 3]},
        key=lambda case: case.id,
    )


def canonical(problem: Problem, **operands: Array) -> Array:
    """Return what is expected to other operands, (N, O, Y...), in float64."""
    assert problem.values is not None
    truth = Truth(dict(problem.truth.operands) | operands, problem.case.x.dtype)
    return truth.compute_values(problem.values.primary.geometry)


def bias_of_the_first_group(problem: Problem) -> Array:
    """Return an output to which the other groups' bias is not added."""
    bias = problem.truth.operands.get("b")
    if bias is None:
        return canonical(problem)
    first = np.arange(len(bias)) < len(bias) // (problem.case.attributes.groups or 1)
    return canonical(problem, b=bias * first)


def even_kernels_flipped(problem: Problem) -> Array:
    """Return an output for a filter that is flipped along the axes on which its size is even."""
    w = problem.truth.operands["w"]
    return canonical(problem, w=np.flip(w, [axis for axis in range(2, w.ndim) if w.shape[axis] % 2 == 0]))


def channels_left_over(problem: Problem) -> Array:
    """Return an output whose channels beyond a multiple of four are zero."""
    y = canonical(problem).copy()
    y[:, y.shape[1] // 4 * 4 :] = 0
    return y


def batch_in_reverse(problem: Problem) -> Array:
    """Return an output whose items of the batch are in reverse where there are groups."""
    y = canonical(problem)
    return y[::-1] if (problem.case.attributes.groups or 1) > 1 else y


def saturated(problem: Problem) -> Array:
    """Return an output between two limits."""
    return np.clip(canonical(problem), -64, 63)


def found_for(change: Callable[[Problem], Array], cases: Sequence[Case], corpus: Corpus) -> tuple[Symptom, ...]:
    """Return the symptoms of a runtime that answers so."""
    records = records_of(lambda problem: presented(problem, change(problem)), cases)
    failed = [record for record in records if record.verdict.kind not in {"agreed", "disputed", "not-applicable"}]
    calls = JudgedCalls({record.case: record.verdict for record in records}, corpus.find, ONNX)
    return symptoms(calls, {record.case: record.why for record in failed}, frozenset())


@pytest.mark.parametrize(
    ("change", "condition", "relation"),
    [
        (bias_of_the_first_group, "bias=true and groups >= 2", "lack the bias"),
        pytest.param(even_kernels_flipped, "kernel of an axis is even", "", marks=pytest.mark.thorough),
        (channels_left_over, "out_channels is no multiple of 4", ""),
        (batch_in_reverse, "batch >= 2 and groups >= 2", "are those of other items of the batch"),
        pytest.param(saturated, "", "are cut off at -64 and 63", marks=pytest.mark.thorough),
    ],
)
def test_a_bug_that_nobody_thought_of_is_one_cause(
    change: Callable[[Problem], Array], condition: str, relation: str, valid: list[Case], corpus: Corpus
) -> None:
    """Across all sweeps: where it is, and what its wrong elements are, though no misreading of the catalogue is it."""
    largest, *rest = found_for(change, valid, corpus)
    assert (str(largest.condition or ""), largest.relation) == (condition, relation)
    assert len(largest.cases) > 5 * sum(len(symptom.cases) for symptom in rest)


def test_nothing_is_found_where_answers_are_wrong_at_random(valid: list[Case], corpus: Corpus) -> None:
    """No condition and no relation: a tenth of the answers has one element that is off by some number."""
    random = np.random.default_rng(5)

    def answer(problem: Problem) -> Array:
        y = canonical(problem).copy()
        if y.size and random.random() < 0.1:
            y.flat[random.integers(y.size)] += random.integers(3, 90)
        return y

    assert found_for(answer, valid, corpus) == ()


def test_what_is_left_beside_a_name_is_one_cause_too(valid: list[Case], corpus: Corpus) -> None:
    """A bias by the group's number is that of the first channel in one group, which is a name; in more it has none."""

    def answer(problem: Problem) -> Array:
        bias, groups = problem.truth.operands.get("b"), problem.case.attributes.groups or 1
        if bias is None:
            return canonical(problem)
        if groups == 1:
            return canonical(problem, b=np.broadcast_to(bias[:1], bias.shape))
        return canonical(problem, b=bias + 2 + np.arange(len(bias)) % 5)

    in_groups = [case for case in valid if (case.attributes.groups or 1) > 1]
    (symptom,) = found_for(answer, [case for case in valid if case not in in_groups] + in_groups[::4], corpus)
    assert symptom.relation == "are off by one number in each channel, as with another bias"
    assert all((corpus.case(case).attributes.groups or 1) > 1 for case in symptom.cases)


@pytest.mark.parametrize(
    ("term", "holds"),
    [
        ("out_channels is a multiple of 4", [False, True, True]),
        ("output of the last axis is no multiple of 8", [True, False, True]),
        ("auto_pad=same_*", [True, False, True]),
        ("strides and dilations share a divisor on an axis", [False, False, True]),
        ("output of the second axis >= 8", [False, True, False]),
        ("output of the second axis < 8", [False, False, True]),
        ("batch * out_channels >= 8", [False, True, True]),
        ("output elements of an item >= 64", [False, True, False]),
        ("channels / groups != out_channels / groups", [False, True, True]),
    ],
)
def test_for_which_calls_a_term_holds(term: str, holds: list[bool]) -> None:
    """A line, a plane and a volume: of a line nothing holds that is said of a second axis."""

    def call(outputs: list[int], batch: int, out_channels: int, stride: int, dilation: int, mode: str) -> Features:
        axis = dict.fromkeys(("spatial", "kernel", "pads_begin", "pads_end", "output_padding"), 1)
        axes = [axis | {"output": output, "strides": stride, "dilations": dilation} for output in outputs]
        per_group = {"channels / groups": 1, "out_channels / groups": out_channels // 2}
        return Features(
            {"batch": batch, "channels": 2, "out_channels": out_channels, "groups": 2, **per_group},
            axes,
            {"auto_pad": mode},
        )

    made = [
        call([9], 1, 2, 1, 6, "same_upper"),
        call([4, 8], 4, 4, 3, 2, "valid"),
        call([3, 4, 1], 2, 4, 6, 4, "same_lower"),
    ]
    terms = dict(_terms(made))
    assert terms[term].tolist() == holds


def made_up(random: np.random.Generator) -> Features:
    """Return what a call may be like, with two attributes, two sizes and two words that differ."""
    axes = [
        dict.fromkeys(("spatial", "pads_begin", "pads_end", "output_padding", "output", "dilations"), 1)
        | {"kernel": int(random.integers(1, 6)), "strides": int(random.integers(1, 4))}
        for _ in range(random.integers(1, 4))
    ]
    sizes = dict.fromkeys(("channels", "channels / groups", "out_channels / groups", "groups"), 1)
    sizes |= {"batch": int(random.integers(1, 4)), "out_channels": int(random.integers(1, 20))}
    words = {"bias": str(random.choice(["true", "false"])), "dtype": str(random.choice(["f16", "f32", "f64"]))}
    return Features(sizes, axes, words)


@st.composite
def calls(draw: st.DrawFn) -> list[Features]:
    """Draw what many calls are like."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    return [made_up(random) for _ in range(draw(st.integers(150, 400)))]


@examples(40)
@given(calls(), st.data())
def test_a_condition_holds_as_it_says(features: list[Features], data: st.DataObject) -> None:
    """Where one or two terms make answers wrong, a condition is found that explains nearly all of them, and no more."""
    terms = terms_of(features)
    numbers = data.draw(st.lists(st.integers(0, len(terms) - 1), min_size=1, max_size=2, unique=True))
    holds = np.array([*terms.values()])
    makes_wrong = holds[numbers].all(axis=0)
    assume(12 <= makes_wrong.sum() <= len(features) - 40)
    found = condition_of(holds, np.flatnonzero(makes_wrong), np.flatnonzero(~makes_wrong))
    assert found
    met = holds[list(found)].all(axis=0)
    explained = (met & makes_wrong).sum()
    assert explained >= 0.8 * makes_wrong.sum()
    assert (met & ~makes_wrong).sum() <= HARDLY * explained


def test_chance_has_no_condition() -> None:
    """Where answers are wrong by a coin, no condition is believed: none in twenty runs."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        features = [made_up(random) for _ in range(200)]
        holds = np.array([*terms_of(features).values()])
        count = int(random.integers(5, 100))
        assert condition_of(holds, np.arange(count), np.arange(count, 200)) == ()


def test_calls_that_do_not_differ_have_no_condition(gate_cases: tuple[Case, ...], corpus: Corpus) -> None:
    """Where only the numbers in an operand part right answers from wrong ones, nothing is said of the calls."""
    of_numbers = [case for case in gate_cases if case.id.startswith("special-values/one-operand[where=w")]
    same = [case for case in of_numbers if case.id.endswith("strides=1,groups=1,dtype=f32,bias=false,data_format=NCX]")]
    assert len(same) > 3

    def answer(problem: Problem) -> Array:
        y = canonical(problem).copy()
        if not np.isfinite(problem.truth.operands["w"]).all() or "negative" in problem.case.id:
            y.flat[0], y.flat[1] = 3e9, -7e9
        return y

    assert found_for(answer, same, corpus) == ()


@pytest.mark.thorough
def test_a_bug_of_nearly_all_answers_is_everywhere(valid: list[Case], corpus: Corpus) -> None:
    """What parts its right answers from the wrong ones is which errors happen to be zero."""

    def answer(problem: Problem) -> Array:
        w = problem.truth.operands["w"]
        return canonical(problem, w=np.rint(w * 2.7) / 2.7)

    (symptom,) = found_for(answer, valid, corpus)
    assert symptom.condition is not None
    assert (str(symptom.condition), symptom.evidence.endswith(" answers are wrong")) == ("", True)
    assert "such" not in symptom.evidence
    assert len(symptom.cases) > len(valid) / 2


def test_what_has_no_name_is_wrong_everywhere_too(valid: list[Case], corpus: Corpus) -> None:
    """Where a misreading gives half of the answers of a runtime that is nearly always wrong, the rest is one cause.

    A condition on the rest would tell nothing of where the bug is.
    """
    random = np.random.default_rng(2)

    def answer(problem: Problem) -> Array:
        if problem.truth.operands.get("b") is not None and random.random() < 0.5:
            return canonical(problem, b=2 * problem.truth.operands["b"])
        return canonical(problem, w=np.rint(problem.truth.operands["w"] * 2.7) / 2.7)

    found = found_for(answer, [case for case in valid if case.b is not None or len(case.id) % 4 == 0], corpus)
    assert [str(symptom.condition) for symptom in found] == [""]
    assert "answers are wrong" in found[0].evidence


def test_a_condition_that_holds_for_all_wrong_answers_says_more_than_everywhere(
    valid: list[Case], corpus: Corpus
) -> None:
    """Of calls that are nearly all wrong, those without a bias are right."""

    def answer(problem: Problem) -> Array:
        y = canonical(problem)
        # Not a multiple, which a relation would name.
        return y if problem.case.b is None else np.where(np.arange(y.size).reshape(y.shape) % 2, 2 * y + 7, 3 * y - 5)

    mostly = [case for case in valid if case.b is not None] + [case for case in valid if case.b is None][:12]
    (symptom,) = found_for(answer, mostly, corpus)
    assert str(symptom.condition) == "bias=true"


def test_the_evidence_counts_all_answers(valid: list[Case], corpus: Corpus) -> None:
    """Also those that another symptom explains: a second bug does not make the first one's numbers smaller."""

    def answer(problem: Problem) -> Array:
        y = channels_left_over(problem)
        return y * -3 if (problem.case.attributes.groups or 1) > 1 else y

    grouped = next(symptom for symptom in found_for(answer, valid, corpus) if str(symptom.condition) == "groups >= 2")
    asked = [case for case in valid if (case.attributes.groups or 1) > 1 and features_of(Problem(case, ONNX))]
    zero = sum(not canonical(Problem(case, ONNX)).any() for case in asked)
    assert grouped.condition is not None
    assert grouped.condition.wrong + grouped.condition.right == len(asked)
    assert grouped.condition.right == zero


def test_numbers_of_a_relation_that_differ_are_not_said(valid: list[Case], corpus: Corpus) -> None:
    """A runtime that multiplies by the number of taps is wrong by another factor for each kernel."""

    def answer(problem: Problem) -> Array:
        return canonical(problem) * (1 + prod(problem.signature.kernel))

    assert found_for(answer, valid[::4], corpus)[0].relation == "are n times what is expected, where n differs"


def test_a_relation_that_some_outputs_are_too_small_for_is_counted(valid: list[Case], corpus: Corpus) -> None:
    """Another bias is seen in outputs of several points: in how many cases it is seen is said."""
    biased = [case for case in valid if case.b is not None]
    points = [case for case in biased if features_of(Problem(case, ONNX)) and prod(case.x.shape[2:]) > 1]

    def answer(problem: Problem) -> Array:
        y = canonical(problem)
        bias = problem.truth.operands.get("b")
        if bias is None or problem.case.id not in told:
            return y
        if told[problem.case.id]:
            return canonical(problem, b=bias + 7 + np.arange(len(bias)) % 3)
        return np.asarray(y + 11 + np.arange(y.size).reshape(y.shape) ** 2 % 5)

    told = {case.id: number % 5 != 0 for number, case in enumerate(points)}
    (symptom, *_) = found_for(answer, [*points, *(case for case in valid if case.b is None)], corpus)
    assert symptom.relation == "are off by one number in each channel, as with another bias"
    assert symptom.related is not None
    assert 0.75 * len(symptom.cases) <= symptom.related < 0.9 * len(symptom.cases)
    assert symptom.wrong_elements == (
        f"wrong elements {symptom.relation}, in {symptom.related} of {len(symptom.cases)} cases"
    )


def _wrong(got: Any, expected: Any, bias: Any = None) -> str:  # noqa: ANN401 - arrays and numbers
    got, expected = np.broadcast_arrays(np.asarray(got, float), np.asarray(expected, float))
    return related(got, expected, got != expected, bias)


OWED = np.arange(1.0, 25.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("got", "relation"),
    [
        (OWED * (np.arange(4) < 2), "are 0"),
        (np.where(np.arange(4) < 2, OWED, np.nan), "are NaN"),
        (np.where(np.arange(4) < 2, OWED, -3 * OWED), "are -3 times what is expected"),
        (np.where(np.arange(4) < 2, OWED, 0.5001 * OWED), "are 0.5 times what is expected"),
        (OWED - np.array([0.0, 5.0, 6.0])[:, None], ""),
        (np.clip(OWED, 5, 19), "are cut off at 5 and 19"),
        (np.minimum(OWED, 19), "are cut off at 19"),
        (np.full_like(OWED, 5), "are all 5"),
        (np.minimum(OWED, 0.5), "are all 0.5"),
        (np.where(OWED == 24, 19, OWED), ""),
        (np.where(OWED > 20, 19, OWED), ""),
        (OWED[::-1], "are those of other items of the batch"),
        (OWED[:, [1, 0, 2]], "are those of other channels"),
        (OWED[..., ::-1], "are those of other positions of axis 0"),
        (OWED + (OWED % 3 == 0), ""),
    ],
)
def test_what_wrong_elements_are(got: Array, relation: str) -> None:
    """In words, where all of them are so; nothing where one of them is not, or where one alone may be by chance."""
    assert _wrong(got, OWED) == relation


def test_a_bias_that_lacks_or_comes_twice() -> None:
    """Also where both are rounded; not where a wrong element's bias is zero, of which nobody can tell."""
    bias = np.array([4.0, 5.0, 6.0])
    assert _wrong(OWED - bias[:, None] * [[1], [0], [1]], OWED, bias) == "lack the bias"
    assert _wrong(OWED + 1.001 * bias[:, None], OWED, bias) == "have the bias twice"
    assert _wrong(OWED + 1, OWED, np.zeros(3)) == ""


def test_a_bias_of_other_numbers() -> None:
    """Each channel is off by a number of its own; not where an element of the channel is right, or off by another."""
    bias, off = np.array([4.0, 5.0, 6.0]), np.array([3.0, 0.0, -2.0])[:, None]
    assert _wrong(OWED + off, OWED, bias) == "are off by one number in each channel, as with another bias"
    assert _wrong(OWED + off, OWED) == ""
    for other in (0, 8):
        got = OWED + off
        got[0, 0, 0] = OWED[0, 0, 0] + other
        assert _wrong(got, OWED, bias) == ""


def test_integers_say_something_only_where_there_are_fractions() -> None:
    """A large number of few bits has no fraction, whoever computes it."""
    assert _wrong(np.rint(OWED + 0.3), OWED + 0.3) == "are rounded to integers"
    assert _wrong(np.rint(1e5 * (OWED + 0.3)), 1e5 * OWED + 0.3) != "are rounded to integers"
    assert _wrong([1, 2, 7777, -99], [1.3, 2.3, 100.5, 200.25]) == ""


def test_a_run_has_a_line_for_it(command: Command, tmp_path: Path) -> None:
    """With the condition, how many of such answers are wrong, and what the wrong elements are; on its page too."""
    done = command(
        "run", "bias", "groups", "--backend", "wrong_backends:BiasOfTheFirstGroup", "--output", "out", "-j", "1"
    )
    said = " ".join(done.stdout.split())
    assert "differed where bias=true and groups >= 2: " in said
    assert "such answers are wrong; wrong elements lack the bias" in said
    page = next((tmp_path / "out").glob("*.html")).read_text(encoding="utf-8")
    shown = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "where bias=true and groups &gt;= 2" in shown
    assert "differed: wrong elements lack the bias where bias=true and groups &gt;= 2" in shown
