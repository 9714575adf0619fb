"""The largest error of a conforming result, by derivation.

No text sets an accuracy. Take a sum of n products, computed in any order with unit roundoff u. It differs from the
exact sum by at most gamma_n * A. Here gamma_n = n*u / (1 - n*u) and A = sum |x||w| + |b|. Every product that underflows
adds half the smallest subnormal number. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition,
sections 3.1, 2.1 and 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import EXACT_BITS, SMALLEST_EXPONENT
from tconv.expectation.reference import definition
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.context import Quantisation
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Float64s, Mask

UNIT_ROUNDOFF = {dtype: 2.0**-bits for dtype, bits in EXACT_BITS.items()}
"""u: half the distance from 1 to the next number."""

_SMALLEST = {dtype: 2.0**exponent for dtype, exponent in SMALLEST_EXPONENT.items()}
SMALLEST_NORMAL = {DType.F16: 2.0**-14, DType.BF16: 2.0**-126, DType.F32: 2.0**-126, DType.F64: 2.0**-1022}
_OVERFLOW = {
    DType.F16: 65520.0,
    DType.BF16: 2.0**128 - 2.0**119,
    DType.F32: 2.0**128 - 2.0**103,
    # Rounding to float64 overflows at 2^1024 - 2^970, which is itself no float64: only infinity is beyond it.
    DType.F64: np.inf,
}
_UNDERFLOW = {dtype: smallest / 2 for dtype, smallest in _SMALLEST.items()} | {DType.F64: 2.0**-1074}
"""The largest error of a product that underflows. 2^-1075 is no float64, so float64 has the smallest subnormal number.
"""
_F64 = UNIT_ROUNDOFF[DType.F64]
WARNING_FACTOR = 6.0


@dataclass(frozen=True, slots=True)
class Terms:
    """The numbers from which the bound is computed, each per output element in NCX.

    Attributes:
        y: the reference's values, (N, O, Y...).
        magnitude: A = sum |x||w| + |b|, (N, O, Y...).
        count: n, the number of products that reach the element, and one more with a bias, (Y...).
        bias: the bias as (O, 1...), or None.
        numbers: the same for operands with zeros instead of NaN and infinities; None if there are none.
    """

    y: Float64s
    magnitude: Float64s
    count: Float64s
    bias: Float64s | None
    numbers: Terms | None = None

    def part(self, index: tuple[slice, ...]) -> Terms:
        """Return the terms of a part of the elements."""
        bias = None if self.bias is None else self.bias[index[1]]
        numbers = None if self.numbers is None else self.numbers.part(index)
        return Terms(self.y[index], self.magnitude[index], self.count[index[2:]], bias, numbers)


@dataclass(frozen=True, slots=True)
class Bound:
    """The allowed distance from the reference, and the distance for a note, per output element.

    Attributes:
        allowed: the largest |actual - y| of a conforming number; 0 if only an infinity conforms.
        warning: the |actual - y| above which the precision of an element is noted as reduced.
        deviation: the largest root mean square of |actual - y| in any order of summation, if roundings are random.
        may_overflow: True if an infinity of the right sign conforms.
        rises, falls: True if a partial sum of numbers may overflow to infinity, or to minus infinity, in some order.
        vacuous: True if the bound allows zero even if the terms do not cancel.
    """

    allowed: Float64s
    warning: Float64s
    deviation: Float64s
    may_overflow: Mask
    rises: Mask
    falls: Mask
    vacuous: Mask

    def widened(self, steps: Float64s) -> Bound:
        """Return the bound of a runtime that also rounds to quanta; such rounding is not noted as reduced precision."""
        unlimited = np.full(self.allowed.shape, np.inf)
        return replace(self, allowed=self.allowed + steps, warning=unlimited, deviation=unlimited)


def bound_steps(operands: Mapping[str, Float64s], geometry: Geometry, quantisation: Quantisation) -> Float64s:
    """Return how far rounding of tensors to quanta, by at most half a step each, moves an output, (N, O, Y...).

    With d for half a step: |(x + dx) * (w + dw) - x * w| <= |x| * dw + dx * (|w| + dw). A bias has the step of a
    product.

    Args:
        operands: x, w and perhaps b, in NCX and IOX.
        geometry: the geometry.
        quantisation: the steps of data, filter and output; None for a tensor that is not rounded.
    """
    x, w = np.abs(operands["x"]), np.abs(operands["w"])
    grids = (quantisation.x, quantisation.w, quantisation.y)
    of_x, of_w, of_y = (np.array(grid.scale if grid else (0.0,)) / 2 for grid in grids)
    along = (-1, *(1,) * (w.ndim - 2))
    of_w = np.resize(of_w, w.shape[1])
    halves = np.broadcast_to(of_w.reshape(along), w.shape)
    moved = definition(x, halves, None, geometry) + definition(
        np.broadcast_to(of_x, x.shape), w + halves, None, geometry
    )
    if "b" in operands:
        moved += 2 * of_x * np.tile(of_w, geometry.groups).reshape(along)
    return moved + of_y


def gamma(n: Float64s, u: float) -> Float64s:
    """Return n*u / (1 - n*u); infinity if n*u >= 1, for which the bound is vacuous."""
    nu = n * u
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(nu < 1, nu / (1 - nu), np.inf)


def _relative(factor: Float64s, magnitude: Float64s) -> Float64s:
    """Return factor * A, and 0 if A is 0 even if the factor is infinite: a sum of zeros is exact."""
    return factor * magnitude if np.isfinite(factor).all() else np.where(magnitude == 0, 0.0, factor * magnitude)


def bound_errors(terms: Terms, dtype: DType, accumulator: DType = DType.F32) -> Bound:
    """Return the bound for results of type `dtype`.

    Args:
        terms: the reference's values and the numbers for their bound.
        dtype: the element type of the output.
        accumulator: the type that products of f16 or bf16 are added in. It is not used for other types: a narrower one
            for f32 would excuse TF32.
    """
    accumulator = choose_accumulator(dtype, accumulator)
    # The reference itself may have this error.
    own = gamma(terms.count + 1, _F64)
    with np.errstate(over="ignore", invalid="ignore"):
        allowed = before = _relative(gamma(terms.count, UNIT_ROUNDOFF[accumulator]) + own, terms.magnitude)
        allowed += terms.count * _UNDERFLOW[accumulator]
        if accumulator is not dtype:
            allowed, before = _rounded(terms, dtype, allowed)
        vacuous: Mask = (allowed >= terms.magnitude) & (terms.magnitude > 0)
        rises, falls = (_rises(terms.numbers or terms, sign, dtype, accumulator) for sign in (1, -1))
        may_overflow: Mask = np.abs(terms.y) + before >= _OVERFLOW[dtype]
        # Then only infinity is right, but the largest number may still be within the bound.
        allowed = np.where(np.abs(terms.y) - before >= _OVERFLOW[dtype], 0.0, allowed)
        if accumulator is dtype and may_overflow.any():
            # A vacuous bound allows every number, but the size of a sum is still limited.
            may_overflow &= ~vacuous | np.where(terms.y > 0, rises, falls)
        warning, deviation = _warning(terms, dtype, own), _deviation(terms, dtype, own)
        return Bound(allowed, warning, deviation, may_overflow, rises, falls, vacuous)


def choose_accumulator(dtype: DType, accumulator: DType) -> DType:
    """Return the type of sums of `dtype`: the type itself, or f32 for f16 and bf16 with another accumulator."""
    return dtype if dtype in (DType.F32, DType.F64, accumulator) else DType.F32


def _rises(terms: Terms, sign: int, dtype: DType, accumulator: DType) -> Mask:
    """Return True if a partial sum may overflow upwards in some order; downwards for a sign of -1.

    Some order adds all terms of one sign first. The sum of the positive terms is P = (A + y) / 2, and that of the
    negative ones (A - y) / 2. No exact partial sum is beyond these. A computed one is at most
    `(1 + min(gamma_n, 1)) * (1 + u) * P`.

    If gamma_n is at most 1, rounding multiplies each term by a factor between 1 - gamma_n and 1 + gamma_n. So terms of
    the other sign cannot raise the sum.

    If gamma_n is larger, the sum before an addition is still a number of the type. So rounding to nearest changes the
    result by at most the added term. Such a term counts at most twice, and a term of the other sign counts as at most
    0.

    The factor 1 + u is for the rounding of a product before it is added. If the terms of one sign are far smaller than
    those of the other, float64 loses them from A + y. So the reference's own error is added.
    """
    u = UNIT_ROUNDOFF[accumulator]
    growth = (1 + np.minimum(gamma(terms.count, u), 1)) * (1 + u)
    with np.errstate(invalid="ignore"):
        lost = _relative(gamma(terms.count + 1, _F64), terms.magnitude)
        rises: Mask = (terms.magnitude / 2 + sign * terms.y / 2 + lost) * growth >= _OVERFLOW[accumulator]
        if accumulator is not dtype and terms.bias is not None:
            # A bias may be added after the sum is rounded to the narrower type.
            error = _relative(gamma(terms.count, u), terms.magnitude)
            rises |= sign * (terms.y - terms.bias) + error >= _OVERFLOW[dtype]
    return rises


def _rounded(terms: Terms, dtype: DType, allowed: Float64s) -> tuple[Float64s, Float64s]:
    """Return the bound of sums in f32 that are rounded to `dtype`, and its part before the last rounding."""
    u, eta = UNIT_ROUNDOFF[dtype], _SMALLEST[dtype]
    error = _relative(gamma(terms.count, UNIT_ROUNDOFF[DType.F32]), terms.magnitude)
    if terms.bias is not None:
        # A bias may be added after the sum is rounded; then the result is rounded once more.
        allowed = allowed + u * (np.abs(terms.y - terms.bias) + error) + eta / 2
    return allowed + u * (np.abs(terms.y) + error) + eta / 2, allowed


def _warning(terms: Terms, dtype: DType, own: Float64s) -> Float64s:
    root = WARNING_FACTOR * np.sqrt(terms.count)
    if dtype in (DType.F32, DType.F64):
        return (root * UNIT_ROUNDOFF[dtype] + own) * terms.magnitude + terms.count * _SMALLEST[dtype]
    rounding = UNIT_ROUNDOFF[dtype] * np.abs(terms.y) * (1 if terms.bias is None else 2)
    return (root * UNIT_ROUNDOFF[DType.F32] + own) * terms.magnitude + rounding + _SMALLEST[dtype]


def _deviation(terms: Terms, dtype: DType, own: Float64s) -> Float64s:
    """Return the largest root mean square of the error by random roundings, in any order of summation.

    Every partial sum is at most P = (A + |y|) / 2, because it is a sum of some of the terms. So no rounding error is
    larger than u*P. Errors with a uniform distribution have a root mean square of at most u*P / sqrt(3). The number of
    roundings is n + 1: n - 1 additions, and at most two more for the roundings of all products together.

    Source of the model of random roundings: Higham and Mary, SIAM J. Sci. Comput. 41, 2019.
    """
    sums = DType.F64 if dtype is DType.F64 else DType.F32
    # These are halved before they are added: the sum of the largest numbers of float64 would overflow.
    half = UNIT_ROUNDOFF[sums] * np.sqrt((terms.count + 1) / 3) / 2
    steps = np.abs(terms.y)
    steps *= half
    steps += terms.count * _SMALLEST[sums]
    if sums is dtype:
        steps += (half + own) * terms.magnitude
        return steps
    steps += half * terms.magnitude
    rounded: Float64s = np.sqrt(steps**2 + bound_last_roundings(terms, dtype) ** 2 / 3) + own * terms.magnitude
    return rounded


def bound_last_roundings(terms: Terms, dtype: DType) -> Float64s:
    """Return how far rounding to the output's type may move a result: twice if a bias is added after it."""
    u = UNIT_ROUNDOFF[dtype]
    late = 0.0 if terms.bias is None else u * np.abs(terms.y - terms.bias)
    roundings: Float64s = u * np.abs(terms.y) + late + _SMALLEST[dtype]
    return roundings


def near(actual: Float64s, expected: Float64s, allowed: Float64s) -> Mask:
    """Return a mask of the numbers within the allowed distance.

    If infinity is expected, no number is near: the distance of a finite number is infinite, and so is the bound.
    """
    with np.errstate(invalid="ignore"):
        distance = np.abs(actual - expected)
        # Comparison with NaN is false: NaN in the distance or in the bound is not near.
        close: Mask = distance <= allowed
    close &= np.isfinite(distance)
    return close


def is_subnormal(values: Float64s, dtype: DType) -> Mask:
    """Return a mask of the `values` that are subnormal numbers of `dtype`."""
    where: Mask = (values != 0) & (np.abs(values) < SMALLEST_NORMAL[dtype])
    return where


SYMBOLS = (
    "n: how many products reach the element, one more with a bias; A: the sum of their magnitudes, |x|*|w| and |b|; "
    "b: the bias; y: what is expected; gamma_n(u) = n*u / (1 - n*u); see docs/why/numerics.md"
)
"""The meaning of the letters of `derive`; reports print it with the formula of a bound."""


def derive(dtype: DType, accumulator: DType = DType.F32) -> str:
    """Return the formula of the bound in words, for the reader of a verdict."""
    return f"{_formula(dtype, accumulator)}; and the reference's own gamma_(n+1)(2^-53)*A"


def _formula(dtype: DType, accumulator: DType) -> str:
    """Return the part of the bound for the backend, without the reference's own error."""
    if dtype in (DType.F32, DType.F64):
        u, tiny = ("2^-24", "2^-150") if dtype is DType.F32 else ("2^-53", "2^-1074")
        return f"gamma_n({u})*A + n*{tiny}"
    u, eta = ("2^-11", "2^-24") if dtype is DType.F16 else ("2^-8", "2^-133")
    if choose_accumulator(dtype, accumulator) is dtype:
        return f"accumulated in {dtype}: gamma_n({u})*A + n*{eta}/2"
    return (
        f"accumulated in f32, E = gamma_n(2^-24)*A: E + {u}*(|y|+E) + {eta}/2 + n*2^-150, "
        f"and with a bias {u}*(|y-b|+E) + {eta}/2 more"
    )
