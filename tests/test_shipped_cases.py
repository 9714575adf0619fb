"""The shipped corpus: what its topics ask, of whom, and that its answers tell right from wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from strategies import ONEDNN, ONNX, WIDE, onnx_examples
from tconv.backends.outcome import Produced
from tconv.cases.call import express, write_signature
from tconv.cases.operands import NUMPY_TYPES, make_operands
from tconv.cases.patterns import topic_of
from tconv.dialects import DIALECTS, SPOKEN, Absent, Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.readings import Combination
from tconv.expectation.expected import NotApplicable, Refuse, Values, expect
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition, tap_alone
from tconv.expectation.truth import Truth
from tconv.verdict.judge import judge
from tconv.verdict.kinds import Differed
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.expectation.expected import Candidate, Expectation

ONNX_1, ONNX_11, ONNX_22 = ONNX


@dataclass
class Gate:
    """The gate tier, and what every dialect expects to each of its cases that it can say."""

    cases: tuple[Case, ...]
    expressed: dict[str, list[tuple[Case, Expectation]]] = field(default_factory=dict)

    def topic(self, name: str) -> list[Case]:
        return [case for case in self.cases if topic_of(case.id) == name]

    def values(self, dialect: str) -> list[tuple[Case, Values]]:
        return [(case, expected) for case, expected in self.expressed[dialect] if isinstance(expected, Values)]


@pytest.fixture(scope="module")
def gate(gate_cases: tuple[Case, ...]) -> Gate:
    found = Gate(gate_cases)
    for name, dialect in DIALECTS.items():
        pairs = ((case, expect(case, dialect)) for case in found.cases)
        found.expressed[name] = [
            (case, expected) for case, expected in pairs if not isinstance(expected, NotApplicable)
        ]
    return found


# Topics.


def _shares(case: Case) -> tuple[int, int, int]:
    """Return groups, C/G and O/G."""
    groups = case.attributes.groups or 1
    return groups, case.x.shape[1] // groups, case.w.shape[1]


def test_cases_without_a_fault_owe_values(gate: Gate) -> None:
    for name in DIALECTS:
        assert [
            case.id for case, expected in gate.expressed[name] if case.breaks is None and isinstance(expected, Refuse)
        ] == []


def test_no_symmetry_hides_a_swap(gate: Gate) -> None:
    """In the main sweep sizes differ from axis to axis, and C/g and O/g are above 1 and differ."""
    main = [case for case in gate.cases if case.id.startswith("padding/combinations/all[")]
    assert len(main) > 500
    for case in main:
        groups, inputs, outputs = _shares(case)
        assert 1 < inputs != outputs > 1
        assert len(set(case.x.shape[2:])) == len(case.x.shape[2:])
        assert len(set(case.w.shape[2:])) == len(case.w.shape[2:])
        assert case.x.shape[0] > 1
        assert groups in {1, 2}


# Operands.


def test_integer_data_is_exact(gate: Gate) -> None:
    """Wherever data is integers the absolute terms of the primary output stay within 2^p: compared bit for bit.

    There is no exception: the operands are chosen so, whatever the channels, taps, groups and types are.
    """
    inexact, asked, truths = [], 0, {}
    for name in DIALECTS:
        for case, expected in gate.values(name):
            fillings = {operand.data for operand in (case.x, case.w, case.b) if operand is not None}
            if not fillings <= {"integers", "sparse"}:
                continue
            key = case.x, case.w, case.b
            if key not in truths:
                # Nearly all are seen to be exact by the largest elements alone, without an output.
                truths[key] = Truth(make_operands(*key), case.x.dtype)
            asked += 1
            if not truths[key].exact(expected.primary.geometry):
                inexact.append((name, case.id))
    assert inexact == []
    assert asked > 25_000


def test_real_data_has_integer_twins(gate: Gate, corpus: Corpus) -> None:
    asked = 0
    for case in gate.cases:
        # Of sizes, every other row has real numbers: another row has the same size on integers.
        if topic_of(case.id) == "sizes" or case.x.data not in {"normal", "wide", "wide-full", "all-bits"}:
            continue
        twin = corpus.find(case.id.replace(f"data={case.x.data}", "data=integers"))
        assert twin is not None
        assert twin.x.data == "integers"
        assert (twin.attributes, twin.x.shape, twin.w.shape, twin.x.dtype) == (
            case.attributes, case.x.shape, case.w.shape, case.x.dtype,
        )  # fmt: skip
        asked += 1
    assert asked > 200


def _wrong_outputs(problem: Problem) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield what kernels give that round f64 to f32, skip zeros of a filter, or add few taps in a 16-bit type."""
    operands, geometry = problem.truth.operands, problem.values.primary.geometry
    x, w, b = operands["x"], operands["w"], operands.get("b")
    dtype, data = problem.case.x.dtype, problem.case.x.data
    if dtype is DType.F64 and data == "all-bits":
        with np.errstate(over="ignore", invalid="ignore"):
            single = {role: array.astype(np.float32).astype(np.float64) for role, array in operands.items()}
            for role in operands:
                rounded = operands | {role: single[role]}
                yield f"{role} as f32", definition(rounded["x"], rounded["w"], rounded.get("b"), geometry)
    if not w.any():
        yield "zeros of the filter skipped", definition(np.zeros_like(x), w, b, geometry)
    if dtype in {DType.F16, DType.BF16} and data == "normal" and w.shape[0] == geometry.groups:
        y = np.zeros(problem.truth.shape(geometry))
        for k in np.ndindex(*geometry.kernel):
            tap = w[(..., *k)].reshape(*w.shape[:2], *(1,) * len(k))
            y = (y + definition(x, tap, None, tap_alone(k, geometry))).astype(NUMPY_TYPES[dtype]).astype(np.float64)
        yield "sums in the type", y if b is None else y + b.reshape(-1, *(1,) * len(geometry.output))


def test_wrong_kernels_are_seen_by_each_case_that_is_for_them(gate: Gate) -> None:
    """Each differs in every case: of f64 with all bits, of zeros beside NaN and infinity, of 16 bits depthwise."""
    asked = Counter[str]()
    for case in gate.cases:
        if case.id.startswith(("real-data/paths", "special-values/zeros")):
            problem = Problem(case, DIALECTS[ONNX_22])
            for name, wrong in _wrong_outputs(problem):
                with np.errstate(over="ignore", invalid="ignore"):
                    verdict = judge(problem, Produced(wrong.astype(NUMPY_TYPES[case.x.dtype])), DType.F32)
                assert isinstance(verdict, Differed), (name, case.id)
                asked[name] += 1
    assert set(asked) == {"x as f32", "w as f32", "b as f32", "zeros of the filter skipped", "sums in the type"}


# Readings.

UNREACHED = {
    # Under SAME opset 1 has the input's size: the total is (X-1)*(s-1) + (K-1)*d + output_padding, and negative for
    # X = 0 alone, where there is nothing whose place these two could tell apart.
    (ONNX_1, f"negative-same-{answer}")
    for answer in ("appended", "truncated")
}


def test_every_disputed_reading_is_told_apart(gate: Gate) -> None:
    missing = set()
    for name, dialect in DIALECTS.items():
        told: dict[str, Candidate | None] = {}
        for case, expected in gate.values(name):
            for refusal in expected.refusals:
                told |= dict.fromkeys(refusal.names if isinstance(refusal, Combination) else ())
            for candidate in expected.disputed:
                new = [reading for reading in candidate.readings if reading not in told]
                if new and _differ(case, expected.primary, candidate):
                    told |= dict.fromkeys(new, candidate)
        missing |= {(name, reading.name) for reading in dialect.disputed if reading.name not in told}
    assert missing == UNREACHED


def _differ(case: Case, one: Candidate, two: Candidate) -> bool:
    truth = Truth(make_operands(case.x, case.w, case.b), case.x.dtype)
    first, second = truth.compute_values(one.geometry), truth.compute_values(two.geometry)
    return first.shape != second.shape or not np.array_equal(first, second, equal_nan=True)


def test_the_dialects_are_told_apart(gate: Gate) -> None:
    """Two texts with other rules expect another output to some gate case; opsets 11 and 22 have the same rules."""
    primary = {name: {case.id: expected.primary.geometry for case, expected in gate.values(name)} for name in DIALECTS}
    for one in WIDE:
        for two in WIDE:
            common = primary[one].keys() & primary[two].keys()
            assert len(common) > 1000
            same = all(primary[one][case] == primary[two][case] for case in common)
            alike = DIALECTS[one].rules == DIALECTS[two].rules or "geometry/1" in {one, two}
            assert same == alike, (one, two)


# Faults.

UNSAYABLE = {("tflite/TransposeConv", "two-spatial-axes"), ("tflite/TransposeConv", "two-or-three-spatial-axes")}
"""Constraints that a text states and whose breach it cannot say: stride_h and stride_w are of two axes."""
INVALID = {
    constraint
    for name, dialect in SPOKEN.items()
    for constraint in CONSTRAINTS
    if dialect.is_invalid(constraint) and dialect.has_word(CONSTRAINTS[constraint].of)
    if (name, constraint) not in UNSAYABLE
}
"""Constraints whose breach some text that a backend speaks, or the operator, makes invalid."""


def _seen(expected: Expectation) -> set[str]:
    if isinstance(expected, Refuse):
        return {expected.violation.constraint}
    return set(expected.open_constraints) if isinstance(expected, Values) else set()


def test_every_constraint_is_broken_on_purpose(gate: Gate) -> None:
    assert INVALID - {case.breaks for case in gate.topic("invalid")} == set()
    assert {topic_of(case.id) for case in gate.cases if case.breaks} == {"invalid", "found"}


def test_what_is_open_is_asked(gate: Gate) -> None:
    """What no text demands a refusal of: some gate case breaks it, and a refusal of that case is a disputed reading."""
    left_open = {
        constraint
        for dialect in DIALECTS.values()
        for constraint, answer in dialect.constraints.items()
        if isinstance(answer, Open) and constraint not in INVALID
    }
    assert (
        left_open - set().union(*(_seen(expected) for name in DIALECTS for _, expected in gate.values(name))) == set()
    )


def test_every_dialect_is_asked_about_its_constraints(gate: Gate) -> None:
    missing = set()
    for name in WIDE:
        dialect = DIALECTS[name]
        seen = set().union(*(_seen(expected) for _, expected in gate.expressed[name]))
        minded = {
            constraint
            for constraint, answer in dialect.constraints.items()
            if not isinstance(answer, Absent) and dialect.has_word(CONSTRAINTS[constraint].of)
        }
        assert len(minded) > 10
        missing |= {(name, constraint) for constraint in minded - seen}
    assert missing == set()


def test_a_fault_is_a_refusal_or_a_value(gate: Gate) -> None:
    for name in (*ONNX, ONEDNN):
        refused = sum(isinstance(expected, Refuse) for case, expected in gate.expressed[name] if case.breaks)
        assert refused > 120
    faults = {case.id for case in gate.cases if case.breaks}
    assert len(faults) > 120
    noticed = {
        case.id for name in DIALECTS for case, expected in gate.expressed[name] if case.breaks in _seen(expected)
    }
    assert faults <= noticed


# Examples.


def test_the_examples_of_onnx_are_those_of_onnx(gate: Gate) -> None:
    examples = onnx_examples()
    cases = {case.about.rstrip("."): case for case in gate.topic("examples") if case.about.startswith("test_")}
    assert cases.keys() == examples.keys()
    for name, (node, inputs, (y,)) in examples.items():
        case = cases[name]
        written = {
            attribute.name: attribute.s.decode()
            if attribute.type == attribute.STRING
            else tuple(attribute.ints) or attribute.i
            for attribute in node.attribute
        }
        assert dict(express(case, DIALECTS[ONNX_22]).attributes) == written
        for mine, theirs in zip(make_operands(case.x, case.w, case.b).values(), inputs, strict=True):
            assert np.array_equal(mine, theirs)
        (literal,) = case.expected
        assert {ONNX_11, ONNX_22} <= set(literal.dialects)
        assert (literal.spatial, list(literal.values)) == (y.shape[2:], y.ravel().tolist())


def test_every_operator_of_every_text_is_cited(gate: Gate) -> None:
    cited = {cite.dialect for case in gate.cases for cite in case.cites}
    assert set(DIALECTS) - {"geometry/1"} == cited
    assert all(case.cites for case in gate.cases)


def test_neutral_values_change_nothing(gate: Gate, corpus: Corpus) -> None:
    compared: Counter[str] = Counter()
    plain = corpus.case("presentation/defaults[written=nothing,bias=false,shapes=static]")
    for case in gate.cases:
        if case.id.startswith("presentation/neutral-written["):
            assert (case.x, case.w) == (plain.x, plain.w)
            for dialect in DIALECTS.values():
                expected, ordinary = expect(case, dialect), expect(plain, dialect)
                if isinstance(expected, Values) and isinstance(ordinary, Values):
                    assert expected.primary.geometry == ordinary.primary.geometry
                    assert write_signature(case, dialect).groups == 1
                    compared[dialect.name] += 1
    assert min(compared[name] for name in DIALECTS) > 10
