"""Operands are the same bits on every machine, exact where they are to be, and what their recipe says."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import axes, examples
from tconv.cases.case import Data, Operand
from tconv.cases.operands import EXACT_BITS, NUMPY_TYPES, make_operand, make_operands
from tconv.dialects.geometry import Geometry
from tconv.expectation.reference import definition
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.vocabulary import Ints

Array = np.ndarray[Any, np.dtype[Any]]

DATA = get_args(Data)


def made(x: Operand, w: Operand | None = None, b: Operand | None = None) -> dict[str, Array]:
    """Return operands; the filter is one tap of as many channels unless it is given."""
    return make_operands(x, w or Operand((x.shape[1], 1, *[1] * (len(x.shape) - 2)), x.dtype), b)


def exact(array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


# The same bits everywhere.

X_SHAPE, W_SHAPE = (2, 3, 5, 4), (3, 4, 3, 2)
VALUES = tuple(float(value) for value in range(prod(X_SHAPE)))

PINNED: dict[Data, str] = {
    "integers": "abc36f98617341d9",
    "sparse": "50213e550a2576da",
    "normal": "cdb4512b144e5698",
    "wide": "523e339c8dcba146",
    "wide-full": "80faa158aae4d92f",
    "all-bits": "ae44321bd4681f52",
    "zeros": "32b5d411f3c5c47e",
    "ones": "f062ff6eaab187dc",
    "impulse": "d67bb3aeb279814a",
    "special": "c19ba961ac52fecc",
    "nan": "c7e30998ebd158a0",
    "infinity": "0f452f5cfe9a4496",
    "negative-zero": "d82179195899a074",
    "subnormal": "30a3c0f817376e3d",
    "values": "1d565cdb6997eb97",
}
"""Digests of data, filter and bias in every type, with two seeds."""


@pytest.mark.parametrize("data", DATA)
def test_bits_are_pinned(data: Data) -> None:
    digest = blake2b(digest_size=8)
    for dtype, seed in product(DType, (0, 1)):
        values = VALUES if data == "values" else ()
        operands = make_operands(
            Operand(X_SHAPE, dtype, data, seed, values),
            Operand(W_SHAPE, dtype, data, seed, values[: prod(W_SHAPE)]),
            Operand((4,), dtype, data, seed, values[:4]),
        )
        for array in operands.values():
            # The little end first.
            little = array.view(np.uint16) if dtype is DType.BF16 else array
            digest.update(little.astype(little.dtype.newbyteorder("<")).tobytes())
    assert digest.hexdigest() == PINNED[data]


def test_a_bias_changes_neither_data_nor_filter() -> None:
    x, w = Operand(X_SHAPE, DType.BF16), Operand(W_SHAPE, DType.BF16)
    without, beside = make_operands(x, w, None), make_operands(x, w, Operand((4,), DType.BF16))
    assert set(without) == {"x", "w"}
    assert all(np.array_equal(without[role], beside[role]) for role in without)


@pytest.mark.parametrize("dtype", DType)
@pytest.mark.parametrize("data", [word for word in DATA if word != "values"])
@pytest.mark.parametrize("shape", [(1, 2, 3), (2, 3, 4, 5), (0, 2, 3), (1, 1, 1), (1, 1, 0)])
def test_arrays_are_of_their_recipe_and_cannot_be_changed(dtype: DType, data: Data, shape: Ints) -> None:
    recipe = Operand(shape, dtype, data)
    for array in made(recipe, Operand((shape[1], 2, *shape[2:]), dtype, data), Operand((2,), dtype, data)).values():
        assert array.dtype == NUMPY_TYPES[dtype]
        assert not array.flags.writeable
    assert made(recipe)["x"].shape == shape


# Exactness.


@st.composite
def recipes(draw: st.DrawFn) -> tuple[Operand, Operand, Operand]:
    """Return integer recipes from one channel and tap to so many that not all can be other than zero."""
    dtype = draw(st.sampled_from(DType))
    rank = draw(st.integers(1, 3))
    # Below the smallest budget, 2^8, so that a channel's taps all fit.
    kernel = draw(axes(rank, 0, {1: 255, 2: 15, 3: 6}[rank]))
    channels = draw(st.one_of(st.integers(0, 8), st.integers(1, 300)))
    filters = draw(st.integers(1, 3))
    seed = draw(st.integers(0, 3))
    return (
        Operand((1, channels, *[3] * rank), dtype, seed=seed),
        Operand((channels, filters, *kernel), dtype, seed=seed),
        Operand((filters,), dtype, seed=seed),
    )


@given(recipes())
@examples(400)
def test_no_sum_of_integers_exceeds_the_mantissa(recipe: tuple[Operand, Operand, Operand]) -> None:
    """Were every tap of every channel to meet the largest datum, A would still be at most 2^p: any order is exact."""
    arrays = {role: np.abs(exact(array)) for role, array in make_operands(*recipe).items()}
    largest = arrays["x"].max(initial=0.0)
    sums = arrays["w"].sum(axis=(0, *range(2, arrays["w"].ndim))) * largest + arrays["b"]
    assert sums.max() <= 2.0 ** EXACT_BITS[recipe[0].dtype]


@pytest.mark.parametrize("dtype", DType)
def test_integers_are_exact_up_to_the_mantissa(dtype: DType) -> None:
    """2^p is the end of the integers that the type has without a gap."""
    end, numpy_type = 2 ** EXACT_BITS[dtype], NUMPY_TYPES[dtype]
    assert int(numpy_type.type(end)) == end
    assert int(numpy_type.type(end - 1)) == end - 1
    assert int(numpy_type.type(end) + numpy_type.type(1)) == end


@pytest.mark.parametrize("products", [*range(240, 256), 123, 124, 62, 31])
def test_the_budget_counts_the_bias(products: int) -> None:
    """In bfloat16 256 is all there is: taps, their span and the bias together never exceed it."""
    for channels, taps in ((1, products), (products, 1)):
        for seed in range(5):
            recipe = (
                Operand((1, channels, 3), DType.BF16, seed=seed),
                Operand((channels, 9, taps), DType.BF16, seed=seed),
                Operand((9,), DType.BF16, seed=seed),
            )
            arrays = {role: np.abs(exact(array)) for role, array in make_operands(*recipe).items()}
            assert (arrays["w"].sum(axis=(0, 2)) * arrays["x"].max() + arrays["b"]).max() <= 256


@given(recipes())
@examples(400)
def test_integers_are_integers_without_zero(recipe: tuple[Operand, Operand, Operand]) -> None:
    """No product can be dropped unseen: a zero stands only in whole channels of the filter, and only if they must."""
    operands = make_operands(*recipe)
    for array in operands.values():
        assert not np.any(exact(array) % 1)
        assert np.abs(exact(array)).max(initial=0) <= 15
    assert np.all(exact(operands["x"]) != 0)
    assert np.all(exact(operands["b"]) != 0)
    filters = exact(operands["w"])
    live = np.array([np.all(channel != 0) for channel in filters], dtype=bool)
    dead = np.array([np.all(channel == 0) for channel in filters], dtype=bool)
    assert np.all(live | dead)
    taps = max(prod(filters.shape[2:]), 1)
    budget = 2 ** EXACT_BITS[recipe[0].dtype]
    if taps * filters.shape[0] <= budget - 1:
        assert live.all()
    elif filters.size:
        assert live.sum() == max((budget - 1) // taps, 1)


def test_many_channels_are_thinned_and_not_the_same_ones() -> None:
    """1000 channels of 9 taps in bfloat16: 28 live, the others zero, chosen by the seed and not by their place."""
    live = []
    for seed in (0, 1):
        w = make_operands(Operand((1, 1000, 3, 3), DType.BF16), Operand((1000, 1, 3, 3), DType.BF16, seed=seed), None)[
            "w"
        ]
        live.append(np.flatnonzero(exact(w)[:, 0, 0, 0]))
    assert [len(channels) for channels in live] == [28, 28]
    assert not np.array_equal(*live)
    assert live[0].max() > 800


@st.composite
def sparse_problems(draw: st.DrawFn) -> tuple[dict[str, Array], Geometry]:
    """Return sparse operands and a geometry that crops nothing, up to many times the products that bfloat16 counts."""
    dtype, seed, rank = draw(st.sampled_from(DType)), draw(st.integers(0, 3)), draw(st.integers(1, 3))
    kernel, spatial = draw(axes(rank, 1, {1: 300, 2: 18, 3: 8}[rank])), draw(axes(rank, 1, {1: 40, 2: 6, 3: 4}[rank]))
    groups, batch, filters = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    channels = groups * draw(st.one_of(st.integers(1, 8), st.integers(1, 100)))
    operands = make_operands(
        *(
            Operand(shape, dtype, "sparse", seed)
            for shape in ((batch, channels, *spatial), (channels, filters, *kernel), (filters * groups,))
        )
    )
    steps, spread = draw(axes(rank, 1, 3)), draw(axes(rank, 1, 5))
    uncropped = Geometry(spatial, kernel, steps, spread, (0,) * rank, (), groups)
    return {role: exact(array) for role, array in operands.items()}, replace(uncropped, output=uncropped.full)


@given(sparse_problems())
@examples(200)
def test_sparse_sums_are_exact_in_every_type(problem: tuple[dict[str, Array], Geometry]) -> None:
    """Of |x||w| + |b| each output element has at most 2^8, and no filter weight is zero."""
    operands, geometry = problem
    assert all(set(np.unique(array)) <= {-1.0, 0.0, 1.0} for array in operands.values())
    assert operands["w"].all()
    assert definition(*map(np.abs, (operands["x"], operands["w"], operands["b"])), geometry).max() <= 2**8


@pytest.mark.parametrize(("channels", "most"), [(255, 256), (256, 87)])
def test_the_sparse_budget_counts_the_bias(channels: int, most: int) -> None:
    """With 255 channels and a bias there are 2^8 terms, all other than zero; 256 have every third channel at most."""
    recipes = ((1, channels, 9), (channels, 1, 1), (1,))
    x, _, b = make_operands(*(Operand(shape, DType.BF16, "sparse") for shape in recipes)).values()
    assert (np.abs(exact(x)).sum(axis=1) + np.abs(exact(b))).max() == most


@given(sparse_problems(), st.data())
@examples(200)
def test_no_channel_or_tap_of_sparse_data_is_lost_unseen(
    problem: tuple[dict[str, Array], Geometry], data: st.DataObject
) -> None:
    """If positions are enough, an output of each output channel changes; if all products fit, all are there."""
    operands, geometry = problem
    x, w, b = (operands[role] for role in ("x", "w", "b"))
    (batch, channels), positions, taps = x.shape[:2], prod(x.shape[2:]), prod(geometry.kernel)
    if channels * min(taps, positions) < 2**8:
        assert x.all()
    # Of eleven steps that follow each other one has no divisor in common with up to 300 channels.
    step = 11 + (channels // (255 // taps) if taps < 2**8 else channels * positions // 255)
    if batch * positions >= step:
        channel, tap = data.draw(st.integers(0, channels - 1)), data.draw(st.integers(0, taps - 1))
        lost = w.reshape(*w.shape[:2], -1).copy()
        lost[channel, :, tap] = 0
        changed = definition(x, w, b, geometry) != definition(x, lost.reshape(w.shape), b, geometry)
        group = channel // (channels // geometry.groups)
        by_channel = changed.any(axis=(0, *range(2, changed.ndim))).reshape(geometry.groups, -1)
        assert by_channel[group].all()


# What the words mean.


def test_special_values_in_small_arrays() -> None:
    """An array with fewer elements than special values has the first of them; an empty one has none."""
    tiny = exact(make_operand("x", Operand((1, 1, 2), DType.F32, "special"), 5)).ravel()
    assert np.isnan(tiny).sum() == 1
    assert np.isposinf(tiny).sum() == 1
    assert make_operand("x", Operand((1, 0, 2), DType.F32, "special"), 5).size == 0
