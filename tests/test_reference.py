"""The reference against what defines it: the gradient of a convolution, written out in loops."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies import examples, geometries
from tconv.dialects.geometry import Geometry
from tconv.expectation.reference import count_products, definition
from tconv.expectation.truth import Truth
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, np.dtype[np.float64]]

SEEDS = st.integers(0, 2**32 - 1)
CHANNELS = st.integers(1, 3)


def integers(seed: int, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng([seed, *shape]).integers(-9, 10, shape).astype(np.float64)


def meetings(geometry: Geometry) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Yield every input point, tap and output point with o = i*s + k*d - pads_begin, one after the other."""
    for i in np.ndindex(*geometry.spatial):
        for k in np.ndindex(*geometry.kernel):
            parts = zip(i, geometry.strides, k, geometry.dilations, geometry.pads_begin, strict=True)
            o = tuple(at * s + tap * d - begin for at, s, tap, d, begin in parts)
            if all(0 <= at < size for at, size in zip(o, geometry.output, strict=True)):
                yield i, k, o


def convolved(y: Array, w: Array, geometry: Geometry, batch: int) -> Array:
    """Return the forward convolution of y with w: what the transposed one is the gradient of."""
    groups = geometry.groups
    inputs, outputs = w.shape[0] // groups, w.shape[1]
    x = np.zeros((batch, w.shape[0], *geometry.spatial))
    for i, k, o in meetings(geometry):
        for group in range(groups):
            ins, outs = slice(group * inputs, (group + 1) * inputs), slice(group * outputs, (group + 1) * outputs)
            x[(slice(None), ins, *i)] += y[(slice(None), outs, *o)] @ w[(ins, slice(None), *k)].T
    return x


def scattered(x: Array, w: Array, geometry: Geometry) -> Array:
    """Return the transposed convolution, product by product."""
    groups = geometry.groups
    inputs, outputs = w.shape[0] // groups, w.shape[1]
    y = np.zeros((x.shape[0], outputs * groups, *geometry.output))
    for i, k, o in meetings(geometry):
        for c in range(w.shape[0]):
            for oc in range(outputs):
                y[(slice(None), c // inputs * outputs + oc, *o)] += x[(slice(None), c, *i)] * w[(c, oc, *k)]
    return y


def operands(geometry: Geometry, seed: int, batch: int, inputs: int, outputs: int) -> tuple[Array, Array, Array]:
    return (
        integers(seed, (batch, geometry.groups * inputs, *geometry.spatial)),
        integers(seed + 1, (geometry.groups * inputs, outputs, *geometry.kernel)),
        integers(seed + 2, (geometry.groups * outputs,)),
    )


# The definition.


@given(geometries(), SEEDS, st.integers(1, 2), CHANNELS, CHANNELS)
@examples(300)
def test_it_is_the_adjoint_of_convolution(geometry: Geometry, seed: int, batch: int, inputs: int, outputs: int) -> None:
    """'The same as computing the gradients of input of Convolution': <convT(x), y> == <x, conv(y)>, for every y."""
    x, w, _ = operands(geometry, seed, batch, inputs, outputs)
    y = integers(seed + 3, (batch, geometry.groups * outputs, *geometry.output))
    there = definition(x, w, None, geometry)
    assert there.shape == y.shape
    assert np.vdot(there, y) == np.vdot(x, convolved(y, w, geometry, batch))


@given(geometries(ranks=(1, 3), smallest=0), SEEDS, st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))
@examples(300)
def test_every_element_is_the_sum_of_its_products(
    geometry: Geometry, seed: int, batch: int, inputs: int, outputs: int
) -> None:
    """Element by element y is the sum over channels of the group, points and taps with o = i*s + k*d - pads_begin.

    Where there is nothing to sum, as sizes are zero, it is the bias, or zero.
    """
    x, w, b = operands(geometry, seed, batch, inputs, outputs)
    expected = scattered(x, w, geometry)
    assert np.array_equal(definition(x, w, None, geometry), expected)
    biased = expected + b.reshape(-1, *[1] * len(geometry.spatial))
    assert np.array_equal(definition(x, w, b, geometry), biased)


# The number of products.


@given(geometries(smallest=0), st.integers(0, 3))
@examples(200)
def test_products_are_counted(geometry: Geometry, channels: int) -> None:
    x = np.ones((1, geometry.groups * channels, *geometry.spatial))
    w = np.ones((geometry.groups * channels, 1, *geometry.kernel))
    ones = definition(x, w, None, geometry)
    counted = count_products(geometry, channels)
    assert counted.shape == geometry.output
    for group in range(geometry.groups):
        assert np.array_equal(ones[0, group], counted)


@given(geometries(), SEEDS, st.integers(1, 2), CHANNELS, CHANNELS, st.integers(1, 4), st.data())
@examples(300)
def test_a_part_is_computed_of_the_operands_that_reach_it(
    geometry: Geometry, seed: int, batch: int, inputs: int, outputs: int, edge: int, data: st.DataObject
) -> None:
    x, w, b = operands(geometry, seed, batch, inputs, outputs)
    whole = Truth({"x": x, "w": w, "b": b}, DType.F32)
    shape = whole.shape(geometry)
    assume(0 not in shape)
    place = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
    index, truth, part = whole.part(geometry, place, edge)
    assert all(
        along.start <= at < along.stop <= min(along.start + edge, size)
        for along, at, size in zip(index, place, shape, strict=True)
    )
    cut, terms = whole.compute_terms(geometry).part(index), truth.compute_terms(part)
    for name in ("y", "magnitude", "count", "bias"):
        assert np.array_equal(getattr(terms, name), getattr(cut, name)), name


# Corners.


FAR = 2**63 - 1


@pytest.mark.parametrize("far", [2**31, FAR])
@pytest.mark.parametrize(
    ("spatial", "kernel", "field"),
    [((1, 3), (3, 2), "strides"), ((3, 2), (1, 2), "dilations"), ((1, 2), (2, 2), "dilations")],
)
def test_a_far_step_allocates_nothing(far: int, spatial: tuple[int, int], kernel: tuple[int, int], field: str) -> None:
    near = Geometry(spatial, kernel, (1, 1), (1, 1), (0, 0), (3, 4), 1)
    # What the far step reaches is cropped: the same as no step at all, or as the first tap alone.
    x, w = integers(5, (1, 2, *spatial)), integers(6, (2, 2, *kernel))
    kept = w[:, :, :1] if field == "dilations" else w
    expected = definition(x, kept, None, replace(near, kernel=kept.shape[2:]))
    tracemalloc.start()
    found = definition(x, w, None, replace(near, **{field: (far, 1)}))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.array_equal(found, expected)
    assert peak < 2**21


@pytest.mark.parametrize("shift", [-FAR, FAR])
def test_an_output_far_outside_is_the_bias(shift: int) -> None:
    x, w, b = integers(3, (1, 1, 3)), integers(4, (1, 2, 3)), integers(5, (2,))
    y = definition(x, w, b, Geometry((3,), (3,), (2,), (1,), (shift,), (4,), 1))
    assert np.array_equal(y, np.broadcast_to(b[:, None], (1, 2, 4)))


# What is not a number.


NAN, INF = float("nan"), float("inf")


@given(geometries(ranks=(1, 2)), SEEDS, st.sampled_from([NAN, INF, -INF]))
@examples(150)
def test_a_special_value_spoils_only_what_it_reaches(geometry: Geometry, seed: int, special: float) -> None:
    """Exactly the elements that a NaN or infinity has a product in are not finite; all others are as before."""
    x, w, b = operands(geometry, seed, 2, 2, 2)
    w = np.where(w == 0, 1.0, w)
    place = np.unravel_index(seed % x.size, x.shape)
    spoilt = x.copy()
    spoilt[place] = special
    touched = np.zeros_like(x)
    touched[place] = 1
    reached = definition(touched, np.abs(w), None, geometry) > 0
    y = definition(spoilt, w, b, geometry)
    assert np.array_equal(~np.isfinite(y), reached)
    assert np.array_equal(y[~reached], definition(x, w, b, geometry)[~reached])
