"""What a graph compiler makes of a context: a wrong rewrite is seen, and no conforming way of computing it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from strategies import ONNX, case, every
from tconv.backends.outcome import Produced
from tconv.cases.context import Context
from tconv.dialects import DIALECTS
from tconv.expectation.expected import NotApplicable, expect
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.corpus import Corpus

BENCH = Path(__file__).parent.parent / "bench"
ROW = DIALECTS[ONNX[-1]]
SIZES: dict[str, Any] = {"strides": (2, 2), "data_format": "NCX", "filter_format": "IOX"}


@pytest.fixture(autouse=True)
def bench_is_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benches are scripts beside each other, and no package."""
    monkeypatch.syspath_prepend(BENCH)


def load(name: str) -> Any:  # noqa: ANN401 - a script
    return __import__(name)


def problem_of(context: Context, **attributes: Any) -> Problem:  # noqa: ANN401 - attributes by their names
    return Problem(case((4, 3), (3, 2), channels=2, filters=4, context=context, **SIZES | attributes), ROW)


def is_allowed(problem: Problem, y: Any) -> bool:  # noqa: ANN401 - an array
    return isinstance(judge(problem, Produced(y), DType.F32), ver.Allowed)


def test_a_compiler_that_rewrites_nothing_is_right(corpus: Corpus) -> None:
    """The runtime that plays wrong compilers is right in the contexts of the gate tier, so that only rewrites kill."""
    graphs = load("float_graphs")
    for each in list(corpus.cases("gate", ["contexts"]))[:: every(2)]:
        problem = Problem(each, ROW)
        if problem.surrounded is not None:
            assert is_allowed(problem, graphs.Runtime().run(graphs.play_of(problem))), each.id


@pytest.mark.thorough
def test_most_wrong_compilers_die(corpus: Corpus) -> None:
    """Of sixty that are drawn from the grammar, at least 95 of a hundred die in the contexts of the gate tier."""
    compilers = load("wrong_compilers")
    gate = [q for each in corpus.cases("gate", ["contexts"]) if (q := compilers.question(each)) is not None]
    alive = {str(each): why for each in compilers.draw_some(60, 47) if (why := compilers.why_alive(each, gate))}
    assert len(alive) <= 3, alive


@pytest.mark.parametrize(
    ("family", "context"),
    [
        ("normalization", Context(arithmetic="batch-normalization")),
        ("pad", Context(before="pad-both")),
        ("rounding", Context(end="int8")),
        ("zero point", Context(data="uint8", filter="uint8")),
        ("attribute", Context(activation="clip", arithmetic="mul-channel")),
        ("part", Context(use="split-channels")),
        ("in place", Context(use="two-consumers")),
        ("drop", Context(activation="hard-sigmoid")),
    ],
)
def test_a_wrong_rewrite_is_seen_where_its_pattern_is(family: str, context: Context) -> None:
    """Of what a family draws, what rewrites a small graph has another output, and the judge does not allow it."""
    compilers = load("wrong_compilers")
    problem = problem_of(context, bias=(8,), groups=2)
    question = compilers.question(problem.case)
    seen = Counter[bool]()
    for what, rewrite in compilers.families()[family].items():
        made = compilers.Compiler(what, "always", rewrite, lambda _: True).rewritten(question)
        if made is not None:
            seen[is_allowed(problem, compilers.Runtime().run(made))] += 1
    assert seen[False] > 2 * seen[True]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 1])
def test_conforming_ways_are_never_blamed(seed: int) -> None:
    """Random contexts around random calls, computed in ways that a compiler may choose; most ways are chosen often."""
    conforming, done = load("conforming_contexts"), Counter[str]()
    found = [f"{problem.case.id}: {ways} {verdict}" for problem, ways, verdict in conforming.alarms(seed, 400, done)]
    assert not found
    # Few graphs end in Relu and Quantize.
    assert len(set(conforming.WAYS) - set(done)) <= 1


def test_the_cases_of_the_gate_tier_allow_conforming_ways(corpus: Corpus) -> None:
    """Their sums are longer than those of random calls: each is exact in any order, folded or not."""
    conforming, graphs = load("conforming_contexts"), load("float_graphs")
    for each in list(corpus.cases("gate", ["contexts"]))[1 :: every(2)]:
        problem, random = Problem(each, ROW), Random(each.id)  # noqa: S311 - chance that can be repeated
        if problem.surrounded is None:
            continue
        play = graphs.play_of(problem)
        ways = [name for name, way in conforming.WAYS.items() if random.random() < 1 / 2 and way(play)]
        assert is_allowed(problem, graphs.Runtime(random).run(play)), (each.id, ways)


def test_an_operator_beside_follows_the_same_reading() -> None:
    """The text leaves open how large the output of this call is; both operators of a graph follow one reading."""
    problem = problem_of(Context(use="beside"), auto_pad="same_upper", strides=(3, 2), output_padding=(1, 0))
    values = problem.values
    assert values is not None
    shapes = {problem.judged.shape(candidate.geometry) for candidate in values.candidates}
    assert len(shapes) > 1
    for candidate in values.candidates:
        y = problem.judged.compute_values(candidate.geometry).astype(np.float32)
        assert is_allowed(problem, y)


@pytest.mark.parametrize(
    "context",
    [
        Context(activation="tanh", use="second-operator"),
        Context(activation="elu", values="full-range"),
        Context(activation="sigmoid", values="wide-filter"),
    ],
)
def test_a_context_without_a_bound_is_no_case(context: Context) -> None:
    """An activation without an accuracy is compared at small integers, and nothing multiplies what it gives."""
    assert isinstance(problem_of(context).expectation, NotApplicable)


def test_a_context_of_nothing_is_no_case() -> None:
    """A graph around a call without an element says nothing, and some operations are not defined for it."""
    empty = case((0, 3), (3, 2), context=Context(use="reshape"), **SIZES)
    assert isinstance(expect(empty, ROW), NotApplicable)


def test_exchanged_scales_are_seen() -> None:
    problem = problem_of(Context(data="int8", filter="int8", arithmetic="add-tensor", end="int8"))
    scales = [float(array) for name, array in problem.arrays.items() if name.endswith("_scale")]
    assert len(scales) == len(set(scales)) == 4


def test_two_operators_are_not_exchangeable() -> None:
    problem, graphs = problem_of(Context(use="beside")), load("float_graphs")
    play = graphs.play_of(problem)
    play.arrays["W"], play.arrays["W_beside"] = play.arrays["W_beside"], play.arrays["W"]
    assert not is_allowed(problem, graphs.Runtime().run(play))
