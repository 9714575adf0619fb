"""The reference against torch's conv_transpose in float64, one thread each, as multiples of torch's value.

Measured are the value by `definition` and as it is used, the value with the verdict on a right output and on one with a
wrong element, the same for a tiny shape alone and in stacks of 100, the memory beyond operands and output, and how the
time grows with the output. All of a line is measured in turn, call by call, in seconds of this thread's processor;
medians are printed, and quartiles are in the JSON.

Run `python bench/reference.py [--small] [--json FILE]`.
"""

# ruff: noqa: E402 - numpy's libraries read the number of threads when they are loaded

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import gc
import json
import sys
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, quantiles
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.dialects.geometry import Geometry
from tconv.expectation import stream
from tconv.expectation.certificate import Composition, conforms
from tconv.expectation.reference import definition
from tconv.expectation.truth import Truth
from tconv.verdict.comparison import compare
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

Array = np.ndarray[Any, np.dtype[np.float64]]

SECONDS = 3.0
"""How long a line is measured, at least."""
SMALL = 0.1
"""The same with --small."""
FEWEST = 3
"""So many rounds, at least."""
STACK = 100


@dataclass(frozen=True)
class Shape:
    """One line of the table."""

    name: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    stride: int = 1
    dilation: int = 1
    groups: int = 1

    def geometry(self) -> Geometry:
        """Return the geometry without pads."""
        rank, spatial, kernel = len(self.x) - 2, self.x[2:], self.w[2:]
        full = tuple((n - 1) * self.stride + (k - 1) * self.dilation + 1 for n, k in zip(spatial, kernel, strict=True))
        same = {"strides": (self.stride,) * rank, "dilations": (self.dilation,) * rank}
        return Geometry(spatial=spatial, kernel=kernel, pads_begin=(0,) * rank, output=full, groups=self.groups, **same)


TINY = Shape("tiny 1x2x3x3, k3", (1, 2, 3, 3), (2, 2, 3, 3))
SHAPES = (
    Shape("1x20x224x224, k3 s2", (1, 20, 224, 224), (20, 20, 3, 3), 2),
    Shape("1x512x4x4 -> 256, k4 s2", (1, 512, 4, 4), (512, 256, 4, 4), 2),
    Shape("1x128x64x64, k2 s2", (1, 128, 64, 64), (128, 64, 2, 2), 2),
    Shape("32x16^3, k3 s2", (1, 32, 16, 16, 16), (32, 16, 3, 3, 3), 2),
    Shape("depthwise 64x56x56, k3 s2", (1, 64, 56, 56), (64, 1, 3, 3), 2, 1, 64),
    Shape("16x64x64, k11 s4", (1, 16, 64, 64), (16, 16, 11, 11), 4),
    Shape("8x64x1024, k16 s8", (8, 64, 1024), (64, 32, 16), 8),
    Shape("64x28x28, k3 d2, 4 groups", (1, 64, 28, 28), (64, 16, 3, 3), 1, 2, 4),
    Shape("8x32x16x16, k4 s2", (8, 32, 16, 16), (32, 32, 4, 4), 2),
)
SIDES = (16, 28, 50, 88, 158, 281, 500, 889, 1581)
"""Inputs of side n give outputs of 1e3 to 1e7 elements: one channel to one, k3 s2."""
GROWTH_FROM = 3e4
COLUMNS = ("definition", "value", "right", "wrong")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the reference costs, as multiples of torch float64.")
    parser.add_argument("--small", action="store_true", help="some seconds altogether, for CI")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    try:
        import torch  # noqa: PLC0415 - its absence is reported in one sentence
    except ImportError:
        sys.stderr.write(
            "bench/reference.py needs torch; where pip has its CPU build at hand: pip install torch==2.13.0\n"
        )
        sys.exit(2)
    torch.set_num_threads(1)
    seconds = SMALL if arguments.small else SECONDS
    with torch.inference_mode():
        found = {
            "shapes": shapes(torch, seconds),
            "tiny": tiny(torch, seconds),
            "memory": memory(),
            "growth": growth(SIDES[:-2] if arguments.small else SIDES, seconds),
        }
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


def shapes(torch: ModuleType, seconds: float) -> dict[str, Any]:
    """Measure the larger shapes."""
    print(f"{'multiples of torch float64':28}{'torch ms':>10}{'definition':>12}{'value':>8}{'right':>8}{'wrong':>8}")
    table = {}
    for shape in SHAPES:
        x, w, geometry = *operands(shape), shape.geometry()
        right = stream.sums(x, w, None, geometry).y.astype(np.float32)
        wrong = right.copy()
        wrong.flat[-1] += 1 + abs(wrong.flat[-1])
        functions = (
            by_torch(torch, shape, x, w),
            lambda x=x, w=w, g=geometry: definition(x, w, None, g),
            lambda x=x, w=w, g=geometry: stream.sums(x, w, None, g),
            lambda x=x, w=w, g=geometry, actual=right: compare(actual, Truth({"x": x, "w": w}, DType.F32), g, {}),
            lambda x=x, w=w, g=geometry, actual=wrong: compare(actual, Truth({"x": x, "w": w}, DType.F32), g, {}),
        )
        assert np.allclose(functions[0]().numpy(), functions[2]().y, rtol=1e-9, atol=1e-9), shape.name
        assert not functions[3]().wrong.any()
        assert functions[4]().wrong.sum() == 1
        torch_time, *others = in_turn(functions, seconds)
        of_torch = {name: other["median"] / torch_time["median"] for name, other in zip(COLUMNS, others, strict=True)}
        table[shape.name] = {"torch": torch_time, **dict(zip(COLUMNS, others, strict=True)), "ratios": of_torch}
        line = "".join(f"{ratio:{width}.2f}" for ratio, width in zip(of_torch.values(), (12, 8, 8, 8), strict=True))
        print(f"{shape.name:28}{torch_time['median'] * 1e3:10.3f}{line}")
    ratios = {column: [row["ratios"][column] for row in table.values()] for column in COLUMNS}
    for name, function in (("geometric mean", geometric_mean), ("worst", max)):
        line = [function(ratios[column]) for column in COLUMNS]
        print(f"{name:38}" + "".join(f"{r:{width}.2f}" for r, width in zip(line, (12, 8, 8, 8), strict=True)))
        table[name] = dict(zip(COLUMNS, line, strict=True))
    return table


def tiny(torch: ModuleType, seconds: float) -> dict[str, Any]:
    """Measure a tiny shape: microseconds of one call, with everything known of its geometry, and with nothing."""
    x, w, geometry = *operands(TINY), TINY.geometry()
    limits = (stream.largest(x), stream.largest(w), 0.0)
    right = stream.sums(x, w, None, geometry).y.astype(np.float32)
    of = Composition(geometry, x.shape[1], bias=False, dtype=DType.F32)
    stack_x, stack_w, stack_right = (np.stack([array] * STACK) for array in (x, w, right))

    def judged() -> bool:
        made = stream.stacked(x[None], w[None], None, geometry)
        return bool(conforms(right[None], made, of).all())

    def stacked() -> bool:
        return bool(conforms(stack_right, stream.stacked(stack_x, stack_w, None, geometry), of).all())

    def unknown() -> object:
        stream._index.cache_clear()  # noqa: SLF001 - a geometry that was never seen is what is measured
        return stream.sums(x, w, None, geometry, limits=limits)

    assert judged()
    assert stacked()
    functions = {
        "torch, value": by_torch(torch, TINY, x, w),
        "definition": lambda: definition(x, w, None, geometry),
        "value": lambda: stream.sums(x, w, None, geometry, limits=limits),
        "value, new geometry": unknown,
        "value, bound, verdict": judged,
        "Truth and compare": lambda: compare(right, Truth({"x": x, "w": w}, DType.F32), geometry, {}),
        f"each of {STACK} stacked, value, bound, verdict": stacked,
    }
    print(f"\n{TINY.name}, microseconds")
    found = dict(zip(functions, in_turn(tuple(functions.values()), seconds), strict=True))
    for name, row in found.items():
        each = STACK if "stacked" in name else 1
        row.update({key: value / each for key, value in row.items()})
        print(f"  {name:46}{row['median'] * 1e6:8.1f}")
    return found


def memory() -> dict[str, Any]:
    """Measure the peak of what is allocated beyond operands and output, for value and verdict on a right output."""
    print(f"\n{'MB beyond operands and output':38}{'value':>8}{'verdict':>9}{'2 + output/2':>14}")
    found = {}
    for shape in SHAPES:
        x, w, geometry = *operands(shape), shape.geometry()
        right = stream.sums(x, w, None, geometry).y.astype(np.float32)
        output, row = right.size * 8, {}
        for name, function in (
            ("value", lambda x=x, w=w, g=geometry: stream.sums(x, w, None, g)),
            ("verdict", lambda x=x, w=w, g=geometry, y=right: compare(y, Truth({"x": x, "w": w}, DType.F32), g, {})),
        ):
            gc.collect()
            tracemalloc.start()
            function()
            row[name] = (tracemalloc.get_traced_memory()[1] - output) / 1e6
            tracemalloc.stop()
        row["goal"] = 2 + output / 2e6
        found[shape.name] = row
        print(f"{shape.name:38}{row['value']:8.2f}{row['verdict']:9.2f}{row['goal']:14.2f}")
    return found


def growth(sides: Sequence[int], seconds: float) -> list[dict[str, float]]:
    """Measure nanoseconds for each output element, for value and verdict on a right output."""
    print(f"\n{'output elements':>16}{'value ns':>10}{'verdict ns':>12}   (each)")
    table = []
    for side in sides:
        shape = Shape("", (1, 1, side, side), (1, 1, 3, 3), 2)
        x, w, g = *operands(shape), shape.geometry()
        right = stream.sums(x, w, None, g).y.astype(np.float32)
        functions = (
            lambda x=x, w=w, g=g: stream.sums(x, w, None, g),
            lambda x=x, w=w, g=g, y=right: compare(y, Truth({"x": x, "w": w}, DType.F32), g, {}),
        )
        value, verdict = (row["median"] / right.size * 1e9 for row in in_turn(functions, seconds / 2))
        table.append({"elements": right.size, "value": value, "verdict": verdict})
        print(f"{right.size:16}{value:10.2f}{verdict:12.2f}")
    large = [row for row in table if row["elements"] > GROWTH_FROM]
    for name in ("value", "verdict"):
        each = [row[name] for row in large]
        times = max(each) / min(each)
        print(f"  {name}: {min(each):.2f} to {max(each):.2f} above {GROWTH_FROM:.0f}, {times:.2f} times")
    return table


def operands(shape: Shape) -> tuple[Array, Array]:
    """Return normal numbers of float32: data for which a bound is due."""
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(size).astype(np.float32).astype(np.float64) for size in (shape.x, shape.w))
    return x, w


def by_torch(torch: ModuleType, shape: Shape, x: Array, w: Array) -> Callable[[], Any]:
    """Return torch's call for the same value."""
    conv_transpose = getattr(torch.nn.functional, f"conv_transpose{len(shape.x) - 2}d")
    tx, tw = torch.from_numpy(x), torch.from_numpy(w)
    attributes = {"stride": shape.stride, "dilation": shape.dilation, "groups": shape.groups}
    return lambda: conv_transpose(tx, tw, **attributes)


def in_turn(functions: Sequence[Callable[[], Any]], seconds: float) -> list[dict[str, float]]:
    """Return median and quartiles of each function's seconds; every round calls each of them."""
    for function in functions:
        function()
    rounds: list[list[float]] = []
    started = perf_counter()
    while perf_counter() - started < seconds or len(rounds) < FEWEST:
        rounds.append([once(function) for function in functions])
    parts = (quantiles(column, n=4) for column in zip(*rounds, strict=True))
    return [{"median": middle, "lower": lower, "upper": upper} for lower, middle, upper in parts]


def once(function: Callable[[], Any]) -> float:
    """Return the seconds of one call, its result released."""
    started = thread_time()
    function()
    return thread_time() - started


if __name__ == "__main__":
    main()
