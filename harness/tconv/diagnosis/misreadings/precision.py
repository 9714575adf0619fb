"""Misreadings of the precision: operands, sums or results have too few bits, for every order of a sum."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import EXACT_BITS, NUMPY_TYPES, SMALLEST_EXPONENT
from tconv.diagnosis.misreadings.misreading import CallOtherwise, Misreading, PrecisionOtherwise, in_result
from tconv.expectation.bound import UNIT_ROUNDOFF, gamma, is_subnormal
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.diagnosis.misreadings.misreading import MisreadCall
    from tconv.expectation.bound import Terms
    from tconv.vocabulary import Array, Mask, Signature

_BITS = {dtype: EXACT_BITS[dtype] for dtype in (DType.F16, DType.BF16)}
"""The significant bits of the 16-bit types."""
_MOST = {DType.F16: 65504.0, DType.BF16: 2.0**128 - 2.0**120, DType.F32: 2.0**128 - 2.0**104}
"""The largest number of each type."""
_EVIDENCE = 3
"""At least so many elements must show the loss: one or two may be wrong for any reason."""
_OPERANDS = 2
"""The number of roundings of the factors of a product."""
_HALF = 0.5
_LIKELY = 6.0
"""The sum of the rounding errors of n steps is at most so many times sqrt(n) of one, except in one case of 10^8.

Source: Higham and Mary, A new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019.
"""


def _rounded_operands(change: Callable[[Array], Array]) -> CallOtherwise:
    """Return the change that rounds data and filter."""
    return CallOtherwise(lambda call, _: call.with_operands({role: change(call.operands[role]) for role in ("x", "w")}))


def _significand(bits: int, towards: Callable[[Array], Array]) -> CallOtherwise:
    """Return the change that rounds by `towards` to `bits` bits of significand; exponents are not limited."""

    def rounded(array: Array) -> Array:
        mantissa, exponent = np.frexp(array)
        numbers: Array = np.ldexp(towards(np.ldexp(mantissa, bits)), exponent - bits)
        return numbers

    return _rounded_operands(rounded)


def _subnormal_operands_zeroed(call: MisreadCall, signature: Signature) -> MisreadCall:
    dtype = signature.x.dtype
    return call.with_operands(
        {role: np.where(is_subnormal(array, dtype), 0.0, array) for role, array in call.operands.items()}
    )


def _subnormal_results_zeroed(call: MisreadCall, signature: Signature) -> MisreadCall:
    def finish(y: Array) -> Array:
        zeroed: Array = np.where(is_subnormal(y, signature.x.dtype), 0.0, y)
        return zeroed

    # The bound of a sum does not become zero with the sum.
    return replace(call, finish=finish, finish_bound=lambda allowed: allowed)


def _sums_in(narrow: DType) -> PrecisionOtherwise:
    """Return the change that stores sums, or operands too, in a narrower type than the output's."""

    def at_best(y: Array, dtype: DType) -> Array:
        return y if UNIT_ROUNDOFF[dtype] >= UNIT_ROUNDOFF[narrow] else _stored(y, narrow)

    def shows(actual: Array, terms: Terms, dtype: DType, evidence: int = 1) -> bool:
        got = actual.astype(np.float64)
        if UNIT_ROUNDOFF[dtype] >= UNIT_ROUNDOFF[narrow] or not _holds(got, narrow).all():
            return False
        # If expected numbers have few bits, as small integers do, an output with few bits is no evidence.
        wrong = (got != terms.y) & np.isfinite(terms.y)
        lost = wrong & ~_holds(terms.y, narrow)
        return lost.sum() >= max(evidence, wrong.sum() / 2) and _near(got, terms, narrow)

    def accounts(actual: Array, terms: Terms, dtype: DType) -> bool:
        # A type has all bits of smaller types, but not their whole range.
        fewer = [other for other in _MOST if EXACT_BITS[other] < EXACT_BITS[narrow]]
        return shows(actual, terms, dtype, _EVIDENCE) and not any(_may_be(actual, terms, other) for other in fewer)

    return PrecisionOtherwise(at_best, accounts, shows)


def _near(got: Array, terms: Terms, narrow: DType) -> bool:
    """Return whether outputs are as close to the expected ones as sums in a narrower type; see `_rounding`."""
    with np.errstate(invalid="ignore"):
        rounding = _rounding(terms, UNIT_ROUNDOFF[narrow], _OPERANDS)
        # The smallest numbers are rounded to multiples of the smallest number of the type.
        near = np.abs(got - terms.y) <= rounding + terms.count * np.ldexp(1.0, SMALLEST_EXPONENT[narrow] - 1)
    return bool((near | _overflows(got, terms, narrow) | (np.isnan(got) & np.isnan(terms.y))).all())


def _stored(values: Array, narrow: DType) -> Array:
    """Return numbers rounded to a narrower type; those that are too large for it are infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(NUMPY_TYPES[narrow]).astype(np.float64)


def _holds(values: Array, narrow: DType) -> Mask:
    """Return a mask of the numbers that a narrower type has."""
    held: Mask = (_stored(values, narrow) == values) | np.isnan(values)
    return held


def _may_be(actual: Array, terms: Terms, narrow: DType) -> bool:
    """Return whether outputs are numbers of a narrower type, infinite only if they are too large for it."""
    got = actual.astype(np.float64)
    return bool((_holds(got, narrow) & (_overflows(got, terms, narrow) | ~np.isinf(got) | np.isinf(terms.y))).all())


def _overflows(got: Array, terms: Terms, narrow: DType) -> Mask:
    """Return a mask of the infinite outputs whose exact values are almost too large for a narrower type, or larger."""
    overflows: Mask = np.isinf(got) & (np.abs(terms.y) > _MOST[narrow] / 2)
    return overflows


def _steps_account(actual: Array, terms: Terms, dtype: DType) -> bool:
    """Return whether steps of a sum were rounded to the output's own 16-bit type.

    A single rounding, up or down, is off by at most one unit in the last place; larger errors need several roundings.
    These errors have both signs, so that their sum is far from the worst case. Integers of few bits have no such
    errors.
    """
    if dtype not in _BITS:
        return False
    got, unit_roundoff = actual.astype(np.float64), UNIT_ROUNDOFF[dtype]
    with np.errstate(invalid="ignore"):
        error = np.abs(got - terms.y)
        unit = np.spacing(np.abs(actual)).astype(np.float64)
        of_f32 = _rounding(terms, UNIT_ROUNDOFF[DType.F32])
        wrong, several = error > unit / 2 + of_f32, error > unit + of_f32
        near = error <= _rounding(terms, unit_roundoff) + unit / 2
        of_a_step = unit_roundoff * terms.magnitude * np.sqrt(terms.count) + unit / 2
        usual = np.mean(np.square(error / of_a_step), where=several) <= 1 if several.any() else False
        integers = (terms.magnitude <= 2.0 ** _BITS[dtype]) & (terms.magnitude % 1 == 0) & (terms.y % 1 == 0)
    return bool(wrong.sum() >= _EVIDENCE and usual and near.all() and not (wrong & integers).any())


def _rounding(terms: Terms, unit: float, before: int = 0) -> Array:
    """Return the largest error of a sum whose steps round by `unit`: in the worst case, or almost certainly if smaller.

    Each term may have been rounded `before`, too.
    """
    steps = terms.count + before
    with np.errstate(invalid="ignore", over="ignore"):
        likely = _LIKELY * np.sqrt(steps) * unit * terms.magnitude
        return np.minimum(gamma(steps, unit) * terms.magnitude, likely)


def _rounded(towards: Callable[[Array], Array]) -> PrecisionOtherwise:
    """Return the change that rounds sums in f32 to 16 bits, but not to the nearest number.

    Args:
        towards: rounds a magnitude in units of the last place to an integer; a larger magnitude gives no smaller
            integer.
    """

    def at_best(y: Array, dtype: DType) -> Array:
        return np.copysign(_in_units(np.abs(y), dtype, towards), y) if dtype in _BITS else y

    def accounts(actual: Array, terms: Terms, dtype: DType) -> bool:
        if dtype not in _BITS or not np.isfinite(terms.y).all() or not np.isfinite(actual.astype(np.float64)).all():
            return False
        got, right = np.abs(actual.astype(np.float64)), np.abs(terms.y)
        slack = _rounding(terms, UNIT_ROUNDOFF[DType.F32])
        least, most = (_in_units(np.maximum(end, 0), dtype, towards) for end in (right - slack, right + slack))
        same_side = (np.sign(actual) == np.sign(terms.y)) | (got == 0)
        if not (same_side & (least <= got) & (got <= most)).all():
            return False
        half = np.spacing(np.abs(actual)).astype(np.float64) / 2
        # Rounding to nearest would give the other neighbour.
        otherwise = (right - slack > got + half) | (right + slack < got - half)
        return bool(otherwise.sum() >= _EVIDENCE)

    return PrecisionOtherwise(at_best, accounts)


def _in_units(magnitudes: Array, dtype: DType, towards: Callable[[Array], Array]) -> Array:
    """Return magnitudes rounded by `towards` in units of the last place; subnormal numbers share one unit."""
    exponents = np.maximum(np.frexp(magnitudes)[1] - _BITS[dtype], SMALLEST_EXPONENT[dtype])
    rounded: Array = np.ldexp(towards(np.ldexp(magnitudes, -exponents)), exponents)
    return rounded


def _up_from_odd(magnitude: Array) -> Array:
    """Return the integers below; the integers above if the one below is odd and the fraction is at least one half."""
    below = np.trunc(magnitude)
    rounded: Array = below + ((np.mod(below, 2) == 1) & (magnitude - below >= _HALF))
    return rounded


_UP_FROM_ODD = "a sum is rounded to its 16-bit type only if its last kept bit is 1, and is cut off if not"
OF_NUMBERS = tuple(
    Misreading(name, says, change)
    for name, says, change in (
        # microsoft/onnxruntime#21752, pytorch/functorch#1050
        ("operands-rounded-to-tf32", "data and filter are rounded to the 11 significant bits of TF32",
         _significand(11, np.rint)),
        ("operands-rounded-to-f16", "data and filter are rounded to half precision",
         _rounded_operands(lambda array: _stored(array, DType.F16))),
        ("operands-rounded-to-bf16", "data and filter are rounded to the 8 significant bits of bfloat16",
         _significand(8, np.rint)),
        ("operands-truncated-to-bf16",
         "data and filter lose their bits beyond the 8 significant ones of bfloat16, and are not rounded",
         _significand(8, np.trunc)),
        # jax 0.10 on the CPU
        ("subnormal-operands-are-zero", "subnormal operands are treated as 0",
         CallOtherwise(_subnormal_operands_zeroed)),
        ("subnormal-results-are-zero", "a sum that is subnormal comes out as 0", in_result(_subnormal_results_zeroed)),
    )
)  # fmt: skip
OF_SUMS = tuple(
    Misreading(name, says, change)
    for name, says, change in (
        *(
            (f"sums-kept-in-{narrow}", f"sums, or their results alone, or the operands too, are kept in {words}",
             _sums_in(narrow))
            for narrow, words in (
                (DType.F16, "half precision"), (DType.F32, "single precision"), (DType.BF16, "bfloat16"))
        ),
        # torch 2.13 if output_padding is not below the stride
        ("steps-rounded-to-16-bits",
         "a sum is rounded to the output's 16-bit type at several steps, and not once at its end",
         PrecisionOtherwise(None, _steps_account)),
        ("results-truncated", "a sum loses the bits that the output's 16-bit type does not have, and is not rounded",
         _rounded(np.trunc)),
        # OpenVINO 2026.4 on a CPU without 512-bit vectors, bfloat16::round_to_nearest_even
        ("results-rounded-up-from-odd-alone", _UP_FROM_ODD, _rounded(_up_from_odd)),
    )
)  # fmt: skip
