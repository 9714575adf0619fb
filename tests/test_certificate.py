"""The short proof that an output conforms: it never says so where the bound, a note or a doubt says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples, geometries
from tconv.dialects.geometry import Geometry
from tconv.expectation import certificate, stream, tiles, tiny
from tconv.expectation import truth as module_of_truth
from tconv.expectation.bound import bound
from tconv.expectation.certificate import Composition, conforms
from tconv.expectation.stream import Sums, stacked
from tconv.expectation.truth import Truth
from tconv.verdict.comparison import Comparison, compare
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator

Array = np.ndarray[Any, np.dtype[Any]]

TYPES = {DType.F32: np.float32, DType.F64: np.float64}
SEEDS = st.integers(0, 2**32 - 1)


def truth(geometry: Geometry, seed: int, dtype: DType, *, scale: int = 0, bias: bool = False) -> Truth:
    """Return the reference for normal numbers of the type times 2^scale."""
    generator, groups = np.random.default_rng(seed), geometry.groups
    shapes = {"x": (2, 2 * groups, *geometry.spatial), "w": (2 * groups, 2, *geometry.kernel), "b": (2 * groups,)}
    with np.errstate(under="ignore"):
        made = {role: (generator.standard_normal(shape) * 2.0**scale) for role, shape in shapes.items()}
    return Truth({role: made[role].astype(TYPES[dtype]) for role in ("x", "w", "b")[: 3 if bias else 2]}, dtype)


@pytest.mark.parametrize("count", [1, 3])
def test_a_signalling_nan_is_no_proof_and_no_warning(count: int) -> None:
    """A runtime may answer with any bits; the other outputs of a stack are known all the same."""
    geometry = Geometry((3,), (2,), (1,), (1,), (0,), (4,), 1)
    x, w = (np.random.default_rng(0).standard_normal((count, *shape)) for shape in ((1, 2, 3), (2, 2, 2)))
    made = stacked(x, w, None, geometry)
    actual = made.y.astype(np.float32)
    of = Composition(geometry, 2, bias=False, dtype=DType.F32)
    proven = conforms(actual, made, of)
    actual.view(np.uint32).flat[0] = 0x7FA00000
    assert conforms(actual, made, of) == [False, *proven[1:]]


def in_full(actual: Array, reference: Truth, geometry: Geometry) -> Comparison:
    """Return the comparison without the short proof."""
    with patch.object(Truth, "conforms", lambda *_: False):
        return compare(actual, reference, geometry, {})


@pytest.fixture(params=["magnitude in float64", "magnitude in float32", "in one pass"], autouse=True)
def magnitude_type(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let small shapes go the way of large ones too, and of very large ones, in tiles and parts of a few elements."""
    with pytest.MonkeyPatch.context() as patched:
        if request.param != "magnitude in float64":
            patched.setattr(tiny, "MOST", 0)
            patched.setattr(certificate, "_BLOCK_ELEMENTS", 8)
        if request.param == "in one pass":
            patched.setattr(module_of_truth, "_STORED", 0)
            patched.setattr(stream, "_way", lambda *_: tiles.tiled)
            patched.setattr(tiles, "_ROOM", 40)
            patched.setattr(tiles, "_FEWEST", 2)
        tiny.plan.cache_clear()
        yield
    tiny.plan.cache_clear()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_found_for_outputs_that_are_rounded_once(dtype: DType, *, bias: bool) -> None:
    """It would be of no use if usual outputs were not recognized; in f64 a magnitude in float32 is no proof."""
    geometry = Geometry((7, 5), (3, 4), (2, 1), (1, 2), (1, 0), (13, 11), 2)
    reference = truth(geometry, 1, dtype, bias=bias)
    rounded = reference.values(geometry).astype(TYPES[dtype])
    proven = reference.conforms(rounded, geometry)
    held = reference.sums(geometry).magnitude
    assert held is not None
    assert proven == (dtype is DType.F32 or held.dtype == np.float64)
    assert in_full(rounded, reference, geometry).notes == ()


@pytest.mark.parametrize(("times", "proven"), [(0.9, True), (1.2, False)])
def test_the_root_mean_square_of_the_distances_is_within_its_line(times: float, *, proven: bool) -> None:
    """All elements are off by so many times s, which is within the line of each by itself."""
    geometry = Geometry((60,), (40,), (1,), (1,), (39,), (21,), 1)
    reference = truth(geometry, 5, DType.F32)
    terms = reference.terms(geometry)
    s = 2.0**-24 * np.sqrt((terms.count + 1) / 3) * terms.magnitude / 2
    actual = reference.values(geometry) + times * s
    assert reference.conforms(actual.astype(np.float32), geometry) == proven


@pytest.mark.parametrize(("times", "proven"), [(0.2, True), (1.2, False)])
def test_the_sums_of_some_channels_prove_no_more_than_those_of_all(times: float, *, proven: bool) -> None:
    """With operands of about one size, a sum of |x||w| of one channel of four shows smaller errors only."""
    geometry = Geometry((9, 8), (3, 3), (1, 1), (1, 1), (0, 0), (11, 10), 1)
    generator = np.random.default_rng(0)
    shapes = {"x": (1, 4, 9, 8), "w": (4, 2, 3, 3), "b": (2,)}
    made = {role: generator.uniform(0.95, 1.05, shape) for role, shape in shapes.items()}
    operands = {role: each * generator.choice([-1.0, 1.0], each.shape) for role, each in made.items()}
    reference = Truth(operands, DType.F32)
    terms = reference.terms(geometry)
    s = 2.0**-24 * np.sqrt((terms.count + 1) / 3) * terms.magnitude / 2
    actual = (reference.values(geometry) + times * s).astype(np.float32)
    with patch.multiple(tiles, _SOME=1, _PART=0.5):
        assert tiles.some_channels(4, geometry) == 1
        assert Truth(operands, DType.F32).conforms(actual, geometry) == proven


@given(
    geometries(ranks=(1, 3)),
    SEEDS,
    st.sampled_from([(dtype, bias) for dtype in TYPES for bias in (True, False)]),
    st.sampled_from([0, 0, -20, -70, -74, -540, 6, 40]),
    st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 6.0, 20.0]),
    st.sampled_from(["all", "one", "few"]),
    st.sampled_from([1, tiles._SOME]),
)
@examples(700)
def test_it_is_never_found_where_the_full_comparison_finds_anything(
    geometry: Geometry, seed: int, kind: tuple[DType, bool], scale: int, times: float, where: str, some: int
) -> None:
    """Errors of all sizes about the bound and the lines of the notes, in all elements and in some; also underflow.

    In one pass the sums of |x||w| are also of one of the two channels in a group.
    """
    dtype, bias = kind
    reference = truth(geometry, seed, dtype, scale=scale, bias=bias)
    generator = np.random.default_rng(seed)
    y, limits = reference.values(geometry), bound(reference.terms(geometry), dtype, {})
    chosen = generator.random(y.shape) < {"all": 2, "one": 1 / max(y.size, 1), "few": 0.1}[where]
    line = generator.choice(np.array([limits.allowed, limits.warning, limits.deviation]), axis=0)
    with np.errstate(over="ignore", under="ignore"):
        error = times * line * chosen * generator.choice([-1.0, 1.0], y.shape)
        actual = (y + error).astype(TYPES[dtype])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tiles, "_SOME", some)
        patched.setattr(tiles, "_PART", 0.5)
        conforms = reference.conforms(actual, geometry)
    if conforms:
        found = in_full(actual, reference, geometry)
        assert not found.wrong.any()
        assert (found.notes, found.untested) == ((), 0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, 1e30])
def test_one_element_off_is_no_proof(value: float) -> None:
    """Whatever stands in one element that owes another number."""
    geometry = Geometry((9,), (4,), (2,), (1,), (0,), (20,), 1)
    reference = truth(geometry, 3, DType.F32)
    for place in np.ndindex(2, 2, 20):
        actual = reference.values(geometry).astype(np.float32)
        actual[place] = value
        assert not reference.conforms(actual, geometry)


def test_an_output_that_zeros_would_pass_is_no_proof() -> None:
    """Zeros conform where nothing else is owed, and test nothing; whether that is so, the full comparison says."""
    geometry = Geometry((3,), (2,), (1,), (1,), (0,), (4,), 1)
    nothing = Truth({"x": np.full((1, 1, 3), 0.5), "w": np.zeros((1, 1, 2))}, DType.F32)
    assert not nothing.conforms(np.zeros((1, 1, 4), np.float32), geometry)
    assert compare(np.zeros((1, 1, 4), np.float32), nothing, geometry, {}).notes == ()


def test_an_element_of_which_the_bound_says_nothing_is_no_proof() -> None:
    """Products of subnormal numbers: zero is as right there, whatever the other elements are."""
    geometry = Geometry((1,), (1,), (1,), (1,), (0,), (1,), 1)
    operands = {"x": np.array([[[2.0**-149], [0.5]]]), "w": np.array([[[1.0], [1.5]], [[0.0], [1.5]]])}
    reference = Truth({role: array.astype(np.float32) for role, array in operands.items()}, DType.F32)
    actual = reference.values(geometry).astype(np.float32)
    assert in_full(actual, reference, geometry).untested
    assert not reference.conforms(actual, geometry)


def test_a_sum_that_cancels_in_float64_is_no_proof() -> None:
    """Zero is within the bound of a type in which the reference's own error counts as well."""
    geometry = Geometry((1,), (1,), (1,), (1,), (0,), (1,), 1)
    operands = {"x": np.array([[[1034.0], [1034.0]]]), "w": np.array([[[1034.0]], [[-(1034.0 - 5 * 2.0**-42)]]])}
    reference = Truth(operands, DType.F64)
    actual = reference.values(geometry)
    assert actual.all()
    assert in_full(actual, reference, geometry).untested
    assert not reference.conforms(actual, geometry)


def test_an_unreached_element_must_be_zero() -> None:
    """Where no tap reaches, and there is no bias, zero is owed exactly."""
    geometry = Geometry((3,), (1,), (3,), (1,), (0,), (9,), 1)
    reference = Truth({"x": np.array([[[1.5, 2.0, -3.25]]]), "w": np.array([[[0.1]]])}, DType.F32)
    actual = reference.values(geometry).astype(np.float32)
    assert reference.conforms(actual, geometry)
    actual[0, 0, 1] = 1e-45
    assert not reference.conforms(actual, geometry)
    assert compare(actual, reference, geometry, {}).wrong.any()


def test_each_output_of_a_stack_is_looked_at_alone() -> None:
    """One that is off does not touch the others."""
    geometry = Geometry((4, 3), (3, 3), (2, 2), (1, 1), (0, 0), (9, 7), 1)
    generator = np.random.default_rng(1)
    x, w, b = (generator.standard_normal((5, *shape)) for shape in ((1, 2, 4, 3), (2, 2, 3, 3), (2,)))
    made = stacked(x, w, b, geometry)
    actual = made.y.astype(np.float32)
    of = Composition(geometry, 2, bias=True, dtype=DType.F32)
    assert conforms(actual, made, of) == [True] * 5
    actual[3, 0, 1, 4, 4] *= 1.001
    assert conforms(actual, made, of) == [True, True, True, False, True]
    assert conforms(actual, made._replace(magnitude=None), of) == [False] * 5
    assert isinstance(made, Sums)
