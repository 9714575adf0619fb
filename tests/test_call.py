"""A case said in each dialect: its names and words, only what is written, inputs in its layouts and order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from strategies import BACKPROP, ONEDNN, ONNX, WIDE, case
from tconv.cases.call import Call, express
from tconv.dialects import DIALECTS, NoWord
from tconv.errors import Invalid
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from tconv.cases.case import Case

ONNX_1, ONNX_11, ONNX_22 = ONNX
ONEDNN_BACKPROP, OPENVINO, GROUPED = BACKPROP


def said(dialect: str, **attributes: Any) -> Call:  # noqa: ANN401 - attributes and fields by their names
    return express(plane(**attributes), DIALECTS[dialect])


def plane(**attributes: Any) -> Case:  # noqa: ANN401 - as above
    return case((5, 7), (3, 2), batch=2, channels=4, filters=6, **attributes)


_NEUTRAL = {"strides": (1, 1), "dilations": (1, 1)}
_NEUTRAL_PADS = {"pads_begin": (0, 0), "pads_end": (0, 0)}


# Attributes.


@pytest.mark.parametrize(
    ("dialects", "attributes"),
    [((ONNX_11, ONNX_22, "geometry/1"), {}), ((ONNX_1,), _NEUTRAL), ((ONEDNN, *BACKPROP), _NEUTRAL | _NEUTRAL_PADS)],
)
def test_what_is_not_mentioned_is_left_out_or_neutral(dialects: tuple[str, ...], attributes: dict[str, Any]) -> None:
    """'Required: yes' has strides, dilations and pads written at 1 and 0; what has a default is left out."""
    for dialect in dialects:
        assert said(dialect).attributes == attributes


@pytest.mark.parametrize("dialect", [ONNX_1, ONEDNN, *BACKPROP])
def test_omitted_attributes_stay_away(dialect: str) -> None:
    omitted = said(dialect, omit=("strides", "pads_begin"))
    assert "strides" not in omitted.attributes
    assert "pads_begin" not in omitted.attributes
    assert omitted.attributes["dilations"] == (1, 1)
    assert ("pads_end" in omitted.attributes) == (dialect != ONNX_1)


_ALL = {
    "strides": (2, 3),
    "dilations": (1, 2),
    "pads_begin": (1, 0),
    "pads_end": (2, 1),
    "auto_pad": "same_upper",
    "output_padding": (0, 1),
    "output_shape": (9, 8),
    "groups": 2,
    "kernel_shape": (3, 2),
    "data_format": "NXC",
    "filter_format": "IOX",
}
_COMMON = {"strides": (2, 3), "dilations": (1, 2), "output_padding": (0, 1)}
_PADS = {"pads_begin": (1, 0), "pads_end": (2, 1)}


@pytest.mark.parametrize(
    ("dialects", "attributes"),
    [
        (
            ONNX,
            {
                "auto_pad": "SAME_UPPER",
                "pads": (1, 0, 2, 1),
                "output_shape": (9, 8),
                "group": 2,
                "kernel_shape": (3, 2),
            },
        ),
        ((ONEDNN,), _PADS | {"auto_pad": "SAME_UPPER", "groups": 2, "data_format": "NXC", "weights_format": "IOX"}),
        (
            (ONEDNN_BACKPROP,),
            _PADS | {"auto_pad": "SAME_UPPER", "groups": 2, "data_format": "NXC", "weights_format": "OIX"},
        ),
        ((OPENVINO, GROUPED), _PADS | {"auto_pad": "same_upper"}),
        (("geometry/1",), _PADS | {"groups": 2}),
    ],
)
def test_every_attribute_in_the_dialects_words(dialects: tuple[str, ...], attributes: dict[str, Any]) -> None:
    for dialect in dialects:
        words = DIALECTS[dialect].spelling.attributes
        sayable = {name: value for name, value in _ALL.items() if not isinstance(words[name], NoWord)}
        assert said(dialect, **sayable).attributes == _COMMON | attributes


@pytest.mark.parametrize(
    ("dialects", "words"),
    [
        (ONNX, ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")),
        ((ONEDNN, ONEDNN_BACKPROP), ("None", "VALID", "SAME_UPPER", "SAME_LOWER")),
        ((OPENVINO, GROUPED), ("explicit", "valid", "same_upper", "same_lower")),
    ],
)
def test_modes(dialects: tuple[str, ...], words: tuple[str, ...]) -> None:
    for dialect in dialects:
        for mode, word in zip(("explicit", "valid", "same_upper", "same_lower"), words, strict=True):
            assert said(dialect, auto_pad=mode).attributes["auto_pad"] == word
        assert "auto_pad" not in said(dialect).attributes


def test_unknown_layouts_are_written_and_the_default_is_used() -> None:
    """A word that is no layout is written where there is an attribute; arrays come in the default layout."""
    data = said(ONEDNN, data_format="NCHW", breaks="data-format-known")
    filters = said(ONEDNN, filter_format="OIHW", breaks="filter-format-known")
    assert (data.attributes["data_format"], data.data_format) == ("NCHW", DataFormat.NXC)
    assert (filters.attributes["weights_format"], filters.filter_format) == ("OIHW", FilterFormat.XOI)
    with pytest.raises(Invalid, match="filter-format-known"):
        said(ONEDNN, filter_format="OIHW")


def test_layouts_are_spelt_by_meaning() -> None:
    """BackpropData speaks as the forward convolution, whose output is our data: OIX is IOX's memory, XIO is XOI's."""
    words = {
        (dialect, layout): said(dialect, filter_format=layout).attributes["weights_format"]
        for dialect in (ONEDNN, ONEDNN_BACKPROP)
        for layout in ("IOX", "XOI")
    }
    assert words == {
        (ONEDNN, "IOX"): "IOX",
        (ONEDNN, "XOI"): "XOI",
        (ONEDNN_BACKPROP, "IOX"): "OIX",
        (ONEDNN_BACKPROP, "XOI"): "XIO",
    }


# Inputs.


@pytest.mark.parametrize(
    ("dialect", "x", "w"),
    [
        *[(dialect, (2, 4, 5, 7), (4, 6, 3, 2)) for dialect in (*ONNX, OPENVINO, "geometry/1")],
        *[(dialect, (2, 5, 7, 4), (3, 2, 6, 4)) for dialect in (ONEDNN, ONEDNN_BACKPROP)],
        (GROUPED, (2, 4, 5, 7), (2, 2, 6, 3, 2)),
    ],
)
def test_default_layouts_give_the_shapes(dialect: str, x: tuple[int, ...], w: tuple[int, ...]) -> None:
    """NCX and IOX are (C, O/G, X); oneDNN's NXC and XOI are (X, O/G, C); the grouped filter is (G, C/G, O/G, X)."""
    groups = None if dialect == OPENVINO else 2
    call = said(dialect, groups=groups)
    assert (call.inputs[0].shape, call.inputs[1].shape) == (x, w)
    assert call.groups == (groups or 1)


@pytest.mark.parametrize("dialect", WIDE)
@pytest.mark.parametrize(
    ("data_format", "x"), [("NCX", (2, 4, 5, 7)), ("NXC", (2, 5, 7, 4))]
)  # fmt: skip
@pytest.mark.parametrize(("filter_format", "w"), [("IOX", (4, 6, 3, 2)), ("XOI", (3, 2, 6, 4))])
def test_an_explicit_layout_wins(
    dialect: str, data_format: str, x: tuple[int, ...], filter_format: str, w: tuple[int, ...]
) -> None:
    call = said(dialect, data_format=data_format, filter_format=filter_format)
    assert (call.data_format, call.filter_format) == (data_format, filter_format)
    assert (call.inputs[0].shape, call.inputs[1].shape) == (x, w)


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        *[(dialect, ["X", "W", "B"]) for dialect in ONNX],
        (ONEDNN, ["input", "filter", "bias"]),
        *[(dialect, ["data", "filter"]) for dialect in BACKPROP],
        ("geometry/1", ["data", "filter", "bias"]),
    ],
)
def test_names_and_order_of_inputs(dialect: str, names: list[str]) -> None:
    call = said(dialect, bias=None if dialect in BACKPROP else (6,))
    assert [tensor.name for tensor in call.inputs] == names
    assert [tensor.role for tensor in call.inputs] == ["x", "w", "b"][: len(names)]


@pytest.mark.parametrize(
    ("fields", "constant"),
    [
        ({}, (False, True, True)),
        ({"filter_source": "input"}, (False, False, False)),
        ({"data_source": "initializer", "bias_source": "input"}, (True, True, False)),
    ],
)
def test_each_input_is_a_constant_or_fed_and_has_the_type_of_its_operand(
    fields: dict[str, Any], constant: tuple[bool, ...]
) -> None:
    call = said(ONNX_22, bias=(6,), dtype=DType.BF16, **fields)
    assert tuple(tensor.constant for tensor in call.inputs) == constant
    assert {tensor.dtype for tensor in call.inputs} == {call.dtype} == {DType.BF16}
    assert said(OPENVINO, output_shape=(9, 8)).inputs[-1].constant


def test_a_fed_output_shape_is_among_the_feeds() -> None:
    """Its integers are the call's own; the arrays of a case are those of its operands."""
    call = said(OPENVINO, output_shape=(9, 8), output_shape_source="input")
    fed = call.feeds({"x": np.zeros(1), "w": np.zeros(1)})
    assert list(fed) == ["data", "output_shape"]
    assert (fed["output_shape"].dtype, fed["output_shape"].tolist()) == (np.int64, [9, 8])
