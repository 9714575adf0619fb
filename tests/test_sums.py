"""The fast reference against the definition: the same bits on integers, float64's bound on real numbers."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import strategies
from strategies import geometries
from tconv.dialects.geometry import Geometry
from tconv.expectation import sums as module_of_sums
from tconv.expectation.bound import gamma
from tconv.expectation.meetings import products
from tconv.expectation.reference import definition
from tconv.expectation.sums import magnitudes, norm, sums

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, np.dtype[Any]]

SEEDS = st.integers(0, 2**32 - 1)
WAYS: dict[str, dict[str, float]] = {
    "as it chooses": {},
    "from a table": {"_FEW": 2**40, "_MANY": 2**40},
    "by phases": {"_FEW": -1, "_MANY": -1, "_PADDED": 2**20},
    "by phases, in blocks of few elements": {"_FEW": -1, "_MANY": -1, "_PADDED": 2**20, "_ROOM": 40},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Make every shape go one way, whatever its size; the last one has blocks that end in the middle of an axis."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WAYS[request.param].items():
            patch.setattr(module_of_sums, name, value)
        yield request.param


def examples(count: int) -> settings:
    """Return settings for `count` examples; the way is the same for all of them."""
    return settings(strategies.examples(count), suppress_health_check=[*HealthCheck])


def drawn(seed: int, *shapes: tuple[int, ...], real: bool = False) -> list[Array]:
    """Return arrays of integers of -9..9, whose sums are exact, or of real numbers of many sizes."""
    generator = np.random.default_rng(seed)
    if real:
        return [generator.standard_normal(shape) * 2.0 ** generator.integers(-9, 9, shape) for shape in shapes]
    return [generator.integers(-9, 10, shape).astype(np.float64) for shape in shapes]


def operands(
    geometry: Geometry, seed: int, batch: int, inputs: int, outputs: int, *, real: bool = False
) -> tuple[Array, Array, Array | None]:
    """Return data, filter and, for every other seed, a bias."""
    groups = geometry.groups
    shapes = (batch, groups * inputs, *geometry.spatial), (groups * inputs, outputs, *geometry.kernel)
    x, w, b = drawn(seed, *shapes, (groups * outputs,), real=real)
    return x, w, b if seed % 2 else None


def magnitude(x: Array, w: Array, b: Array | None, geometry: Geometry) -> Array:
    """Return the sums of |x||w| + |b| by the definition."""
    return definition(np.abs(x), np.abs(w), None if b is None else np.abs(b), geometry)


SIZES = st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 3))


@given(geometries(smallest=0), SEEDS, SIZES)
@examples(600)
def test_integers_have_the_bits_of_the_definition(
    way: str, geometry: Geometry, seed: int, sizes: tuple[int, int, int]
) -> None:
    """Value and magnitude, for outputs that begin and end anywhere and sizes of zero; also the sign of each zero."""
    x, w, b = operands(geometry, seed, *sizes)
    assert sums(x, w, b, geometry).tobytes() == definition(x, w, b, geometry).tobytes(), way
    assert np.array_equal(magnitudes(x, w, b, geometry), magnitude(x, w, b, geometry))


@given(geometries(), SEEDS, SIZES)
@examples(150)
def test_real_numbers_are_within_the_bound(
    way: str, geometry: Geometry, seed: int, sizes: tuple[int, int, int]
) -> None:
    """Two sums of n terms in float64 are no further apart than twice gamma_n * A; the magnitudes by their own type."""
    x, w, b = operands(geometry, seed, *sizes, real=True)
    expected, count = definition(x, w, b, geometry), products(geometry, sizes[1]) + (b is not None)
    largest = magnitude(x, w, b, geometry)
    allowed = 2 * gamma(count, 2.0**-53) * largest
    assert (np.abs(sums(x, w, b, geometry) - expected) <= allowed).all(), way
    assert (np.abs(magnitudes(x, w, b, geometry) - largest) <= allowed).all()


def test_no_spatial_axis_at_all(way: str) -> None:
    """Batch and channels alone: a matrix product, and the bias."""
    x, w, b = drawn(1, (2, 3), (3, 4), (4,))
    assert np.array_equal(sums(x, w, b, Geometry((), (), (), (), (), (), 1)), x @ w + b), way


@given(geometries(ranks=(1, 2)), SEEDS, st.sampled_from([np.nan, np.inf, -np.inf, 1e306]))
@example(Geometry((1,), (2,), (1,), (1,), (0,), (1,), 3), 1_037_364_526, 1e306)
@examples(150)
def test_what_is_not_finite_is_where_the_definition_has_it(
    way: str, geometry: Geometry, seed: int, special: float
) -> None:
    """NaN, infinity and overflow reach the elements that they have a product in, and no other."""
    x, w, b = operands(geometry, seed, 2, 2, 2)
    for array in (x, w) if seed % 3 else (x,):
        array.flat[seed % array.size] = special
    found, expected = sums(x, w, b, geometry), definition(x, w, b, geometry)
    assert np.array_equal(found, expected, equal_nan=True), way
    bias = np.full(2 * geometry.groups, special)
    expected = definition(x, w, bias, geometry)
    assert np.array_equal(sums(x, w, bias, geometry), expected, equal_nan=True)


FAR = 2**63 - 1


@pytest.mark.parametrize("far", [2**31, FAR])
@pytest.mark.parametrize(
    ("spatial", "kernel", "field"),
    [((1, 3), (3, 2), "strides"), ((3, 2), (1, 2), "dilations"), ((1, 2), (2, 2), "dilations")],
)
def test_a_far_step_allocates_nothing(
    way: str, far: int, spatial: tuple[int, int], kernel: tuple[int, int], field: str
) -> None:
    """A stride along one element, and a dilation that puts a tap far beyond the output, cost no memory."""
    near = Geometry(spatial, kernel, (1, 1), (1, 1), (0, 0), (3, 4), 1)
    far_step = replace(near, **{field: (far, 1)})
    # What the far step reaches is cropped: the same as no step at all, or as the first tap alone.
    x, w = drawn(5, (1, 2, *spatial), (2, 2, *kernel))
    kept = w[:, :, :1] if field == "dilations" else w
    expected = definition(x, kept, None, replace(near, kernel=kept.shape[2:]))
    tracemalloc.start()
    found, largest = sums(x, w, None, far_step), magnitudes(x, w, None, far_step)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.array_equal(found, expected), way
    assert (largest >= np.abs(expected)).all()
    assert peak < 2**21


@pytest.mark.parametrize("shift", [-FAR, FAR])
def test_an_output_far_outside_is_the_bias(way: str, shift: int) -> None:
    """An output that lies 2^63 - 1 before or beyond what the taps reach is the bias everywhere."""
    x, w, b = drawn(3, (1, 1, 3), (1, 2, 3), (2,))
    y = sums(x, w, b, Geometry((3,), (3,), (2,), (1,), (shift,), (4,), 1))
    assert np.array_equal(y, np.broadcast_to(b[:, None], (1, 2, 4))), way


def test_a_crop_of_a_long_axis_has_what_the_definition_has(way: str) -> None:
    """What no element gives stays nothing, however many elements the other axes have."""
    geometry = Geometry((1, 2**23 + 8), (1, 1), (2, 1), (1, 1), (0, 0), (2, 4), 1)
    x, w = np.ones((1, 1, *geometry.spatial)), np.full((1, 1, 1, 1), 3.0)
    assert np.array_equal(sums(x, w, None, geometry), definition(x, w, None, geometry)), way


def test_the_operands_stay_as_they_are(way: str) -> None:
    """Nothing is written into the arrays that are given."""
    geometry = Geometry((3, 3), (3, 1), (2, 1), (1, 1), (0, 0), (7, 3), 1)
    x, w, b = drawn(4, (1, 1, 3, 3), (1, 1, 3, 1), (1,))
    for array in (x, w, b):
        array.flags.writeable = False
    assert np.array_equal(sums(x, w, b, geometry), definition(x, w, b, geometry)), way


@examples(200)
@given(geometries(ranks=(1, 2)), SEEDS, st.sampled_from([1.0, 1e-160, 1e-170, 1e-300, 5e-324, 1e100]))
def test_no_sum_exceeds_the_norms(geometry: Geometry, seed: int, scale: float) -> None:
    """The product of the norms, and the bias's, is no less than any A, also where squares underflow."""
    x, w, b = drawn(seed, (2, 2 * geometry.groups, *geometry.spatial), (2 * geometry.groups, 1, *geometry.kernel), (1,))
    bias = np.resize(b, geometry.groups) * scale
    largest = magnitude(x * scale, w, bias, geometry)
    assert (largest <= norm(x * scale) * norm(w) + norm(bias)).all()
