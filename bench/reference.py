"""Compare the reference with torch's conv_transpose in float64, on one thread each, as multiples of torch's time.

Measured are the value, and the value with the verdict, for a right output and for
one with a wrong element. For each shape the calls alternate. The unit is processor time of this thread.

Run `python bench/reference.py [--small]`.
"""

# ruff: noqa: E402 - numpy's libraries read the number of threads when they are loaded

from __future__ import annotations

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import argparse
import sys
from dataclasses import dataclass
from functools import partial
from statistics import geometric_mean
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from figures import Figure, in_turn, run
from tconv.dialects.geometry import Geometry
from tconv.expectation.reference import definition
from tconv.expectation.truth import Truth
from tconv.verdict.values import compare
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.verdict.values import ComparedValues

Array = np.ndarray[Any, np.dtype[np.float64]]


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
COLUMNS = {"value": (0.5, 5.0), "right": (1.0, 10.0), "wrong": None}
"""The measurements of a shape, with the bands of their geometric means."""


def measured(arguments: argparse.Namespace) -> dict[str, Figure]:
    """Measure."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        return shapes(0.1 if arguments.small else 3.0)


def shapes(seconds: float) -> dict[str, Figure]:
    """Measure each shape for at least so many seconds, as multiples of torch's time."""
    figures: dict[str, Figure] = {}
    for shape in SHAPES:
        x, w, geometry = *operands(shape), shape.geometry()
        right = by_torch(shape, x.astype(np.float32), w.astype(np.float32))().numpy()
        wrong = right.copy()
        wrong.flat[-1] += 1 + abs(wrong.flat[-1])
        functions = (
            by_torch(shape, x, w),
            partial(definition, x, w, None, geometry),
            partial(judged, x, w, geometry, right),
            partial(judged, x, w, geometry, wrong),
        )
        assert np.allclose(functions[0]().numpy(), functions[1](), rtol=1e-9, atol=1e-9), shape.name
        assert not functions[2]().wrong.any()
        assert functions[3]().wrong.sum() == 1
        of_torch, *others = in_turn(functions, seconds, thread_time)
        figures[f"torch, {shape.name}"] = Figure([taken * 1e3 for taken in of_torch], "ms")
        for name, other in zip(COLUMNS, others, strict=True):
            ratios = [taken / unit for taken, unit in zip(other, of_torch, strict=True)]
            figures[f"{name}, {shape.name}"] = Figure(ratios)
    for name, band in COLUMNS.items():
        each = [figures[f"{name}, {shape.name}"].median for shape in SHAPES]
        figures[f"{name}, geometric mean"] = Figure([geometric_mean(each)], band=band)
        figures[f"{name}, worst"] = Figure([max(each)])
    return figures


def operands(shape: Shape) -> tuple[Array, Array]:
    """Return normal numbers in float32: their verdict needs a bound."""
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(size).astype(np.float32).astype(np.float64) for size in (shape.x, shape.w))
    return x, w


def judged(x: Array, w: Array, geometry: Geometry, actual: np.ndarray[Any, Any]) -> ComparedValues:
    """Compare an output with the value, which is computed anew."""
    return compare(actual, Truth({"x": x, "w": w}, DType.F32), geometry, DType.F32)


def by_torch(shape: Shape, x: Array, w: Array) -> Callable[[], Any]:
    """Return torch's call for the same value."""
    conv_transpose = getattr(torch.nn.functional, f"conv_transpose{len(shape.x) - 2}d")
    tx, tw = torch.from_numpy(x), torch.from_numpy(w)
    attributes = {"stride": shape.stride, "dilation": shape.dilation, "groups": shape.groups}
    return lambda: conv_transpose(tx, tw, **attributes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What the reference costs, as multiples of torch float64.")
    sys.exit(run("reference", measured, parser))
