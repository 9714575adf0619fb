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
from tconv import Geometry, Invalid, api, conv_transpose, disputed, errors, resolve
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
    """The package gives functions, what they return, every error and a version; AttributeError for any other name."""
    functions = {"assert_conforms", "conv_transpose", "disputed", "resolve", "tolerance"}
    errors_ = {
        name for name, member in vars(errors).items() if isinstance(member, type) and issubclass(member, Exception)
    }
    assert set(tconv.__all__) == functions | errors_ | {"Geometry", "Tolerance", "Violation", "__version__"}
    assert set(api.__all__) == set(tconv.__all__) - {"__version__"} | {"DEFAULT_DIALECT"}
    assert all(hasattr(tconv, name) for name in tconv.__all__)
    with pytest.raises(AttributeError, match="module 'tconv' has no attribute 'convtranspose'"):
        _ = tconv.convtranspose  # type: ignore[attr-defined]


def test_importing_the_package_imports_no_numpy() -> None:
    """The command starts without what it may not need: the interface is imported when it is asked for."""
    code = "import sys, tconv; assert 'numpy' not in sys.modules; tconv.resolve; assert 'numpy' in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_signatures() -> None:
    """Arrays come by place, everything else by name, nothing but arrays or sizes is needed."""
    names = [
        *("dialect", "strides", "dilations", "pads_begin", "pads_end", "auto_pad", "output_padding", "output_shape"),
        "groups",
    ]
    parameters = inspect.signature(conv_transpose).parameters
    assert list(parameters) == ["x", "w", "bias", *names, "data_format", "filter_format", "reading"]
    by_name = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    assert by_name == list(parameters)[3:]
    assert [name for name, parameter in parameters.items() if parameter.default is parameter.empty] == ["x", "w"]
    assert parameters["dialect"].default == "onnx/ConvTranspose-22"
    sizes = inspect.signature(resolve).parameters
    assert list(sizes) == ["spatial", "kernel", *names, "reading"]
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in sizes.values())
    assert [name for name, parameter in sizes.items() if parameter.default is parameter.empty] == ["spatial", "kernel"]


# Values.


def test_the_smallest_example() -> None:
    """X = 1, 2, 3 and w = 1, 10, 100 at stride 2."""
    assert line() == [1, 10, 102, 20, 203, 30, 300]


@pytest.mark.parametrize("dialect", WIDE)
def test_every_dialect_computes_explicit_pads(dialect: str) -> None:
    """Explicit pads mean the same everywhere; what a dialect requires and the caller leaves out is neutral."""
    assert line(dialect=dialect, pads_begin=1, pads_end=2) == [10, 102, 20, 203]
    assert line(dialect=dialect, strides=None) == [1, 12, 123, 230, 300]


@pytest.mark.parametrize(
    ("dialect", "values"),
    [
        (ONNX_1, [102, 20, 203]),
        (ONNX_11, [10, 102, 20, 203, 30, 300]),
        (ONNX_22, [10, 102, 20, 203, 30, 300]),
        (ONEDNN, [10, 102, 20, 203, 30, 300]),
        *[(dialect, [1, 10, 102, 20, 203, 30, 300]) for dialect in BACKPROP],
    ],
)
def test_every_dialect_follows_its_own_rules(dialect: str, values: list[float]) -> None:
    """SAME_LOWER: the input's size, times the stride, or no padding at all."""
    assert line(dialect=dialect, auto_pad="same_lower") == values


def test_the_result_is_float64_and_exact() -> None:
    """Whatever the arrays' types, the sum is in float64, and so is the result."""
    for dtype in (np.float16, np.float32, np.int8, np.float64):
        y = conv_transpose(X.astype(dtype), W.astype(dtype), np.array([1], dtype), strides=2)
        assert y.dtype == np.float64
        assert y.tolist() == [[[2, 11, 103, 21, 204, 31, 301]]]
    assert conv_transpose(X.tolist(), W.tolist(), [1.0], strides=2).tolist() == [[[2, 11, 103, 21, 204, 31, 301]]]  # type: ignore[arg-type]


def test_arguments_are_not_changed() -> None:
    """Arrays that are handed in stay as they are, and the result is no view of them."""
    x, w = X.copy(), W.copy()
    y = conv_transpose(x, w, kernel_bias := np.zeros(1))
    y[:] = 7
    assert np.array_equal(x, X)
    assert np.array_equal(w, W)
    assert kernel_bias.tolist() == [0]


def test_one_integer_is_meant_for_every_axis() -> None:
    """2 is (2, 2); numpy's integers count as integers, lists and arrays as lists."""
    x, w = np.ones((1, 1, 3, 4)), np.ones((1, 1, 2, 3))
    expected = conv_transpose(x, w, strides=(2, 2), pads_begin=(1, 1))
    for two, one in ((2, 1), (np.int64(2), np.int32(1)), ([2, 2], [1, 1]), (np.array([2, 2]), np.array([1, 1]))):
        assert np.array_equal(conv_transpose(x, w, strides=two, pads_begin=one), expected)  # type: ignore[arg-type]


def test_integers_and_lists_are_numbers() -> None:
    """Integers that float64 holds are taken as they are, and so are lists, NaN and infinities."""
    assert conv_transpose([[[1, 2]]], [[[3]]]).tolist() == [[[3, 6]]]  # type: ignore[arg-type]
    assert np.isnan(conv_transpose(np.array([[[np.nan]]], np.float16), W)).all()


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 2, 0)])
def test_empty_arrays(shape: tuple[int, int, int]) -> None:
    """An empty batch gives an empty output; without channels or points there is the bias."""
    bias = np.array([1.0, 2.0, 3.0])
    y = conv_transpose(np.ones(shape), np.ones((shape[1], 3, 2)), bias, output_shape=4)
    assert np.array_equal(y, np.broadcast_to(bias.reshape(3, 1), (shape[0], 3, 4)))


def test_batch_and_channels_alone() -> None:
    """Without a spatial axis, which ONNX does not exclude, it is a matrix product."""
    assert conv_transpose(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist() == [[11.0]]


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


def test_an_explicit_layout_wins_over_the_dialects() -> None:
    """Canonical words are accepted whatever the dialect."""
    for dialect in WIDE:
        for data_format in ("NCX", "NXC"):
            x = X if data_format == "NCX" else np.moveaxis(X, 1, -1)
            y = conv_transpose(x, W, dialect=dialect, strides=2, data_format=data_format, filter_format="IOX")
            assert y.ravel().tolist() == [1, 10, 102, 20, 203, 30, 300]


def test_groups_of_a_grouped_filter() -> None:
    """With GIOX the number of groups follows from the filter; another number contradicts it."""
    x, w = np.ones((1, 4, 3)), np.ones((2, 2, 1, 2))
    assert conv_transpose(x, w, filter_format="GIOX").shape == (1, 2, 4)
    assert conv_transpose(x, w, filter_format="GIOX", groups=2).shape == (1, 2, 4)
    with pytest.raises(UsageError, match=r"groups must be 2, the filter's first size in GIOX \(got 1\)"):
        conv_transpose(x, w, filter_format="GIOX", groups=1)


# Geometry.


def test_resolve_takes_sizes() -> None:
    """The resolver needs no arrays: sizes and attributes give the geometry."""
    found = resolve(spatial=(5, 4), kernel=(3, 2), strides=(2, 3), auto_pad="same_upper", groups=4)
    assert found == Geometry((5, 4), (3, 2), (2, 3), (1, 1), (0, -1), (10, 12), 4)
    assert (found.full, found.pads_end) == ((11, 11), (1, 0))


@pytest.mark.parametrize("dialect", WIDE)
def test_resolve_and_the_reference_agree(dialect: str) -> None:
    """The output has the size that the resolver gives."""
    rest: dict[str, Any] = {"dialect": dialect, "strides": (2, 3), "output_padding": (1, 0)}
    y = conv_transpose(np.ones((1, 1, 5, 4)), np.ones((1, 1, 3, 2)), data_format="NCX", filter_format="IOX", **rest)
    assert y.shape[2:] == resolve(spatial=(5, 4), kernel=(3, 2), **rest).output == (12, 11)


# Readings.


def test_disputed_lists_names_and_what_they_say() -> None:
    """Every disputed reading of a dialect with its sentence; geometry/1 has none."""
    assert disputed("onednn/ConvTranspose-1") == {
        "negative-same-shrunk": "under SAME_*, if the stride is larger than the dilated kernel, nothing is cropped or "
        "added, and the output stays smaller",
        "negative-same-refused": "under SAME_*, if the stride is larger than the dilated kernel, the call is refused",
    }
    for name, dialect in DIALECTS.items():
        assert list(disputed(name)) == [reading.name for reading in dialect.disputed]
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
    """Every name that `disputed` lists is taken by `resolve`, and a case that it says nothing of stays as it is."""
    sizes: dict[str, Any] = {"spatial": (3,), "kernel": (3,), "dialect": dialect}
    assert resolve(**sizes, reading=reading) == resolve(**sizes)


def test_a_refusing_reading_is_invalid_by_its_own_clause() -> None:
    """Following a reading that refuses raises, citing what the reading rests on."""
    grown: dict[str, Any] = {"spatial": (3,), "kernel": (1,), "strides": 4, "auto_pad": "same_upper"}
    assert resolve(**grown).output == (12,)
    with pytest.raises(Invalid) as caught:
        resolve(**grown, reading="negative-same-refused")
    assert caught.value.constraint == "total-padding-non-negative"
    assert caught.value.got == "a total padding of -3"
    assert caught.value.cites.startswith("attribute pads, 'it can take any value greater than or equal to 0'; ")


def test_a_size_below_zero_is_of_a_reading() -> None:
    """A reading may give no size where the primary one does, and a size where the primary one gives none."""
    asked: dict[str, Any] = {"spatial": (3,), "kernel": (2,), "output_padding": -7, "auto_pad": "same_upper"}
    assert resolve(**asked, dialect=ONNX_11).output == (3,)
    with pytest.raises(Invalid, match="output-size-non-negative"):
        resolve(**asked, dialect=ONNX_11, reading="same-output-padding-added")
    empty: dict[str, Any] = {"spatial": (0,), "kernel": (1,), "strides": 3, "auto_pad": "same_upper"}
    with pytest.raises(Invalid, match="output-size-non-negative"):
        resolve(**empty, dialect=OPENVINO)
    assert resolve(**empty, dialect=OPENVINO, reading="same-as-convolution").output == (0,)


@pytest.mark.parametrize("reading", ["valid-keeps-pads", ("same-as-convolution", "valid-keeps-pads")])
def test_a_reading_makes_nothing_valid(reading: Any) -> None:  # noqa: ANN401 - one name or several
    """Following a reading leaves every other constraint in place."""
    with pytest.raises(Invalid, match="output-padding-non-negative"):
        resolve(spatial=(3,), kernel=(3,), output_padding=-1, dialect=OPENVINO, reading=reading)


# What is invalid.


def test_invalid_says_all_there_is_to_say() -> None:
    """The constraint, the attribute, what must hold, what was found and the clause; the message is made of them."""
    error = invalid(dialect=ONNX_11, strides=(2,))
    assert (error.constraint, error.attribute) == ("strides-length", "strides")
    assert (error.must, error.got) == ("must have 2 entries, one for each spatial axis", "[2]")
    assert (
        error.cites == "attribute strides, 'Stride along each spatial axis', describes the list and demands no length"
    )
    assert str(error) == f"strides {error.must} (got [2]) [strides-length: {error.cites}]"
    assert isinstance(error, ValueError)


def test_the_same_arguments_may_be_valid_elsewhere() -> None:
    """Validity is the dialect's: pads beside a mode are ignored by oneDNN, output_padding is unbounded there."""
    assert line(dialect=ONEDNN, auto_pad="valid", pads_begin=3) == [1, 10, 102, 20, 203, 30, 300]
    assert line(dialect=ONEDNN, output_padding=5) == [1, 10, 102, 20, 203, 30, 300, 0, 0, 0, 0, 0]
    assert line(dialect="geometry/1", pads_begin=-1) == [0, 1, 10, 102, 20, 203, 30, 300]


def test_what_is_open_has_its_value() -> None:
    """Where the text is open the value is given: output_padding between stride and dilation, a line in oneDNN."""
    assert line(dilations=3, output_padding=2)[-2:] == [0, 0]
    assert resolve(spatial=(3,), kernel=(3,), dialect=ONEDNN).output == (5,)


# What is unknown.


class _NoArray:
    """What another library may give: it looks like an array, and is none."""

    def __array__(self, *_: object, **__: object) -> Array:
        raise KeyError("no array")


WRONG: list[Any] = [
    *(
        None,
        True,
        -1,
        0,
        3,
        2**40,
        2**70,
        10**5000,
        1.5,
        math.nan,
        "",
        "same_upper",
        "NXC",
        "GIOX",
        b"x",
        list,
        object(),
    ),
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dialect": None}, "dialect must be a name or a Dialect (got None)"),
        (
            {"strides": 10**9},
            "the output must have at most 1,073,741,824 elements (got 2,000,000,003)",
        ),
        ({"output_shape": [2**40]}, "elements (got 1,099,511,627,776)"),
        ({"strides": 10**5000}, "strides must have less than 64 bits (got 16610 bits)"),
        ({"reading": None}, "reading must be a name or a list of names (got None)"),
        ({"auto_pad": ["valid"]}, "auto_pad must be one of explicit, valid, same_upper, same_lower (got ['valid'])"),
    ],
)
def test_what_is_no_argument_at_all(arguments: dict[str, Any], message: str) -> None:
    """The argument is named, and what it must be."""
    with pytest.raises(UsageError) as caught:
        conv_transpose(X, W, **arguments)
    assert message in str(caught.value)


def test_two_readings_of_one_question_are_refused() -> None:
    """Which of two answers would hold is not guessed."""
    with pytest.raises(UsageError, match="must answer each question once"):
        resolve(
            spatial=[4],
            kernel=[3],
            strides=5,
            auto_pad="same_upper",
            reading=["negative-same-refused", "negative-same-appended"],
        )
