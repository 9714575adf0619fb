"""The operator in a context: what each level computes, exactly, and what a wrong graph compiler would make of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from strategies import BACKPROP, ONNX
from tconv.backends.onnx_model import build
from tconv.backends.outcome import Produced
from tconv.cases.context import OPERATIONS, ROUNDED, SMOOTH, operations_of
from tconv.cases.graph import OPERATOR
from tconv.cases.patterns import levels_of, twin_of, with_levels
from tconv.dialects import DIALECTS
from tconv.evidence.calls import Calls, answer_of
from tconv.evidence.contexts import explain_contexts, find_smallest, kind_of
from tconv.evidence.hypotheses import InContext
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.expectation.expected import NotApplicable, Values, expect, expect_of_signature
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition
from tconv.expectation.truth import Truth
from tconv.investigation.smaller_contexts import ask_smaller
from tconv.records.record import Record
from tconv.records.record_file import Run
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import OPERATIONS as NAMES
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from small_corpus import Command
    from tconv.cases.case import Case
    from tconv.cases.graph import Node
    from tconv.corpus import Corpus
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.surrounded import Surrounded
    from tconv.vocabulary import Array

ROW = DIALECTS[ONNX[-1]]
SWEEP = "contexts/neighbours/levels"
# onnx's evaluator computes groups, output_shape and SAME wrongly; these it computes as the text says.
PLAIN = "kernel-above"
EXACT = 2**24


@pytest.fixture(scope="module")
def contexts(corpus: Corpus) -> list[Case]:
    """Return all cases of the gate tier in a context that ONNX can say: output_shape is no input there."""
    return [case for case in corpus.cases("gate", ["contexts"]) if case.context and case.context.sizes == "given"]


def level_id(axis: str, level: str, *more: str, geometry: str = PLAIN) -> str:
    """Return the id of a case with one level, and perhaps others."""
    if level == "beside-uncropped":
        return f"contexts/neighbours/two-sizes[geometry=cropped,context.use={level}]"
    if level == ROUNDED:
        return f"contexts/neighbours/normalization[geometry=upsample,context.{axis}={level}]"
    bias = {"add": "add", "int32": "int32", "node": "node"}.get(level) if axis == "bias" else None
    label = f"context.{axis}={bias or level}"
    return f"{SWEEP}[{','.join((f'geometry={geometry}', *sorted((label, *more), key=_place)))}]"


def _place(label: str) -> int:
    axes = ("data", "filter", "bias", "before", "arithmetic", "activation", "use", "end", "values")
    return axes.index(label.partition("=")[0].removeprefix("context."))


@pytest.mark.parametrize(("axis", "level"), [of for of in OPERATIONS if of[0] != "sizes"], ids=lambda part: part)
def test_a_level_computes_what_onnx_says(corpus: Corpus, axis: str, level: str) -> None:
    """Onnx's own evaluator, which knows nothing of tconv, gives the same output; it runs each node by itself."""
    case = corpus.case(level_id(axis, level))
    problem = Problem(case, ROW)
    model = build(problem.call, problem.arrays)
    onnx.checker.check_model(model, full_check=True)
    evaluated = np.asarray(ReferenceEvaluator(model).run(None, problem.fed)[0])
    assert isinstance(judge(problem, Produced(evaluated), DType.F32), ver.Agreed)
    assert isinstance(judge(problem, Produced(evaluated + np.ones_like(evaluated)), DType.F32), ver.Differed)


def test_levels_need_what_they_say(contexts: list[Case]) -> None:
    assert frozenset(kind for each in OPERATIONS.values() for kind in each) | {"Dequantize"} == NAMES
    for case in contexts:
        problem = Problem(case, ROW)
        kinds = {node.kind for node in _surrounded(problem).graph.nodes}
        assert kinds - {OPERATOR} == operations_of(case.context)[0]


def _values(problem: Problem) -> Values:
    assert problem.values is not None
    return problem.values


def _surrounded(problem: Problem) -> Surrounded:
    assert problem.surrounded is not None
    return problem.surrounded


def test_every_number_is_one_of_the_type(contexts: list[Case]) -> None:
    for case in contexts:
        problem = Problem(case, ROW)
        if case.context.activation in SMOOTH or case.context.arithmetic == ROUNDED:
            continue
        surrounded = _surrounded(problem)
        truth = Truth({role: array * 2**6 for role, array in surrounded.operands.items()}, DType.F32)
        assert truth.integral, case.id
        tensors = surrounded.tensors(_values(problem).primary.geometry)
        for name, values in tensors.items():
            assert (values.astype(np.float32) == values).all(), (case.id, name)


def test_the_sum_of_each_operator_is_exact_in_any_order(contexts: list[Case]) -> None:
    """In units of the quanta of data and filter, the absolute terms of each sum stay below 2^24."""
    for case in contexts:
        problem = Problem(case, ROW)
        surrounded = _surrounded(problem)
        tensors = surrounded.tensors(_values(problem).primary.geometry)
        for node in surrounded.graph.nodes:
            if node.kind != OPERATOR or case.context.activation in SMOOTH:
                continue
            x, w, *b = (np.abs(tensors[name]) for name in node.inputs)
            is_main = node.outputs[0] == surrounded.operator
            geometry = _values(problem).primary.geometry if is_main else _geometry(node)
            terms = definition(x, w, b[0] if b else None, geometry)
            assert terms.max(initial=0.0) <= EXACT * _quantum(x) * _quantum(w), case.id


def _geometry(node: Node) -> Geometry:
    assert node.call is not None
    expected = expect_of_signature(node.call.written, node.call.dialect)
    assert isinstance(expected, Values)
    return expected.primary.geometry


def _quantum(values: Array) -> float:
    """Return the largest power of two that divides all of some numbers."""
    return next(2.0**power for power in range(6, -30, -1) if (values % 2.0**power == 0).all())


NORMALIZED = "contexts/neighbours/normalization[geometry=groups,context.bias=add,context.arithmetic=" + ROUNDED


def _normalized_by(
    problem: Problem, epsilon: float, *, folded: bool = False, wrong_channel: int | None = None
) -> Array:
    """Return what a runtime gives in f32 that folds the normalization into filter and bias, or does not."""
    surrounded = _surrounded(problem)
    arrays, geometry = surrounded.arrays, _values(problem).primary.geometry
    x, w = arrays["X"].astype(np.float32), arrays["W"].astype(np.float32)
    b = arrays[surrounded.graph.nodes[1].inputs[1]]
    scale, shift, mean, variance = (arrays[f"bn_{name}"] for name in ("scale", "shift", "mean", "variance"))
    factor = (scale / np.sqrt(variance + np.float32(epsilon))).astype(np.float32)
    if wrong_channel is not None:
        factor[wrong_channel] = factor[wrong_channel - 1]
    bias = b.reshape(-1).astype(np.float32)
    along = (-1, *[1] * (w.ndim - 2))
    if folded:
        groups = geometry.groups
        scaled = w.reshape(groups, -1, *w.shape[1:]) * factor.reshape(groups, 1, *along)
        y = definition(x.astype(np.float64), scaled.reshape(w.shape).astype(np.float64), None, geometry).astype(
            np.float32
        )
        return y + ((bias - mean) * factor + shift).reshape(along)
    y = definition(x.astype(np.float64), w.astype(np.float64), None, geometry).astype(np.float32) + bias.reshape(along)
    return (y - mean.reshape(along)) * factor.reshape(along) + shift.reshape(along)


@pytest.fixture
def normalized(corpus: Corpus) -> Problem:
    case = corpus.case(NORMALIZED + "]")
    return Problem(case, ROW)


@pytest.mark.parametrize("folded", [False, True], ids=["alone", "folded"])
def test_an_exported_normalization_may_be_folded(normalized: Problem, folded: bool) -> None:  # noqa: FBT001 - a parameter
    """Both ways are within the bound, and give other bits than float64."""
    y = _normalized_by(normalized, 1e-5, folded=folded)
    assert judge(normalized, Produced(y), DType.F32) == ver.Agreed("range")
    assert (y != normalized.judged.compute_values(_values(normalized).primary.geometry)).any()


@pytest.mark.parametrize(("epsilon", "wrong_channel"), [(0.0, None), (1e-3, None), (1.1e-5, None), (1e-5, 1)], ids=str)
def test_a_wrong_normalization_is_seen(normalized: Problem, epsilon: float, wrong_channel: int | None) -> None:
    """Variances are so small that epsilon matters, even a tenth of it; and the scale of another channel is seen."""
    y = _normalized_by(normalized, epsilon, wrong_channel=wrong_channel)
    assert isinstance(judge(normalized, Produced(y), DType.F32), ver.Differed)


def test_behind_an_exported_normalization_nothing_rounds(normalized: Problem) -> None:
    low, high = normalized.judged.compute_range(_values(normalized).primary.geometry)
    values = normalized.judged.compute_values(_values(normalized).primary.geometry)
    assert ((high - low) <= 1e-4 * np.abs(values).max()).all()
    for more in ({"activation": "hard-sigmoid"}, {"activation": "tanh"}, {"use": "second-operator"}):
        case = replace(normalized.case, context=replace(normalized.case.context, **more))
        assert isinstance(expect(case, ROW), NotApplicable)


def test_a_quantize_behind_it_is_off_at_a_tie_alone(corpus: Corpus) -> None:
    case = corpus.case(NORMALIZED + ",context.end=int8]")
    problem = Problem(case, ROW)
    low, high = problem.judged.compute_range(_values(problem).primary.geometry)
    assert set(np.unique(high - low)) <= {0.0, 1.0}
    assert (low == high).mean() > 0.95


def test_the_twin_of_a_context_is_a_case(corpus: Corpus, contexts: list[Case]) -> None:
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
    for name in ("onnx/ConvTranspose-1", "torch/conv_transpose", "tflite/TransposeConv", "geometry/1"):
        expected = expect(contexts[0], DIALECTS[name])
        assert isinstance(expected, NotApplicable)
        assert expected.violation.attribute == "context"


class Fused:
    """A backend that is wrong for some sets of levels, and counts what it is asked."""

    def __init__(self, *wrong: set[str]) -> None:
        self.wrong = [{f"context.{level}" for level in levels} for levels in wrong]
        self.asked: list[str] = []

    def record(self, case_id: str) -> Record:
        fails = any(levels <= set(levels_of(case_id)) for levels in self.wrong)
        verdict = ver.RefusedValid("no") if fails else ver.Agreed("exact")
        return Record(case_id, "fused", ROW.name, verdict)

    def ask(self, run: Run) -> Callable[[list[Case]], list[Record]]:
        def answer(cases: list[Case]) -> list[Record]:
            records = [self.record(case.id) for case in cases]
            self.asked += [case.id for case in cases]
            run.asked.extend(records)
            return records

        return answer


def smallest(backend: Fused, corpus: Corpus, ids: Sequence[str], most: int = 400) -> dict[str, tuple[str, ...]]:
    """Return the smallest failing sets after a run of some cases and their twins, without what is asked twice."""
    twins = {twin for case in ids if (twin := twin_of(case))}
    records = [backend.record(case) for case in (*ids, *sorted(twins))]
    run = Run(Path("records"), None, records)  # type: ignore[arg-type] # no header is read
    ask_smaller(run, corpus.find, backend.ask(run), most)
    assert len(set(backend.asked)) == len(backend.asked) <= most
    return find_smallest({record.case: kind_of(record) for record in (*run.records, *run.asked)})


def test_the_smallest_failing_levels_are_found(corpus: Corpus, contexts: list[Case]) -> None:
    """One level, or two together, of four; the other levels are asked without them, and show a second failure."""
    ids = [case.id for case in contexts]
    with_pad = [case for case in ids if {"context.before=pad-both", "context.activation=relu"} <= set(levels_of(case))]
    assert with_pad
    found = smallest(Fused({"before=pad-both"}, {"activation=relu"}), corpus, with_pad)
    assert set(found.values()) == {("context.before=pad-both",), ("context.activation=relu",)}
    found = smallest(Fused({"before=pad-both", "activation=relu"}), corpus, with_pad)
    assert set(found.values()) == {("context.before=pad-both", "context.activation=relu")}


def four_levels(contexts: list[Case]) -> str:
    return next(case.id for case in contexts if len(levels_of(case.id)) == 4)


def test_a_failure_behind_a_known_one_is_asked_for(corpus: Corpus, contexts: list[Case]) -> None:
    case = four_levels(contexts)
    first, *others = levels_of(case)
    second = [level.removeprefix("context.") for level in others[:2]]
    found = smallest(Fused({first.removeprefix("context.")}, set(second)), corpus, [case])
    assert found[with_levels(case, [first])] == (first,)
    assert found[with_levels(case, others)] == tuple(others[:2])


def test_no_more_is_asked_than_a_run_may(corpus: Corpus, contexts: list[Case]) -> None:
    ids = [case.id for case in contexts if len(levels_of(case.id)) == 4][:20]
    backend = Fused({levels_of(ids[0])[0].removeprefix("context.")})
    smallest(backend, corpus, ids, most=3)
    assert len(backend.asked) <= 3


def test_nobody_says_right_alone_of_an_operator_that_was_not_asked(corpus: Corpus, contexts: list[Case]) -> None:
    """A run of one context asks for the operator alone first; and if it fails too, for nothing more."""
    case = four_levels(contexts)
    for backend, asked in ((Fused(set(levels_alone(case)[:1])), 2), (Fused(set()), 1)):
        run = Run(Path("records"), None, [backend.record(case)])  # type: ignore[arg-type] # no header is read
        assert find_smallest({case: "refused-valid"}) == {}
        ask_smaller(run, corpus.find, backend.ask(run))
        assert backend.asked[0] == twin_of(case)
        assert len(backend.asked) >= asked
        kinds = {record.case: kind_of(record) for record in (*run.records, *run.asked)}
        assert find_smallest(kinds).get(case) == (levels_of(case)[:1] if asked > 1 else None)


def _twin(case: str) -> str:
    twin = twin_of(case)
    assert twin is not None
    return twin


def levels_alone(case: str) -> list[str]:
    """Return the levels of an id without what stands before them."""
    return [level.removeprefix("context.") for level in levels_of(case)]


@pytest.mark.parametrize("verdict", [ver.Unsupported("no"), ver.TimedOut(60.0)], ids=["unsupported", "timed-out"])
def test_nothing_more_is_asked_for_what_is_missing_or_slow(
    corpus: Corpus, contexts: list[Case], verdict: ver.Verdict
) -> None:
    case = next(case.id for case in contexts if levels_of(case.id))
    twin = _twin(case)
    records = [Record(case, "slow", ROW.name, verdict), Record(twin, "slow", ROW.name, ver.Agreed("exact"))]
    run = Run(Path("records"), None, records)  # type: ignore[arg-type] # no header is read
    ask_smaller(run, corpus.find, lambda cases: pytest.fail(f"asked for {cases}"))


def test_a_waived_level_stays_the_smallest_set(corpus: Corpus, contexts: list[Case]) -> None:
    """What a waiver covers fails all the same: it is not said that the operator is right with fewer levels."""
    case = four_levels(contexts)
    pair = with_levels(case, levels_of(case)[:2])
    smaller = with_levels(case, levels_of(case)[:1])
    twin = _twin(case)
    backend = Fused(set(levels_alone(case)[:1]))
    records = [backend.record(text) for text in (pair, smaller, twin)]
    answers = [answer_of(record) for record in records]
    answers[1] = answers[1]._replace(failure=None)
    (found, *_) = explain_contexts(Calls(answers, corpus.find, ROW))
    assert isinstance(found.what, InContext)
    assert (found.what.levels, found.cases) == (levels_of(smaller), (pair,))


def test_the_id_of_a_context_is_one_case(corpus: Corpus, contexts: list[Case]) -> None:
    """As a pattern too, also if no tier has it, and the plain twin's, although ids leave out neutral levels."""
    case = four_levels(contexts)
    twin = _twin(case)
    for text in (case, twin, with_levels(case, levels_of(case)[:2])):
        assert list(corpus.ids("gate", [text])) == [text]
        assert corpus.count("gate", [text]) == 1
    both = set(corpus.ids("gate", [twin, "contexts/neighbours/*[context.end=f16]"]))
    assert twin in both
    assert len(both) > 10
    assert list(corpus.ids("smoke", [twin])) == []


def test_the_head_of_a_report_counts_smaller_contexts(command: Command, tmp_path: Path) -> None:
    """They are no cases of the run, and failures all the same; the counts of statuses have both."""
    case = f"{SWEEP}[geometry=volume-unequal,context.data=uint8,context.end=int8,context.values=wide-filter]"
    done = command("run", case, "--waivers", "none", "--output", str(tmp_path), "--json")
    assert done.returncode == 1, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["cases"] == 1
    assert sum(run["counts"].values()) == run["cases"] + run["smaller_contexts"]
    assert run["smaller_contexts"] >= 1
    printed = command("report", str(tmp_path), "--waivers", "none").stdout
    assert f"1 case, and {run['smaller_contexts']} smaller context" in printed
    words = " ".join(printed.split())
    assert "in a graph with uint8 data and an int8 output; alone the operator is right" in words
    assert "right with --option disabled_optimizers=WeightBiasQuantization" in words


@pytest.mark.parametrize("filter_level", ["int8", "int8-per-channel", "uint8"])
@pytest.mark.parametrize("data", ["int8", "int8-zero-point", "uint8", "int8-input"])
def test_a_smaller_context_has_the_dequantised_values_in_float(corpus: Corpus, data: str, filter_level: str) -> None:
    """It is asked before int8 is blamed: the same numbers but for powers of two, which change no bit of a sum."""
    labels = (f"context.data={data}", f"context.filter={filter_level}", "context.activation=relu")
    quantised = corpus.case(f"{SWEEP}[geometry={PLAIN},{','.join(labels)}]")
    plain = corpus.case(f"{SWEEP}[geometry={PLAIN},{labels[-1]}]")
    operands = [Problem(each, ROW).operands for each in (quantised, plain)]
    for role in ("x", "w"):
        factors = operands[0][role] / operands[1][role]
        assert len(np.unique(factors)) == (3 if (role, filter_level) == ("w", "int8-per-channel") else 1)
        assert (np.frexp(factors)[0] == 0.5).all()


def test_output_shape_is_computed_if_the_text_has_an_input_for_it(corpus: Corpus) -> None:
    """Nodes make it of another tensor's shape; the output is that of the case that gives it as numbers."""
    case = corpus.case("contexts/neighbours/computed-sizes[geometry=groups,context.sizes=computed]")
    twin = corpus.case("contexts/neighbours/computed-sizes[geometry=groups]")
    assert isinstance(expect(case, ROW), NotApplicable)
    problem = Problem(case, DIALECTS["openvino/GroupConvolutionBackpropData-1"])
    surrounded = _surrounded(problem)
    graph = surrounded.graph
    assert [node.kind for node in graph.nodes] == ["Shape", "Slice", "Slice", "Concat", OPERATOR]
    assert graph.nodes[-1].inputs[2] == graph.nodes[-2].outputs[0]
    geometry = _values(problem).primary.geometry
    x, w = surrounded.operands.values()
    assert (surrounded.compute(geometry) == definition(x, w, None, geometry)).all()
    assert geometry.output == _values(Problem(twin, problem.dialect)).primary.geometry.output


@pytest.mark.parametrize(
    ("levels", "executed"),
    [
        ("context.activation=relu", ()),
        ("context.filter=reshape", ()),
        ("context.arithmetic=batch-normalization", ("ConvTranspose",)),
    ],
)
def test_a_record_says_what_became_of_a_graph(corpus: Corpus, levels: str, executed: tuple[str, ...]) -> None:
    """Onnxruntime folds a BatchNormalization into the filter; what it executes one by one is not recorded."""
    case = corpus.case(f"{SWEEP}[geometry=upsample,{levels}]")
    with Pool(Asking("onnxruntime")) as pool:
        record = pool.record(case)
    assert isinstance(record.verdict, ver.Agreed)
    assert record.executed == executed


def test_a_condition_of_a_context_holds_for_all_of_its_failures(corpus: Corpus, contexts: list[Case]) -> None:
    """If it holds for most of them alone, none is said: the example might be one of the others."""
    chosen = [case for case in contexts if case.context.end == "f16" and twin_of(case.id)]
    wrong = [case for number, case in enumerate(chosen) if case.context.activation == "none" or not number % 9]
    assert 0 < sum(case.context.activation != "none" for case in wrong) < 0.2 * len(wrong)
    refused = {case.id for case in wrong}
    level = "context.end=f16"
    smaller = {with_levels(case.id, [level]) for case in wrong}
    twins = {twin for case in contexts if (twin := twin_of(case.id)) is not None}
    answers = [
        answer_of(Record(text, "cast", ROW.name, ver.RefusedValid("no") if fails else ver.Agreed("exact")))
        for text, fails in [
            *((case.id, case.id in refused) for case in chosen),
            *((text, True) for text in sorted(smaller - refused)),
            *((twin, False) for twin in sorted(twins)),
        ]
    ]
    calls = Calls(answers, corpus.find, ROW)
    for found in explain_contexts(calls):
        holds = calls.meeting(found.condition or ())
        assert all(holds[calls.numbers[case]] for case in found.cases)


@pytest.mark.parametrize("use", ["beside", "second-operator"])
def test_another_operator_follows_the_size_that_a_reading_gives(corpus: Corpus, use: str) -> None:
    """OpenVINO's text lets SAME pad nothing: an operator beside it then does too, one behind it takes that size."""
    case = corpus.case(level_id("use", use, geometry="same-upper"))
    problem = Problem(case, DIALECTS[BACKPROP[1]])
    surrounded = _surrounded(problem)
    sizes = set()
    for candidate in _values(problem).candidates:
        tensors = surrounded.tensors(candidate.geometry)
        operator = tensors[surrounded.operator]
        sizes.add(operator.shape[2:])
        size = candidate.geometry.output
        assert tensors["Y"].shape[2:] == (size if use == "beside" else tuple(2 * extent for extent in size))
    assert sizes == {(8, 6), (9, 7)}
