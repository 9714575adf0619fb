"""oneDNN: the Graph operation ConvTranspose-1, and ConvolutionBackpropData-1 of the oneDNN specification.

Texts: the developer guide's page dev_guide_op_convtranspose, and the specification's page ConvolutionBackpropData-1.
"""

from __future__ import annotations

from tconv.dialects.backprop import BACKPROP_CITES, BACKPROP_CONSTRAINTS, BACKPROP_DISPUTED, BACKPROP_RULES
from tconv.dialects.dialect import Absent, Ambiguity, ConstraintAnswer, Dialect, Open, Spelling, Stated
from tconv.dialects.readings import AnswerOtherwise, Reading
from tconv.dialects.rules import Negative, Odd, Rules, Same, Sized
from tconv.vocabulary import DataFormat, FilterFormat

_SIZE = "detailed description, first equation 'output_shape[i] = stride[i] * (input_shape[i] - 1) + ...'"
_SAME = "detailed description, 'if (auto_pad == SAME) total_padding[i] = ... = (filter_shape[i] - 1) * dilations[i] + 1 - stride[i]'"
_SPLIT = "detailed description, 'if (auto_pad == SAME_UPPER): pads_begin[i] = total_padding[i] / 2 ... else: ...'"
_NO_OUTPUT_SHAPE = (
    "the description says 'If output_shape is explicitly specified', but neither the attributes nor the inputs list it"
)
_UNREACHED = "is expressible only with output_shape, which the text does not list"

_ATTRIBUTES = {
    "strides": "strides",
    "dilations": "dilations",
    "pads_begin": "pads_begin",
    "pads_end": "pads_end",
    "auto_pad": "auto_pad",
    "output_padding": "output_padding",
    "groups": "groups",
    "data_format": "data_format",
}

_PRINTED = {"VALID": "valid", "SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower"}
"""The pages' words, by those that the library takes.

The pages also print `filter_format`, which cannot be asked: the library's interface names attributes by numbers, and its
own name for that one is `weights_format`.
"""

_CONSTRAINTS: dict[str, ConstraintAnswer] = {
    "strides-length": Open("strides, 'along each spatial axis', describes the list and demands no length"),
    "dilations-length": Open("dilations; the equations use dilations[i] and demand no length"),
    "pads-length": Open("pads_begin and pads_end, 'of each spatial axis', describe the lists and demand no length"),
    "output-padding-length": Stated(
        "output_padding, 'Number of elements ... matches the number of spatial dimensions'"
    ),
    "output-shape-length": Stated(_NO_OUTPUT_SHAPE),
    "kernel-shape-length": Stated("the attributes list no kernel_shape"),
    "strides-positive": Stated("strides, 'positive s64 values'"),
    "dilations-positive": Stated("dilations, 'positive s64 values'"),
    "pads-non-negative": Stated("pads_begin and pads_end, 'non-negative s64 values'"),
    "output-padding-non-negative": Stated("output_padding, 'non-negative s64 values'"),
    "output-shape-non-negative": Stated(_NO_OUTPUT_SHAPE),
    "groups-positive": Stated("groups, 'a positive s64 value'"),
    "output-padding-below-stride-or-dilation": Absent("output_padding, 'non-negative s64 values': no upper bound"),
    "pads-without-auto-pad": Absent("pads_begin, 'the attribute is ignored when auto_pad attribute is specified'"),
    "kernel-shape-matches": Stated("the attributes list no kernel_shape"),
    "channels-divisible": Stated("groups, 'In_channels and out_channels must both be divisible by groups'"),
    "filter-channels-match": Stated("input 2, '(in_channels, out_channels / groups, spatial_shape)'"),
    "filter-rank-matches": Stated("input 2, '(in_channels, out_channels / groups, spatial_shape)'"),
    "bias-rank": Stated("input 3, 'a 1-D tensor'"),
    "bias-length": Open("input 3, 'adds to channel dimension of output': no length is demanded"),
    "one-type": Stated("types, 'Inputs and outputs have the same data type denoted by T'"),
    "auto-pad-known": Stated("auto_pad, 'none', 'same_upper (same_lower)', 'valid'"),
    "data-format-known": Stated("data_format, 'NXC or NCX'"),
    "filter-format-known": Stated("filter_format, 'XOI or IOX'"),
    "strides-given": Stated("strides, 'Required: yes'"),
    "dilations-given": Stated("dilations, 'Required: yes'"),
    "pads-given": Stated("pads_begin and pads_end, 'Required: yes'"),
    "without-auto-pad": Absent("auto_pad"),
    "without-output-shape": Stated(_NO_OUTPUT_SHAPE),
    "without-kernel-shape": Stated("the attributes list no kernel_shape"),
    "without-groups": Absent("groups"),
    "without-bias": Absent("input 3, 'Optional'"),
    "without-bf16": Absent("types, 'T: f32, f16, bf16'"),
    "without-f64": Stated("types, 'T: f32, f16, bf16'"),
    "at-least-one-spatial-axis": Open(
        "data_format, 'X means HW for 2D ConvTranspose, DHW for 3D': others are not named"
    ),
    "two-or-three-spatial-axes": Open(
        "data_format, 'X means HW for 2D ConvTranspose, DHW for 3D': others are not named"
    ),
    "at-most-three-spatial-axes": Absent("see two-or-three-spatial-axes"),
    "batch-not-empty": Open("an empty batch is not spoken of"),
    "channels-not-empty": Open("empty channels are not spoken of"),
    "spatial-not-empty": Open("an empty spatial axis is not spoken of"),
    "kernel-not-empty": Open("an empty filter axis is not spoken of"),
    "output-not-empty": Open(f"{_SIZE} may give 0"),
    "output-size-non-negative": Open(f"{_SIZE} may give a size below 0"),
}

CONV_TRANSPOSE_1 = Dialect(
    name="onednn/ConvTranspose-1",
    text="oneDNN developer guide, dev_guide_op_convtranspose, ConvTranspose-1",
    rules=Rules(
        same=Same.KERNEL_LESS_STRIDE,
        sized_explicit=Sized.RECOMPUTED,
        sized_valid=Sized.RECOMPUTED,
        odd_upper=Odd.END,
        odd_lower=Odd.BEGIN,
        odd_sized_upper=Odd.END,
        odd_sized_lower=Odd.BEGIN,
        odd_sized=Odd.BEGIN,
        negative_same=Negative.TRUNCATE,
        negative_sized=Negative.TRUNCATE,
    ),
    cites={
        "same": _SAME,
        "sized_explicit": _UNREACHED,
        "sized_valid": _UNREACHED,
        "odd_upper": _SPLIT,
        "odd_lower": _SPLIT,
        "odd_sized_upper": _UNREACHED,
        "odd_sized_lower": _UNREACHED,
        "odd_sized": _UNREACHED,
        "negative_same": "detailed description, 'total_padding[i] / 2' in a block of C++, whose division truncates",
        "negative_sized": _UNREACHED,
    },
    disputed=(
        Reading(
            "negative-same-shrunk",
            "Nothing is cropped and the output stays smaller than input * stride.",
            "pads_begin, 'non-negative s64 values'",
            AnswerOtherwise("negative_same", Negative.SHRINK),
            _SAME,
        ),
        Reading(
            "negative-same-refused",
            "A stride larger than the kernel's reach is refused under SAME_*.",
            "pads_begin, 'non-negative s64 values'",
            AnswerOtherwise("negative_same", Negative.REFUSE),
            _SAME,
        ),
    ),
    constraints=_CONSTRAINTS,
    spelling=Spelling(
        attributes=_ATTRIBUTES | {"filter_format": "weights_format"},
        auto_pad={"explicit": "None", "valid": "VALID", "same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER"},
        data_formats={"NCX": "NCX", "NXC": "NXC"},
        filter_formats={"IOX": "IOX", "XOI": "XOI"},
        inputs={"x": "input", "w": "filter", "b": "bias"},
        written=("strides", "dilations", "pads_begin", "pads_end"),
        printed=_PRINTED | {"None": "none"},
    ),
    data_format=DataFormat.NXC,
    filter_format=FilterFormat.XOI,
)

CONVOLUTION_BACKPROP_DATA_1 = Dialect(
    name="onednn/ConvolutionBackpropData-1",
    text="oneDNN specification, ConvolutionBackpropData-1",
    rules=BACKPROP_RULES,
    cites=BACKPROP_CITES,
    disputed=BACKPROP_DISPUTED,
    constraints=BACKPROP_CONSTRAINTS
    | {
        "groups-positive": Stated("groups, 'integer value greater than 0'"),
        "channels-divisible": Open("groups, 'input channels and output channels are divided into': evenly is not said"),
        "without-groups": Absent("groups"),
        "data-format-known": Stated("data_format, 'NXC or NCX'"),
        "filter-format-known": Stated("filter_format, 'XIO or OIX'"),
    },
    spelling=Spelling(
        attributes=_ATTRIBUTES | {"filter_format": "weights_format"},
        auto_pad={"explicit": "None", "valid": "VALID", "same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER"},
        data_formats={"NCX": "NCX", "NXC": "NXC"},
        # The letters are those of the forward convolution, whose output is our data: its O is our I.
        filter_formats={"IOX": "OIX", "XOI": "XIO"},
        inputs={"x": "data", "w": "filter", "output_shape": "output_shape"},
        written=("strides", "dilations", "pads_begin", "pads_end"),
        printed=_PRINTED,
    ),
    data_format=DataFormat.NXC,
    filter_format=FilterFormat.XOI,
    ambiguities=(
        Ambiguity(
            "O in OIX and XIO",
            "short description, 'Computes the gradients of a Convolution operation': the filter is the Convolution's",
            "filter_format, 'XIO or OIX', and 'denotes the data format of the filter': no sentence names O and I",
            "O is the Convolution's output, which is the data here: OIX is the memory of IOX, and XIO that of XOI.",
        ),
    ),
)
