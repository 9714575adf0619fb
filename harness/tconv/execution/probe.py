"""What a backend accumulates 16-bit types in, found by asking it: along channels and along taps, the weaker taken.

f32 is never probed. An accumulation below the type's own precision is a deviation, and excusing it would excuse TF32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends.outcome import Produced
from tconv.cases.case import Case, Operand
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from tconv.backends import Backend
    from tconv.dialects import Dialect

# Enough for sums of 16 bits to lose what sums of 32 keep, and few enough that their own bound is not vacuous: below
# 1024 for f16, below 128 for bf16.
_TERMS = 64

PROBED = (DType.F16, DType.BF16)
"""The types that a backend is asked about."""


def accumulates(backend: Backend, dialect: Dialect, dtype: DType) -> str | None:
    """Return the type that a backend keeps sums of `dtype` in.

    None where it does not compute them, or computes what neither f32 nor `dtype` itself can excuse: then the cases are
    judged by f32, which excuses less.
    """
    for kept in (DType.F32, dtype):
        verdicts = [_asked(backend, dialect, case, kept) for case in _questions(dtype)]
        if all(isinstance(verdict, ver.Agreed | ver.Disputed) for verdict in verdicts):
            return str(kept)
    return None


def _questions(dtype: DType) -> tuple[Case, Case]:
    """Return two sums of as many real terms, over channels and over taps."""

    def case(name: str, x: tuple[int, ...], w: tuple[int, ...]) -> Case:
        return Case(f"probe/{name}", Attributes(), Operand(x, dtype, "normal"), Operand(w, dtype, "normal"))

    # Along taps the input is as long as the kernel, so that all of them overlap in the middle.
    return case("channels", (1, _TERMS, 4), (_TERMS, 8, 1)), case("taps", (1, 1, _TERMS), (1, 1, _TERMS))


def _asked(backend: Backend, dialect: Dialect, case: Case, kept: DType) -> ver.Verdict | None:
    problem = Problem(case, dialect)
    if problem.values is None:
        return None
    try:
        outcome = backend.run(problem.call, problem.arrays)
    except Exception:  # noqa: BLE001 - what cannot be probed is judged by the f32 bound, which excuses nothing
        return None
    if not isinstance(outcome, Produced):
        return None
    return judge(problem, outcome, {str(case.x.dtype): str(kept)})
