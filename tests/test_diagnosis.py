"""Diagnosis: a wrong output is given its right name, or none."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from strategies import every
from tconv.backends import outcome as out
from tconv.cases.layouts import from_ncx, to_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.cases.patterns import topic_of
from tconv.corpus.building import build
from tconv.corpus.case_file import Settings
from tconv.diagnosis import Diagnosis, diagnose, single_explanations
from tconv.diagnosis.description import described, related
from tconv.diagnosis.misreadings import misreadings_by_name, misreadings_of
from tconv.diagnosis.misreadings.misreading import PrecisionOtherwise, apply
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.dialects.readings import Combination
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.investigation.further_cases import misread_output
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.verdict.values import compare
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects import Dialect

ONNX = DIALECTS["onnx/ConvTranspose-22"]
GEOMETRY = Geometry((3,), (3,), (2,), (1,), (0,), (7,), 1)


@pytest.fixture(scope="module")
def small(smoke_cases: tuple[Case, ...]) -> list[Case]:
    """Return cases of every kind that are computed in no time."""
    return [case for case in smoke_cases if np.prod(case.x.shape) * np.prod(case.w.shape) < 20_000]


def asked(case: Case, array: np.ndarray) -> Diagnosis:
    problem = Problem(case, ONNX)
    return diagnose(problem, to_ncx(array, problem.call.data_format), DType.F32)


def problem_of(spatial: int, kernel: int, *sizes: int, **settings: Any) -> Problem:  # noqa: ANN401 - as in case files
    """Return the problem of a line with literal values; `sizes` are the channels and output channels, if not 1."""
    channels, outputs = sizes or (1, 1)
    values = {role: {"values": value} for role, value in settings.items() if role in {"x", "w", "b"}}
    shape = {"spatial": [spatial], "kernel": [kernel], "channels": channels, "out_channels": outputs}
    written = {**shape, "bias": "b" in settings, **settings, **values}
    return Problem(build("topic/file/name", Settings.model_validate(written).written()), ONNX)


def test_subnormal_results_are_named_where_the_others_are_rounded() -> None:
    """The bound of a sum does not become zero with the sum: a sum in another order is still as near."""
    random = np.random.default_rng(5)
    x, w = ((2.0**-62 * random.standard_normal(size).astype(np.float32)).tolist() for size in (80, 24))
    problem = problem_of(20, 3, 4, 2, x=x, w=w)
    assert problem.values is not None
    expected = problem.truth.compute_values(problem.values.primary.geometry)
    rounded = expected.astype(np.float32)
    # The last bit of every other sum, as another order of the terms may leave it.
    rounded[..., ::2] = np.nextafter(rounded[..., ::2], np.float32(1))
    flushed = np.where(np.abs(rounded) < np.finfo(np.float32).tiny, np.float32(0), rounded)
    assert 0 < (flushed == 0).sum() < flushed.size / 2
    assert asked(problem.case, flushed).explained == (Combination(("subnormal-results-are-zero",)),)


def shows_numbers(problem: Problem, array: np.ndarray) -> bool:
    """Return whether an output is wrong where a number is expected, or has a number or the other infinity elsewhere.

    The bias alone, where infinity or NaN is expected, is what a sum without products gives.
    """
    actual = to_ncx(array, problem.call.data_format)
    held = problem.held_against(actual.shape)
    assert held is not None
    compared = compare(actual, problem.truth, held.geometry, DType.F32)
    bias = problem.truth.operands.get("b", np.zeros(1)).reshape(-1, *(1,) * (actual.ndim - 2))
    opposite = np.isinf(compared.expected) & np.isinf(actual)
    number = np.isfinite(actual) & (actual.astype(np.float64) != bias)
    telling = np.isfinite(compared.expected) | opposite | number
    return bool((compared.wrong & telling).any())


@pytest.mark.thorough
def test_each_misreading_is_given_its_name(small: list[Case]) -> None:
    """In at least 95 of 100 failures of each; the others are described, or share the output of another misreading."""
    named: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    alone: dict[str, int] = defaultdict(int)
    for case in small[::3]:
        problem = Problem(case, ONNX)
        # In a graph fewer of them are tried; tests of quantised cases name these.
        if problem.values is None or case.context:
            continue
        for misreading in misreadings_of(ONNX):
            # Two failures of each topic are enough of each.
            if (
                failed[misreading.name, topic_of(case.id)] >= 2
                or (array := misread_output(problem, misreading)) is None
            ):
                continue
            verdict = judge(problem, out.Produced(array), DType.F32)
            if not isinstance(verdict, ver.Differed | ver.WrongShape):
                continue
            # Infinity and NaN alone name nothing.
            if isinstance(verdict, ver.Differed) and not shows_numbers(problem, array):
                continue
            # One or two elements that have lost bits are no evidence of it.
            if (
                isinstance(misreading.change, PrecisionOtherwise)
                and isinstance(verdict, ver.Differed)
                and verdict.wrong < 3
            ):
                continue
            explained = asked(case, array).explained
            failed[misreading.name, topic_of(case.id)] += 1
            named[misreading.name] += Combination((misreading.name,)) in explained
            alone[misreading.name] += explained == (Combination((misreading.name,)),)
    totals: Counter[str] = Counter()
    for (name, _), count in failed.items():
        totals[name] += count
    assert len(totals) > 50
    assert {name: (named[name], total) for name, total in totals.items() if named[name] < 0.95 * total} == {}
    # Most are told from all others by one failure or another.
    assert sum(alone[name] > 0 for name in totals) > 0.75 * len(totals)


def test_a_pair_is_looked_for_where_no_single_one_explains(corpus: Corpus) -> None:
    case = corpus.case("porting/asked[shape=odd,auto_pad=same_upper,output_shape=none,output_padding=1]")
    by_name = {misreading.name: misreading for misreading in misreadings_of(ONNX)}
    problem = Problem(case, ONNX)
    pair = (by_name["filter-flipped"], by_name["output-padding-ignored"])
    made = apply(pair, problem.signature, ONNX, problem.truth.operands)
    assert made is not None
    array = Truth(made.operands, case.x.dtype).compute_values(made.geometry).astype(np.float32)
    assert Combination.parse("output-padding-ignored + filter-flipped") in diagnose(problem, array, DType.F32).explained


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_a_misreading_together_with_a_disputed_reading_is_named(small: list[Case], dialect: Dialect) -> None:
    """A backend follows what its text also allows, and reads the filter back to front: both have their names."""
    flipped, found = misreadings_by_name(dialect)["filter-flipped"], 0
    disputed = [problem for case in small if (problem := Problem(case, dialect)).values and problem.values.disputed]
    for problem in disputed[:: every(3)]:
        case = problem.case
        for candidate in problem.values.disputed if problem.values else ():
            both = (*(misreadings_by_name(dialect)[name] for name in candidate.readings), flipped)
            made = apply(both, problem.signature, dialect, problem.truth.operands)
            if made is None or not made.operands["w"].any():
                continue
            array = Truth(made.operands, case.x.dtype).compute_values(made.geometry).astype(NUMPY_TYPES[case.x.dtype])
            if isinstance(
                judge(problem, out.Produced(from_ncx(array, problem.call.data_format)), DType.F32),
                ver.Agreed | ver.Disputed,
            ):
                continue
            explained = diagnose(problem, array, DType.F32).explained
            assert explained, (case.id, both)
            found += Combination((*candidate.readings, "filter-flipped")) in explained
    assert found > 0 or not dialect.disputed


def test_what_has_the_shape_of_a_disputed_reading_is_held_against_that(corpus: Corpus) -> None:
    """The shape is allowed, the values are not: the reading that gives it is named, and where it is wrong beside that.

    The values that its artifact has are those of the reading too, so that a page can show both.
    """
    case = corpus.case("padding/auto-pad/negative-total-by-hand")
    problem = Problem(case, ONNX)
    assert problem.values is not None
    (other,) = (
        candidate
        for candidate in problem.values.disputed
        if candidate.geometry.output != problem.values.primary.geometry.output
    )
    array = problem.truth.compute_values(other.geometry).astype(np.float32)
    assert isinstance(judge(problem, out.Produced(array), DType.F32), ver.Disputed)
    array[..., -1] += 64
    verdict = judge(problem, out.Produced(array), DType.F32)
    assert isinstance(verdict, ver.Differed)
    assert verdict.wrong == 1
    found = asked(case, array)
    assert found.explained == ()
    assert found.described.startswith(f"held against {Combination(other.readings)}, which gives this shape: 1 of ")
    assert problem.held_against(array.shape) == other


@pytest.mark.parametrize("value", [0.0, np.nan, -np.inf, 1e308])
def test_a_diagnosis_of_sums_that_overflow_warns_nobody(value: float) -> None:
    """What misreadings make of them overflows too; numpy's warnings would be printed between the lines of a report."""
    problem = problem_of(1, 1, 2, 1, x=[1.5 * 2.0**1023] * 2, w=[1.0, 1.0], dtype="f64")
    assert isinstance(asked(problem.case, np.array([[[value]]])), Diagnosis)


def test_a_search_ends_after_so_many_steps(corpus: Corpus) -> None:
    """It names nothing that it did not compare with the whole output, and says so."""
    problem = Problem(corpus.case("padding/auto-pad/same-upper-by-hand"), ONNX)
    assert problem.output is not None
    found = diagnose(problem, np.zeros_like(problem.output), DType.F32, steps=0)
    assert found.explained == ()
    assert found.described.startswith("undiagnosed, too large to be compared whole with ")
    assert found.described.endswith("elements differ: they are 0")


LARGE = {"spatial": [40, 48], "kernel": [4, 4], "strides": [2, 2], "channels": 8, "out_channels": 8, "groups": 4}


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize(
    "name",
    [
        "filter-flipped",
        "groups-share-the-first-filter",
        "bias-doubled",
        "one-too-late",
        "last-position-dropped",
        "overlaps-hold-the-last-tap",
        "output-channels-dealt",
    ],
)
def test_a_large_output_is_searched_on_a_part_first(name: str, dtype: str) -> None:
    """Few of the misreadings are computed for all of it: those that give the part, and those that have none."""
    drawn = {role: {"data": "normal", "dtype": dtype} for role in ("x", "w", "b")}
    case = build("topic/file/name", Settings.model_validate({**LARGE, "bias": True, **drawn}).written())
    problem = Problem(case, ONNX)
    assert problem.values is not None
    whole = problem.truth.steps(problem.values.primary.geometry)
    array = misread_output(problem, misreadings_by_name(ONNX)[name])
    assert array is not None
    assert array.size == 1 * 8 * 82 * 98
    found = diagnose(problem, array, DType.F32, steps=10 * whole)
    assert found.explained == (Combination((name,)),)
    # It is the whole output that counts.
    array[0, -1, 0, 0] += 64
    found = diagnose(problem, array, DType.F32)
    assert found.explained == ()
    assert "too large" not in found.described


@pytest.mark.parametrize("bias", [1.0, 3e38, np.inf])
def test_results_that_are_limited_to_the_largest_number(bias: float) -> None:
    """The distance from infinity is infinite, whatever is made of the bias: nothing else is said."""
    problem = problem_of(4, 1, 1, 2, x=[3e38, -3e38, 3.2e38, -3.1e38], w=[4.0, 8.0], b=[bias, -bias])
    assert problem.output is not None
    most = np.finfo(np.float32).max
    found = asked(problem.case, np.clip(problem.output, -most, most))
    assert found.explained == ()
    assert found.relation == "are limited to ±3.4028e38"


def test_results_that_are_flushed_have_no_other_name() -> None:
    """They are zero, as they would be of operands in half precision; those who say so have more to show."""
    problem = problem_of(3, 1, x=[2.0**-120, 2.0**-121, 3.0], w=[2.0**-10])
    output = problem.output
    assert output is not None
    flushed = np.where(np.abs(output) < np.finfo(np.float32).tiny, np.float32(0), output)
    assert asked(problem.case, flushed).explained == (Combination(("subnormal-results-are-zero",)),)


def test_what_is_wrong_beside_nan_is_explained() -> None:
    """NaN where NaN is expected is right, and the others say what is wrong with them."""
    problem = problem_of(3, 2, x=[1.0, float("nan"), 3.0], w=[1.0, 5.0], b=[7.0])
    assert problem.output is not None
    assert np.isnan(problem.output).any()
    assert Combination(("bias-doubled",)) in asked(problem.case, problem.output + 7).explained


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda y: np.where(np.arange(7) >= 5, 0.0, y),
            "4 of 14 elements differ: they are 0; indices of the last axis from 5 on",
        ),
        (
            lambda y: np.where(np.arange(7) < 2, np.nan, y),
            "4 of 14 elements differ: they are NaN; indices of the last axis up to 1",
        ),
        (lambda y: np.where(np.arange(7) % 2 == 1, y + 1, y), "indices 1, 3, ... of the last axis"),
        (lambda y: 2 * y, "14 of 14 elements differ: they are 2 times what is expected"),
        (
            lambda y: np.where(np.arange(2)[:, None] == 1, y + 1, y),
            "7 of 14 elements differ; only the last of 2 channels",
        ),
        (lambda y: np.where(np.isin(np.arange(7), [0, 6]), y + 1, y), "indices of the last axis"),
        (lambda y: y * (1 + 1e-8 * np.arange(7)), "12 of 14 elements differ, by at most 6.0e-08 of the largest"),
        (lambda y: y[..., :5], "the shape is [1, 2, 5], but [1, 2, 7] is expected; no known mistake gives this shape"),
    ],
)
def test_where_and_how_an_output_is_wrong(change: object, said: str) -> None:
    """In words: tails, heads, phases of the stride, channels, zeros, multiples."""
    expected = np.arange(1.0, 15.0).reshape(1, 2, 7)
    actual = change(expected)  # type: ignore[operator] # a function
    wrong = actual != expected if actual.shape == expected.shape else None
    relation = "" if wrong is None else related(actual, expected, wrong, None)
    assert said in described(actual, expected, GEOMETRY, wrong, relation)


def test_one_cause_has_one_name() -> None:
    """Of what explains several failures each, the one that explains the most names them all."""
    found = single_explanations({"a": ("x", "y"), "b": ("y",), "c": ("y", "z"), "d": ("w",), "e": ()})
    assert found == {"a": "y", "b": "y", "c": "y", "d": "w"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        # The data is padded by 1, which is three points of the output.
        ({"pads_begin": (-3,), "output": (11,)}, "its values are those of pads_begin [-3]"),
        ({"strides": (1,)}, "its values are those of strides [1]"),
        ({"pads_begin": (0,), "strides": (1,)}, "its values are those of pads_begin [0] and strides [1]"),
    ],
)
def test_what_lies_elsewhere_is_described_by_its_geometry(changed: dict[str, tuple[int]], said: str) -> None:
    """No misreading does so: the values themselves say where they lie, whether or not the shape is right."""
    settings = {"strides": [3], "pads_begin": [1], "pads_end": [2]}
    problem = problem_of(5, 3, x=[3.0, 1.0, 4.0, 1.5, 9.0], w=[2.0, 7.0, 18.0], **settings)
    assert problem.values is not None
    geometry = replace(problem.values.primary.geometry, **changed)  # type: ignore[arg-type] # lists alone
    found = asked(problem.case, problem.truth.compute_values(geometry).astype(np.float32))
    assert found.explained == ()
    assert found.described.endswith(said)
