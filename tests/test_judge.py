"""The judge: every verdict, from outcomes made by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_records import run_of
from reporting import red_lines
from strategies import ONNX, case, examples, geometries
from tconv.backends import outcome as out
from tconv.cases.case import Case, Data, Operand
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES, make_operands
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.execution.evaluation import Evaluator
from tconv.expectation.bound import bound_errors
from tconv.expectation.expected import Values, expect
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition
from tconv.expectation.truth import Truth
from tconv.expectation.underflow import subnormal_products
from tconv.gate.assessment import assess
from tconv.reports.phrases import distance, headline
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.verdict.values import compare, count_steps
from tconv.vocabulary import Attributes, DataFormat, DType
from wrong_backends import ZerosForManyProducts

Array = np.ndarray[Any, np.dtype[Any]]

ONNX_1, ONNX_11, ONNX_22 = ONNX
OPENVINO = "openvino/ConvolutionBackpropData-1"

NAN, INF = float("nan"), float("inf")


def line(
    x: tuple[float, ...],
    w: tuple[float, ...],
    b: float | None = None,
    dtype: DType = DType.F32,
    **attributes: Any,  # noqa: ANN401 - attributes by their names
) -> Case:
    return Case(
        "topic/file/line",
        Attributes(**attributes),
        Operand((1, 1, len(x)), dtype, "values", values=x),
        Operand((1, 1, len(w)), dtype, "values", values=w),
        None if b is None else Operand((1,), dtype, "values", values=(b,)),
    )


def truth_of(asked: Case) -> Truth:
    return Truth(make_operands(asked.x, asked.w, asked.b), asked.x.dtype)


def judged(
    asked: Case,
    outcome: out.Outcome | list[Any],
    dialect: str = ONNX_22,
    accumulator: DType = DType.F32,
) -> ver.Verdict:
    """Return the verdict on an outcome; a list is produced on one channel of one sample, in the case's type."""
    if isinstance(outcome, list):
        outcome = out.Produced(np.array([[outcome]], dtype=NUMPY_TYPES[asked.x.dtype]))
    return judge(Problem(asked, DIALECTS[dialect]), outcome, accumulator)


PLAIN = line((1, 2, 3), (1, 10, 100), strides=(2,))
"""Gives 1, 10, 102, 20, 203, 30, 300."""
PLAIN_VALUES = [1, 10, 102, 20, 203, 30, 300]


def summed(terms: tuple[float, ...], dtype: DType = DType.F32, b: float | None = None) -> Case:
    return Case(
        "topic/file/sum",
        Attributes(),
        Operand((1, len(terms), 1), dtype, "values", values=terms),
        Operand((len(terms), 1, 1), dtype, "values", values=(1.0,) * len(terms)),
        None if b is None else Operand((1,), dtype, "values", values=(b,)),
    )


def products(*factors: tuple[float, float], dtype: DType = DType.F32) -> Case:
    x, w = zip(*factors, strict=True)
    asked = summed(x, dtype)
    return replace(asked, w=replace(asked.w, values=w))


def zeros(*shape: int) -> out.Produced:
    return out.Produced(np.zeros(shape, np.float32))


TWICE = np.repeat(np.array([[PLAIN_VALUES]], np.float32), 2, axis=2)
EXACT, BOUND, REFUSAL = (ver.Agreed(rule) for rule in ("exact", "bound", "refusal"))
PARTIAL, FLUSHED, INSERTED = (
    ver.Agreed("bound", (note,))
    for note in ("overflow-of-a-partial-sum", "flushed-subnormals", "nan-from-inserted-zeros")
)
REAL = line((0.1, 0.2, 0.3), (0.7, -0.9))
SPECIAL = line((1, NAN, 2, INF), (1, 5), strides=(2,))
SPECIAL_VALUES = [1, 5, NAN, NAN, 2, 10, INF, INF]
LARGE, LARGEST = 1.5 * 2.0**127, 1.5 * 2.0**1023
LAST = line((1, 2, 3), (1, 10, 100), strides=(2,), data_format="NXC")
NOTHING = line((1, 2, 3), (1, 10, 100), strides=(2,), pads_begin=(4,), pads_end=(3,))
NO_PLANE = case((3, 3), (3, 3), pads_begin=(0, 3), pads_end=(0, 2), data="normal")
SAME = line((1, 2, 3), (1, 10, 100), strides=(2,), auto_pad="same_lower")
SIZED = line((1, 2, 3), (1, 10, 100), strides=(2,), auto_pad="same_upper", output_shape=(6,))
GROWN = line((1, 2, 3), (1,), strides=(4,), auto_pad="same_upper")
PADDED = line((1, 2, 3), (1,), strides=(4,), auto_pad="same_upper", output_padding=(1,))
SPREAD = [1, 0, 0, 0, 2, 0, 0, 0, 3]
# One element of padding more at the beginning, and none of it, give the same zeros.
TWO_READINGS = line((0, 0), (1, 1), auto_pad="same_upper", strides=(3,))
NO_STRIDE = case((3,), (3,), strides=(0,), breaks="strides-positive")
BEYOND = line((2.0**24, 1), (1, 1))
INFINITE_TAP = line((1, 2), (INF, 5), strides=(3,))
BOTH_SUBNORMAL = line((3 * 2.0**-149, 5 * 2.0**-149), (1,))
ONE_SUBNORMAL = line((3 * 2.0**-149, 1.5), (1,), strides=(2,))
TINY_PRODUCT = line((2.0**-100, 1.5), (2.0**-45,))
BROUGHT_BACK = summed((32768.0, 32768.0), DType.F16, -5536.0)
LOST_PRODUCTS = ((2.0**-62, 2.0**-62), (2.0**-64, 2.0**-63), (2.0**-64, 2.0**-63))
NORMAL_PRODUCTS = products((2.0**-62, 2.0**-62), (2.0**-63, 2.0**-63))
HALF_LOST = products((1e-23, 1e-22), (1e-19, 3e-19))
BY_ELEMENT = line((2.0**-60, 2.0**-100), (2.0**-60, 2.0**-60), strides=(3,))
UNDERFLOWING = products((2.0**-76, 1.5 * 2.0**-76), (2.0**-76, 2.0**-77))

JUDGED: dict[str, tuple[Any, ...]] = {
    "right values": (PLAIN, PLAIN_VALUES, EXACT),
    "right values, not contiguous": (PLAIN, out.Produced(TWICE[..., ::2]), EXACT),
    "zeros of both signs are equal": (line((1, -1), (1, 1)), [1, -0.0, -1], EXACT),
    "the first wrong element, how many, and of how many": (
        PLAIN, [1, 10, 103, 20, 203, 30, 0], ver.Differed("exact", 2, 7, (0, 0, 2), 102.0, 103.0, None)
    ),
    "no element": (NOTHING, [], EXACT),
    "no element of real numbers": (NO_PLANE, zeros(1, NO_PLANE.w.shape[1], 5, 0), BOUND),
    "a wrong shape": (PLAIN, [1, 10, 102], ver.WrongShape((1, 1, 7), (1, 1, 3))),
    "a wrong shape in the layout of the call": (LAST, zeros(1, 1, 7), ver.WrongShape((1, 7, 1), (1, 1, 7))),
    "a wrong rank": (PLAIN, zeros(7), ver.WrongShape((1, 1, 7), (7,))),
    "a wrong shape and type": (PLAIN, out.Produced(np.zeros((1, 1, 3))), ver.WrongShape((1, 1, 7), (1, 1, 3))),
    "only a shape": (PLAIN, out.ShapeOnly((1, 1, 7), "f32"), ver.Agreed("shape")),
    "only a wrong shape": (PLAIN, out.ShapeOnly((1, 1, 6), "f32"), ver.WrongShape((1, 1, 7), (1, 1, 6))),
    "only a shape with a wrong type": (PLAIN, out.ShapeOnly((1, 1, 7), "f16"), ver.WrongDtype("f32", "f16")),
    # Readings.
    "the primary shape": (SAME, PLAIN_VALUES, EXACT, OPENVINO),
    "a disputed shape": (SAME, PLAIN_VALUES[1:], ver.Disputed(("same-as-convolution",), "exact"), OPENVINO),
    "only a disputed shape": (
        SAME, out.ShapeOnly((1, 1, 6), "f32"), ver.Disputed(("same-as-convolution",), "shape"), OPENVINO
    ),
    "a wrong value in a disputed shape": (
        SAME, [0, *PLAIN_VALUES[2:]], ver.Differed("exact", 1, 6, (0, 0, 0), 10.0, 0.0), OPENVINO
    ),
    "the primary place": (SIZED, PLAIN_VALUES[1:], EXACT, OPENVINO),
    "a disputed place": (SIZED, PLAIN_VALUES[:-1], ver.Disputed(("sized-upper-odd-end",), "exact"), OPENVINO),
    "only a shape that two readings have": (SIZED, out.ShapeOnly((1, 1, 6), "f32"), ver.Agreed("shape"), OPENVINO),
    "neither place": (SIZED, [0, *PLAIN_VALUES[2:]], ver.Differed("exact", 1, 6, (0, 0, 0), 10.0, 0.0), OPENVINO),
    "the primary of a product": (PADDED, [0, *SPREAD, 0, 0], EXACT, ONNX_11),
    "one reading": (PADDED, [*SPREAD, 0, 0, 0], ver.Disputed(("negative-same-appended",), "exact"), ONNX_11),
    "another reading": (PADDED, [*SPREAD, 0], ver.Disputed(("negative-same-shrunk",), "exact"), ONNX_11),
    "two readings at once": (
        PADDED, [*SPREAD, 0, 0, 0, 0],
        ver.Disputed(("same-output-padding-added", "negative-same-appended"), "exact"), ONNX_11,
    ),
    "the first of two readings with the same values": (TWO_READINGS, [0] * 6, EXACT),
    # Refusals.
    "a refusal if there is no value": (NO_STRIDE, out.Refused("stride 0"), REFUSAL),
    "a value if there is none": (
        NO_STRIDE, out.Produced(np.zeros(3)), ver.AcceptedInvalid("strides-positive", stated=False)
    ),
    "a valid call is refused": (PLAIN, out.Refused("no such mode"), ver.RefusedValid("no such mode")),
    "an open constraint": (
        line((1, 2), (1, 2), output_padding=(-1,)), out.Refused("no"),
        ver.Disputed(("output-padding-non-negative-refused",), "refusal", message="no"),
    ),
    "a refusing reading": (
        GROWN, out.Refused("no"), ver.Disputed(("negative-same-refused",), "refusal", message="no"), ONNX_11
    ),
    "two refusing readings": (
        line((1, 2, 3), (1,), strides=(4,), auto_pad="same_upper", output_padding=(-1,)), out.Refused("no"),
        ver.Disputed(("output-padding-non-negative-refused", "negative-same-refused"), "refusal", message="no"),
        ONNX_11,
    ),
    "no refusing reading": (
        line((1, 2), (1, 2), dilations=(3,), output_padding=(2,)), out.Refused("no"), ver.RefusedValid("no"), ONNX_11
    ),
    # Integers whose terms may round: 2^24 + 1 is no f32, and either neighbour will do.
    "integers that do not round": (line((2.0**23,), (1, 1)), [2.0**23, 2.0**23], EXACT),
    "integers that are rounded down": (BEYOND, [2.0**24, 2.0**24, 1], BOUND),
    "integers that are rounded up": (BEYOND, [2.0**24, 2.0**24 + 2, 1], BOUND),
    "integers that a bias brings beyond the mantissa": (line((2.0**24,), (1,), 1.0), [2.0**24], BOUND),
    "integers beyond the bound": (BEYOND, [2.0**24, 2.0**24 + 6, 1], ver.Differed),
    # NaN and infinity. At 3 the infinite tap meets a datum, and the other tap is finite.
    "special values": (SPECIAL, SPECIAL_VALUES, BOUND),
    "zeros are inserted between data, not between taps": (SPECIAL, [NAN, *SPECIAL_VALUES[1:]], ver.Differed),
    "an infinite tap": (INFINITE_TAP, [INF, 5, 0, INF, 10], BOUND),
    "an infinite tap times inserted zeros": (INFINITE_TAP, [INF, NAN, NAN, INF, NAN], INSERTED),
    "an infinite tap times a datum": (
        INFINITE_TAP, [INF, NAN, 0, NAN, 10], ver.Differed("bound", 1, 5, (0, 0, 3), INF, NAN, None)
    ),
    "a wrong number beside infinities": (INFINITE_TAP, [INF, 6, 0, INF, 10], ver.Differed),
    "a wrong infinity": (INFINITE_TAP, [INF, INF, 0, INF, 10], ver.Differed),
    # Subnormals: they may be flushed, but all or none.
    "a product of normal numbers that is subnormal": (TINY_PRODUCT, [2.0**-145, 1.5 * 2.0**-45], BOUND),
    "it may not be flushed": (TINY_PRODUCT, [0, 1.5 * 2.0**-45], ver.Differed),
    "all subnormals are flushed": (BOTH_SUBNORMAL, [0, 0], FLUSHED),
    "none is": (BOTH_SUBNORMAL, [3 * 2.0**-149, 5 * 2.0**-149], BOUND),
    "one of two is": (BOTH_SUBNORMAL, [3 * 2.0**-149, 0], ver.Differed),
    "the only one is": (ONE_SUBNORMAL, [0, 0, 1.5], FLUSHED),
    "it is kept beside a zero that is expected": (ONE_SUBNORMAL, [3 * 2.0**-149, 0, 1.5], BOUND),
    "a normal number is flushed too": (
        ONE_SUBNORMAL, [0, 0, 0], ver.Differed("bound", 1, 3, (0, 0, 2), 1.5, 0.0, 16777214.937500007)
    ),
    "it becomes another number": (ONE_SUBNORMAL, [9 * 2.0**-149, 0, 1.5], ver.Differed),
    **{
        f"flushed products, {dtype}, {name}": (products(*LOST_PRODUCTS, dtype=dtype), [value], verdict)
        for dtype in (DType.F32, DType.BF16)
        for name, value, verdict in (
            ("none", 2.0**-124 + 2.0**-126, BOUND), ("all", 2.0**-124, FLUSHED), ("more", 2.0**-125, ver.Differed)
        )
    },
    "normal products": (NORMAL_PRODUCTS, [2.0**-124 + 2.0**-126], BOUND),
    "a normal product is flushed": (NORMAL_PRODUCTS, [2.0**-124], ver.Differed),
    "a normal and a subnormal product": (HALF_LOST, [3e-38], BOUND),
    "more than the subnormal product is lost": (HALF_LOST, [2e-38], ver.Differed),
    "the subnormal product is another element's": (
        BY_ELEMENT, [2.0**-120 - 2.0**-126, 2.0**-120, 0.0, 2.0**-160, 2.0**-160], ver.Differed
    ),
    "a zero of products that underflow": (UNDERFLOWING, [0.0], BOUND),
    "a number of products that underflow": (UNDERFLOWING, [2.0**-140], ver.Differed),
    "an infinity beside a product that underflows": (
        products((INF, 5e-324), (LARGEST, -1.0), (LARGEST, -1.0), dtype=DType.F64), [INF], BOUND
    ),
    # Overflow.
    "infinity by overflow of f16": (line((300.0,), (300.5,), dtype=DType.F16), [INF], BOUND),
    "the largest number instead": (line((300.0,), (300.5,), dtype=DType.F16), [65504.0], ver.Differed),
    "infinity by overflow of an f16 sum": (summed((65000.0, 528.3), DType.F16), [INF], BOUND),
    "the largest number instead, half a unit off": (summed((65000.0, 528.3), DType.F16), [65504.0], ver.Differed),
    "a sum that the bias brings back": (BROUGHT_BACK, [60000.0], BOUND),
    "infinity before the bias": (BROUGHT_BACK, [INF], PARTIAL),
    "infinity of the other sign": (BROUGHT_BACK, [-INF], ver.Differed),
    "no bias before which a sum is rounded": (summed((32768.0, 32768.0, -5536.0), DType.F16), [INF], ver.Differed),
    # Infinity of the sign of which the terms alone overflow; NaN if both do, as infinities may meet.
    **{
        f"a partial sum of {terms} is {value}": (summed(terms), [value], verdict)
        for terms, allowed, wrong in (
            ((LARGE, LARGE, -LARGE), (INF,), (-INF, NAN, 0.0)),
            ((-LARGE, -LARGE, LARGE), (-INF,), (INF, NAN, 0.0)),
            ((LARGE, LARGE, -LARGE, -LARGE), (INF, -INF, NAN), (1e35,)),
            ((LARGE, -LARGE), (), (INF, -INF, NAN)),
            ((LARGE, 2.0**125), (), (INF, -INF, NAN)),
        )
        for values, verdict in (((sum(terms),), BOUND), (allowed, PARTIAL), (wrong, ver.Differed))
        for value in values
    },
    "a large number of f64": (summed((LARGEST,), DType.F64), [LARGEST], BOUND),
    **{
        f"{value} for a large number of f64": (summed((LARGEST,), DType.F64), [value], ver.Differed)
        for value in (INF, -INF, NAN, 0.0)
    },
}  # fmt: skip
"""An outcome of a case, and its verdict or the kind of it; then the dialect."""


@pytest.mark.parametrize("row", JUDGED.values(), ids=JUDGED)
def test_verdicts(row: tuple[Any, ...]) -> None:
    asked, outcome, expected, *dialect = row
    found = judged(asked, outcome, *dialect)
    if isinstance(expected, type):
        assert isinstance(found, expected)
    else:
        # As texts too, since NaN is not equal to itself.
        assert found == expected or repr(found) == repr(expected)


# Values, exactly.


@pytest.mark.parametrize("dtype", DType)
def test_every_type_is_compared_in_its_own(dtype: DType) -> None:
    dialect = "geometry/1"
    asked = line((1, 2), (3, 5), dtype=dtype)
    assert judged(asked, [3, 11, 10], dialect) == ver.Agreed("exact")
    eps = float(ml_dtypes.finfo(NUMPY_TYPES[dtype]).eps)
    assert judged(asked, [3, 11 + 8 * eps, 10], dialect) == ver.Differed(
        "exact", 1, 3, (0, 0, 1), 11.0, 11.0 + 8 * eps, steps=1
    )


def test_the_index_is_in_ncx_order_whatever_the_layout() -> None:
    asked = case((3, 2), (2, 2), batch=2, channels=2, filters=3, strides=(2, 1), data_format="NXC")
    expected = expect(asked, DIALECTS[ONNX_22])
    assert isinstance(expected, Values)
    y = truth_of(asked).compute_values(expected.primary.geometry).astype(np.float32)
    produced = from_ncx(y, DataFormat.NXC).copy()
    assert judged(asked, out.Produced(produced)) == ver.Agreed("exact")
    produced[1, 4, 2, 0] += 1
    found = judged(asked, out.Produced(produced))
    assert isinstance(found, ver.Differed)
    assert (found.first, found.wrong, found.of) == ((1, 0, 4, 2), 1, y.size)
    assert found.actual == found.expected + 1


# Shapes and types.


@pytest.mark.parametrize(
    ("dtype", "word"), [("float64", "f64"), ("float16", "f16"), ("int32", "int32"), ("bfloat16", "bf16")]
)
def test_wrong_dtype(dtype: str, word: str) -> None:
    """Right values in another type are told by the type, in our words if there is one; and that they are right."""
    produced = np.array([[PLAIN_VALUES]]).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    assert judged(PLAIN, out.Produced(produced)) == ver.WrongDtype("f32", word, values_agree=True)
    assert judged(PLAIN, out.Produced(produced + 1)) == ver.WrongDtype("f32", word, values_agree=False)
    assert judged(PLAIN, out.Produced(produced.astype(object))) == ver.WrongDtype("f32", "object")


# Readings.


def test_notes_of_a_disputed_reading_are_its_own() -> None:
    asked = line((2.0**-149, 2, 3), (0.5, 1.5, 1), strides=(2,), auto_pad="same_lower")
    expected = expect(asked, DIALECTS[OPENVINO])
    assert isinstance(expected, Values)
    values = truth_of(asked).compute_values(expected.disputed[0].geometry)[0, 0]
    flushed = [0 if abs(value) < 2.0**-126 else value for value in values]
    assert judged(asked, flushed, OPENVINO) == ver.Disputed(("same-as-convolution",), "bound", ("flushed-subnormals",))


# Refusals.


@pytest.mark.parametrize(
    "outcome", [out.Refused("no"), out.Produced(np.zeros((1, 1, 3), np.float32)), out.ShapeOnly((1,), "f32")]
)
def test_what_cannot_be_said_is_not_judged(outcome: out.Outcome) -> None:
    found = judged(line((1, 2), (1, 2), dtype=DType.F64), outcome, "onednn/ConvTranspose-1")
    assert isinstance(found, ver.NotApplicable)
    assert found.reason.startswith("data must be one of f32, f16, bf16 (got f64) [type-known: ")


# Values, within the bound.


def test_worst_is_in_units_of_what_is_allowed() -> None:
    geometry = Geometry((3,), (2,), (1,), (1,), (0,), (4,), 1)
    y = truth_of(REAL).compute_values(geometry)
    allowed = bound_errors(truth_of(REAL).compute_terms(geometry), DType.F32).allowed
    wrong = (y + np.array([0, 10, 0, 1000]) * allowed).astype(np.float32)
    found = judged(REAL, list(wrong[0, 0]))
    assert isinstance(found, ver.Differed)
    assert (found.rule, found.wrong, found.of, found.first) == ("bound", 2, 4, (0, 0, 1))
    assert found.worst == pytest.approx(1000, rel=0.01)
    assert found.expected == y[0, 0, 1]
    assert found.actual == float(wrong[0, 0, 1])


def test_channels_of_other_groups_are_no_terms() -> None:
    geometry = Geometry((2,), (3,), (1,), (1,), (0,), (4,), 3)
    terms = truth_of(case((2,), (3,), channels=6, filters=2)).compute_terms(geometry)
    assert terms.count.tolist() == [2, 4, 4, 2]


def test_reduced_precision_is_told_beside_a_nan_that_is_owed() -> None:
    """What no bound is due for says nothing of the other elements, and hides nothing of them."""
    asked = case((3,), (1,), channels=4000, filters=1, data="normal")
    operands = {role: array.copy() for role, array in make_operands(asked.x, asked.w, asked.b).items()}
    operands["x"][0, 0, 0] = NAN
    truth, geometry = Truth(operands, DType.F32), Geometry((3,), (1,), (1,), (1,), (0,), (3,), 1)
    y = truth.compute_values(geometry)
    deviation = bound_errors(truth.compute_terms(geometry), DType.F32).deviation
    assert np.isnan(y[0, 0, 0])
    assert compare((y + deviation / 2).astype(np.float32), truth, geometry, DType.F32).notes == ()
    assert compare((y + 9 * deviation).astype(np.float32), truth, geometry, DType.F32).notes == ("reduced-precision",)


# What is not a number.


@pytest.mark.parametrize(
    ("place", "bad"), [(0, NAN), (0, INF), (2, 0.0), (2, INF), (6, NAN), (6, -INF), (6, 0.0), (6, 3.4e38), (5, -INF)]
)
def test_another_value_than_the_special_one_differs(place: int, bad: float) -> None:
    wrong = [bad if at == place else value for at, value in enumerate(SPECIAL_VALUES)]
    found = judged(SPECIAL, wrong)
    assert isinstance(found, ver.Differed)
    assert (found.wrong, found.first) == (1, (0, 0, place))


def zeros_inserted(x: Array, w: Array, geometry: Geometry) -> Array:
    """Return what a runtime computes that multiplies every tap everywhere, with a zero where it meets no datum."""
    sizes = [(n - 1) * s + 1 for n, s in zip(geometry.spatial, geometry.strides, strict=True)]
    spread = np.zeros((*x.shape[:2], *sizes))
    spread[(..., *[slice(None, None, s) for s in geometry.strides])] = x
    inputs, outputs = w.shape[0] // geometry.groups, w.shape[1]
    y = np.zeros((x.shape[0], outputs * geometry.groups, *geometry.output))
    for o in np.ndindex(*geometry.output):
        for k in np.ndindex(*geometry.kernel):
            axes = zip(o, geometry.pads_begin, k, geometry.dilations, strict=True)
            at = tuple(place + begin - tap * d for place, begin, tap, d in axes)
            inside = all(0 <= place < size for place, size in zip(at, spread.shape[2:], strict=True))
            for c, oc in np.ndindex(w.shape[0], outputs):
                data = spread[(slice(None), c, *at)] if inside else 0.0
                y[(slice(None), c // inputs * outputs + oc, *o)] += data * w[(c, oc, *k)]
    return y


@given(geometries(ranks=(1, 2), groups=(1, 2)), st.integers(0, 2**32 - 1), st.integers(1, 2), st.integers(1, 2))
@examples(150)
def test_a_runtime_that_inserts_zeros_is_excused_for_its_zeros_alone(
    geometry: Geometry, seed: int, inputs: int, outputs: int
) -> None:
    """What it makes of an infinite or NaN tap agrees; one NaN more, where no such tap meets a zero, does not."""
    rng = np.random.default_rng(seed)
    x = rng.choice([-2.0, -1.0, 1.0, 2.0], (1, geometry.groups * inputs, *geometry.spatial))
    w = rng.choice([1.0, 2.0, 3.0], (geometry.groups * inputs, outputs, *geometry.kernel))
    for place in rng.integers(0, w.size, 2):
        w.flat[place] = rng.choice([NAN, INF, -INF])
    truth = Truth({"x": x.astype(np.float32), "w": w.astype(np.float32)}, DType.F32)
    with np.errstate(invalid="ignore"):
        naive = zeros_inserted(x, w, geometry)
    found = compare(naive.astype(np.float32), truth, geometry, DType.F32)
    assert not found.wrong.any()
    right = truth.compute_values(geometry)
    spoilt = ~np.isnan(naive)
    assert bool(found.notes) == bool((np.isnan(naive) & ~np.isnan(right)).any())
    everywhere = compare(np.full(naive.shape, NAN, np.float32), truth, geometry, DType.F32)
    assert np.array_equal(everywhere.wrong, spoilt)


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
def test_flushed_subnormals_are_told(dtype: DType) -> None:
    tiny, normal = ml_dtypes.finfo(NUMPY_TYPES[dtype]).smallest_subnormal, ml_dtypes.finfo(NUMPY_TYPES[dtype]).tiny
    asked = line((float(tiny) * 3, 1.5), (1,), dtype=dtype)
    assert judged(asked, [tiny * 3, 1.5]) == ver.Agreed("bound")
    assert judged(asked, [0, 1.5]) == ver.Agreed("bound", ("flushed-subnormals",))
    assert judged(asked, [-0.0, 1.5]) == ver.Agreed("bound", ("flushed-subnormals",))
    normal_one = line((float(normal) * 3, 1.5), (1,), dtype=dtype)
    assert isinstance(judged(normal_one, [0, 1.5]), ver.Differed)


@pytest.mark.parametrize(
    ("y", "infinite"),
    [(70000.0, 1), (65520.0, 1), (65520 - 2.0**-7, 1), (65520 - 2.0**-5, 0), (65519.0, 0), (65504.0, 0), (60000.0, 0)],
)
def test_infinity_beyond_overflow(y: float, infinite: int) -> None:
    """f16 ends at 65504: what is as far as 65520, the sum's own uncertainty included, may become infinite."""
    rest = y - 61440 - 2048
    whole = float(np.trunc(rest))
    asked = products((256.0, 240.0), (1.0, 2048.0), (1.0, whole), (0.5, 2 * (rest - whole)), dtype=DType.F16)
    assert isinstance(judged(asked, [INF]), ver.Agreed) == infinite
    assert isinstance(judged(asked, [-INF]), ver.Differed)
    assert isinstance(judged(asked, [NAN]), ver.Differed)


# The truth.


def test_terms_by_hand() -> None:
    """A is the sum of absolute products and of the bias; n counts the products, and one for the bias."""
    terms = truth_of(line((1, -2, 3), (1, -10, 100), -7, strides=(2,))).compute_terms(
        Geometry((3,), (3,), (2,), (1,), (0,), (8,), 1)
    )
    assert terms.y[0, 0].tolist() == [-6, -17, 91, 13, -204, -37, 293, -7]
    assert terms.magnitude[0, 0].tolist() == [8, 17, 109, 27, 210, 37, 307, 7]
    assert terms.count.tolist() == [2, 2, 3, 2, 3, 2, 2, 1]
    assert terms.bias is not None
    assert terms.bias.tolist() == [[-7]]


@pytest.mark.parametrize("data", ["normal", "special"])
@pytest.mark.parametrize(
    "sizes",
    [
        {"batch": 0},
        {"channels": 0},
        {"filters": 0},
        {"spatial": (0, 3)},
        {"kernel": (2, 0)},
        {"pads_begin": (5, 0)},
    ],
)
def test_sizes_of_zero_are_judged(data: Data, sizes: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"spatial": (3, 2), "kernel": (3, 2), "channels": 2, "filters": 2, "data": data}
    chosen = plain | sizes
    spatial, kernel = chosen.pop("spatial"), chosen.pop("kernel")
    asked = case(spatial, kernel, bias=(chosen["filters"],), **chosen)
    expected = expect(asked, DIALECTS[ONNX_22])
    assert isinstance(expected, Values)
    values = truth_of(asked).compute_values(expected.primary.geometry).astype(np.float32)
    assert isinstance(judged(asked, out.Produced(values)), ver.Agreed)
    if values.size:
        for bad in (np.where(np.isnan(values), 0, values + 1), np.where(np.isnan(values), 0, NAN)):
            assert isinstance(judged(asked, out.Produced(bad.astype(np.float32))), ver.Differed)


# Overflow of partial sums, flushed products, vacuous bounds.


large_numbers = st.floats(-1.9, 1.9).map(lambda value: float(np.float32(value * 2.0**126)))


@given(st.lists(large_numbers | large_numbers | st.sampled_from([INF, -INF]), min_size=2, max_size=9))
@examples(200)
def test_what_any_order_gives_is_allowed(terms: list[float]) -> None:
    """Sums of large float32 numbers and infinities: a number, an infinity or NaN, and no order of them is blamed."""
    ascending = sorted(terms)
    with np.errstate(over="ignore", invalid="ignore"):
        for order in (terms, terms[::-1], ascending, ascending[::-1]):
            total = np.float32(0)
            for term in order:
                total = np.float32(total + np.float32(term))
            assert not isinstance(judged(summed(tuple(terms)), [total]), ver.Differed)
        signs = [np.array([term for term in terms if (term > 0) is positive], np.float32) for positive in (True, False)]
        blocks = np.float32(signs[0].sum() + signs[1].sum())
        assert not isinstance(judged(summed(tuple(terms)), [blocks]), ver.Differed)


@pytest.mark.parametrize(
    ("terms", "b", "total"),
    [
        ((LARGEST, LARGEST, -LARGEST), None, LARGEST),
        ((LARGEST, LARGEST, -LARGEST, -LARGEST), 3.0, 0.0),
        ((LARGEST, LARGEST, -LARGEST), -LARGEST, 0.0),
        ((LARGEST, LARGEST), None, INF),
        ((-LARGEST, -LARGEST, 2.0**970), None, -INF),
    ],
)
def test_a_sum_of_float64_is_known_though_its_parts_overflow(
    terms: tuple[float, ...], b: float | None, total: float
) -> None:
    """The reference adds in float64 too: it must not expect the infinity of its own order instead of a number."""
    asked = summed(terms, DType.F64, b)
    (value,) = truth_of(asked).compute_values(Problem(asked, DIALECTS[ONNX_22]).values.primary.geometry).ravel()
    assert value == total
    assert not isinstance(judged(asked, [total]), ver.Differed)
    if np.isinf(total):
        assert isinstance(judged(asked, [0.0]), ver.Differed)
        assert isinstance(judged(asked, [-total]), ver.Differed)
    else:
        # The sum of the magnitudes is no number, so that nothing bounds the error of any order.
        assert isinstance(judged(asked, [total]), ver.Inconclusive)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1)])
@pytest.mark.parametrize(
    ("terms", "total"),
    [
        ((LARGEST, LARGEST, INF), INF),
        ((-LARGEST, -LARGEST, INF), INF),
        ((LARGEST, LARGEST, -INF), -INF),
        ((LARGEST, -INF, INF), NAN),
        ((LARGEST, LARGEST, NAN), NAN),
    ],
)
def test_an_infinity_among_the_operands_stays_one_beside_parts_that_overflow(
    terms: tuple[float, ...], total: float, order: tuple[int, ...]
) -> None:
    """The order of the reference's own sums decides nothing, though an infinity of theirs may meet the operands'."""
    asked = summed(tuple(terms[place] for place in order), DType.F64)
    assert judged(asked, [total]) == ver.Agreed("bound")
    assert isinstance(judged(asked, [LARGEST]), ver.Differed)


@pytest.mark.parametrize(("dtype", "large"), [(DType.F32, LARGE), (DType.F64, LARGEST), (DType.F16, 60000.0)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_infinity_may_meet_numbers_that_overflow_the_other_way(dtype: DType, large: float, sign: float) -> None:
    accumulator = DType.F16
    met = summed((sign * INF, -sign * large, -sign * large), dtype)
    assert judged(met, [sign * INF], accumulator=accumulator) == ver.Agreed("bound")
    assert judged(met, [NAN], accumulator=accumulator) == PARTIAL
    assert isinstance(judged(met, [-sign * INF], accumulator=accumulator), ver.Differed)
    same = summed((sign * INF, sign * large, sign * large), dtype)
    assert isinstance(judged(same, [NAN], accumulator=accumulator), ver.Differed)
    few = summed((sign * INF, -sign * large), dtype)
    assert isinstance(judged(few, [NAN], accumulator=accumulator), ver.Differed)


@given(geometries(ranks=(1, 2), groups=(1, 2)), st.integers(0, 2**32 - 1), st.sampled_from([1, 2**18]))
@examples(100)
def test_subnormal_products_of_any_geometry(geometry: Geometry, seed: int, at_once: int) -> None:
    random, groups = np.random.default_rng(seed), geometry.groups
    x = random.choice([0.0, 2.0**-60, 2.0**-65, 2.0**-70], (2, 3 * groups, *geometry.spatial))
    w = random.choice([0.0, -(2.0**-60), 2.0**-65, 2.0**-70], (3 * groups, 2, *geometry.kernel))
    lost = np.zeros((2, 2 * groups, *geometry.output))
    for a, b in itertools.product(np.unique(x), np.unique(np.abs(w))):
        if a * b < 2.0**-126:
            lost += a * b * definition((x == a) * 1.0, (np.abs(w) == b) * 1.0, None, geometry)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tconv.expectation.underflow._AT_ONCE", at_once)
        found = subnormal_products(x, w, geometry, 2.0**-126)
    assert np.array_equal(lost if found is None else found, lost)


@pytest.mark.parametrize(
    ("terms", "dtype"),
    [((1.0, -1.0, *([1.0, -1.0] * 600)), DType.F16), ((1e308, -1e308, 1e308, -1e308), DType.F64)],
)
def test_a_zero_that_any_number_would_pass_for_is_inconclusive(terms: tuple[float, ...], dtype: DType) -> None:
    """The terms cancel, and there are so many, or they are so large, that their bound says nothing."""
    asked = summed(tuple(term * 1.001 for term in terms), dtype)
    for value in (0.0, 0.5):
        found = judged(asked, [value], accumulator=DType.F16)
        assert isinstance(found, ver.Inconclusive)
        assert (found.untested, found.of) == (1, 1)


def test_a_zero_that_is_owed_is_trusted() -> None:
    asked = case((1,), (1,), channels=2, filters=2, data="normal", dtype=DType.F16)
    asked = replace(asked, w=replace(asked.w, data="values", values=(0.0,) * 4))
    assert judged(asked, out.Produced(np.zeros((1, 2, 1), np.float16))).kind == "agreed"


def test_what_zeros_would_pass_for_is_inconclusive() -> None:
    """The bound of many products is vacuous, that of fewer wider than zero; at a rim there are few, which differ."""
    many, fewer, rim = (
        case(size, size, channels=channels, data="normal", dtype=DType.F16)
        for size, channels in (((1,), 1200), ((1,), 300), ((20,), 60))
    )
    for asked in (many, fewer, rim):
        geometry = Problem(asked, DIALECTS[ONNX_22]).values.primary.geometry
        right = truth_of(asked).compute_values(geometry).astype(np.float16)
        for array in (right, np.zeros_like(right))[: 1 if asked is rim else 2]:
            found = judged(asked, out.Produced(array, ("cropped",)), accumulator=DType.F16)
            assert isinstance(found, ver.Inconclusive)
            assert found.notes[0] == "cropped"
            assert (0 < found.untested < found.of) == (asked is rim)
            assert isinstance(judged(asked, out.Produced(array * 0)), ver.Differed)


def test_a_backend_that_gives_zeros_is_red_where_nothing_shows_that_it_computes() -> None:
    backend, dialect = ZerosForManyProducts(), DIALECTS[ONNX_22]
    asked = case((1,), (1,), channels=1200, filters=2, data="normal", dtype=DType.F16)
    records = [
        Evaluator(backend, "zeros", dialect, None).evaluate(replace(asked, id=f"a/b/{data}", x=x, w=w))
        for data, x, w in (
            ("normal", asked.x, asked.w),
            ("integers", replace(asked.x, data="integers"), replace(asked.w, data="integers")),
        )
    ]
    assert records[0].accumulator == "f16"
    assert [record.verdict.kind for record in records] == ["inconclusive", "differed"]
    run = replace(run_of({}), records=records)
    red = red_lines(assess(run, None, lambda _: {"dtype": "f16"}))
    assert any("1 case of f16 would pass as zeros too" in reason for reason in red)


@pytest.mark.parametrize(
    ("dtype", "right", "got", "steps"),
    [
        (DType.F32, 1.0, np.nextafter(np.float32(1), np.float32(2)), 1),
        (DType.F32, 1.0, np.nextafter(np.float32(1), np.float32(0)), 1),
        (DType.F32, 0.0, -(2.0**-149) * 3, 3),
        (DType.F64, -(2.0**-1074), 2.0**-1074, 2),
        (DType.F16, np.inf, 65504.0, 1),
        (DType.BF16, 1.0, 1 + 2.0**-7, 1),
        (DType.F32, 1.0, 2.0, None),
        (DType.F64, np.finfo(np.float64).max, -np.finfo(np.float64).max, None),
        (DType.F32, 1.0, np.nan, None),
    ],
)
def test_a_difference_from_an_exact_value_is_in_steps_of_the_type(
    dtype: DType, right: float, got: float, steps: int | None
) -> None:
    actual = np.array([right, got]).astype(NUMPY_TYPES[dtype])
    assert count_steps(actual, np.array([right, right])) == steps


def test_nothing_is_infinitely_many_times_what_is_allowed() -> None:
    """What no product reaches is exact beside sums that are not: the difference is in steps, whatever shows it."""
    problem = Problem(line((0.1, 0.3), (0.7,), strides=(2,)), DIALECTS["onnx/ConvTranspose-22"])
    assert problem.output is not None
    for off, words in ((2.0**-149, "1 step of the type, and nothing is allowed"), (0.5, "")):
        array = problem.output.copy()
        array[0, 0, 1] = off
        verdict = judge(problem, out.Produced(array), DType.F32)
        assert isinstance(verdict, ver.Differed)
        assert verdict.worst is None
        assert distance(verdict) == words
        assert headline(verdict).endswith(f"at worst {words}" if words else "(got 0.5)")
