"""The type in which a backend accumulates products of 16-bit numbers, found by asking it for chosen sums.

A runtime may have another kernel for each kind of filter, each rank and each type. So each of these paths is probed
alone, when its first case is judged by a bound. Each worker probes for itself, and the record says what it found.
f32 is never probed. To accumulate below the type's own precision is a deviation, and a probe would excuse TF32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tconv.backends.outcome import Produced
from tconv.cases.case import Case, Operand
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import Attributes, DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tconv.backends.outcome import Outcome
    from tconv.cases.case import KindOfGroup
    from tconv.dialects import Dialect

_DOUBLINGS = 5
_TERMS = 2**_DOUBLINGS
"""Enough that 16-bit sums lose what 32-bit sums keep. Few enough that the bound of 16-bit sums still excludes wrong
results: below 1024 for f16, below 128 for bf16."""
_OUTPUTS = 8
"""Output channels of a group in a sum along channels, and channels of a depthwise filter."""
_OF_ONE_CHANNEL = ("depthwise", "multiplier")
"""The kinds of group that have no sum along channels."""


class SumPath(NamedTuple):
    """Calls that a runtime may compute by one kernel.

    Attributes:
        dtype: the element type, of 16 bits.
        kind: the kind of group.
        pointwise: whether the filter has a single tap.
        rank: the number of spatial axes.
    """

    dtype: DType
    kind: KindOfGroup
    pointwise: bool
    rank: int

    @property
    def filters(self) -> str:
        """The kind of filter, in words."""
        kind = "depthwise with several outputs" if self.kind == "multiplier" else self.kind
        return f"{kind} 1x1" if self.pointwise else kind


def path_of(case: Case) -> SumPath | None:
    """Return the path of a case; None if its type has more than 16 bits, or if no sum has more than one product."""
    rank, kind = len(case.x.shape) - 2, case.kind_of_group
    if case.x.dtype not in (DType.F16, DType.BF16) or rank < 1:
        return None
    pointwise = set(case.w.shape[2:]) == {1}
    return None if pointwise and kind in _OF_ONE_CHANNEL else SumPath(case.x.dtype, kind, pointwise, rank)


def probe(path: SumPath, dialect: Dialect, ask: Callable[[Problem], Outcome]) -> DType | None:
    """Return the type in which a backend accumulates on a path: f32, or the path's own type if one sum is less exact.

    None if the backend does not compute the sums, or if its results are wrong for both types. Cases of the path are
    then judged as accumulated in f32, the stricter type.

    Args:
        path: the path.
        dialect: the dialect of the sums' calls.
        ask: returns what the backend does with a problem.
    """
    # The first call of a kernel alone may be wrong. So f32 must fail twice before the wider bound is used.
    for accumulator in (DType.F32, DType.F32, path.dtype):
        for case in _cases(path):
            problem = Problem(case, dialect)
            outcome = None if problem.values is None else ask(problem)
            if not isinstance(outcome, Produced):
                return None
            if not isinstance(judge(problem, outcome, accumulator), ver.Allowed):
                break
        else:
            return accumulator
    return None


def _cases(path: SumPath) -> Iterator[Case]:
    """Yield cases with sums of `_TERMS` real numbers: along channels and along taps, if the path has such sums."""

    def case(name: str, groups: int, x: tuple[int, ...], w: tuple[int, ...], strides: tuple[int, ...] | None) -> Case:
        attributes = Attributes(groups=groups if groups > 1 else None, strides=strides)
        x_recipe, w_recipe = Operand(x, path.dtype, "normal"), Operand(w, path.dtype, "normal")
        return Case(f"probe/{name}", attributes, x_recipe, w_recipe)

    groups = {"dense": 1, "grouped": 2}.get(path.kind, _OUTPUTS)
    if path.kind not in _OF_ONE_CHANNEL:
        # The strides equal the kernel, so no taps overlap: each sum is along channels alone.
        kernel = (1 if path.pointwise else 2,) * path.rank
        spatial = (4,) * path.rank
        x, w = (1, groups * _TERMS, *spatial), (groups * _TERMS, _OUTPUTS, *kernel)
        yield case("channels", groups, x, w, None if path.pointwise else kernel)
    if not path.pointwise:
        # The data is as long as the kernel, so all taps overlap in the middle.
        channels = 1 if path.kind in _OF_ONE_CHANNEL else 2
        doublings = _DOUBLINGS + 1 - channels
        kernel = tuple(2 ** ((doublings + axis) // path.rank) for axis in range(path.rank))
        outputs = 2 if path.kind == "multiplier" else 1
        yield case("taps", groups, (1, groups * channels, *kernel), (groups * channels, outputs, *kernel), None)
