"""OpenVINO ConvolutionBackpropData-1 and GroupConvolutionBackpropData-1. Text: the operation set's pages of those names."""

from __future__ import annotations

from dataclasses import replace

from tconv.dialects.backprop import BACKPROP_CITES, BACKPROP_CONSTRAINTS, BACKPROP_DISPUTED, BACKPROP_RULES
from tconv.dialects.dialect import Absent, Dialect, Spelling, Stated
from tconv.vocabulary import FilterFormat

_ONE_LAYOUT = {
    "data-format-known": Stated("input 1, 'Layout is [N, C_INPUT, X1, ..., XD]': there is one"),
    "filter-format-known": Stated("input 2, the weights' shape: there is one"),
}

CONVOLUTION_BACKPROP_DATA_1 = Dialect(
    name="openvino/ConvolutionBackpropData-1",
    text="OpenVINO operation set 1, ConvolutionBackpropData-1",
    rules=BACKPROP_RULES,
    cites=BACKPROP_CITES,
    disputed=BACKPROP_DISPUTED,
    constraints=BACKPROP_CONSTRAINTS
    | _ONE_LAYOUT
    | {"filter-channels-match": Stated("input 2, 'C_INPUT is the number of channels in input data tensor shape'")},
    spelling=Spelling(
        attributes={
            "strides": "strides",
            "dilations": "dilations",
            "pads_begin": "pads_begin",
            "pads_end": "pads_end",
            "auto_pad": "auto_pad",
            "output_padding": "output_padding",
        },
        auto_pad={word: word for word in ("explicit", "valid", "same_upper", "same_lower")},
        inputs={"x": "data", "w": "filter", "output_shape": "output_shape"},
        written=("strides", "dilations", "pads_begin", "pads_end"),
    ),
)

GROUP_CONVOLUTION_BACKPROP_DATA_1 = replace(
    CONVOLUTION_BACKPROP_DATA_1,
    name="openvino/GroupConvolutionBackpropData-1",
    text="OpenVINO operation set 1, GroupConvolutionBackpropData-1",
    constraints=dict(CONVOLUTION_BACKPROP_DATA_1.constraints)
    | {
        "groups-positive": Stated("input 2, '[GROUPS, C_INPUT/GROUPS, C_OUTPUT/GROUPS, ...]'"),
        "channels-divisible": Stated("input 2, '[GROUPS, C_INPUT/GROUPS, C_OUTPUT/GROUPS, ...]'"),
        "without-groups": Absent("input 2, the dimension GROUPS"),
    },
    filter_format=FilterFormat.GIOX,
)
