"""Measure how many wrong kernels a tier finds: kernels that are wrong for some sizes, types and kinds of group.

A wrong kernel is drawn from a grammar: a size and a condition on it (a residue or a threshold), a type, a kind of
group, and a defect. Type and kind may be any. It is right if its condition does not hold. It dies if a case of the
tier is judged as wrong. Each survivor is printed with its reason: no case meets the condition, or none that meets it
shows the defect.

Run `python bench/wrong_kernels.py [--count 200] [--seed 41] [--small] [--tier gate|full]`. The exit code is 1 if fewer
than 95 of a hundred die in the tier full, or fewer than 80 in gate.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from tconv.backends.outcome import Produced
from tconv.cases.case import KindOfGroup
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tconv.cases.case import Case
    from tconv.vocabulary import Array, Tier

KINDS: tuple[KindOfGroup, ...] = get_args(KindOfGroup)
AXES = "WHD"
"""The last spatial axis, the one before it, and the one before that."""
LEAST = {"gate": 80, "full": 95}
"""The least number of a hundred that must die."""
DIALECT = find_dialect("onnx/ConvTranspose-22")
MOST_ASKED = 400
"""The most cases that are asked of a kernel, the smallest first: many are alike."""
LARGEST = {
    "channels": 65, "outputs": 65, "groups": 16, "batch": 16, "kernel": 11, "stride": 8, "dilation": 5, "output": 257,
}  # fmt: skip
"""The largest threshold of a size: the corpus does not promise to reach special paths of a kernel above it."""
WIDTHS = (2, 4, 8, 16, 32)
"""Vector widths, and steps of unrolled loops."""
Operands = dict[str, "Array"]


@dataclass(frozen=True)
class Kernel:
    """A wrong kernel.

    Attributes:
        size: the size in the condition.
        condition: the condition in words.
        holds: whether the condition holds for a size.
        dtype: the type in which it is wrong; None for any.
        kind: the kind of group for which it is wrong; None for any.
        defect: the name of its defect.
    """

    size: str
    condition: str
    holds: Callable[[int], bool]
    dtype: DType | None
    kind: str | None
    defect: str

    def __str__(self) -> str:
        return f"{self.defect}, if {self.size} {self.condition}, {self.dtype or 'any type'}, {self.kind or 'any group'}"

    def is_wrong_for(self, facts: Facts) -> bool:
        """Return whether its condition holds for a case."""
        value = facts.sizes.get(self.size)
        if value is None or not self.holds(value):
            return False
        return self.dtype in {None, facts.dtype} and self.kind in {None, facts.kind}


@dataclass(frozen=True)
class Facts:
    """The facts for conditions: the sizes of a case by name, its type and kind of group; and its cost."""

    case: Case
    sizes: dict[str, int]
    dtype: DType
    kind: str
    elements: int


def facts_of(case: Case) -> Facts | None:
    """Return the facts of a case; None if the dialect expects no element."""
    problem = Problem(case, DIALECT)
    if problem.values is None or 0 in (output := problem.values.primary.geometry.output):
        return None
    groups, (channels, outputs) = case.attributes.groups or 1, case.w.shape[:2]
    rank = len(output)
    sizes = {"channels": channels // groups, "outputs": outputs, "groups": groups, "batch": case.x.shape[0]}
    lists = {name: case.attributes.per_axis(f"{name}s", rank) for name in ("stride", "dilation")}
    lists |= {"kernel": case.w.shape[2:], "output": output}
    for name, values in lists.items():
        sizes |= {f"{name} {axis}": value for axis, value in zip(AXES, reversed(values), strict=False)}
    elements = case.x.shape[0] * outputs * groups * int(np.prod(output)) * int(np.prod(case.w.shape[2:]))
    return Facts(case, sizes, case.x.dtype, case.kind_of_group, elements) if elements else None


def _without_last_product(arrays: Operands, groups: int) -> None:
    w = arrays["w"]
    w[w.shape[0] // groups - 1 :: w.shape[0] // groups, ..., -1] = 0


def _without_last_channel(arrays: Operands, groups: int) -> None:
    w = arrays["w"]
    w[w.shape[0] // groups - 1 :: w.shape[0] // groups] = 0


def _without_last_tap(arrays: Operands, _: int) -> None:
    arrays["w"][..., -1] = 0


def _with_taps_in_reverse(arrays: Operands, _: int) -> None:
    arrays["w"] = arrays["w"][..., ::-1]


def _with_last_column_of_data_twice(arrays: Operands, _: int) -> None:
    x = arrays["x"]
    x[..., -1] = x[..., max(x.shape[-1] - 2, 0)]


def _with_first_item_for_last(arrays: Operands, _: int) -> None:
    arrays["x"][-1] = arrays["x"][0]


def _without_bias_of_last_channel(arrays: Operands, _: int) -> None:
    if "b" in arrays:
        arrays["b"][-1] = 0


def _with_filter_of_group_before(arrays: Operands, groups: int) -> None:
    w = arrays["w"]
    share = w.shape[0] // groups
    w[-share:] = w[: w.shape[0] - share][-share:] if groups > 1 else w[-share:]


def _rounded(arrays: Operands, _: int) -> None:
    """Round to the next smaller type: f64 to f32, f32 to bf16, f16 to bf16."""
    for role, array in arrays.items():
        smaller = NUMPY_TYPES[DType.F32 if array.dtype == np.float64 else DType.BF16]
        with np.errstate(over="ignore", under="ignore"):
            arrays[role] = array.astype(smaller).astype(array.dtype)


ON_OPERANDS: dict[str, Callable[[Operands, int], None]] = {
    "last product dropped": _without_last_product,
    "last channel dropped": _without_last_channel,
    "last tap dropped": _without_last_tap,
    "taps in reverse": _with_taps_in_reverse,
    "last column of data read twice": _with_last_column_of_data_twice,
    "first item for the last": _with_first_item_for_last,
    "no bias for the last channel": _without_bias_of_last_channel,
    "filter of the group before": _with_filter_of_group_before,
    "operands rounded": _rounded,
}
"""Defects that a right kernel with other operands shows; each changes copies of the operands, in NCX and IOX."""


def _last_column_lost(y: Array) -> None:
    y[..., -1] = 0


def _last_column_of_the_one_before(y: Array) -> None:
    y[..., -1] = y[..., max(y.shape[-1] - 2, 0)]


def _shifted(y: Array) -> None:
    y[..., 1:] = y[..., :-1].copy()


def _last_channel_of_the_one_before(y: Array) -> None:
    y[:, -1] = y[:, max(y.shape[1] - 2, 0)]


def _last_item_lost(y: Array) -> None:
    y[-1] = 0


def _first_row_twice(y: Array) -> None:
    y[:, :, min(1, y.shape[2] - 1)] = y[:, :, 0]


ON_OUTPUT: dict[str, Callable[[Array], None]] = {
    "last column not written": _last_column_lost,
    "last column is the one before": _last_column_of_the_one_before,
    "one element too far": _shifted,
    "last channel is the one before": _last_channel_of_the_one_before,
    "last item not written": _last_item_lost,
    "second row is the first": _first_row_twice,
}
"""Defects of the written output, in NCX."""


def draw(random: Random) -> Kernel:
    """Draw a wrong kernel: its condition holds for a size within `LARGEST`, and its defect can show."""
    of_axes = [f"{name} {axis}" for name in ("kernel", "stride", "dilation", "output") for axis in AXES]
    while True:
        size = random.choice(["channels", "outputs", "groups", "batch", *of_axes])
        largest = LARGEST[size.partition(" ")[0]]
        dtype, kind = random.choice([None, *DType]), random.choice([None, *KINDS])
        condition, holds = _condition(random, largest)
        defect = random.choice([*ON_OPERANDS, *ON_OUTPUT])
        fixed = {"channels": KINDS[2:], "outputs": ("depthwise",), "groups": ("dense",)}
        shows = (defect, dtype) != ("operands rounded", DType.BF16)
        shows = shows and (defect, kind) != ("filter of the group before", "dense")
        if shows and kind not in fixed.get(size, ()) and any(map(holds, range(2, largest + 1))):
            return Kernel(size, condition, holds, dtype, kind, defect)


def _condition(random: Random, largest: int) -> tuple[str, Callable[[int], bool]]:
    widths = [width for width in WIDTHS if width < largest]
    match random.choice(["residue", "remainder", "at least", "exactly"]):
        case "residue":
            width = random.choice(widths)
            residue = random.choice([0, 1, width - 1])
            return f"% {width} == {residue}", lambda value: value >= width and value % width == residue
        case "remainder":
            width = random.choice(widths)
            return f"% {width} != 0", lambda value: value > width and value % width != 0
        case "at least":
            least = random.randint(2, largest)
            return f">= {least}", lambda value: value >= least
        case _:
            width = random.choice(widths)
            return f"== {width}", lambda value: value == width


def outcome(kernel: Kernel, problem: Problem) -> Produced | None:
    """Return a wrong kernel's output if its condition holds; None if it is the right output."""
    assert problem.values is not None
    geometry = problem.values.primary.geometry
    right = problem.truth.compute_values(geometry)
    if 0 in (*problem.case.x.shape, *problem.case.w.shape):
        # Without products there is no wrong one.
        return None
    if kernel.defect in ON_OUTPUT:
        y = right.copy()
        ON_OUTPUT[kernel.defect](y)
    else:
        arrays = {role: array.copy() for role, array in problem.operands.items()}
        ON_OPERANDS[kernel.defect](arrays, geometry.groups)
        y = Truth(arrays, problem.truth.dtype).compute_values(geometry)
    dtype = NUMPY_TYPES[problem.truth.dtype]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if np.array_equal(y.astype(dtype), right.astype(dtype), equal_nan=True):
            return None
        return Produced(from_ncx(y.astype(dtype), problem.call.data_format))


def why_alive(kernel: Kernel, cases: Sequence[Facts]) -> str | None:
    """Return why a kernel survives the cases, the smallest first; None if it dies."""
    meeting = [facts for facts in cases if kernel.is_wrong_for(facts)]
    if not meeting:
        return "no case meets the condition"
    if kernel.defect == "operands rounded":
        # Small integers are exact in every type.
        meeting.sort(key=lambda facts: facts.case.x.data == "integers")
    shown = 0
    for facts in meeting[:MOST_ASKED]:
        problem = Problem(facts.case, DIALECT)
        if (wrong := outcome(kernel, problem)) is None:
            continue
        shown += 1
        if not isinstance(judge(problem, wrong, DType.F32), ver.Allowed):
            return None
    asked = min(len(meeting), MOST_ASKED)
    return f"{asked} cases that meet the condition were asked, {shown} had another output, and all were judged as right"


def ordered(cases: Iterable[Case]) -> list[Facts]:
    """Return the facts of the cases of the operator alone, the smallest first: a kernel computes no graphs."""
    alone = (case for case in cases if case.breaks is None and not case.context)
    found = [facts for case in alone if (facts := facts_of(case)) is not None]
    return sorted(found, key=lambda facts: facts.elements)


def main() -> int:
    """Draw, run, print; return 1 if too few die."""
    parser = argparse.ArgumentParser(description="How many wrong kernels die in a tier.")
    parser.add_argument("--tier", choices=[*LEAST], help="default: both")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--small", action="store_true", help="for CI: 40 kernels in gate, whatever else is asked for")
    arguments: Any = parser.parse_args()
    count, names = (
        (40, ["gate"]) if arguments.small else (arguments.count, [arguments.tier] if arguments.tier else [*LEAST])
    )
    random = Random(arguments.seed)  # noqa: S311 - random but repeatable
    kernels = [draw(random) for _ in range(count)]
    corpus, enough = Corpus.load(), True
    for name in names:
        tier: Tier = name
        cases = ordered(corpus.cases(tier))
        reasons = {kernel: why_alive(kernel, cases) for kernel in kernels}
        survivors = {kernel: reason for kernel, reason in reasons.items() if reason}
        for kernel, reason in survivors.items():
            print(f"{tier}: survives: {kernel}: {reason}")
        dead = count - len(survivors)
        print(f"{tier}: {dead} of {count} wrong kernels die ({dead / count:.1%}, at least {LEAST[tier]}%)")
        enough = enough and 100 * dead >= LEAST[tier] * count
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
