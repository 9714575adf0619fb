"""WebNN's convTranspose2d: two spatial axes, written padding, and sizes of the output that keep this padding.

Text: 'Web Neural Network API' of the W3C, section convTranspose2d, as of 26 June 2026 (index.bs of
github.com/webmachinelearning/webnn at c515210dafb9).
"""

from __future__ import annotations

from tconv.dialects.dialect import Absent, ConstraintAnswer, Dialect, NoWord, Open, Spelling, Stated
from tconv.dialects.rules import Negative, Odd, Same, Sized
from tconv.vocabulary import DType

_OPTIONS = "MLConvTranspose2dOptions, the members from padding to bias"
_NO_MODE = f"{_OPTIONS}: there is no padding mode"
_LIST = "method steps, 'size is not 2, then throw a TypeError'"
_UNSIGNED = "MLConvTranspose2dOptions, 'sequence<[EnforceRange] unsigned long>'"
_NOT_ZERO = "is equal to 0, then throw a TypeError'"
_SIZES = "outputSizes, 'the output padding values in outputPadding are ignored', and no such sentence on padding"
_BOUNDS = "method steps, 'If outputHeight is less than calculatedOutputHeight, or ... greater than or equal to calculatedOutputHeight + strides[0], then throw a TypeError'"
_RANK = "tensor limits: 'allowed ranks' of the input and the filter are 4"
_TYPES = "tensor limits: the types of the input are 'float32' and 'float16'"
_DIMENSION = "valid dimension, 'an integer greater than zero'"
_ADDED = "method steps, 'outputPadding[0] is greater than or equal to ... strides[0]'"

_CONSTRAINTS: dict[str, ConstraintAnswer] = {
    "strides-length": Stated(_LIST),
    "dilations-length": Stated(_LIST),
    "pads-length": Stated("method steps, 'size is not 4, then throw a TypeError'"),
    "output-padding-length": Stated(_LIST),
    "output-shape-length": Stated(f"method steps, 'outputSizes exists': {_LIST}"),
    "strides-positive": Stated(f"method steps, 'any item in ... strides {_NOT_ZERO}"),
    "dilations-positive": Stated(f"method steps, 'any item in ... dilations {_NOT_ZERO}"),
    "pads-non-negative": Stated(_UNSIGNED),
    "output-padding-non-negative": Stated(_UNSIGNED),
    "output-shape-non-negative": Stated(_UNSIGNED),
    "groups-positive": Stated("method steps, 'groups is 0, then throw a TypeError'"),
    "output-padding-below-stride-or-dilation": Absent(f"{_ADDED}: the dilation has no part in it"),
    "output-padding-below-stride": Stated(_ADDED),
    "output-shape-leads-back": Stated(_BOUNDS),
    "channels-divisible": Open("groups, 'that input channels and output channels are divided into': no step tests it"),
    "filter-channels-match": Stated("method steps, 'inputChannels is not equal to filterInputChannels'"),
    "filter-rank-matches": Stated(_RANK),
    "bias-rank": Stated("method steps, 'shape is not equal to « outputChannels »'"),
    "bias-length": Stated("method steps, 'shape is not equal to « outputChannels »'"),
    "one-type": Stated("tensor limits, 'same as input': the filter and the bias"),
    "type-known": Stated(_TYPES),
    "data-format-known": Stated("inputLayout, 'nchw' and 'nhwc'"),
    "filter-format-known": Stated("MLConvTranspose2dFilterOperandLayout, 'iohw', 'hwoi' and 'ohwi'"),
    "strides-given": Absent("strides, 'The default value is [1, 1]'"),
    "dilations-given": Absent("dilations, 'The default value is [1, 1]'"),
    "pads-given": Absent("padding, 'The default value is [0, 0, 0, 0]'"),
    "at-least-one-spatial-axis": Stated(_RANK),
    "two-spatial-axes": Stated(_RANK),
    "two-or-three-spatial-axes": Stated(_RANK),
    "at-most-three-spatial-axes": Stated(_RANK),
    "batch-not-empty": Stated(_DIMENSION),
    "channels-not-empty": Stated(_DIMENSION),
    "spatial-not-empty": Stated(_DIMENSION),
    "kernel-not-empty": Stated(_DIMENSION),
    "output-not-empty": Stated("method steps, 'either outputHeight or outputWidth is not a valid dimension'"),
    "output-size-non-negative": Stated("method steps, 'either outputHeight or outputWidth is not a valid dimension'"),
}

CONV_TRANSPOSE_2D = Dialect(
    name="webnn/convTranspose2d",
    text="Web Neural Network API, https://www.w3.org/TR/webnn/#api-mlgraphbuilder-convtranspose2d",
    # Without padding modes, the answers about them have no effect.
    answers={
        "same": Same.NO_PADDING.by(_NO_MODE),
        "sized_explicit": Sized.KEPT.by(_SIZES),
        "sized_valid": Sized.KEPT.by(_NO_MODE),
        "odd_upper": Odd.END.by(_NO_MODE),
        "odd_lower": Odd.BEGIN.by(_NO_MODE),
        "odd_sized_upper": Odd.END.by(_NO_MODE),
        "odd_sized_lower": Odd.BEGIN.by(_NO_MODE),
        "odd_sized": Odd.END.by(_SIZES),
        "negative_same": Negative.APPEND.by(_NO_MODE),
        "negative_sized": Negative.APPEND.by(_SIZES),
    },
    disputed=(),
    constraints=_CONSTRAINTS,
    spelling=Spelling(
        attributes={
            "strides": "strides",
            "dilations": "dilations",
            "pads_begin": "padding",
            "pads_end": "padding",
            "auto_pad": NoWord(_NO_MODE),
            "output_padding": "outputPadding",
            "output_shape": "outputSizes",
            "groups": "groups",
            "kernel_shape": NoWord(f"{_OPTIONS}: there is no kernel size"),
            "data_format": "inputLayout",
            "filter_format": "filterLayout",
        },
        inputs={"x": "input", "w": "filter", "b": "bias"},
        data_formats={"NCX": "nchw", "NXC": "nhwc"},
        filter_formats={"IOX": "iohw", "XOI": "hwoi", "OXI": "ohwi"},
        types=(DType.F32, DType.F16),
        pads_by_axis=True,
    ),
)
