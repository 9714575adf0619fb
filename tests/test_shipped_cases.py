"""The shipped corpus: what its topics ask, of whom, and that its answers tell right from wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from strategies import BACKPROP, ONEDNN, ONNX, WIDE, onnx_examples
from tconv.backends.outcome import Produced
from tconv.cases.call import express, write_signature
from tconv.cases.context import OPERATIONS
from tconv.cases.operands import NUMPY_TYPES, make_operands
from tconv.cases.patterns import topic_of
from tconv.dialects import DIALECTS, SPOKEN, Absent, Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import reach
from tconv.dialects.readings import Combination
from tconv.expectation.expected import NotApplicable, Refuse, Values, expect
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition, tap_alone
from tconv.expectation.truth import Truth
from tconv.verdict.judge import judge
from tconv.verdict.kinds import Differed
from tconv.vocabulary import NEUTRAL, AutoPad, DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        """Return the cases of a topic."""
        return [case for case in self.cases if topic_of(case.id) == name]

    def values(self, dialect: str) -> list[tuple[Case, Values]]:
        """Return the cases to which a dialect expects a value."""
        return [(case, expected) for case, expected in self.expressed[dialect] if isinstance(expected, Values)]


@pytest.fixture(scope="module")
def gate(gate_cases: tuple[Case, ...]) -> Gate:
    """Return the gate tier."""
    found = Gate(gate_cases)
    for name, dialect in DIALECTS.items():
        pairs = ((case, expect(case, dialect)) for case in found.cases)
        found.expressed[name] = [
            (case, expected) for case, expected in pairs if not isinstance(expected, NotApplicable)
        ]
    return found


# Topics.


def _axes(case: Case) -> list[tuple[int, int, int, int]]:
    """Return size, kernel, stride and dilation of each axis."""
    spatial = case.x.shape[2:]
    ones = (1,) * len(spatial)
    strides, dilations = case.attributes.strides or ones, case.attributes.dilations or ones
    return list(zip(spatial, case.w.shape[2:], strides, dilations, strict=True))


def _shares(case: Case) -> tuple[int, int, int]:
    """Return groups, C/G and O/G."""
    groups = case.attributes.groups or 1
    return groups, case.x.shape[1] // groups, case.w.shape[1]


def _total(case: Case) -> list[int]:
    """Return what is to be distributed under SAME_* on each axis, output_padding aside."""
    same = case.attributes.auto_pad in {"same_upper", "same_lower"}
    return [(k - 1) * d + 1 - s for _, k, s, d in _axes(case)] if same else []


def _added(case: Case) -> list[tuple[int, int, int]]:
    """Return output_padding, stride and dilation of each axis, nothing where no output_padding is written."""
    written = case.attributes.output_padding or ()
    return [(op, s, d) for op, (_, _, s, d) in zip(written, _axes(case), strict=False) if op]


def _cropped(case: Case) -> list[int]:
    """Return what output_shape leaves of what is reached, as a difference, on each axis."""
    asked = case.attributes.output_shape or ()
    return [reach(*axis) - size for axis, size in zip(_axes(case), asked, strict=False)]


def _modes(mode: str, *, sized: bool) -> Callable[[Case], bool]:
    return lambda c: c.attributes.auto_pad == mode and (c.attributes.output_shape is not None) == sized


def _has_level(axis: str, level: str) -> Callable[[Case], bool]:
    return lambda c: c.context.levels.get(axis) == level


def _formats(data: str, filters: str) -> Callable[[Case], bool]:
    return lambda c: (c.attributes.data_format, c.attributes.filter_format) == (data, filters)


def _long(dtype: str) -> Callable[[Case], bool]:
    return lambda c: c.x.dtype == dtype and max(reach(*axis) for axis in _axes(c)) > 2048


def _filled(role: str, data: str, dtype: str | None = None) -> Callable[[Case], bool]:
    def asks(case: Case) -> bool:
        operand = getattr(case, role)
        return operand is not None and operand.data == data and dtype in {None, operand.dtype}

    return asks


def _of_kind(kind: str) -> Callable[[Case], bool]:
    """Return whether the groups are of a kind."""
    return lambda case: case.kind_of_group == kind


def _counts(at: int, count: int) -> Callable[[Case], bool]:
    return lambda c: (c.x.shape[1], c.w.shape[1] * _shares(c)[0])[at] == count


def _presented(shapes: str, source: str) -> Callable[[Case], bool]:
    return lambda c: (c.shapes, c.filter_source) == (shapes, source)


_APART = ("initializer", "input")


def _unlike(values: tuple[int, ...] | None) -> bool:
    return len(set(values or ())) > 1


def _remainder(label: str) -> Callable[[Case], bool]:
    """Return whether a case with this label has channels in a group that fill no vector of 4."""
    return lambda case: label in case.id and _shares(case)[1] > 4 and _shares(case)[1] % 4 > 0


GRAPHS = {"contexts", "quantised"}
QUANTISED = {"int8", "int8-zero-point", "uint8", "int8-input", "int8-per-channel", "int32"}
ASKS: dict[str, dict[str, Callable[[Case], Any]]] = {
    "contexts": {
        **{f"{axis} {level}": _has_level(axis, level) for axis, level in OPERATIONS},
        "no context, as a plain twin": lambda c: not c.context,
    },
    "quantised": {
        **{f"{axis} {level}": _has_level(axis, level) for axis, level in OPERATIONS if level in QUANTISED},
        **{f"scales {level}": _has_level("scales", level) for level in ("powers-of-two", "uneven")},
        "groups with a scale for each output": lambda c: c.facts["grouped"] and c.context.filter == "int8-per-channel",
        "declared scales": lambda c: c.quantisation,
        "no context, as a plain twin": lambda c: not c.context,
    },
    "padding": {
        **{f"{mode} alone": _modes(mode, sized=False) for mode in AutoPad},
        **{f"{mode} with output_shape": _modes(mode, sized=True) for mode in AutoPad},
        "an odd total": lambda c: any(t > 0 and t % 2 for t in _total(c)),
        "an even total": lambda c: any(t > 0 and not t % 2 for t in _total(c)),
        "a negative total": lambda c: any(t < 0 for t in _total(c)),
        "other pads on either side": lambda c: (c.attributes.pads_begin or (0,)) != (c.attributes.pads_end or (0,)),
        "other pads on each axis": lambda c: len(set(c.attributes.pads_begin or ())) > 1,
        "pads beside a mode": lambda c: c.attributes.pads_begin and c.attributes.auto_pad == "same_upper",
        "more than full": lambda c: any(crop < 0 for crop in _cropped(c)),
        "an odd unit cropped": lambda c: any(crop > 0 and crop % 2 for crop in _cropped(c)),
        "less than the input": lambda c: c.facts["output_shape_below_spatial"] == "true",
        "another size on each axis": lambda c: len(set(_cropped(c))) > 1,
    },
    "strides-dilations": {
        "a stride beyond the kernel": lambda c: any(s > (k - 1) * d + 1 for _, k, s, d in _axes(c)),
        "a dilation beyond the stride": lambda c: any(d > s for _, _, s, d in _axes(c)),
        "both above one": lambda c: any(s > 1 and d > 1 and k > 1 for _, k, s, d in _axes(c)),
        "taps that meet only on every other point": lambda c: any(s == d > 1 for _, _, s, d in _axes(c)),
        "other strides on each axis": lambda c: len({s for _, _, s, _ in _axes(c)}) > 1,
        "other dilations on each axis": lambda c: len({d for _, _, _, d in _axes(c)}) > 1,
    },
    "output-padding": {
        "below the stride": lambda c: any(op < s for op, s, _ in _added(c)),
        "between stride and dilation": lambda c: any(s <= op < d for op, s, d in _added(c)),
        "between dilation and stride": lambda c: any(d <= op < s for op, s, d in _added(c)),
        "beyond both": lambda c: any(op >= max(s, d) for op, s, d in _added(c)),
        "on one axis": lambda c: len(_added(c)) == 1 < len(_axes(c)),
        "beside output_shape": lambda c: _added(c) and c.attributes.output_shape,
        "beside SAME": lambda c: _added(c) and c.attributes.auto_pad == "same_upper",
    },
    "groups": {
        "several channels of both kinds in each": lambda c: min(_shares(c)) > 1,
        "depthwise": lambda c: _shares(c)[0] > 1 and _shares(c)[1:] == (1, 1),
        "a channel multiplier": lambda c: _shares(c)[0] > 1 and _shares(c)[1] == 1 < _shares(c)[2],
        "many to one": lambda c: _shares(c)[0] > 1 and _shares(c)[1] > 1 == _shares(c)[2],
        "three of them": lambda c: _shares(c)[0] == 3,
    },
    "layouts": {
        **{f"{one} and {two}": _formats(one, two) for one in ("NCX", "NXC") for two in ("IOX", "XOI")},
        "the default": lambda c: c.attributes.data_format is None and c.attributes.filter_format is None,
    },
    "ranks": {f"{rank}": lambda c, r=rank: len(c.x.shape) == r + 2 for rank in (1, 2, 3, 4)},
    "kernels": {
        "one tap": lambda c: prod(c.w.shape[2:]) == 1,
        "even": lambda c: all(k % 2 == 0 for k in c.w.shape[2:]),
        "odd": lambda c: all(k % 2 and k > 1 for k in c.w.shape[2:]),
        "unlike from axis to axis": lambda c: len(set(c.w.shape[2:])) > 1,
        "larger than the input": lambda c: any(k > x for x, k, _, _ in _axes(c)),
        "smaller than the stride": lambda c: any(k < s for _, k, s, _ in _axes(c)),
        "written": lambda c: c.attributes.kernel_shape is not None,
    },
    "batch": {f"of {batch}": lambda c, n=batch: c.x.shape[0] == n for batch in (1, 2, 3, 7)},
    "bias": {
        "sixteen channels in groups": lambda c: c.b and c.b.shape[0] >= 16 and _shares(c)[0] > 1,
        "sixteen channels": lambda c: c.b and c.b.shape[0] == 16,
        "a number that is no multiple of eight": lambda c: c.b and c.b.shape[0] > 16 and c.b.shape[0] % 8,
        "points that no tap reaches": lambda c: c.b and any(s > (k - 1) * d + 1 for _, k, s, d in _axes(c)),
    },
    "channels": {
        f"{count} {kind}": _counts(at, count)
        for at, kind in enumerate(("in", "out"))
        for count in (7, 8, 9, 16, 17, 33)
    },
    "interactions": {
        "other dilations on each axis of groups": lambda c: (
            c.facts["grouped"] == "true" and _unlike(c.attributes.dilations)
        ),
        "the same in 16 bits beside pads": lambda c: (
            c.x.dtype == "bf16" and _unlike(c.attributes.dilations) and _unlike(c.attributes.pads_begin)
        ),
        "the same in the layout NXC": lambda c: c.attributes.data_format == "NXC" and _unlike(c.attributes.dilations),
        **{
            f"a remainder of channels in {shape}": _remainder(f"shape={shape}")
            for shape in ("line", "line-point", "volume")
        },
        **{
            f"a remainder of channels, {word}": _remainder(f"spacing={word}")
            for word in ("strided", "dilated", "added")
        },
    },
    "sizes": {
        "rows whose sums are exact and sparse": lambda c: c.x.data == "sparse",
        "real numbers": lambda c: c.x.data in {"normal", "all-bits"},
        **{f"{count} outputs of a group": lambda c, count=count: c.w.shape[1] == count for count in (63, 64, 65)},
    },
    "long": {f"{dtype} beyond 2048": _long(dtype) for dtype in ("f32", "f16")},
    "empty": {
        "no batch": lambda c: c.x.shape[0] == 0,
        "no channel": lambda c: c.x.shape[1] == 0,
        "no size": lambda c: 0 in c.x.shape[2:],
        "no output asked for": lambda c: 0 in (c.attributes.output_shape or ()),
        "everything cropped": lambda c: any(
            reach(*axis) == pad for axis, pad in zip(_axes(c), c.attributes.pads_begin or (), strict=False)
        ),
    },
    "dtypes": {dtype: lambda c, t=dtype: c.x.dtype == t for dtype in DType},
    "special-values": {
        **{
            f"{data} in {role}": _filled(role, data)
            for role in "xwb"
            for data in ("nan", "infinity", "negative-zero", "subnormal")
        },
        **{
            f"{data} in {role} beside zeros, {kind} {dtype}": lambda c, r=role, o=other, d=data, k=kind, t=dtype: (
                _filled(r, d, t)(c) and _filled(o, "zeros")(c) and _of_kind(k)(c)
            )
            for role, other in ("xw", "wx")
            for data in ("nan", "infinity")
            for kind in ("dense", "grouped", "depthwise", "multiplier")
            for dtype in DType
        },
    },
    "real-data": {
        **{f"{data} {dtype}": _filled("x", data, dtype) for data in ("normal", "wide", "wide-full") for dtype in DType},
        **{
            f"normal {dtype}, {kind}, of {rank} axes": lambda c, t=dtype, k=kind, n=rank: (
                _filled("x", "normal", t)(c) and _of_kind(k)(c) and len(c.x.shape) == n + 2
            )
            for dtype in DType
            for kind in ("dense", "grouped", "depthwise", "multiplier")
            for rank in (1, 2, 3)
        },
        "18,432 products": lambda c: prod(c.w.shape[:1] + c.w.shape[2:]) == 18432,
    },
    "presentation": {
        **{f"{one}, {two}": _presented(one, two) for one in ("static", "symbolic") for two in ("initializer", "input")},
        "attributes left away": lambda c: c.omit,
        "no rank": lambda c: c.shapes == "unranked",
        "data as a constant": lambda c: c.data_source == "initializer",
        "bias fed beside a constant filter": lambda c: c.b and (c.filter_source, c.bias_source) == _APART,
        "no bias, by its name": lambda c: c.b is None and c.sources.get("b") == "unnamed",
        "everything at its default": lambda c: (
            c.attributes.given().keys() >= {*NEUTRAL, "auto_pad", "kernel_shape"}
            and c.attributes.auto_pad == "explicit"
        ),
        "output_shape fed": lambda c: c.sources.get("output_shape") == "input",
        "output_shape beside symbols": lambda c: c.attributes.output_shape and c.shapes == "symbolic",
        "output_padding beside symbols": lambda c: c.attributes.output_padding and c.shapes == "symbolic",
    },
    "porting": {
        **{f"{mode} asked": lambda c, m=mode: c.attributes.auto_pad == m for mode in ("same_upper", "same_lower")},
        "rewritten with explicit pads alone": lambda c: c.attributes.pads_begin and c.attributes.auto_pad is None,
    },
    "invalid": {"broken on purpose": lambda c: c.breaks},
    "examples": {"values by hand": lambda c: c.expected},
    "found": {
        "valid": lambda c: not c.breaks,
        "broken on purpose": lambda c: c.breaks,
        "nothing in it": lambda c: c.facts["empty"] != "none",
    },
}
"""Every topic that the corpus must have, and what in it must be asked at least once."""


@pytest.mark.parametrize("topic", ASKS)
def test_a_topic_asks_what_it_is_for(gate: Gate, topic: str) -> None:
    """The topic is there, and its gate cases have each of what it is for."""
    cases = gate.topic(topic)
    assert cases
    assert [what for what, asks in ASKS[topic].items() if not any(asks(case) for case in cases)] == []


def test_there_is_no_other_topic(gate: Gate) -> None:
    """A topic without a line in the list above would go unwatched."""
    assert {topic_of(case.id) for case in gate.cases} == set(ASKS)


def test_every_dialect_is_asked_about_every_topic(gate: Gate) -> None:
    """Every dialect can say gate cases of every topic but the bias, which three texts do not have."""
    for name in WIDE:
        said = {topic_of(case.id) for case, _ in gate.expressed[name]}
        assert said - GRAPHS == set(ASKS) - GRAPHS - ({"bias"} if name in BACKPROP else set())
        assert len(gate.expressed[name]) > 2500


def test_cases_without_a_fault_owe_values(gate: Gate) -> None:
    """A case that breaks nothing expects a value wherever it can be said."""
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
    """Each case of real numbers has a twin that differs in its data alone."""
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
    """For each disputed reading of each dialect there is a gate case whose output, or refusal, is another one by it."""
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
    """Return whether two outputs are told apart by their shapes, or by their values."""
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
    """Return the constraints that a dialect sees broken."""
    if isinstance(expected, Refuse):
        return {expected.violation.constraint}
    return set(expected.open_constraints) if isinstance(expected, Values) else set()


def test_every_constraint_is_broken_on_purpose(gate: Gate) -> None:
    """Each constraint whose breach is invalid in a dialect that can say it has a case in invalid/."""
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
    """What a dialect minds and can say broken is broken in a case that it can say."""
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
    """ONNX and oneDNN expect a refusal to most faults, and each fault makes a difference in one dialect at least."""
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
    """Each example of the operator's page is a case with its attributes, its operands and its output."""
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


def test_the_example_of_openvino(gate: Gate) -> None:
    """The page's layer: 1x20x224x224 with filters 20x10x3x3, strides 2, pads 1 on all sides gives 1x10x447x447."""
    (case,) = (candidate for candidate in gate.topic("examples") if candidate.id.endswith("/upsampling-node"))
    dialect = DIALECTS["openvino/ConvolutionBackpropData-1"]
    expected = expect(case, dialect)
    assert isinstance(expected, Values)
    assert (case.x.shape, case.w.shape) == ((1, 20, 224, 224), (20, 10, 3, 3))
    assert expected.primary.geometry.output == (447, 447)
    assert dict(express(case, dialect).attributes) == {
        "strides": (2, 2), "dilations": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1),
    }  # fmt: skip


def test_every_operator_of_every_text_is_cited(gate: Gate) -> None:
    """Citations are of dialects that there are, and every text but our own geometry is cited somewhere."""
    cited = {cite.dialect for case in gate.cases for cite in case.cites}
    assert set(DIALECTS) - {"geometry/1"} == cited
    assert all(case.cites for case in gate.cases)


def test_neutral_values_change_nothing(gate: Gate, corpus: Corpus) -> None:
    """What is written at its neutral value expects what is expected without it."""
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
