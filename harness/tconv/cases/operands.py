"""Arrays from recipes: the same bits on every machine and every numpy.

The raw bits come from a counter-based generator, with a seed by BLAKE2 of role, shape, data and seed. Only exact
integer arithmetic and ldexp turn them into numbers. Arrays are made in NCX and IOX; a layout is a permutation of the
same elements.
"""

from __future__ import annotations

from hashlib import blake2b
from math import gcd, isqrt, prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import ml_dtypes
import numpy as np

from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.cases.case import Operand
    from tconv.vocabulary import Array, Ints

NUMPY_TYPES: dict[DType, np.dtype[Any]] = {
    DType.F32: np.dtype(np.float32),
    DType.F16: np.dtype(np.float16),
    DType.BF16: np.dtype(ml_dtypes.bfloat16),
    DType.F64: np.dtype(np.float64),
}
"""The numpy type of each element type."""

EXACT_BITS = {DType.F32: 24, DType.F16: 11, DType.BF16: 8, DType.F64: 53}
"""p: integers up to 2^p are exact, so sums with absolute terms within 2^p are the same in any order."""

SMALLEST_EXPONENT = {DType.F32: -149, DType.F16: -24, DType.BF16: -133, DType.F64: -1074}
"""The exponent of the smallest subnormal."""

_WIDEST = {DType.F32: 20, DType.F16: 3, DType.BF16: 20, DType.F64: 40}
"""The largest binary exponent of `wide` data."""
_BEYOND_F32 = 160
"""The largest binary exponent of `all-bits` data of f64: f32 has infinity for it, and 0 for its negative."""
_MOST_PRODUCTS = 2**8 - 1
"""The most products of an output element of `sparse` data that are not zero: bf16 can count these and a bias."""
_LARGEST = 15
"""The largest absolute integer, unless a type requires a smaller one."""
_SPECIAL: dict[str, tuple[float, ...]] = {
    "nan": (np.nan,),
    "infinity": (np.inf, -np.inf),
    "negative-zero": (-0.0, -0.0),
    "special": (np.nan, np.inf, -np.inf, -0.0),
}


_Bits: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]


def make_operands(x: Operand, w: Operand, b: Operand | None) -> dict[str, Array]:
    """Return the operands by role, x, w and perhaps b, in NCX and IOX and in their own types."""
    spans = _spans(x, w)
    step = _step(x, w) if x.data == "sparse" else 1
    arrays = {"x": make_operand("x", x, spans.x, step=step), "w": make_operand("w", w, spans.w, spans.live)}
    if b is not None:
        arrays["b"] = make_operand("b", b, spans.b)
    return arrays


class _Spans(NamedTuple):
    """The largest integers of each operand, and the number of the filter's input channels that may differ from zero."""

    x: int
    w: int
    b: int
    live: int


def _spans(x: Operand, w: Operand) -> _Spans:
    """Choose spans so that all products and a bias stay within 2^p for every number of groups."""
    budget = 2 ** EXACT_BITS[x.dtype]
    taps, channels = max(prod(w.shape[2:]), 1), max(w.shape[0] if w.shape else 1, 1)
    bias = min(_LARGEST, isqrt(budget // 4))
    share = (budget - bias) // (taps * channels)
    if share == 0:
        return _Spans(1, 1, 1, max((budget - 1) // taps, 1))
    span = min(_LARGEST, isqrt(share))
    return _Spans(span, min(_LARGEST, share // span), bias, channels)


def _step(x: Operand, w: Operand) -> int:
    """Return the step of `sparse` data: one of so many elements differs from zero, as many as the budget allows.

    At each position at most this part of the channels differs from zero under each tap. No output element has more
    products than its batch item has such elements. The step and the number of channels have no common divisor. So in
    `step` consecutive positions each channel differs from zero at exactly one.
    """
    taps, channels, positions = max(prod(w.shape[2:]), 1), max(prod(x.shape[1:2]), 1), prod(x.shape[2:])
    return next(
        step
        for step in range(1, channels * positions + 2)
        if gcd(step, channels) == 1
        and min(taps * -(-channels // step), -(-channels * positions // step)) <= _MOST_PRODUCTS
    )


def make_operand(role: str, operand: Operand, span: int, live: int | None = None, step: int = 1) -> Array:
    """Return one operand as a read-only array.

    Args:
        role: x, w or b.
        operand: its recipe.
        span: the largest absolute integer.
        live: the number of slices of the first axis of `integers` that differ from zero; None for all.
        step: one of so many elements of `sparse` data differs from zero.
    """
    values = _elements(role, operand, span).reshape(operand.shape)
    if live is not None and operand.data == "integers" and values.ndim and values.shape[0] > live:
        values[_ranked(role, operand, values.shape[0]) >= live] = 0.0
    if operand.data == "sparse" and step > 1:
        values[(_places(operand.shape) + int(_bits(f"{role}/step", operand, 1)[0] % np.uint64(step))) % step != 0] = 0.0
    with np.errstate(over="ignore"):
        array = values.astype(NUMPY_TYPES[operand.dtype])
    array.flags.writeable = False
    return array


def _elements(role: str, operand: Operand, span: int) -> Array:
    """Return the elements as a flat float64 array."""
    count = prod(operand.shape)
    match operand.data:
        case "values":
            return np.array(operand.values, dtype=np.float64)
        case "zeros" | "ones":
            return np.full(count, float(operand.data == "ones"))
        case "impulse":
            return _impulse(role, operand)
        case "normal":
            return _normal(_bits(role, operand, count))
        case "wide" | "wide-full" | "all-bits":
            return _wide(role, operand, count)
        case "sparse":
            return _integers(_bits(role, operand, count), 1)
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


def _bits(role: str, operand: Operand, count: int) -> _Bits:
    words = f"{role}|{operand.shape}|{operand.data}|{operand.seed}"
    key = int.from_bytes(blake2b(words.encode(), digest_size=16).digest(), "little")
    return np.random.Philox(key=key).random_raw(count)


def _integers(bits: _Bits, span: int) -> Array:
    """Return integers from -span to span without 0, so that a missing product always changes the sum."""
    magnitude = (bits >> np.uint64(8)) % np.uint64(span) + np.uint64(1)
    return np.where(bits & np.uint64(1), -1.0, 1.0) * magnitude.astype(np.float64)


def _normal(bits: _Bits) -> Array:
    """Return nearly normal numbers of deviation 1.15: the sum of four 16-bit uniforms, less its mean, times 2^-15."""
    parts = bits.view(np.uint16).reshape(-1, 4).astype(np.int64)
    return _scaled((parts.sum(axis=1) - 131070).astype(np.float64), -15)


def _wide(role: str, operand: Operand, count: int) -> Array:
    """Return numbers of 8, 24, or all significant bits of the type, with uniform binary exponents in a range."""
    bits, widest = _bits(role, operand, count), _WIDEST[operand.dtype]
    if operand.data == "all-bits":
        # The significands of f64 leave too few bits for the exponents.
        precision, others = EXACT_BITS[operand.dtype], _bits(f"{role}/exponents", operand, count)
        widest = _BEYOND_F32 if operand.dtype is DType.F64 else widest
    else:
        precision = 8 if operand.data == "wide" else 24
        others = bits >> np.uint64(12 + precision)
    leading = np.uint64(1 << (precision - 1))
    mantissa = leading + (bits >> np.uint64(8)) % leading
    exponents = (others % np.uint64(2 * widest + 1)).astype(np.int32) - widest - (precision - 1)
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
    """Return the ranks of `count` channels in a permutation."""
    return np.argsort(np.argsort(_bits(role + "/live", operand, count), kind="stable"), kind="stable")


def _places(shape: Ints) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the number of each element of data in NCX, counted with channels as the fastest axis."""
    numbers = np.arange(prod(shape))
    return np.moveaxis(numbers.reshape(*shape[:1], *shape[2:], *shape[1:2]), -1, min(1, len(shape) - 1))
