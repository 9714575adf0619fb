"""The type in which a backend accumulates 16-bit types, found by running two sums on it, along channels and along taps.

Where the two differ, the weaker type counts. f32 is never probed: an accumulation below the type's own precision is a
deviation, and to excuse it would be to excuse TF32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends.outcome import Produced, Survived
from tconv.cases.case import Case, Operand
from tconv.execution.call_result import checked, private
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from tconv.backends import Backend
    from tconv.dialects import Dialect

# So many that 16-bit sums lose what 32-bit sums keep, and so few that the bound of 16-bit sums still excludes wrong
# results: below 1024 for f16, below 128 for bf16.
_TERMS = 64

PROBED = (DType.F16, DType.BF16)
"""The types for which a backend is probed."""
MOST_CALLS = 6
"""How many calls the probe of a type makes at most: two cases for each of three assumptions."""


def accumulates(backend: Backend, dialect: Dialect, dtype: DType) -> str | None:
    """Return the type in which a backend accumulates sums of `dtype`.

    None where it does not compute them, or computes what neither f32 nor `dtype` itself can excuse: then the cases are
    judged by f32, which excuses less.
    """
    # The first call of a process may be wrong alone: what excuses more is not believed before f32 has failed twice.
    for accumulator in (DType.F32, DType.F32, dtype):
        verdicts = [_verdict(backend, dialect, case, accumulator) for case in _cases(dtype)]
        if all(isinstance(verdict, ver.Allowed) for verdict in verdicts):
            return str(accumulator)
    return None


def _cases(dtype: DType) -> tuple[Case, Case]:
    """Return two cases with sums of `_TERMS` real terms, over channels and over taps."""

    def case(name: str, x: tuple[int, ...], w: tuple[int, ...]) -> Case:
        return Case(f"probe/{name}", Attributes(), Operand(x, dtype, "normal"), Operand(w, dtype, "normal"))

    # The input is as long as the kernel, so that in the middle all taps overlap.
    return case("channels", (1, _TERMS, 4), (_TERMS, 8, 1)), case("taps", (1, 1, _TERMS), (1, 1, _TERMS))


def _verdict(backend: Backend, dialect: Dialect, case: Case, accumulator: DType) -> ver.Verdict | None:
    problem = Problem(case, dialect)
    if problem.values is None:
        return None
    try:
        outcome = checked(backend.run(problem.call, private(problem.arrays)))
    except Exception:  # noqa: BLE001 - without an answer the f32 bound holds, which excuses nothing
        return None
    if isinstance(outcome, Survived):
        outcome = outcome.outcome
    if not isinstance(outcome, Produced):
        return None
    return judge(problem, outcome, {str(case.x.dtype): str(accumulator)})
