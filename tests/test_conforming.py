"""The judge for an array of the caller: what conforms, and what the AssertionError of anything else says."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given

from strategies import ONEDNN, WIDE, examples
from tconv import Invalid, assert_conforms, conv_transpose, tolerance
from tconv.investigation.strategies import calls

OPENVINO = "openvino/ConvolutionBackpropData-1"
X = np.array([[[1, 2, 3]]], np.float32)
W = np.array([[[1, 10, 100]]], np.float32)
ASKED: dict[str, Any] = {"strides": 2, "auto_pad": "same_upper", "output_shape": 6}
"""In ONNX this crops one element at the end, in OpenVINO by its formula one at the beginning."""


def complaint(y: Any, *arrays: Any, **attributes: Any) -> list[str]:  # noqa: ANN401 - as the interface takes them
    with pytest.raises(AssertionError) as caught:
        assert_conforms(y, *arrays, **attributes)
    return str(caught.value).splitlines()


def normal(*shape: int, dtype: Any = np.float32) -> Any:  # noqa: ANN401 - an array of any type
    """Return normal numbers, the same every time."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dialect", WIDE)
def test_the_reference_conforms_everywhere(dialect: str) -> None:
    """In each dialect the reference's own output, rounded to the operands' type, conforms to every drawn call."""

    @examples(15)
    @given(calls(dialect))
    def check(call: dict[str, Any]) -> None:
        y = conv_transpose(**call, dialect=dialect).astype(call["x"].dtype)
        assert assert_conforms(y, **call, dialect=dialect).kind == "agreed"

    check()


@pytest.mark.parametrize("layout", ["NCX", "NXC"])
def test_the_output_is_in_the_layout_of_the_data(layout: str) -> None:
    y = conv_transpose(X, W, strides=2)
    there = (lambda a: a) if layout == "NCX" else (lambda a: np.moveaxis(a, 1, -1))
    call: dict[str, Any] = {"strides": 2, "data_format": layout}
    assert assert_conforms(there(y).astype(np.float32), there(X), W, **call).kind == "agreed"
    lines = complaint(there(y)[..., :1, :1].astype(np.float32), there(X), W, **call)
    assert f"wrong-shape: must be {list(there(y).shape)} (got [1, 1, 1])" in lines[0]


def test_what_nothing_explains_is_described() -> None:
    x, w = normal(1, 2, 5), normal(2, 3, 3)
    y = conv_transpose(x, w).astype(np.float32)
    y[0, 1, 2] += 1
    lines = complaint(y, x, w)
    assert "differed: 1 of 21 elements; [0,1,2] must be " in lines[0]
    assert any(line.startswith("  tolerance  bound: gamma_n(2^-24)*A") for line in lines)
    assert any(line.startswith("  where      n: how many products reach the element") for line in lines)
    assert any(line.startswith("  described  ") for line in lines)


def test_readings() -> None:
    """Every reading of the text is accepted, and named, unless the caller says which holds."""
    call: dict[str, Any] = {"dialect": "onnx/ConvTranspose-1", **ASKED}
    formula, prose = (
        conv_transpose(X, W, **call, reading=reading).astype(np.float32) for reading in ((), "sized-upper-odd-end")
    )
    assert assert_conforms(formula, X, W, **call).kind == "agreed"
    verdict = assert_conforms(prose, X, W, **call)
    assert verdict.kind == "disputed"
    assert verdict.readings == ("sized-upper-odd-end",)
    assert assert_conforms(prose, X, W, **call, reading="sized-upper-odd-end").kind == "disputed"
    assert complaint(prose, X, W, **call, reading=())
    assert complaint(formula, X, W, **call, reading=["sized-upper-odd-end"])


def test_types() -> None:
    """The element type is the operands'; what it accumulates in widens the bound of 16 bits."""
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float64):
        x, w = normal(1, 3, 4, dtype=dtype), normal(3, 2, 3, dtype=dtype)
        assert assert_conforms(conv_transpose(x, w).astype(dtype), x, w).kind == "agreed"
    lines = complaint(conv_transpose(X, W), X, W)
    assert "wrong-dtype: must be f32 (got f64, with the right values)" in lines[0]
    assert "  advice     give the operands in the type that the runtime got, and y in the type that it gave" in lines
    x, w = normal(1, 64, 4, dtype=np.float16), normal(64, 1, 3, dtype=np.float16)
    narrow, wide = (tolerance(x, w, accumulates=type_).allowed for type_ in ("f16", "f32"))
    assert (narrow > wide).all()


def test_a_value_that_proves_nothing_fails() -> None:
    """Where zeros would be within the bound too, the message says so and what to ask instead."""
    x, w = normal(1, 4000, 1, dtype=np.float16), normal(4000, 1, 1, dtype=np.float16)
    lines = complaint(conv_transpose(x, w).astype(np.float16), x, w, accumulates="f16")
    assert "inconclusive: 1 of 1 elements would pass as zero" in lines[0]
    assert any("zeros would pass: use integers" in line for line in lines)


def test_the_tolerance_is_what_is_judged_by() -> None:
    """An output at the edge of the tolerance conforms, one beyond it does not; integers have none."""
    x, w, b = normal(2, 4, 5), normal(4, 3, 3), normal(3)
    call: dict[str, Any] = {"strides": 2, "data_format": "NXC"}
    data = np.moveaxis(x, 1, -1)
    limits = tolerance(data, w, b, **call)
    assert (limits.rule, limits.expected.shape, limits.allowed.shape) == ("bound", (2, 11, 3), (2, 11, 3))
    edge = limits.expected + 0.9 * limits.allowed
    # Rounding to float32 moves it by less than the tenth that is left, or there is none to be left.
    near = np.where(np.abs(edge.astype(np.float32) - limits.expected) <= limits.allowed, edge, limits.expected)
    assert assert_conforms(near.astype(np.float32), data, w, b, **call).kind == "agreed"
    beyond = (limits.expected + 3 * limits.allowed).astype(np.float32)
    assert "at worst" in complaint(beyond, data, w, b, **call)[0]
    exact = tolerance(X, W)
    assert (exact.rule, exact.allowed.any()) == ("exact", False)


def test_what_is_invalid_has_no_answer() -> None:
    """Where the text states a constraint that is broken, no output conforms: that is an error of the call."""
    with pytest.raises(Invalid, match="pads-without-auto-pad"):
        assert_conforms(X, X, W, auto_pad="valid", pads_begin=0)
    with pytest.raises(Invalid, match="without-bias"):
        tolerance(X, W, np.ones(1, np.float32), dialect=OPENVINO)
    with pytest.raises(Invalid, match="one-type"):
        tolerance(X, W.astype(np.float64))
    with pytest.raises(Invalid, match="type-known"):
        tolerance(X.astype(np.float64), W.astype(np.float64), dialect=ONEDNN, data_format="NCX", filter_format="IOX")
