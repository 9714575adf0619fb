"""Misreadings of the precision: numbers are stored with too few bits, whatever the order of the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings.misreading import Misreading, PrecisionOtherwise
from tconv.diagnosis.misreadings.operands import with_bits
from tconv.expectation.bound import UNIT_ROUNDOFF, gamma
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.expectation.bound import Terms
    from tconv.vocabulary import Array

_BITS = {DType.F16: 11, DType.BF16: 8}
_MOST = {DType.F16: 65504.0, DType.BF16: 2.0**128 - 2.0**120}
"""The largest number of each type."""
_EVIDENCE = 3
"""How many elements must show the loss: one or two may be wrong for any reason."""
_LIKELY = 6.0
"""The rounding errors of n steps add up to at most this many times sqrt(n) of one, except in one case of 10^8.

Source: Higham and Mary, A new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019.
"""


def _sums_in(narrow: DType) -> PrecisionOtherwise:
    """Return the change that stores sums in a narrower type than the output's."""

    def at_best(y: Array, dtype: DType) -> Array:
        return y if UNIT_ROUNDOFF[dtype] >= UNIT_ROUNDOFF[narrow] else _nearest(y, narrow)

    def accounts(actual: Array, terms: Terms, dtype: DType) -> bool:
        got = actual.astype(np.float64)
        if UNIT_ROUNDOFF[dtype] >= UNIT_ROUNDOFF[narrow] or not np.array_equal(
            _nearest(got, narrow), got, equal_nan=True
        ):
            return False
        # Where what is owed has few bits, as small integers have, an output of few bits is no evidence.
        wrong = (got != terms.y) & np.isfinite(terms.y)
        beyond = wrong & (_nearest(terms.y, narrow) != terms.y)
        if beyond.sum() < max(_EVIDENCE, wrong.sum() / 2):
            return False
        with np.errstate(invalid="ignore"):
            near = np.abs(got - terms.y) <= _rounding(terms, UNIT_ROUNDOFF[narrow])
        # The output is infinite where the narrower type has no number so large.
        return bool(
            (near | (np.isinf(got) & (np.abs(terms.y) > _MOST[narrow] / 2)) | (np.isnan(got) & np.isnan(terms.y))).all()
        )

    return PrecisionOtherwise(at_best, accounts)


def _nearest(values: Array, narrow: DType) -> Array:
    with np.errstate(invalid="ignore"):
        rounded = with_bits(values, _BITS[narrow], np.rint)
        return np.where(np.abs(rounded) > _MOST[narrow], np.copysign(np.inf, rounded), rounded)


def _rounding(terms: Terms, unit: float) -> Array:
    """Return how far a sum whose steps round by `unit` may be from the exact one: at worst, or almost certainly."""
    with np.errstate(invalid="ignore", over="ignore"):
        likely = _LIKELY * np.sqrt(terms.count) * unit * terms.magnitude
        return np.minimum(gamma(terms.count, unit) * terms.magnitude, likely)


def _truncated(y: Array, dtype: DType) -> Array:
    return with_bits(y, _BITS[dtype], np.trunc) if dtype in _BITS else y


def _is_truncated(actual: Array, terms: Terms, dtype: DType) -> bool:
    """Return whether sums in f32 were truncated to 16 bits: towards zero, by less than a unit in the last place."""
    if dtype not in _BITS or not np.isfinite(terms.y).all() or not np.isfinite(actual.astype(np.float64)).all():
        return False
    got, owed = np.abs(actual.astype(np.float64)), np.abs(terms.y)
    slack = _rounding(terms, UNIT_ROUNDOFF[DType.F32])
    unit = np.spacing(np.abs(actual)).astype(np.float64)
    same_side = (np.sign(actual) == np.sign(terms.y)) | (got == 0)
    if not (same_side & (got <= owed + slack) & (owed - slack < got + unit)).all():
        return False
    # Rounding to nearest would have rounded some of these away from zero.
    return bool((owed - slack > got + unit / 2).sum() >= _EVIDENCE)


MISREADINGS: tuple[Misreading, ...] = (
    Misreading("sums-kept-in-f16", "sums are kept in half precision", _sums_in(DType.F16)),
    Misreading("sums-kept-in-bf16", "sums are kept in bfloat16", _sums_in(DType.BF16)),
    Misreading(
        "results-truncated",
        "a sum loses the bits that the output's 16-bit type does not have, and is not rounded",
        PrecisionOtherwise(_truncated, _is_truncated),
    ),
)
