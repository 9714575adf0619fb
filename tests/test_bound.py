"""The bound is never exceeded by a conforming computation, and is by one that is not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples
from tconv.cases.case import Data, Operand
from tconv.cases.operands import NUMPY_TYPES, make_operands
from tconv.dialects.geometry import Geometry
from tconv.expectation.bound import UNIT_ROUNDOFF, Terms, bound_errors, derive, gamma, is_subnormal
from tconv.expectation.truth import Truth
from tconv.verdict.values import ComparedValues, compare
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, np.dtype[Any]]

HALVES = (DType.F16, DType.BF16)


def terms(y: float, magnitude: float, count: float, bias: float | None = None) -> Terms:
    return Terms(np.array([y]), np.array([magnitude]), np.array([count]), None if bias is None else np.array([bias]))


def limits(
    dtype: DType, y: float, magnitude: float, count: float, bias: float | None = None, accumulator: DType = DType.F32
) -> tuple[float, float, bool]:
    """Return what is allowed of one element, its warning line, and whether it may overflow."""
    found = bound_errors(terms(y, magnitude, count, bias), dtype, accumulator)
    return float(found.allowed[0]), float(found.warning[0]), bool(found.may_overflow[0])


# The formulas, by hand.


def own(magnitude: float, count: float) -> float:
    """Return the reference's own part, gamma_{n+1}(2^-53) * A."""
    part = (count + 1) * 2.0**-53
    return part / (1 - part) * magnitude


def test_gamma_by_hand() -> None:
    """gamma_n = n*u / (1 - n*u), for a u of 1/8: 0, 1/7, 1/3, 1 and from n = 8 on infinity."""
    assert gamma(np.array([0.0, 1.0, 2.0, 4.0, 8.0, 9.0]), 0.125).tolist() == [0, 1 / 7, 1 / 3, 1, np.inf, np.inf]


def test_warning_lines_by_hand() -> None:
    """6*sqrt(n)*u*A for f32 and f64; with 2^-24 for f16 and bf16, and the rounding of the result beside it."""
    assert limits(DType.F32, 1.0, 5.0, 4)[1] == pytest.approx(12 * 2.0**-24 * 5 + own(5, 4), rel=1e-15, abs=0)
    assert limits(DType.F64, 1.0, 5.0, 4)[1] == pytest.approx(12 * 2.0**-53 * 5 + own(5, 4), rel=1e-15, abs=0)
    rounded = 12 * 2.0**-24 * 5 + 2.0**-11 * 3 + 2.0**-24 + own(5, 4)
    assert limits(DType.F16, -3.0, 5.0, 4)[1] == pytest.approx(rounded, rel=1e-15, abs=0)
    assert limits(DType.F16, -3.0, 5.0, 4, bias=1.0)[1] == pytest.approx(rounded + 2.0**-11 * 3, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("dtype", "accumulator", "count", "allowed"),
    [
        # Half the smallest number for each rounding, and f32's for each term.
        (DType.F16, DType.F32, 4, 2.0**-25 + 4 * 2.0**-150),
        (DType.BF16, DType.F32, 4, 2.0**-134 + 4 * 2.0**-150),
        # A vacuous bound says nothing of a sum whose terms are all zero: that is zero.
        (DType.F16, DType.F16, 4096, 4096 * 2.0**-25),
        (DType.BF16, DType.BF16, 512, 512 * 2.0**-134),
    ],
)
def test_of_a_sum_of_zeros_underflow_alone_is_allowed(
    dtype: DType, accumulator: DType, count: int, allowed: float
) -> None:
    assert limits(dtype, 0.0, 0.0, count, accumulator=accumulator)[0] == allowed


@pytest.mark.parametrize(
    ("dtype", "accumulator"), [*((DType.F32, accumulator) for accumulator in DType), (DType.BF16, DType.F16)]
)
def test_a_type_excuses_no_sums_of_another_type(dtype: DType, accumulator: DType) -> None:
    assert limits(dtype, 1.0, 5.0, 40, accumulator=accumulator) == limits(dtype, 1.0, 5.0, 40)


@pytest.mark.parametrize(("dtype", "vacuous"), [(DType.F16, 2048), (DType.BF16, 256)])
def test_a_vacuous_bound_is_infinite(dtype: DType, vacuous: int) -> None:
    """Accumulated in f16 from 2048 terms on, in bf16 from 256, anything conforms; in f32 nothing like it happens."""
    assert np.isfinite(limits(dtype, 1.0, 5.0, vacuous - 1, accumulator=dtype)[0])
    assert limits(dtype, 1.0, 5.0, vacuous, accumulator=dtype)[0] == np.inf
    assert limits(dtype, 1.0, 5.0, 2**20)[0] < 1


# Overflow.


@pytest.mark.parametrize(
    ("dtype", "threshold"), [(DType.F16, 65520.0), (DType.BF16, 2.0**128 - 2.0**119), (DType.F32, 2.0**128 - 2.0**103)]
)
def test_infinity_is_allowed_where_rounding_overflows(dtype: DType, threshold: float) -> None:
    """From halfway beyond the largest number on, of either sign; just below only where the sum is uncertain."""
    below = np.nextafter(threshold, 0)
    for sign in (1, -1):
        assert limits(dtype, sign * threshold, 0.0, 1)[2]
        assert not limits(dtype, sign * below, 0.0, 1)[2]
        assert limits(dtype, sign * below, threshold, 100)[2]


@pytest.mark.parametrize("dtype", HALVES)
def test_a_number_is_refused_where_rounding_overflows_for_certain(dtype: DType) -> None:
    """The largest number is as near as half a unit may be: beyond the threshold an infinity alone conforms."""
    largest = float(ml_dtypes.finfo(NUMPY_TYPES[dtype]).max)
    above, u = largest * (1 + 0.75 * UNIT_ROUNDOFF[dtype]), UNIT_ROUNDOFF[dtype]
    assert above - largest < u * above
    assert limits(dtype, above, above, 1)[::2] == (0, True)
    assert limits(dtype, -above, above, 1)[::2] == (0, True)
    # Where the terms are so large that the sum is uncertain, both conform.
    assert limits(dtype, above, above * 2**14, 2**4)[0] >= above - largest


def test_a_late_bias_may_overflow() -> None:
    assert not limits(DType.F16, 65519.0, 65519.0, 2)[2]
    assert limits(DType.F16, 65519.0, 65519.0, 2, bias=1000.0)[2]


def test_f64_overflows_where_the_reference_does() -> None:
    """No float64 is beyond float64: infinity is allowed where the reference itself is infinite."""
    assert limits(DType.F64, np.inf, np.inf, 1)[2]
    assert not limits(DType.F64, 1.7e308, 1.7e308, 1)[2]


@pytest.mark.parametrize(
    ("dtype", "count", "scale"), [(DType.F16, 2100, 1), (DType.F16, 1500, 40), (DType.BF16, 256, 1)]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_vacuous_bound_excuses_no_nan_and_no_infinity(dtype: DType, count: int, scale: int, bad: float) -> None:
    """Sums in 16 bits of so many small terms have no bound, and still no order of theirs overflows."""
    made, geometry, *_ = dotted(dtype, "normal", count, 1)
    truth = Truth({"x": made.operands["x"] * scale, "w": made.operands["w"]}, dtype)
    output = np.full(truth.shape(geometry), bad, NUMPY_TYPES[dtype])
    assert compare(output, truth, geometry, dtype).wrong.all()


@given(st.lists(st.integers(-600, 600), min_size=2, max_size=40), st.integers(1, 60), st.randoms())
@examples(100)
def test_no_partial_sum_grows_beyond_twice_the_terms_of_its_sign(values: list[int], times: int, random: Any) -> None:  # noqa: ANN401
    """In f16, of so many terms that the bound is vacuous, in any order: what overflows is allowed to."""
    added = values * times
    random.shuffle(added)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.cumsum(np.array(added, np.float16), dtype=np.float16)
    y, magnitude = float(sum(added)), float(sum(map(abs, added)))
    found = bound_errors(terms(y, magnitude, float(len(added))), DType.F16, DType.F16)
    assert found.rises[0] or not np.isposinf(sums).any()
    assert found.falls[0] or not np.isneginf(sums).any()
    finite = sums[np.isfinite(sums)].astype(np.float64)
    assert finite.max(initial=0) <= (magnitude + y) * (1 + 2.0**-11)
    assert finite.min(initial=0) >= -(magnitude - y) * (1 + 2.0**-11)


# Subnormals and words.


@pytest.mark.parametrize("dtype", DType)
def test_subnormal_numbers(dtype: DType) -> None:
    info: Any = ml_dtypes.finfo(NUMPY_TYPES[dtype])
    normal = float(info.smallest_normal)
    smallest = float(info.smallest_subnormal)
    values = np.array([0.0, -0.0, smallest, -smallest, np.nextafter(normal, 0), normal, -normal, 1.0, np.inf, np.nan])
    assert is_subnormal(values, dtype).tolist() == [False, False, True, True, True, *[False] * 5]


def computed(text: str, numbers: dict[str, Any]) -> float:
    text = re.sub(r"\|([^|]+)\|", r"abs(\1)", text).replace("^", "**").replace("gamma_(n+1)", "gamma_after_n")
    count = numbers["n"]
    gammas = {
        "gamma_n": lambda u: count * u / (1 - count * u),
        "gamma_after_n": lambda u: (count + 1) * u / (1 - (count + 1) * u),
    }
    value: float = eval(text, gammas | numbers)  # noqa: S307 - a formula of tconv's own
    return value


@pytest.mark.parametrize("bias", [None, 1.0])
@pytest.mark.parametrize(
    ("dtype", "accumulator"),
    [*((dtype, DType.F32) for dtype in DType), (DType.F16, DType.F16), (DType.BF16, DType.BF16)],
)
@pytest.mark.parametrize("magnitude", [5.0, 0.0])
def test_the_derivation_is_what_is_computed(
    dtype: DType, accumulator: DType, bias: float | None, magnitude: float
) -> None:
    y = -2.0 if magnitude else 0.0
    bias = bias if magnitude or bias is None else 0.0
    numbers = {"n": 4, "A": magnitude, "y": y, "b": bias}
    about, _, formula = derive(dtype, accumulator).rpartition(": ")
    backends, _, references = formula.partition("; and the reference's own ")
    plain, _, beside_bias = backends.partition(", and with a bias ")
    numbers["E"] = computed(about.partition(" = ")[2] or "0", numbers)
    parts = [plain, references] if bias is None else [plain, references, beside_bias.removesuffix(" more") or "0"]
    total = sum(computed(part, numbers) for part in parts)
    assert limits(dtype, y, magnitude, 4, bias, accumulator)[0] == pytest.approx(total, rel=1e-15, abs=0)


# Real computations. A line of one point and one tap: every output is a sum over the channels.


def dotted(
    dtype: DType, data: Data, count: int, seed: int, *, bias: bool = False
) -> tuple[Truth, Geometry, Array, Array]:
    """Return truth, geometry, the products' factors (samples, outputs, terms) and biases (outputs)."""
    x, w = Operand((4, count, 1), dtype, data, seed), Operand((count, 8, 1), dtype, data, seed)
    arrays = make_operands(x, w, Operand((8,), dtype, data, seed) if bias else None)
    factors = np.stack(np.broadcast_arrays(arrays["x"][:, None, :, 0], arrays["w"].T[0][None]))
    return Truth(arrays, dtype), Geometry((1,), (1,), (1,), (1,), (0,), (1,), 1), factors, arrays.get("b", np.zeros(8))


def held(truth: Truth, geometry: Geometry, sums: Array, accumulator: DType = DType.F32) -> ComparedValues:
    return compare(sums[..., None], truth, geometry, accumulator)


def sequential(products: Array) -> Array:
    """Add from the first to the last, in the products' own type."""
    total = np.zeros_like(products[..., 0])
    for index in range(products.shape[-1]):
        total = total + products[..., index]
    return total


def backwards(products: Array) -> Array:
    return sequential(products[..., ::-1])


def pairwise(products: Array) -> Array:
    """Add neighbours, then neighbours of these, and so on."""
    while products.shape[-1] > 1:
        odd = products[..., -1:] if products.shape[-1] % 2 else products[..., :0]
        products = np.concatenate([products[..., 0:-1:2] + products[..., 1::2], odd], axis=-1)
    return products[..., 0]


def descending(products: Array) -> Array:
    """Add the largest first, which is the worst for what cancels."""
    return sequential(np.sort(products, axis=-1)[..., ::-1])


def blocked(products: Array) -> Array:
    """Add in 16 lanes, as vector instructions do, and then add the lanes."""
    padded = np.pad(products, [(0, 0), (0, 0), (0, -products.shape[-1] % 16)])
    return sequential(sequential(padded.reshape(*padded.shape[:2], -1, 16).swapaxes(2, 3)))


ORDERS = [sequential, backwards, pairwise, blocked, descending]


WAYS = [
    *((dtype, dtype, "none", data) for dtype in (DType.F32, DType.F64) for data in ("normal", "wide")),
    *(
        (dtype, DType.F32, bias, data)
        for dtype in HALVES
        for bias in ("none", "within", "after")
        for data in ("normal", "wide")
    ),
    *((dtype, dtype, "none", "normal") for dtype in HALVES),
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("count", [1, 2, 7, 64, 500])
@pytest.mark.parametrize(("dtype", "accumulator", "bias", "data"), WAYS)
def test_sums_in_any_order_conform(
    order: Callable[[Array], Array], count: int, dtype: DType, accumulator: DType, bias: str, data: Data
) -> None:
    """For many seeds: added in the type, or in f32 and rounded once, or once more if a bias is added."""
    # Of more terms the bound is vacuous.
    count = min(count, 128) if accumulator == DType.BF16 else count
    for seed in range(10):
        truth, geometry, (x, w), b = dotted(dtype, data, count, seed, bias=bias != "none")
        adds = NUMPY_TYPES[accumulator]
        sums, added = order(x.astype(adds) * w.astype(adds)), b.astype(adds)
        rounded = (sums + added if bias == "within" else sums).astype(NUMPY_TYPES[dtype])
        if bias == "after":
            rounded = (rounded.astype(adds) + added).astype(NUMPY_TYPES[dtype])
        found = held(truth, geometry, rounded, accumulator)
        assert found.rule == "bound"
        assert not found.wrong.any()
        assert dtype in HALVES or found.notes == ()


# What does not conform.


@pytest.mark.parametrize("dtype", DType)
@pytest.mark.parametrize("count", [2, 9, 36])
def test_a_dropped_product_is_detected(dtype: DType, count: int) -> None:
    for seed in range(10):
        truth, geometry, (x, w), _ = dotted(dtype, "normal", count, seed)
        products = x.astype(np.float64) * w.astype(np.float64)
        # The largest product of each sum: the smallest may be less than a rounding.
        largest = np.abs(products).argmax(axis=-1)[..., None]
        sums = products.sum(axis=-1) - np.take_along_axis(products, largest, -1)[..., 0]
        assert held(truth, geometry, sums.astype(NUMPY_TYPES[dtype])).wrong.all()


def tf32(array: Array) -> Array:
    """Return float32 numbers with a mantissa of 10 bits, as tensor cores take them."""
    bits = array.view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize(
    ("count", "data", "is_wrong"),
    [
        *((count, "normal", True) for count in (1, 4, 16)),
        *((count, "normal", False) for count in (64, 256)),
        # All elements together show it.
        *((count, data, False) for count in (1024, 4608, 9216) for data in ("normal", "wide-full")),
    ],
)
def test_tf32_is_noticed(count: int, data: Data, *, is_wrong: bool) -> None:
    """A failure while the bound is sharp, and above the warning line if it is not."""
    for seed in range(10 if count < 1024 else 3):
        truth, geometry, (x, w), _ = dotted(DType.F32, data, count, seed)
        for order in (sequential, pairwise):
            found = held(truth, geometry, order(tf32(x) * tf32(w)))
            assert found.wrong.any() or ("reduced-precision" in found.notes and not is_wrong)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("data", ["normal", "wide", "wide-full"])
def test_many_products_in_any_order_are_not_remarkable(order: Callable[[Array], Array], data: Data) -> None:
    """18,432 products in f32: no order comes to half of the root mean square that is remarkable."""
    truth, geometry, (x, w), _ = dotted(DType.F32, data, 18432, 1)
    sums = order(x * w)[..., None]
    assert held(truth, geometry, sums[..., 0]).notes == ()
    deviation = bound_errors(truth.compute_terms(geometry), DType.F32).deviation
    assert np.sqrt(np.mean(((sums - truth.compute_values(geometry)) / deviation) ** 2)) < 0.5


@pytest.mark.parametrize("small", [2.0**30, 2.0**60, 2.0**100])
def test_partial_sums_of_both_signs_may_overflow_whatever_their_sizes(small: float) -> None:
    """Infinities of both signs meet in NaN, also where float64 loses the smaller of both sums beside the larger."""
    big = 2.0**100
    truth = Truth({"x": np.float32([[[big], [big]]]), "w": np.float32([[[big]], [[-small]]])}, DType.F32)
    geometry = Geometry((1,), (1,), (1,), (1,), (0,), (1,), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        products = np.float32([big, big]) * np.float32([big, -small])
        answer = np.float32([[products[0] + products[1]]])
    assert not held(truth, geometry, answer).wrong.any()


def test_f64_at_f32_accuracy_is_detected() -> None:
    truth, geometry, (x, w), _ = dotted(DType.F64, "normal", 30, 1)
    sums = sequential((x * w).astype(np.float32)).astype(np.float64)
    assert held(truth, geometry, sums).wrong.mean() > 0.9
