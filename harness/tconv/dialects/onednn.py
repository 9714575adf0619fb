"""oneDNN: the Graph operation ConvTranspose-1, and ConvolutionBackpropData-1 of the oneDNN specification.

Texts: the developer guide's page dev_guide_op_convtranspose, and the specification's page ConvolutionBackpropData-1.
"""

from __future__ import annotations

from tconv.dialects.backprop import (
    BACKPROP_ANSWERS,
    BACKPROP_ATTRIBUTES,
    BACKPROP_CONSTRAINTS,
    BACKPROP_DISPUTED,
    BACKPROP_INPUTS,
    NO_KERNEL_SHAPE,
)
from tconv.dialects.dialect import Absent, Ambiguity, ConstraintAnswer, Dialect, NoWord, Open, Spelling, Stated
from tconv.dialects.readings import AnswerOtherwise, Reading
from tconv.dialects.rules import Negative, Odd, Same, Sized
from tconv.vocabulary import NEUTRAL, OPERATIONS, DataFormat, DType, FilterFormat

_SIZE = "detailed description, first equation 'output_shape[i] = stride[i] * (input_shape[i] - 1) + ...'"
_SAME = "detailed description, 'if (auto_pad == SAME) total_padding[i] = ... = (filter_shape[i] - 1) * dilations[i] + 1 - stride[i]'"
_SPLIT = "detailed description, 'if (auto_pad == SAME_UPPER): pads_begin[i] = total_padding[i] / 2 ... else: ...'"
_RANGE = "pads_begin, 'non-negative s64 values'"
_NO_OUTPUT_SHAPE = (
    "the description says 'If output_shape is explicitly specified', but neither the attributes nor the inputs list it"
)
_UNREACHED = "is expressible only with output_shape, which the text does not list"

_WORDS = {"groups": "groups", "data_format": "data_format", "filter_format": "weights_format"}
_MODES = {"explicit": "None", "valid": "VALID", "same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER"}
_FORMATS = {"NCX": "NCX", "NXC": "NXC"}
_REQUIRED = ("strides", "dilations", "pads_begin", "pads_end")
_PRINTED = {"VALID": "valid", "SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower"}
"""The pages' words, by the words of the library.

The pages also print `filter_format`. It cannot be written: the library names attributes by numbers, and its own name for
this one is `weights_format`.
"""

_OPERATIONS = OPERATIONS - {"Constant", "Pad", "Shape", "Slice", "Split"}
"""The operations of the Graph API. It has none for a constant, which is a property of a tensor."""

_CONSTRAINTS: dict[str, ConstraintAnswer] = {
    "strides-length": Open("strides, 'along each spatial axis', describes the list and demands no length"),
    "dilations-length": Open("dilations; the equations use dilations[i] and demand no length"),
    "pads-length": Open("pads_begin and pads_end, 'of each spatial axis', describe the lists and demand no length"),
    "output-padding-length": Stated(
        "output_padding, 'Number of elements ... matches the number of spatial dimensions'"
    ),
    "strides-positive": Stated("strides, 'positive s64 values'"),
    "dilations-positive": Stated("dilations, 'positive s64 values'"),
    "pads-non-negative": Stated("pads_begin and pads_end, 'non-negative s64 values'"),
    "output-padding-non-negative": Stated("output_padding, 'non-negative s64 values'"),
    "groups-positive": Stated("groups, 'a positive s64 value'"),
    "output-padding-below-stride-or-dilation": Absent("output_padding, 'non-negative s64 values': no upper bound"),
    "output-padding-below-stride": Absent("output_padding, 'non-negative s64 values': no upper bound"),
    "pads-without-auto-pad": Absent("pads_begin, 'the attribute is ignored when auto_pad attribute is specified'"),
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
    "type-known": Stated("types, 'T: f32, f16, bf16'"),
    "at-least-one-spatial-axis": Open(
        "data_format, 'X means HW for 2D ConvTranspose, DHW for 3D': others are not named"
    ),
    "two-spatial-axes": Absent("data_format, 'X means HW for 2D ConvTranspose, DHW for 3D'"),
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
    answers={
        "same": Same.KERNEL_LESS_STRIDE.by(_SAME),
        "sized_explicit": Sized.RECOMPUTED.by(_UNREACHED),
        "sized_valid": Sized.RECOMPUTED.by(_UNREACHED),
        "odd_upper": Odd.END.by(_SPLIT),
        "odd_lower": Odd.BEGIN.by(_SPLIT),
        "odd_sized_upper": Odd.END.by(_UNREACHED),
        "odd_sized_lower": Odd.BEGIN.by(_UNREACHED),
        "odd_sized": Odd.BEGIN.by(_UNREACHED),
        "negative_same": Negative.TRUNCATE.by(
            "detailed description, 'total_padding[i] / 2' in a block of C++, whose division truncates"
        ),
        "negative_sized": Negative.TRUNCATE.by(_UNREACHED),
    },
    disputed=tuple(
        Reading(f"negative-same-{name}", AnswerOtherwise("negative_same", answer), _RANGE, _SAME)
        for name, answer in (("shrunk", Negative.SHRINK), ("refused", Negative.REFUSE))
    ),
    constraints=_CONSTRAINTS,
    spelling=Spelling(
        attributes={name: name for name in (*NEUTRAL, "auto_pad")}
        | _WORDS
        | {"output_shape": NoWord(_NO_OUTPUT_SHAPE), "kernel_shape": NO_KERNEL_SHAPE},
        auto_pad=_MODES,
        data_formats=_FORMATS,
        filter_formats={"IOX": "IOX", "XOI": "XOI"},
        types=(DType.F32, DType.F16, DType.BF16),
        inputs={"x": "input", "w": "filter", "b": "bias"},
        written=_REQUIRED,
        printed=_PRINTED | {"None": "none"},
    ),
    data_format=DataFormat.NXC,
    filter_format=FilterFormat.XOI,
    operations=_OPERATIONS,
)

CONVOLUTION_BACKPROP_DATA_1 = Dialect(
    name="onednn/ConvolutionBackpropData-1",
    text="oneDNN specification, ConvolutionBackpropData-1",
    answers=BACKPROP_ANSWERS,
    disputed=BACKPROP_DISPUTED,
    constraints=BACKPROP_CONSTRAINTS
    | {
        "groups-positive": Stated("groups, 'integer value greater than 0'"),
        "channels-divisible": Open("groups, 'input channels and output channels are divided into': evenly is not said"),
        "data-format-known": Stated("data_format, 'NXC or NCX'"),
        "filter-format-known": Stated("filter_format, 'XIO or OIX'"),
    },
    spelling=Spelling(
        attributes=BACKPROP_ATTRIBUTES | _WORDS,
        auto_pad=_MODES,
        data_formats=_FORMATS,
        # The letters are those of the forward convolution, whose output is our data: O there is I here.
        filter_formats={"IOX": "OIX", "XOI": "XIO"},
        inputs=BACKPROP_INPUTS,
        written=_REQUIRED,
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
