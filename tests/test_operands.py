"""Operands are the same bits on every machine, exact where they are to be, and what their recipe says."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
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


def digest(array: Array) -> str:
    little = array.view(np.uint16) if array.dtype == NUMPY_TYPES[DType.BF16] else array
    return blake2b(little.astype(little.dtype.newbyteorder("<")).tobytes(), digest_size=8).hexdigest()


# The same bits everywhere.

X_SHAPE, W_SHAPE = (2, 3, 5, 4), (3, 4, 3, 2)
VALUES = tuple(float(value) for value in range(prod(X_SHAPE)))

PINNED: list[tuple[Data, DType, int, str, str, str]] = [
    ("integers", DType.F32, 0, "fcbcf67e0a3ae961", "c0dd5c0ecd3b2ff8", "a54b6759ac92b863"),
    ("integers", DType.F16, 0, "14246df7093bbb55", "84e2bcc57b8de455", "645887a979f3e22b"),
    ("integers", DType.BF16, 0, "ed87f882672aa202", "9df2d8a235ec21e6", "d0625a172543e89c"),
    ("integers", DType.F64, 0, "4eed17acf8e4841e", "8b215fddf482f2aa", "f4bbc8109c798504"),
    ("integers", DType.F32, 1, "db03c58b6b5240f9", "eb3232cbfd43bbe0", "1ab0c7e03558a32b"),
    ("normal", DType.F32, 0, "8d5dafd6858e340c", "68799d1abc75b342", "bff29c98331fd46b"),
    ("normal", DType.F16, 0, "9d94b6b081e7e304", "0f6d79f20266f167", "900bfa9c2db03a90"),
    ("normal", DType.BF16, 0, "5d5832529b4faeca", "d257a460be7aabe1", "a43df5f626c0791f"),
    ("normal", DType.F64, 0, "fbbc2f101f83cca2", "b32a384483e7828d", "a8cb8212c84d351e"),
    ("wide", DType.F32, 0, "f983d67accbf65fd", "4b99b27da2fe7094", "7b6e86f577844319"),
    ("wide", DType.F16, 0, "1286a49a34ff5df8", "7653a77012134516", "3996c54b64f8a15c"),
    ("wide", DType.BF16, 0, "79f29b0791fb8745", "f05cfc1760f3ae9d", "8032d1f68c7c9e76"),
    ("wide", DType.F64, 0, "56af25b6f7eaeb44", "3673dd0b93df9fb2", "ee438400e0c0a04f"),
    ("wide-full", DType.F32, 0, "4dc598173eab8cf0", "ad6f176534f6617d", "7f39e2e203cf4766"),
    ("wide-full", DType.F16, 0, "7681d3ed9d44c22d", "93782f67034a05c0", "4a6274d3a21bd023"),
    ("wide-full", DType.BF16, 0, "f6ab2b855ea673e8", "a6b9ff34666362cd", "f7ae2b479f091bfe"),
    ("wide-full", DType.F64, 0, "b78804f6d40dbd3e", "c2e8fb15230f13cc", "1743136ad8c7bf0b"),
    ("ones", DType.F16, 0, "1218c94deee1f762", "ed444b439e9d6aa9", "078e305cdec7cc3c"),
    ("impulse", DType.F32, 0, "11021dd8f2b4d235", "c1cbde67e9320d79", "02ee248afe761720"),
    ("special", DType.BF16, 0, "d1c179144d610d70", "60f5db64e7e0dbed", "f6dbf3f4e58d823c"),
    ("special", DType.F32, 0, "b2424cc4a8fa59b0", "849bbb922ec472f8", "d5a913d035b104fb"),
    ("nan", DType.F32, 0, "fa1f8b196f1d2db1", "48610ca5b4a87bae", "0d7fe08d95c2c66a"),
    ("infinity", DType.F64, 0, "0592f6a98f0c44b9", "d2ab23f07932cd69", "71ceef7b176e5d7c"),
    ("negative-zero", DType.F16, 0, "47b5038472e4eb7e", "439942734de3a110", "3e1ba750cb8aa20a"),
    ("subnormal", DType.F32, 0, "e769447e9c71b087", "977fbd02369b5256", "2095bc0205907a2c"),
    ("subnormal", DType.F16, 0, "5ab88c4e022352d5", "8472eeac517ef3c1", "1fafa662f6dee974"),
    ("subnormal", DType.BF16, 0, "bc608658d92865b8", "35b5bb6ce4dcf512", "e770e3163e1c0ae6"),
    ("subnormal", DType.F64, 0, "9b59641499f8ddf4", "e96c5d0f940f54e9", "c491a5f9325efd1d"),
    ("sparse", DType.BF16, 0, "69fb73b95b76452d", "b47f314034680f15", "20e8d0139922361b"),
    ("sparse", DType.F64, 0, "5d27c89c8e3922f8", "27ba03b1dc6d1117", "18f0e664be9a743a"),
    ("zeros", DType.F32, 0, "910a5cca5c59830b", "d78ab62443a1f8c7", "5250a507f994740e"),
    ("all-bits", DType.F32, 0, "3929e0196357332d", "00836b6d04cf288d", "ff5cd7f07665cfbc"),
    ("all-bits", DType.F16, 0, "a14a70711ab26c5b", "1b121b7190c6125e", "137c895bd7757708"),
    ("all-bits", DType.BF16, 0, "b5fe32ace190b3ed", "c7bd659dd38f226f", "0ed78da97b39c4e2"),
    ("all-bits", DType.F64, 0, "6af2ec65b1da6c3e", "1470069eff3c073a", "419b0ec438e34ee6"),
    ("values", DType.F16, 0, "98c52d950647754a", "0a8714d5439be8db", "19b18d84df0a43c9"),
]


@pytest.mark.parametrize(("data", "dtype", "seed", "x", "w", "b"), PINNED)
def test_bits_are_pinned(data: Data, dtype: DType, seed: int, x: str, w: str, b: str) -> None:
    values = VALUES if data == "values" else ()
    operands = make_operands(
        Operand(X_SHAPE, dtype, data, seed, values),
        Operand(W_SHAPE, dtype, data, seed, values[: prod(W_SHAPE)]),
        Operand((4,), dtype, data, seed, values[:4]),
    )
    assert [digest(operands[role]) for role in ("x", "w", "b")] == [x, w, b]


def test_every_data_word_and_type_is_pinned() -> None:
    assert {data for data, *_ in PINNED} == set(DATA)
    assert {dtype for _, dtype, *_ in PINNED} == set(DType)


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
