"""Arrays from recipes: the same bits on every machine and every numpy.

A counter-based generator's raw bits, seeded by BLAKE2 of role, shape, data and seed, are turned into numbers by exact
integer and ldexp arithmetic alone. Arrays are made in NCX and IOX; a layout is a permutation of the same elements.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from math import isqrt, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np

from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.cases.case import Operand
    from tconv.vocabulary import Array

NUMPY_TYPES: dict[DType, np.dtype[Any]] = {
    DType.F32: np.dtype(np.float32),
    DType.F16: np.dtype(np.float16),
    DType.BF16: np.dtype(ml_dtypes.bfloat16),
    DType.F64: np.dtype(np.float64),
}
"""The numpy type of each element type."""

EXACT_BITS = {DType.F32: 24, DType.F16: 11, DType.BF16: 8, DType.F64: 53}
"""p: integers up to 2^p are exact, so sums whose absolute terms stay within are the same in any order."""

SMALLEST_EXPONENT = {DType.F32: -149, DType.F16: -24, DType.BF16: -133, DType.F64: -1074}
"""The exponent of the smallest subnormal."""

_WIDEST = {DType.F32: 20, DType.F16: 3, DType.BF16: 20, DType.F64: 40}
"""The largest binary exponent of `wide` data."""
_LARGEST = 15
"""The largest absolute integer, where no type asks for less."""
_SPECIAL: dict[str, tuple[float, ...]] = {
    "nan": (np.nan,),
    "infinity": (np.inf, -np.inf),
    "negative-zero": (-0.0, -0.0),
    "special": (np.nan, np.inf, -np.inf, -0.0),
}


def make_operands(x: Operand, w: Operand, b: Operand | None) -> dict[str, Array]:
    """Return the operands by role, x, w and perhaps b, in NCX and IOX and in their own types."""
    spans = _spans(x, w)
    arrays = {"x": made_operand("x", x, spans.x), "w": made_operand("w", w, spans.w, spans.live)}
    if b is not None:
        arrays["b"] = made_operand("b", b, spans.b)
    return arrays


class _Spans(NamedTuple):
    """The largest integers of each operand, and how many input channels of the filter may be other than zero."""

    x: int
    w: int
    b: int
    live: int


def _spans(x: Operand, w: Operand) -> _Spans:
    """Choose spans so that all products and a bias stay within 2^p, whatever the groups are."""
    budget = 2 ** EXACT_BITS[x.dtype]
    taps, channels = max(prod(w.shape[2:]), 1), max(w.shape[0] if w.shape else 1, 1)
    bias = min(_LARGEST, isqrt(budget // 4))
    share = (budget - bias) // (taps * channels)
    if share == 0:
        return _Spans(1, 1, 1, max((budget - 1) // taps, 1))
    span = min(_LARGEST, isqrt(share))
    return _Spans(span, min(_LARGEST, share // span), bias, channels)


def made_operand(role: str, operand: Operand, span: int, live: int | None = None) -> Array:
    """Return one operand as a read-only array; small ones are remembered.

    Args:
        role: x, w or b.
        operand: its recipe.
        span: the largest absolute integer.
        live: how many slices of the first axis are other than zero; None means all.
    """
    remembered = prod(operand.shape) <= _LARGEST_REMEMBERED
    return (_made_operand if remembered else _made_operand.__wrapped__)(role, operand, span, live)


_LARGEST_REMEMBERED = 2**18
"""Elements; so what is remembered takes at most half a gibibyte."""


@lru_cache(maxsize=256)
def _made_operand(role: str, operand: Operand, span: int, live: int | None) -> Array:
    values = _elements(role, operand, span).reshape(operand.shape)
    if live is not None and operand.data == "integers" and values.ndim and values.shape[0] > live:
        values[_ranked(role, operand, values.shape[0]) >= live] = 0.0
    with np.errstate(over="ignore"):
        array = values.astype(NUMPY_TYPES[operand.dtype])
    array.flags.writeable = False
    return array


def _elements(role: str, operand: Operand, span: int) -> Array:
    """Return the elements as float64, flat."""
    count = prod(operand.shape)
    match operand.data:
        case "values":
            return np.array(operand.values, dtype=np.float64)
        case "ones":
            return np.ones(count)
        case "impulse":
            return _impulse(role, operand)
        case "normal":
            return _normal(_bits(role, operand, count))
        case "wide":
            return _wide(_bits(role, operand, count), _WIDEST[operand.dtype], 8)
        case "wide-full":
            return _wide(_bits(role, operand, count), _WIDEST[operand.dtype], 24)
        case "subnormal":
            return _scaled(_integers(_bits(role, operand, count), span), SMALLEST_EXPONENT[operand.dtype])
        case _:
            values = _integers(_bits(role, operand, count), span)
            special = _SPECIAL.get(operand.data, ())
            if not special:
                return values
            places = np.argsort(_bits(role + "/places", operand, count), kind="stable")[: len(special)]
            values[places] = special[: len(places)]
            return values


def _bits(role: str, operand: Operand, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    words = f"{role}|{operand.shape}|{operand.data}|{operand.seed}"
    key = int.from_bytes(blake2b(words.encode(), digest_size=16).digest(), "little")
    return np.random.Philox(key=key).random_raw(count)


def _integers(bits: np.ndarray[Any, np.dtype[np.uint64]], span: int) -> Array:
    """Return integers of -span..span without 0, so that leaving a product out always changes the sum."""
    magnitude = (bits >> np.uint64(8)) % np.uint64(span) + np.uint64(1)
    return np.where(bits & np.uint64(1), -1.0, 1.0) * magnitude.astype(np.float64)


def _normal(bits: np.ndarray[Any, np.dtype[np.uint64]]) -> Array:
    """Return nearly normal numbers of deviation 1.15: four 16-bit uniforms added, less their mean, times 2^-15."""
    parts = bits.view(np.uint16).reshape(-1, 4).astype(np.int64)
    return _scaled((parts.sum(axis=1) - 131070).astype(np.float64), -15)


def _wide(bits: np.ndarray[Any, np.dtype[np.uint64]], exponent: int, precision: int) -> Array:
    """Return numbers of `precision` significant bits whose binary exponents are uniform in -exponent..exponent."""
    leading, place = np.uint64(1 << (precision - 1)), np.uint64(13 + precision - 1)
    mantissa = leading + (bits >> np.uint64(8)) % leading
    exponents = ((bits >> place) % np.uint64(2 * exponent + 1)).astype(np.int32) - exponent - (precision - 1)
    signs = np.where(bits & np.uint64(1), -1.0, 1.0)
    return _scaled(signs * mantissa.astype(np.float64), exponents)


def _scaled(values: Array, exponents: Array | int) -> Array:
    """Return values * 2^exponents, exact in float64."""
    scaled: Array = np.ldexp(values, exponents)
    return scaled


def _impulse(role: str, operand: Operand) -> Array:
    """Return zeros with a single 1."""
    count = prod(operand.shape)
    values = np.zeros(count)
    if count:
        values[int(_bits(role, operand, 1)[0] % np.uint64(count))] = 1.0
    return values


def _ranked(role: str, operand: Operand, count: int) -> Array:
    """Return a permutation's ranks of `count` channels."""
    return np.argsort(np.argsort(_bits(role + "/live", operand, count), kind="stable"), kind="stable")
