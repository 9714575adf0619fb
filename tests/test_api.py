"""The public Python interface: the reference and the resolver in any dialect's words."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tconv
from strategies import BACKPROP, ONEDNN, ONNX, WIDE, examples
from tconv import Geometry, Invalid, conv_transpose, disputed, errors, resolve
from tconv.api.arguments import Written
from tconv.dialects import DIALECTS
from tconv.errors import UsageError

Array = np.ndarray[Any, np.dtype[np.float64]]

ONNX_1, ONNX_11, ONNX_22 = ONNX
ONEDNN_BACKPROP, OPENVINO, GROUPED = BACKPROP

X = np.array([[[1.0, 2.0, 3.0]]])
W = np.array([[[1.0, 10.0, 100.0]]])
"""At stride 2 these give 1, 10, 102, 20, 203, 30, 300."""


def line(**arguments: Any) -> list[float]:  # noqa: ANN401 - arguments of conv_transpose
    """Return the transposed convolution of X with W at stride 2 in canonical layouts."""
    given_arguments = {"strides": 2, "data_format": "NCX", "filter_format": "IOX"} | arguments
    return [float(value) for value in conv_transpose(X, W, **given_arguments)[0, 0]]


def invalid(**arguments: Any) -> Invalid:  # noqa: ANN401 - as above
    """Return what is raised for a plane of two channels of size 5x4 with a 3x2 kernel."""
    x, w = arguments.pop("x", np.ones((1, 2, 5, 4))), arguments.pop("w", np.ones((2, 3, 3, 2)))
    formats = {"data_format": "NCX", "filter_format": "IOX"}
    with pytest.raises(Invalid) as caught:
        conv_transpose(x, w, **(formats | arguments))
    return caught.value


# What is there.


def test_the_public_names() -> None:
    functions = {"assert_conforms", "conv_transpose", "disputed", "resolve", "tolerance"}
    errors_ = {
        name for name, member in vars(errors).items() if isinstance(member, type) and issubclass(member, Exception)
    }
    assert set(tconv.__all__) == functions | errors_ | {"Geometry", "Tolerance", "Violation", "__version__"}
    assert all(hasattr(tconv, name) for name in tconv.__all__)
    with pytest.raises(AttributeError, match="module 'tconv' has no attribute 'convtranspose'"):
        _ = tconv.convtranspose  # type: ignore[attr-defined]


# Values.


@pytest.mark.parametrize("dialect", WIDE)
def test_every_dialect_computes_explicit_pads(dialect: str) -> None:
    """Explicit pads mean the same everywhere; what a dialect requires and the caller leaves out is neutral."""
    assert line(dialect=dialect, pads_begin=1, pads_end=2) == [10, 102, 20, 203]
    assert line(dialect=dialect, strides=None) == [1, 12, 123, 230, 300]


def test_the_result_is_float64_and_exact() -> None:
    for dtype in (np.float16, np.float32, np.int8, np.float64):
        y = conv_transpose(X.astype(dtype), W.astype(dtype), np.array([1], dtype), strides=2)
        assert y.dtype == np.float64
        assert y.tolist() == [[[2, 11, 103, 21, 204, 31, 301]]]
    assert conv_transpose(X.tolist(), W.tolist(), [1.0], strides=2).tolist() == [[[2, 11, 103, 21, 204, 31, 301]]]  # type: ignore[arg-type]


def test_arguments_are_not_changed() -> None:
    x, w = X.copy(), W.copy()
    y = conv_transpose(x, w, kernel_bias := np.zeros(1))
    y[:] = 7
    assert np.array_equal(x, X)
    assert np.array_equal(w, W)
    assert kernel_bias.tolist() == [0]


def test_one_integer_is_meant_for_every_axis() -> None:
    x, w = np.ones((1, 1, 3, 4)), np.ones((1, 1, 2, 3))
    expected = conv_transpose(x, w, strides=(2, 2), pads_begin=(1, 1))
    for two, one in ((2, 1), (np.int64(2), np.int32(1)), ([2, 2], [1, 1]), (np.array([2, 2]), np.array([1, 1]))):
        assert np.array_equal(conv_transpose(x, w, strides=two, pads_begin=one), expected)  # type: ignore[arg-type]


# Layouts.


@given(
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(1, 2),
    st.integers(1, 3),
    st.sampled_from(["explicit", "same_upper", "valid"]),
    st.integers(0, 2**32 - 1),
)
@examples(100)
def test_layouts_commute(rank: int, groups: int, inputs: int, outputs: int, mode: str, seed: int) -> None:
    """In every layout the result is the permutation of that in NCX and IOX, bit for bit."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 9, (2, groups * inputs, *rng.integers(1, 5, rank))).astype(np.float64)
    w = rng.integers(-9, 9, (groups * inputs, outputs, *rng.integers(1, 4, rank))).astype(np.float64)
    b = rng.integers(-9, 9, groups * outputs).astype(np.float64)
    rest: dict[str, Any] = {"strides": 2, "auto_pad": mode}
    plain = conv_transpose(x, w, b, groups=groups, **rest)
    xoi = np.moveaxis(w, (0, 1), (-1, -2))
    giox = w.reshape(groups, inputs, *w.shape[1:])
    for filters, name in ((w, "IOX"), (xoi, "XOI"), (giox, "GIOX")):
        number = None if name == "GIOX" else groups
        assert np.array_equal(conv_transpose(x, filters, b, groups=number, filter_format=name, **rest), plain)
        nxc = conv_transpose(
            np.moveaxis(x, 1, -1), filters, b, groups=number, data_format="NXC", filter_format=name, **rest
        )
        assert np.array_equal(np.moveaxis(nxc, -1, 1), plain)


def test_default_layouts_are_the_dialects() -> None:
    """OneDNN takes NXC and XOI where nothing is said, OpenVINO's grouped operation GIOX."""
    x, w = np.arange(12.0).reshape(1, 2, 3, 2), np.arange(24.0).reshape(2, 2, 3, 2)
    plain = conv_transpose(x, w, strides=2)
    for dialect in (ONEDNN, ONEDNN_BACKPROP):
        y = conv_transpose(np.moveaxis(x, 1, -1), np.moveaxis(w, (0, 1), (-1, -2)), dialect=dialect, strides=2)
        assert np.array_equal(np.moveaxis(y, -1, 1), plain)
    for dialect in (ONNX_1, ONNX_11, OPENVINO, "geometry/1"):
        assert np.array_equal(conv_transpose(x, w, dialect=dialect, strides=2), plain)
    assert np.array_equal(conv_transpose(x, w[None], dialect=GROUPED, strides=2), plain)
    grouped = conv_transpose(x, w[:, None], dialect=GROUPED, strides=2)
    assert np.array_equal(grouped, conv_transpose(x, w, groups=2, strides=2))


def test_groups_of_a_grouped_filter() -> None:
    """With GIOX the number of groups follows from the filter; another number contradicts it."""
    x, w = np.ones((1, 4, 3)), np.ones((2, 2, 1, 2))
    assert conv_transpose(x, w, filter_format="GIOX").shape == (1, 2, 4)
    assert conv_transpose(x, w, filter_format="GIOX", groups=2).shape == (1, 2, 4)
    with pytest.raises(UsageError, match=r"groups must be 2, the filter's first size in GIOX \(got 1\)"):
        conv_transpose(x, w, filter_format="GIOX", groups=1)


# Geometry.


def test_resolve_takes_sizes() -> None:
    found = resolve(spatial=(5, 4), kernel=(3, 2), strides=(2, 3), auto_pad="same_upper", groups=4)
    assert found == Geometry((5, 4), (3, 2), (2, 3), (1, 1), (0, -1), (10, 12), 4)
    assert (found.full, found.pads_end) == ((11, 11), (1, 0))


# Readings.


def test_disputed_lists_names_and_what_they_say() -> None:
    for name, dialect in DIALECTS.items():
        assert disputed(name) == {reading.name: reading.says for reading in dialect.disputed}
    assert disputed() == disputed(ONNX_22)


def test_a_reading_is_followed() -> None:
    """`reading` answers its question otherwise, alone or among several; those that do not matter change nothing."""
    sized: dict[str, Any] = {"dialect": OPENVINO, "auto_pad": "same_upper", "output_shape": 6}
    assert line(**sized) == [10, 102, 20, 203, 30, 300]
    assert line(**sized, reading="sized-upper-odd-end") == [1, 10, 102, 20, 203, 30]
    assert line(**sized, reading=["valid-keeps-pads", "sized-upper-odd-end"]) == [1, 10, 102, 20, 203, 30]
    assert line(**sized, reading=()) == line(**sized, reading="valid-keeps-pads") == line(**sized)


@pytest.mark.parametrize(
    ("dialect", "reading"), [(dialect, name) for dialect in DIALECTS for name in disputed(dialect)]
)
def test_every_disputed_reading_can_be_followed(dialect: str, reading: str) -> None:
    sizes: dict[str, Any] = {"spatial": (3,), "kernel": (3,), "dialect": dialect}
    assert resolve(**sizes, reading=reading) == resolve(**sizes)


def test_a_refusing_reading_is_invalid_by_its_own_clause() -> None:
    grown: dict[str, Any] = {"spatial": (3,), "kernel": (1,), "strides": 4, "auto_pad": "same_upper"}
    assert resolve(**grown).output == (12,)
    with pytest.raises(Invalid) as caught:
        resolve(**grown, reading="negative-same-refused")
    assert caught.value.constraint == "total-padding-non-negative"
    assert caught.value.got == "a total padding of -3"
    assert caught.value.cites.startswith("attribute pads, 'it can take any value greater than or equal to 0'; ")


@pytest.mark.parametrize("reading", ["valid-keeps-pads", ("same-as-convolution", "valid-keeps-pads")])
def test_a_reading_makes_nothing_valid(reading: Any) -> None:  # noqa: ANN401 - one name or several
    with pytest.raises(Invalid, match="output-padding-non-negative"):
        resolve(spatial=(3,), kernel=(3,), output_padding=-1, dialect=OPENVINO, reading=reading)


# What is invalid.


def test_invalid_says_all_there_is_to_say() -> None:
    error = invalid(dialect=ONNX_11, strides=(2,))
    assert (error.constraint, error.attribute) == ("strides-length", "strides")
    assert (error.must, error.got) == ("must have 2 entries, one for each spatial axis", "[2]")
    assert (
        error.cites == "attribute strides, 'Stride along each spatial axis', describes the list and demands no length"
    )
    assert str(error) == f"strides {error.must} (got [2]) [strides-length: {error.cites}]"
    assert isinstance(error, ValueError)


# What is unknown.


class _NoArray:
    """What another library may give: it looks like an array, and is none."""

    def __array__(self, *_: object, **__: object) -> Array:
        raise KeyError("no array")


WRONG: list[Any] = [
    *(None, True, -1, 0, 3, 2**40, 2**70, 10**5000, 1.5, math.nan, b"x", list, object()),
    *("", "same_upper", "NXC", "GIOX"),
    *([], [[]], [None], ["a"], [[1], [1, 2]], (2**40, 5), [10**10], {}, {"a": 1}, {"GIOX"}, iter([2]), lambda: 1),
    *(np.array(3), np.array([1, 2]), np.array([[1]]), np.array([1.5]), np.array(["a"]), np.array([None]), np.zeros(0)),
    *(np.ones((1,) * 32), np.ma.masked_array([1, 2], [True, False]), np.ones((2, 2, 2)), np.ones(1, "V4"), _NoArray()),
    *(np.zeros((0, 1, 3)), np.zeros((1, 0, 3)), np.ones((1, 1, 3), np.float16), np.ones((1, 1, 3), np.complex64)),
]
FUNCTIONS: dict[str, dict[str, Any]] = {
    "conv_transpose": {"x": X, "w": W},
    "resolve": {"spatial": [3], "kernel": [3]},
    "disputed": {},
    "tolerance": {"x": X, "w": W},
    "assert_conforms": {"y": X, "x": X, "w": W},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_wrong_argument_is_refused_in_words(name: str) -> None:
    """Whatever is given: a result, or an error of tconv. That an output does not conform is an answer."""
    function, valid = getattr(tconv, name), FUNCTIONS[name]
    keywords = [*inspect.signature(function).parameters]
    keywords = [*keywords[:-1], *Written.__annotations__] if keywords[-1] == "attributes" else keywords

    @examples(400)
    @given(
        st.dictionaries(st.sampled_from(keywords), st.sampled_from(range(len(WRONG))), min_size=1, max_size=3),
        st.sampled_from([*DIALECTS]),
    )
    def check(wrong: dict[str, int], dialect: str) -> None:
        arguments = valid | {"dialect": dialect} | {keyword: WRONG[number] for keyword, number in wrong.items()}
        with suppress(errors.TconvError, Invalid, AssertionError):
            function(**arguments)

    check()


def test_what_is_cropped_may_be_large() -> None:
    """Only the output and the products of one tap are in memory."""
    assert conv_transpose(X, W, strides=10**9, pads_end=2 * 10**9).tolist() == [[[1.0, 10.0, 100.0]]]
    data, taps = np.broadcast_to(1.0, (1, 1, 2**20)), np.broadcast_to(1.0, (1, 2**11, 1))
    with pytest.raises(UsageError, match="the products of one tap must have at most"):
        conv_transpose(data, taps, pads_begin=2**20 - 1)


def test_a_tracer_that_reads_the_variables_changes_no_answer() -> None:
    """As a debugger, or a meter of coverage, does."""
    program = (
        "import sys, numpy as np\n"
        "from tconv import conv_transpose, resolve\n"
        "def trace(frame, *_):\n    frame.f_locals\n    return trace\n"
        "sys.settrace(trace)\n"
        "x = np.ones((1, 1, 2))\n"
        "print(conv_transpose(x, x, strides=2).shape, resolve(spatial=[2], kernel=[2], strides=2).output)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "(1, 1, 4) (4,)\n", done.stderr
