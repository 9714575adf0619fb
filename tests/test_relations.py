"""What wrong elements are beside what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tconv.cases.operands import NUMPY_TYPES
from tconv.diagnosis.description import related
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.vocabulary import Array


def _wrong(got: Any, expected: Any, bias: Any = None) -> str:  # noqa: ANN401 - arrays and numbers
    got, expected = np.broadcast_arrays(np.asarray(got, float), np.asarray(expected, float))
    return related(got, expected, got != expected, bias)


LARGEST = {
    DType.F16: 65504.0,
    DType.BF16: 2.0**128 - 2.0**120,
    DType.F32: 2.0**128 - 2.0**104,
    DType.F64: 2.0**1023 * (2 - 2.0**-52),
}
EXPECTED = np.arange(1.0, 25.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("got", "relation"),
    [
        (EXPECTED * (np.arange(4) < 2), "are 0"),
        (np.where(np.arange(4) < 2, EXPECTED, np.nan), "are NaN"),
        (np.where(np.arange(4) < 2, EXPECTED, -3 * EXPECTED), "are -3 times what is expected"),
        (np.where(np.arange(4) < 2, EXPECTED, 0.5001 * EXPECTED), "are 0.5 times what is expected"),
        (EXPECTED - np.array([0.0, 5.0, 6.0])[:, None], ""),
        (np.clip(EXPECTED, 5, 19), "are cut off at 5 and 19"),
        (np.minimum(EXPECTED, 19), "are cut off at 19"),
        (np.full_like(EXPECTED, 5), "are all 5"),
        (np.minimum(EXPECTED, 0.5), "are all 0.5"),
        (np.where(EXPECTED == 24, 19, EXPECTED), ""),
        (np.where(EXPECTED > 20, 19, EXPECTED), ""),
        (EXPECTED + (EXPECTED % 3 == 0), ""),
    ],
)
def test_what_wrong_elements_are(got: Array, relation: str) -> None:
    """In words, where all of them are so; nothing where one of them is not, or where one alone may be by chance."""
    assert _wrong(got, EXPECTED) == relation


def test_a_bias_that_lacks_or_comes_twice() -> None:
    """Also where both are rounded; not where a wrong element's bias is zero, of which nobody can tell."""
    bias = np.array([4.0, 5.0, 6.0])
    assert _wrong(EXPECTED - bias[:, None] * [[1], [0], [1]], EXPECTED, bias) == "lack the bias"
    assert _wrong(EXPECTED + 1.001 * bias[:, None], EXPECTED, bias) == "have the bias twice"
    assert _wrong(EXPECTED + 1, EXPECTED, np.zeros(3)) == ""


def test_a_bias_of_other_numbers() -> None:
    """Each channel is off by a number of its own; not where an element of the channel is right, or off by another."""
    bias, off = np.array([4.0, 5.0, 6.0]), np.array([3.0, 0.0, -2.0])[:, None]
    assert _wrong(EXPECTED + off, EXPECTED, bias) == "are off by one number in each channel, as with another bias"
    assert _wrong(EXPECTED + off, EXPECTED) == ""
    for other in (0, 8):
        got = EXPECTED + off
        got[0, 0, 0] = EXPECTED[0, 0, 0] + other
        assert _wrong(got, EXPECTED, bias) == ""


def test_the_bits_of_other_types_are_named() -> None:
    """The memory of one type is given as another, or the bits as integers; a bit more or less is noise."""
    expected = EXPECTED - 12.5
    for stored, given in ((np.int32, np.float32), (np.int16, np.float16), (np.int64, np.float64)):
        bits = np.rint(4 * expected).astype(stored)
        got = bits.view(given)
        assert related(got, 4 * expected, np.ones(got.shape, bool), None) == f"are the bits of {bits.dtype} numbers"
    half = expected.astype(np.float16)
    got = half.view(NUMPY_TYPES[DType.BF16])
    assert related(got, expected, np.ones(got.shape, bool), None) == "are the bits of float16 numbers"
    single = expected.astype(np.float32)
    got = single.view(np.int32).astype(np.float32)
    assert related(got, expected, np.ones(got.shape, bool), None) == "are the bits of float32 numbers, as integers"
    assert related(got[:1, :1, :1], expected[:1, :1, :1], np.ones((1, 1, 1), bool), None) == ""


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16, DType.F32, DType.F64])
def test_results_that_are_limited_have_no_bias_twice(dtype: DType) -> None:
    """What must be infinite is the largest number; the distance is infinite, and so is the bias."""
    given = NUMPY_TYPES[dtype]
    expected = np.where(EXPECTED % 2 == 0, np.inf, -np.inf)
    got = np.clip(expected, -LARGEST[dtype], LARGEST[dtype]).astype(given)
    wrong = np.ones(got.shape, bool)
    words = f"are limited to ±{LARGEST[dtype]:.5g}".replace("+", "")
    assert related(got, expected, wrong, np.full(3, np.inf)) == words
    # Of infinities that became other numbers nothing is known.
    for other in (got / 2, np.zeros(got.shape), np.full(got.shape, np.nan)):
        assert related(other.astype(given), expected, wrong, np.full(3, np.inf)) == ""


def test_subnormal_numbers_alone_are_no_relation() -> None:
    """Twice the smallest numbers may be their rounding; one number that is not subnormal tells."""
    expected = np.ldexp(EXPECTED, -148)
    got = (2 * expected).astype(np.float32)
    assert related(got, expected, got != expected, None) == ""
    expected[0, 0, 0] = 1.0
    got = (2 * expected).astype(np.float32)
    assert related(got, expected, got != expected, None) == "are 2 times what is expected"
