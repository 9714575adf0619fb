"""Errors of transform algorithms have a verdict of their own; a wrong tap, product or element never has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples
from tconv.cases.case import Case, Data, Operand
from tconv.cases.operands import NUMPY_TYPES, make_operands
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.execution.evaluation import Evaluator
from tconv.expectation import transforms
from tconv.expectation.truth import Truth
from tconv.verdict import kinds as ver
from tconv.verdict.transform_errors import is_transform
from tconv.verdict.values import compare
from tconv.vocabulary import Attributes, DType
from transform_backends import Fft, Winograd23, Winograd43
from wrong_backends import BiasDoubled, Right

if TYPE_CHECKING:
    from transform_backends import Array

ONNX = DIALECTS["onnx/ConvTranspose-22"]
SIZES = [(12,), (64,), (6, 5), (24, 24)]


def made(
    data: Data, channels: int, spatial: tuple[int, ...], seed: int, outputs: int = 4, dtype: DType = DType.F32
) -> tuple[Truth, Geometry, Array, Array]:
    """Return truth, geometry, data and filter of a call at stride 1 with three taps an axis."""
    kernel, ones = (3,) * len(spatial), (1,) * len(spatial)
    x, w = Operand((1, channels, *spatial), dtype, data, seed), Operand((channels, outputs, *kernel), dtype, data, seed)
    arrays = make_operands(x, w, None)
    full = tuple(size + 2 for size in spatial)
    geometry = Geometry(spatial, kernel, ones, ones, (0,) * len(ones), full, 1)
    return Truth(arrays, dtype), geometry, arrays["x"], arrays["w"]


def judged(backend: Right, data: Data, *, dtype: DType = DType.F32, channels: int = 1, bias: bool = False) -> Any:  # noqa: ANN401
    case = Case(
        "topic/file/plane",
        Attributes(),
        Operand((2, channels, 12, 11), dtype, data),
        Operand((channels, 4, 3, 3), dtype, data),
        Operand((4,), dtype, data) if bias else None,
    )
    return Evaluator(backend, "transform", ONNX, None).evaluate(case)


@pytest.mark.parametrize("backend", [Fft(), Winograd43()], ids=lambda backend: type(backend).__name__)
@pytest.mark.parametrize(("data", "rule"), [("normal", "bound"), ("wide-full", "bound"), ("integers", "exact")])
@pytest.mark.parametrize("bias", [False, True])
def test_transforms_exceed_the_bound_and_are_told_so(backend: Right, data: Data, rule: str, bias: bool) -> None:  # noqa: FBT001
    record = judged(backend, data, bias=bias)
    assert isinstance(record.verdict, ver.Imprecise)
    assert record.verdict.rule == rule
    assert record.verdict.wrong > 0
    assert "a transform algorithm" in record.described
    assert record.tolerance is not None
    assert record.diagnosis == ()


def test_small_tiles_are_exact_on_integers() -> None:
    """F(2, 3) halves and adds: on integers it rounds nowhere. On real numbers it exceeds the bound."""
    assert judged(Winograd23(), "integers").verdict == ver.Agreed("exact")
    assert isinstance(judged(Winograd23(), "normal").verdict, ver.Imprecise)


def test_many_products_hide_a_transform() -> None:
    assert judged(Winograd43(), "normal", channels=64).verdict == ver.Agreed("bound")


@pytest.mark.parametrize("data", ["normal", "wide", "wide-full", "integers"])
@pytest.mark.parametrize(
    ("channels", "spatial"), [*((c, s) for c in (1, 4) for s in SIZES), (64, (24, 24)), (512, (4, 4))]
)
def test_transforms_stay_well_within_their_limits(data: Data, channels: int, spatial: tuple[int, ...]) -> None:
    """The limits are 1 for the root mean square and 8 for an element; half of either is not reached."""
    for seed in range(3):
        truth, geometry, x, w = made(data, channels, spatial, seed)
        deviation = transforms.transform_deviation(truth.operands, truth.dtype, geometry)
        for backend in (Fft(), Winograd23(), Winograd43()):
            ratio = np.abs(backend.full(x, w) - truth.compute_values(geometry)) / deviation
            assert np.sqrt(np.mean(ratio**2)) < 0.5
            assert ratio.max() < 5


def test_the_constant_of_winograd_by_its_matrices() -> None:
    """K is the largest sqrt(sum of A^T_i^2 ||G_i||^2 ||B^T_i||^2) over the rows of A^T of F(4, 3); F(2, 3) has less."""

    def norm(backend: Winograd43 | Winograd23) -> float:
        products = (backend.taps**2).sum(axis=1) * (backend.data**2).sum(axis=1)
        return float(np.sqrt((backend.outputs**2 * products).sum(axis=1).max()))

    assert norm(Winograd43()) == pytest.approx(transforms._WINOGRAD_NORM, rel=0.01)
    assert norm(Winograd23()) < 3


# What is no transform.


def named(output: Array, truth: Truth, geometry: Geometry) -> bool:
    output = output.astype(NUMPY_TYPES[truth.dtype])
    return bool(compare(output, truth, geometry, DType.F32).wrong.any()) and is_transform(output, truth, geometry)


@pytest.mark.parametrize(("share", "of_transform"), [(65, False), (63, True)])
def test_errors_of_a_transform_are_spread(share: int, *, of_transform: bool) -> None:
    """Fractions on integers are those of a transform only where one element of 64 is off, and not a few of many."""
    truth, geometry, _, _ = made("integers", 1, (24, 24), 0)
    y, deviation = truth.compute_values(geometry), transforms.transform_deviation(truth.operands, truth.dtype, geometry)
    actual = y.copy()
    actual.flat[::share] += np.broadcast_to(deviation, y.shape).flat[::share]
    assert named(actual, truth, geometry) == of_transform


CALLS = (
    st.sampled_from(["normal", "wide", "wide-full", "integers"]),
    st.sampled_from([1, 2, 5, 16]),
    st.sampled_from(SIZES),
    st.integers(0, 10**6),
)


@given(*CALLS, st.integers(1, 3), st.integers(0, 10**6), st.sampled_from([0, 2, -1]))
@examples(150)
def test_a_product_too_few_or_too_many_is_no_transform(
    data: Data, channels: int, spatial: tuple[int, ...], seed: int, outputs: int, at: int, times: int
) -> None:
    truth, geometry, x, w = made(data, channels, spatial, seed, outputs)
    spoilt = w.copy()
    spoilt.flat[at % w.size] *= times
    assert not named(Truth({"x": x, "w": spoilt}, DType.F32).compute_values(geometry), truth, geometry)


@given(*CALLS, st.integers(0, 10**6), st.floats(-40, 0))
@examples(150)
def test_a_product_of_any_size_is_no_transform(
    data: Data, channels: int, spatial: tuple[int, ...], seed: int, at: int, exponent: float
) -> None:
    data = "normal" if data == "integers" else data
    _, geometry, x, w = made(data, channels, spatial, seed, outputs=1)
    right, spoilt = w.copy(), w.copy()
    right.flat[at % w.size] *= np.float32(2.0**exponent)
    spoilt.flat[at % w.size] = 0
    truth = Truth({"x": x, "w": right}, DType.F32)
    output = sequential(x, spoilt, geometry)
    assert not named(output, truth, geometry)


def sequential(x: Array, w: Array, geometry: Geometry) -> Array:
    total = np.zeros((x.shape[0], w.shape[1], *geometry.output), np.float32)
    for channel, *tap in np.ndindex(w.shape[0], *w.shape[2:]):
        window = tuple(slice(t, t + size) for t, size in zip(tap, x.shape[2:], strict=True))
        weights = w[(channel, slice(None), *tap)].reshape(1, -1, *(1,) * (x.ndim - 2))
        total[(slice(None), slice(None), *window)] += x[:, channel : channel + 1] * weights
    return total


@given(*CALLS, st.permutations(range(3)).filter(lambda order: order != [0, 1, 2]), st.booleans())
@examples(150)
def test_a_wrong_tap_is_no_transform(
    data: Data,
    channels: int,
    spatial: tuple[int, ...],
    seed: int,
    order: list[int],
    transformed: bool,  # noqa: FBT001
) -> None:
    truth, geometry, x, w = made(data, channels, spatial, seed)
    wrong = w[..., order]
    if np.array_equal(wrong, w):
        return
    output = (
        Winograd43().full(x, wrong) if transformed else Truth({"x": x, "w": wrong}, DType.F32).compute_values(geometry)
    )
    assert not named(output, truth, geometry)


@given(*CALLS, st.integers(0, 10**6), st.integers(1, 2), st.floats(-24, 0))
@examples(150)
def test_spoilt_elements_are_no_transform(
    data: Data, channels: int, spatial: tuple[int, ...], seed: int, at: int, count: int, exponent: float
) -> None:
    truth, geometry, x, w = made(data, channels, spatial, seed)
    output = sequential(x, w, geometry)
    for place in range(count):
        output.flat[(at + place) % output.size] += np.float32(2.0**exponent * np.abs(output).max())
    assert not named(output, truth, geometry)


@pytest.mark.parametrize("size", [2.0**-24, 2.0**-20, 2.0**-16])
@pytest.mark.parametrize("spatial", SIZES)
def test_a_wrong_bias_is_no_transform(size: float, spatial: tuple[int, ...]) -> None:
    """A bias that is left out has the same error in its whole channel, however small it is."""
    _, geometry, x, w = made("normal", 2, spatial, 1)
    bias = np.array([1, -2, 3, 5], np.float32) * np.float32(size)
    truth = Truth({"x": x, "w": w, "b": bias}, DType.F32)
    assert not named(sequential(x, w, geometry), truth, geometry)


def test_a_misreading_says_more_than_the_size_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tconv.verdict.judge.is_transform", lambda *_: True)
    record = judged(BiasDoubled(), "normal", bias=True)
    assert isinstance(record.verdict, ver.Differed), record
    assert [str(name) for name in record.diagnosis] == ["bias-doubled"]


def noisy(kernel: tuple[int, int], stride: int, times: float) -> tuple[Array, Truth, Geometry]:
    """Return an output with spread errors of so many times the deviation of an FFT, as a root mean square."""
    x, w = Operand((1, 4, 5, 4), DType.F32, "normal"), Operand((4, 2, *kernel), DType.F32, "normal")
    spatial = (5, 4)
    full = tuple((size - 1) * stride + k for size, k in zip(spatial, kernel, strict=True))
    geometry = Geometry(spatial, kernel, (stride, stride), (1, 1), (0, 0), full, 1)
    truth = Truth(make_operands(x, w, None), DType.F32)
    spread = np.random.default_rng(5).standard_normal(truth.shape(geometry))
    noise = times * spread * transforms.fft_deviation(truth.operands, DType.F32, geometry)
    return truth.compute_values(geometry) + noise, truth, geometry


@pytest.mark.parametrize(
    ("kernel", "stride", "times", "expected"),
    [
        ((3, 3), 1, 0.8, True),
        ((1, 2), 1, 0.8, True),
        ((1, 1), 1, 0.8, False),
        ((1, 1), 2, 0.8, False),
        ((3, 3), 2, 0.8, True),
        ((3, 3), 1, 1.5, True),
        ((3, 3), 2, 1.5, False),
    ],
)
def test_what_no_transform_computes_has_no_errors_of_one(
    kernel: tuple[int, int],
    stride: int,
    times: float,
    expected: bool,  # noqa: FBT001
) -> None:
    """One tap alone is no FFT's, and Winograd's constant, the larger one, is only for strides of 1 and several taps."""
    output, truth, geometry = noisy(kernel, stride, times)
    assert is_transform(output, truth, geometry) is expected


def test_an_axis_with_one_tap_is_not_transformed() -> None:
    _, geometry, x, w = made("normal", 2, (12,), 1)
    rows = np.stack([x, 2 * x, 3 * x], axis=2)
    plane = Geometry((3, 12), (1, 3), (1, 1), (1, 1), (0, 0), (3, *geometry.output), 1)
    deviation = transforms.winograd_deviation({"x": rows, "w": w[:, :, None]}, DType.F32, plane)
    line = transforms.winograd_deviation({"x": x, "w": w}, DType.F32, geometry)
    assert np.allclose(deviation, np.stack([line, 2 * line, 3 * line], axis=2))


def test_what_is_not_finite_is_no_transform() -> None:
    truth, geometry, x, w = made("normal", 1, (6, 5), 0)
    output = Winograd43().full(x, w)
    assert named(output, truth, geometry)
    output[0, 0, 0, 0] = np.nan
    assert not named(output, truth, geometry)
