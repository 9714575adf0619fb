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
from tconv.expectation import memory, stream, tiles, tiny
from tconv.expectation.bound import gamma
from tconv.expectation.meetings import Axis, products
from tconv.expectation.phases import layout_of
from tconv.expectation.reference import definition
from tconv.expectation.stream import Sums, norm, stacked, sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Array = np.ndarray[Any, np.dtype[Any]]

SEEDS = st.integers(0, 2**32 - 1)
WAYS = {
    "as it chooses": {},
    "tiny": {"MOST": 2**20},
    "scattered": {"MOST": 0, "_COLUMNS": 2**40},
    "tiled": {"MOST": 0, "_COLUMNS": -1},
}


@pytest.fixture(params=[*WAYS, "tiles of few elements"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Make every shape go one way, whatever its size; the last one has tiles that end in the middle of every axis.

    What is allocated is NaN until it is written, and the last one keeps no memory from call to call.
    """
    few = request.param == "tiles of few elements"
    allocate = np.empty

    def unwritten(shape: int | tuple[int, ...], dtype: type[Any] | np.dtype[Any] = np.float64, **order: str) -> Array:
        made: Array = allocate(shape, dtype, **order)
        if made.dtype.kind == "f":
            made.fill(np.nan)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", unwritten)
        for name, value in WAYS["tiled" if few else request.param].items():
            patch.setattr(tiny if name == "MOST" else stream, name, value)
        tiny.plan.cache_clear()
        if few:
            patch.setattr(tiles, "_ROOM", 40)
            patch.setattr(tiles, "_FEWEST", 2)
            patch.setattr(memory, "MOST", 0)
        if "tile" in request.param:
            patch.setattr(stream, "_way", lambda *_: tiles.tiled)
        yield request.param
    tiny.plan.cache_clear()


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
    found = sums(x, w, b, geometry, magnitude=True)
    assert found.y.tobytes() == definition(x, w, b, geometry).tobytes(), way
    assert found.magnitude is not None
    assert np.array_equal(found.magnitude, magnitude(x, w, b, geometry))
    assert sums(x, w, b, geometry).y.tobytes() == found.y.tobytes()


@given(geometries(), SEEDS, SIZES)
@examples(200)
def test_each_element_is_seen_once(way: str, geometry: Geometry, seed: int, sizes: tuple[int, int, int]) -> None:
    """The parts of the output that are seen while it is computed, with their values and no more than their A."""
    x, w, b = operands(geometry, seed, *sizes)
    shape = sizes[0], geometry.groups, sizes[2], *geometry.output
    times, y, least = np.zeros(shape, int), np.zeros(shape), np.zeros(shape)

    def see(region: tuple[slice, ...], values: Array, sums: Array) -> None:
        times[region] += 1
        y[region], least[region] = values, sums

    found = sums(x, w, b, geometry, seen=see).y
    if times.any():
        assert (times == 1).all(), way
        assert np.array_equal(y.reshape(found.shape), found)
        assert (least.reshape(found.shape) <= magnitude(x, w, b, geometry)).all()
    else:
        assert way in {"as it chooses", "tiny"} or not magnitude(x, w, None, geometry).any()


@given(geometries(), SEEDS, SIZES)
@examples(150)
def test_real_numbers_are_within_the_bound(
    way: str, geometry: Geometry, seed: int, sizes: tuple[int, int, int]
) -> None:
    """Two sums of n terms in float64 are no further apart than twice gamma_n * A; the magnitudes by their own type."""
    x, w, b = operands(geometry, seed, *sizes, real=True)
    found, expected = sums(x, w, b, geometry, magnitude=True), definition(x, w, b, geometry)
    largest, count = magnitude(x, w, b, geometry), products(geometry, sizes[1]) + (b is not None)
    assert (np.abs(found.y - expected) <= 2 * gamma(count, 2.0**-53) * largest).all(), way
    assert found.magnitude is not None
    u = 2.0**-53 if found.magnitude.dtype == np.float64 else 2.0**-24
    allowed = (gamma(count + 3, u) + gamma(count, 2.0**-53)) * largest
    assert (np.abs(found.magnitude - largest) <= allowed).all()


def test_no_spatial_axis_at_all(way: str) -> None:
    """Batch and channels alone: a matrix product, and the bias."""
    x, w, b = drawn(1, (2, 3), (3, 4), (4,))
    assert np.array_equal(sums(x, w, b, Geometry((), (), (), (), (), (), 1)).y, x @ w + b), way


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
    found, expected = sums(x, w, b, geometry, magnitude=True), definition(x, w, b, geometry)
    assert np.array_equal(found.y, expected, equal_nan=True), way
    bias = np.full(2 * geometry.groups, special)
    expected = definition(x, w, bias, geometry)
    assert np.array_equal(sums(x, w, bias, geometry).y, expected, equal_nan=True)


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
    found = sums(x, w, None, far_step, magnitude=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.array_equal(found.y, expected), way
    assert peak < 2**21


@pytest.mark.parametrize("shift", [-FAR, FAR])
def test_an_output_far_outside_is_the_bias(way: str, shift: int) -> None:
    """An output that lies 2^63 - 1 before or beyond what the taps reach is the bias everywhere."""
    x, w, b = drawn(3, (1, 1, 3), (1, 2, 3), (2,))
    y = sums(x, w, b, Geometry((3,), (3,), (2,), (1,), (shift,), (4,), 1)).y
    assert np.array_equal(y, np.broadcast_to(b[:, None], (1, 2, 4))), way


@given(geometries(ranks=(1, 2)), SEEDS, st.integers(1, 4), SIZES)
@examples(200)
def test_stacked_operands_are_each_as_alone(
    way: str, geometry: Geometry, seed: int, count: int, sizes: tuple[int, int, int]
) -> None:
    """Sets of operands with one geometry, in one call."""
    alone = [operands(geometry, 2 * seed + part * 2**20 + 1, *sizes) for part in range(count)]
    x, w, b = (np.stack(arrays) for arrays in zip(*alone, strict=True))
    together = stacked(x, w, b, geometry)
    assert together.magnitude is not None
    for number, parts in enumerate(alone):
        one = sums(*parts, geometry, magnitude=True)
        assert np.array_equal(together.y[number], one.y), way
        assert np.array_equal(together.magnitude[number], one.magnitude)
    assert np.array_equal(stacked(x, w, None, geometry).y[0], sums(x[0], w[0], None, geometry).y)


@pytest.mark.parametrize("name", ["x", "w", "b"])
def test_one_that_is_not_finite_leaves_the_others_of_its_stack(name: str) -> None:
    """NaN in one set of operands is in that set's output alone."""
    geometry = Geometry((3,), (2,), (2,), (1,), (0,), (6,), 1)
    arrays = dict(zip("xwb", drawn(1, (3, 1, 2, 3), (3, 2, 2, 2), (3, 2)), strict=True))
    arrays[name][1].flat[0] = np.nan
    found = stacked(arrays["x"], arrays["w"], arrays["b"], geometry)
    assert np.isnan(found.y[1]).any()
    assert not np.isnan(found.y[[0, 2]]).any()


def way_of(batch: int, channels: int, outputs: int, size: int, kernel: int) -> str:
    """Return the way that a plane goes."""
    x, w = (batch, channels, size, size), (channels, outputs, kernel, kernel)
    geometry = Geometry((size,) * 2, (kernel,) * 2, (1, 1), (1, 1), (0, 0), (size + kernel - 1,) * 2, 1)
    if tiny.plan(x, w, geometry, bias=False):
        return "tiny"
    chosen: Callable[..., object] = stream._way(np.empty((batch, 1, *x[1:])), np.empty((1, *w)))
    return chosen.__name__


def test_each_way_is_for_its_sizes() -> None:
    """Tiny shapes have a plan, large filters over few points scattered, and everything else tiled."""
    assert way_of(1, 2, 2, 3, 3) == "tiny"
    assert way_of(1, 512, 256, 4, 4) == "_scattered"
    assert way_of(1, 64, 64, 64, 3) == "tiled"


@pytest.mark.parametrize(("scale", "held"), [(1.0, True), (2.0**15, True), (2.0**27, False), (2.0**-140, True)])
def test_a_magnitude_in_float32_is_given_where_it_holds(scale: float, *, held: bool) -> None:
    """Where float32 may overflow there is none. It is no more than the true one but for roundings and underflow."""
    geometry = Geometry((40, 40), (3, 3), (2, 2), (1, 1), (0, 0), (81, 81), 1)
    x, w = drawn(1, (1, 64, 40, 40), (64, 16, 3, 3), real=True)
    x *= scale / np.abs(x).max()
    found = sums(x, w, None, geometry, magnitude=True)
    assert (found.magnitude is not None) is held
    if found.magnitude is not None:
        assert found.magnitude.dtype == np.float32
        largest, count = magnitude(x, w, None, geometry), products(geometry, 64)
        underflow = count * 2.0**-149 * (1 + np.abs(w).max() + scale)
        assert (found.magnitude <= (1 + gamma(count + 3, 2.0**-24)) * largest + underflow).all()
        assert found.most >= largest.max()


def test_the_operands_stay_as_they_are(way: str) -> None:
    """Nothing is written into the arrays that are given."""
    geometry = Geometry((3, 3), (3, 1), (2, 1), (1, 1), (0, 0), (7, 3), 1)
    x, w, b = drawn(4, (1, 1, 3, 3), (1, 1, 3, 1), (1,))
    for array in (x, w, b):
        array.flags.writeable = False
    assert isinstance(sums(x, w, b, geometry, magnitude=True), Sums), way


@examples(200)
@given(geometries(ranks=(1, 2)), SEEDS, st.sampled_from([1.0, 1e-160, 1e-170, 1e-300, 5e-324, 1e100]))
def test_no_sum_exceeds_the_norms(geometry: Geometry, seed: int, scale: float) -> None:
    """The product of the norms, and the bias's, is no less than any A, also where squares underflow."""
    x, w, b = drawn(seed, (2, 2 * geometry.groups, *geometry.spatial), (2 * geometry.groups, 1, *geometry.kernel), (1,))
    bias = np.resize(b, geometry.groups) * scale
    largest = magnitude(x * scale, w, bias, geometry)
    assert (largest <= norm(x * scale) * norm(w) + norm(bias)).all()


@pytest.mark.parametrize(
    ("kernel", "stride", "rank", "needed", "spanned"), [(3, 2, 2, 9, 9), (3, 2, 3, 27, 30), (5, 2, 2, 25, 25)]
)
def test_columns_lie_so_that_few_zeros_are_multiplied(
    kernel: int, stride: int, rank: int, needed: int, spanned: int
) -> None:
    """Each phase has its taps, and the columns between the first and the last that it needs are few more."""
    layout = layout_of((Axis(20, kernel, stride, 1, 0, 19 * stride + kernel),) * rank)
    assert sorted(layout.order) == list(range(len(layout.order)))
    assert sum(len(phases.columns) * len(phases.residues) for phases in layout.phases) == needed
    spans = [(max(phases.columns) - min(phases.columns) + 1) * len(phases.residues) for phases in layout.phases]
    assert sum(spans) == spanned
