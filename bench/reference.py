"""The reference against torch's conv_transpose in float64, one thread each: value, and value with bound.

Run `python bench/reference.py`.
"""

# ruff: noqa: E402 - numpy's libraries read the number of threads when they are loaded

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import sys
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.dialects.geometry import Geometry
from tconv.expectation.bound import Terms, bound
from tconv.expectation.meetings import products
from tconv.expectation.reference import definition
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

Array = np.ndarray[Any, np.dtype[np.float64]]

ROUNDS = 7
SECONDS = 0.3
"""How long all rounds of one call take together, at least."""


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


SHAPES = (
    Shape("tiny 1x2x3x3", (1, 2, 3, 3), (2, 2, 3, 3)),
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


def main() -> None:
    """Measure and print."""
    try:
        import torch  # noqa: PLC0415 - its absence is reported in one sentence
    except ImportError:
        sys.stderr.write(
            "bench/reference.py needs torch; where pip has its CPU build at hand: pip install torch==2.13.0\n"
        )
        sys.exit(2)
    torch.set_num_threads(1)
    print(f"{'shape':28}{'torch ms':>10}{'value':>9}{'+ bound':>9}   (multiples of torch)")
    for shape in SHAPES:
        with torch.inference_mode():
            by_torch, value, with_bound = compared(shape, torch)
        print(f"{shape.name:28}{by_torch * 1e3:10.3f}{value / by_torch:9.2f}{with_bound / by_torch:9.2f}")


def compared(shape: Shape, torch: ModuleType) -> list[float]:
    """Return the median seconds of torch, of the value, and of value and bound, measured in turn in each round."""
    x, w = operands(shape)
    geometry = shape.geometry()
    conv_transpose = getattr(torch.nn.functional, f"conv_transpose{len(shape.x) - 2}d")
    tx, tw = torch.from_numpy(x), torch.from_numpy(w)
    attributes = {"stride": shape.stride, "dilation": shape.dilation, "groups": shape.groups}
    functions: tuple[Callable[[], Any], ...] = (
        lambda: conv_transpose(tx, tw, **attributes),
        lambda: definition(x, w, None, geometry),
        lambda: value_and_bound(x, w, geometry),
    )
    assert np.array_equal(functions[0]().numpy(), functions[1]()), f"{shape.name}: the values differ"
    rounds = [[per_call(function) for function in functions] for _ in range(ROUNDS)]
    return [median(seconds) for seconds in zip(*rounds, strict=True)]


def operands(shape: Shape) -> tuple[Array, Array]:
    """Return small integers, on which every order of summation gives the same bits."""
    generator = np.random.default_rng(0)
    x, w = (generator.integers(-8, 9, size).astype(np.float64) for size in (shape.x, shape.w))
    return x, w


def value_and_bound(x: Array, w: Array, geometry: Geometry) -> object:
    """Return the value and what a float32 result may differ from it."""
    y = definition(x, w, None, geometry)
    magnitude = definition(np.abs(x), np.abs(w), None, geometry)
    count = products(geometry, x.shape[1] // geometry.groups)
    return y, bound(Terms(y, magnitude, count, None), DType.F32, {})


def per_call(function: Callable[[], Any]) -> float:
    """Return the seconds of one call: the mean of as many as a round has time for."""
    calls, started = 0, perf_counter()
    while (passed := perf_counter() - started) < SECONDS / ROUNDS or not calls:
        function()
        calls += 1
    return passed / calls


if __name__ == "__main__":
    main()
