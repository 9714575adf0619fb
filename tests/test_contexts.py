"""The operator in a context: what each level computes, exactly, and what a wrong graph compiler would make of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from strategies import BACKPROP, ONNX
from tconv.backends.onnx_model import build
from tconv.backends.outcome import Produced, Refused
from tconv.cases.context import OPERATIONS, SMOOTH, operations_of
from tconv.cases.graph import OPERATOR
from tconv.cases.patterns import levels_of, topic_of, twin_of, with_levels
from tconv.dialects import DIALECTS
from tconv.evidence.contexts import find_smallest
from tconv.execution.asking import Asking
from tconv.expectation.expected import NotApplicable, Values, expect, expect_of_signature
from tconv.expectation.problem import Problem
from tconv.expectation.sums import sums
from tconv.expectation.truth import Truth
from tconv.investigation.in_graph import narrow_down
from tconv.investigation.smaller_contexts import ask_smaller
from tconv.records.record import Record
from tconv.records.record_file import Run
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import OPERATIONS as NAMES
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case
    from tconv.cases.graph import Node
    from tconv.corpus import Corpus
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array

ROW = DIALECTS[ONNX[-1]]
SWEEP = "contexts/neighbours/levels"
# onnx's evaluator computes groups, output_shape and SAME wrongly; these it computes as the text says.
PLAIN = "kernel-above"
EXACT = 2**24


@pytest.fixture(scope="module")
def contexts(corpus: Corpus) -> list[Case]:
    """Return all cases of the gate tier in a context."""
    return [case for case in corpus.cases("gate", ["contexts"]) if case.context]


def level_id(axis: str, level: str, *more: str, geometry: str = PLAIN) -> str:
    """Return the id of a case with one level, and perhaps others."""
    bias = {"add": "add", "int32": "int32", "node": "node"}.get(level) if axis == "bias" else None
    label = f"context.{axis}={bias or level}"
    return f"{SWEEP}[{','.join((f'geometry={geometry}', *sorted((label, *more), key=_place)))}]"


def _place(label: str) -> int:
    axes = ("data", "filter", "bias", "before", "arithmetic", "activation", "use", "end", "values")
    return axes.index(label.partition("=")[0].removeprefix("context."))


@pytest.mark.parametrize(("axis", "level"), OPERATIONS, ids=lambda part: part)
def test_a_level_computes_what_onnx_says(corpus: Corpus, axis: str, level: str) -> None:
    """Onnx's own evaluator, which knows nothing of tconv, gives the same output; it runs each node by itself."""
    case = corpus.find(level_id(axis, level))
    assert case is not None
    problem = Problem(case, ROW)
    model = build(problem.call, problem.arrays)
    onnx.checker.check_model(model, full_check=True)
    evaluated = np.asarray(ReferenceEvaluator(model).run(None, problem.fed)[0])
    assert isinstance(judge(problem, Produced(evaluated), DType.F32), ver.Agreed)
    assert isinstance(judge(problem, Produced(evaluated + np.ones_like(evaluated)), DType.F32), ver.Differed)


def test_levels_need_what_they_say(contexts: list[Case]) -> None:
    """The operations of each context are those of its graph, so that a dialect without one of them is not asked."""
    assert frozenset(kind for each in OPERATIONS.values() for kind in each.kinds) | {"Dequantize"} == NAMES
    for case in contexts:
        problem = Problem(case, ROW)
        assert problem.surrounded is not None
        kinds = {node.kind for node in problem.surrounded.graph.nodes}
        assert kinds - {OPERATOR} == operations_of(case.context)[0]


def _values(problem: Problem) -> Values:
    assert problem.values is not None
    return problem.values


def test_every_number_is_one_of_the_type(contexts: list[Case]) -> None:
    """No sum or product of a graph is rounded in f32, so that no order of operations changes it."""
    for case in contexts:
        problem = Problem(case, ROW)
        if case.context.activation in SMOOTH:
            continue
        surrounded = problem.surrounded
        assert surrounded is not None
        truth = Truth({role: array * 2**6 for role, array in surrounded.operands.items()}, DType.F32)
        assert truth.integral, case.id
        tensors = surrounded.tensors(_values(problem).primary.geometry)
        for name, values in tensors.items():
            assert (values.astype(np.float32) == values).all(), (case.id, name)


def test_the_sum_of_each_operator_is_exact_in_any_order(contexts: list[Case]) -> None:
    """In units of the quanta of data and filter, the absolute terms of each sum stay below 2^24."""
    for case in contexts:
        problem = Problem(case, ROW)
        surrounded = problem.surrounded
        assert surrounded is not None
        tensors = surrounded.tensors(_values(problem).primary.geometry)
        for node in surrounded.graph.nodes:
            if node.kind != OPERATOR or case.context.activation in SMOOTH:
                continue
            x, w, *b = (np.abs(tensors[name]) for name in node.inputs)
            is_main = node.outputs[0] == surrounded.operator
            geometry = _values(problem).primary.geometry if is_main else _geometry(node)
            terms = sums(x, w, b[0] if b else None, geometry)
            assert terms.max(initial=0.0) <= EXACT * _quantum(x) * _quantum(w), case.id


def _geometry(node: Node) -> Geometry:
    assert node.call is not None
    expected = expect_of_signature(node.call.written, node.call.dialect)
    assert isinstance(expected, Values)
    return expected.primary.geometry


def _quantum(values: Array) -> float:
    """Return the largest power of two that divides all of some numbers."""
    return next(2.0**power for power in range(6, -30, -1) if (values % 2.0**power == 0).all())


def test_the_twin_of_a_context_is_a_case(corpus: Corpus, contexts: list[Case]) -> None:
    """It is the same case with nothing around it, and the same tier has it."""
    ids = set(corpus.ids("gate", ["contexts"]))
    for case in contexts:
        twin = twin_of(case.id)
        if twin is None:
            # It stands alone.
            assert case.id in corpus.singles
            continue
        assert twin in ids
        found = corpus.find(twin)
        assert found is not None
        assert not found.context
        assert (found.x.shape, found.w.shape, found.attributes) == (case.x.shape, case.w.shape, case.attributes)
        assert twin_of(twin) is None


def test_a_dialect_without_graphs_has_no_context(contexts: list[Case]) -> None:
    """It is not applicable there, with what is missing."""
    for name in ("onnx/ConvTranspose-1", "torch/conv_transpose", "tflite/TransposeConv", "geometry/1"):
        expected = expect(contexts[0], DIALECTS[name])
        assert isinstance(expected, NotApplicable)
        assert expected.violation.attribute == "context"


def test_a_refusal_of_a_context_is_a_failure(contexts: list[Case]) -> None:
    """No text lets a runtime refuse a graph for what stands around the operator."""
    assert isinstance(judge(Problem(contexts[0], ROW), Refused("no"), DType.F32), ver.RefusedValid)


def test_contexts_are_of_their_topic(contexts: list[Case]) -> None:
    """Each stands under the topic that patterns and waivers name."""
    assert {topic_of(case.id) for case in contexts} == {"contexts"}


class Fused:
    """A backend that is wrong for some sets of levels, and counts what it is asked."""

    def __init__(self, *wrong: set[str]) -> None:
        self.wrong = [{f"context.{level}" for level in levels} for levels in wrong]
        self.asked: list[str] = []

    def record(self, case_id: str) -> Record:
        """Return the record of a case."""
        fails = any(levels <= set(levels_of(case_id)) for levels in self.wrong)
        verdict = ver.RefusedValid("no") if fails else ver.Agreed("exact")
        return Record(case_id, "fused", ROW.name, verdict)

    def ask(self, run: Run) -> Callable[[list[Case]], list[Record]]:
        """Return what answers new cases of a run."""

        def answer(cases: list[Case]) -> list[Record]:
            records = [self.record(case.id) for case in cases]
            self.asked += [case.id for case in cases]
            run.asked.extend(records)
            return records

        return answer


def smallest(backend: Fused, corpus: Corpus, ids: Sequence[str], most: int = 400) -> dict[str, tuple[str, ...]]:
    """Return the smallest failing sets after a run of some cases and their twins, without what is asked twice."""
    twins = {twin for case in ids if (twin := twin_of(case))}
    run = Run(Path("records"), None, [backend.record(case) for case in (*ids, *sorted(twins))])  # type: ignore[arg-type]
    ask_smaller(run, corpus.find, backend.ask(run), most)
    assert len(set(backend.asked)) == len(backend.asked) <= most
    records = {record.case: record for record in (*run.records, *run.asked)}
    kinds = {case: None if isinstance(r.verdict, ver.Agreed) else r.verdict.kind for case, r in records.items()}
    return find_smallest(kinds)


def test_the_smallest_failing_levels_are_found(corpus: Corpus, contexts: list[Case]) -> None:
    """One level, or two together, of four; the other levels are asked without them, and show a second failure."""
    ids = [case.id for case in contexts]
    with_pad = [case for case in ids if {"context.before=pad-both", "context.activation=relu"} <= set(levels_of(case))]
    assert with_pad
    found = smallest(Fused({"before=pad-both"}, {"activation=relu"}), corpus, with_pad)
    assert set(found.values()) == {("context.before=pad-both",), ("context.activation=relu",)}
    found = smallest(Fused({"before=pad-both", "activation=relu"}), corpus, with_pad)
    assert set(found.values()) == {("context.before=pad-both", "context.activation=relu")}


def test_a_failure_behind_a_known_one_is_asked_for(corpus: Corpus, contexts: list[Case]) -> None:
    """The context without the smallest failing set is a case with an id of its own, and fails for its own reason."""
    case = next(case.id for case in contexts if len(levels_of(case.id)) == 4)
    first, *others = levels_of(case)
    second = [level.removeprefix("context.") for level in others[:2]]
    found = smallest(Fused({first.removeprefix("context.")}, set(second)), corpus, [case])
    assert found[with_levels(case, [first])] == (first,)
    assert found[with_levels(case, others)] == tuple(others[:2])


def test_no_more_is_asked_than_a_run_may(corpus: Corpus, contexts: list[Case]) -> None:
    """What is not asked stays unknown, and the whole context stands for the smallest set."""
    ids = [case.id for case in contexts if len(levels_of(case.id)) == 4][:20]
    backend = Fused({levels_of(ids[0])[0].removeprefix("context.")})
    smallest(backend, corpus, ids, most=3)
    assert len(backend.asked) <= 3


def test_a_context_whose_operator_fails_alone_is_not_made_smaller(corpus: Corpus, contexts: list[Case]) -> None:
    """The failure is the operator's."""
    assert smallest(everywhere := Fused(set()), corpus, [contexts[0].id]) == {}
    assert everywhere.asked == []


def test_explain_narrows_a_context_down(corpus: Corpus) -> None:
    """The levels that matter, and the option with which onnxruntime is right: it quantises a float filter."""
    case = corpus.find(
        f"{SWEEP}[geometry=multiplier,context.data=int8-zero-point,context.bias=operand,context.use=slice-channels,"
        "context.end=uint8,context.values=zero-channel]"
    )
    assert case is not None
    found = narrow_down(case, Asking("onnxruntime"))
    assert found is not None
    assert found.case.context.levels == {"data": "int8-zero-point", "end": "uint8"}
    assert isinstance(found.alone.verdict, ver.Agreed)
    assert found.right_with == ("graph_optimization_level=disable_all",)
    assert found.record.executed


@pytest.mark.parametrize("use", ["beside", "second-operator"])
def test_another_operator_follows_the_size_that_a_reading_gives(corpus: Corpus, use: str) -> None:
    """OpenVINO's text lets SAME pad nothing: an operator beside it then does too, one behind it takes that size."""
    case = corpus.find(level_id("use", use, geometry="same-upper"))
    assert case is not None
    problem = Problem(case, DIALECTS[BACKPROP[1]])
    surrounded = problem.surrounded
    assert surrounded is not None
    sizes = set()
    for candidate in _values(problem).candidates:
        tensors = surrounded.tensors(candidate.geometry)
        operator = tensors[surrounded.operator]
        sizes.add(operator.shape[2:])
        size = candidate.geometry.output
        assert tensors["Y"].shape[2:] == (size if use == "beside" else tuple(2 * extent for extent in size))
    assert sizes == {(8, 6), (9, 7)}
