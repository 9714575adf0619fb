"""TFLite's TransposeConv, in floating point and in 8 bits, without a fused activation.

Texts:

- the operation `TFL_TransposeConvOp` of tensorflow/compiler/mlir/lite/ir/tfl_ops.td (tfl.transpose_conv).
- the docstring of `tf.nn.conv2d_transpose`, for the computation.
- 'Notes on padding' of `tf.nn`, for SAME.
- 'LiteRT 8-bit quantization specification': 'real_value = (int8_value - zero_point) * scale'. A filter has values from
  -127 to 127 and zero point 0, per tensor or per output channel (`GetQuantizationDimIndex() { return 0; }`).
"""

from __future__ import annotations

from tconv.dialects.dialect import SAID_ELSEWHERE, Absent, ConstraintAnswer, Dialect, NoWord, Open, Spelling, Stated
from tconv.dialects.rules import Negative, Odd, Same, Sized
from tconv.vocabulary import DataFormat, DType, FilterFormat

_ARGUMENTS = "tfl.transpose_conv, arguments: output_shape, weights, input, bias, padding, stride_h and stride_w"
_GRADIENT = "tf.nn.conv2d_transpose, 'is really the transpose (gradient) of': its data is what a convolution of the output gives"
_VALID = "tf.nn, Notes on padding, 'causes no padding to be used'"
_SAME = "tf.nn, Notes on padding, 'pad_along_height = max(filter_height - stride_height, 0)': never below 0"
_SPLIT = "tf.nn, Notes on padding, 'the bottom and right sides always get the one additional padded pixel'"
_NO_LOWER = "tf.nn, Notes on padding: no mode begins with the odd unit"
_RANK = "tfl.transpose_conv, 'TFL_OperandHasRank<2, 4>': the input"
_FILTER_RANK = "tfl.transpose_conv, 'TFL_OperandHasRank<1, 4>': the weights"
_STRIDE = "tfl.transpose_conv, 'ConfinedAttr<I32Attr, [IntPositive]>:$stride_h' and the same of stride_w"
_LAYOUT = "tf.nn.conv2d_transpose, '[batch, height, width, in_channels] for NHWC data format'"
_DEPTH = "tf.nn.conv2d_transpose, 'in_channels dimension must match that of' the input"
_TYPES = "tfl.transpose_conv, 'TFL_TensorOf<[F32, QI8, QUI8, QI16]>': F32 is the only type of floating point"

_CONSTRAINTS: dict[str, ConstraintAnswer] = {
    "strides-length": Stated(_STRIDE),
    "output-shape-length": Stated("tfl.transpose_conv, 'TFL_OperandHasRank<0, 1>', of an output of rank 4"),
    "strides-positive": Stated(_STRIDE),
    "output-shape-non-negative": Open("tf.nn.conv2d_transpose, 'representing the output shape': no range is given"),
    "pads-without-auto-pad": Absent("pads have no word"),
    "output-shape-leads-back": Stated(_GRADIENT),
    "filter-channels-match": Stated(_DEPTH),
    "filter-rank-matches": Stated(_FILTER_RANK),
    "bias-rank": Open("tfl.transpose_conv, 'TFL_TensorOfOrNone<[F32, QI32, I64]>:$bias': no shape is given"),
    "bias-length": Open("tfl.transpose_conv, 'TFL_TensorOfOrNone<[F32, QI32, I64]>:$bias': no shape is given"),
    "one-type": Stated(_TYPES),
    "type-known": Stated(_TYPES),
    "auto-pad-known": Stated(
        "tfl.transpose_conv, 'TFL_PaddingAttr:$padding'; tf.nn.conv2d_transpose, 'indicating the type of padding algorithm to use'"
    ),
    "data-format-known": Stated(f"{_LAYOUT}: the operation has no other"),
    "filter-format-known": Stated(
        "tfl.transpose_conv, 'int GetChannelDimIndex() { return 0; }': the output channels come first"
    ),
    "strides-given": Stated(_STRIDE),
    "at-least-one-spatial-axis": Stated(_RANK),
    "two-spatial-axes": Stated(_RANK),
    "two-or-three-spatial-axes": Stated(_RANK),
    "at-most-three-spatial-axes": Stated(_RANK),
    "batch-not-empty": Open("an empty batch is not spoken of"),
    "channels-not-empty": Open("empty channels are not spoken of"),
    "spatial-not-empty": Open("an empty spatial axis is not spoken of"),
    "kernel-not-empty": Open("an empty filter axis is not spoken of"),
    "output-not-empty": Open("an empty output is not spoken of"),
    "output-size-non-negative": Open("tf.nn.conv2d_transpose, 'representing the output shape': no range is given"),
}

TRANSPOSE_CONV = Dialect(
    name="tflite/TransposeConv",
    text="tensorflow/compiler/mlir/lite/ir/tfl_ops.td, TFL_TransposeConvOp; tf.nn.conv2d_transpose; tf.nn, Notes on padding",
    answers={
        # Without a size in the case, a convolution of the output gives the data.
        "same": Same.INPUT_TIMES_STRIDE.by(_GRADIENT),
        "sized_explicit": Sized.KEPT.by(_VALID),
        "sized_valid": Sized.KEPT.by(_VALID),
        "odd_upper": Odd.END.by(_SPLIT),
        "odd_lower": Odd.BEGIN.by(_NO_LOWER),
        "odd_sized_upper": Odd.END.by(_SPLIT),
        "odd_sized_lower": Odd.BEGIN.by(_NO_LOWER),
        "odd_sized": Odd.END.by(_SPLIT),
        "negative_same": Negative.APPEND.by(_SAME),
        "negative_sized": Negative.APPEND.by(_SAME),
    },
    disputed=(),
    constraints=_CONSTRAINTS,
    spelling=Spelling(
        attributes={
            "strides": "stride_h stride_w",
            "dilations": NoWord(_ARGUMENTS),
            "pads_begin": NoWord(_ARGUMENTS),
            "pads_end": NoWord(_ARGUMENTS),
            "auto_pad": "padding",
            "output_padding": NoWord(_ARGUMENTS),
            "output_shape": SAID_ELSEWHERE,
            "groups": NoWord(_ARGUMENTS),
            "kernel_shape": NoWord(_ARGUMENTS),
            "data_format": SAID_ELSEWHERE,
            "filter_format": SAID_ELSEWHERE,
        },
        inputs={"x": "input", "w": "weights", "b": "bias", "output_shape": "output_shape"},
        # Explicit pads of zero are VALID.
        auto_pad={"explicit": "VALID", "valid": "VALID", "same_upper": "SAME"},
        data_formats={"NXC": SAID_ELSEWHERE},
        filter_formats={"OXI": SAID_ELSEWHERE},
        types=(DType.F32,),
        written=("strides", "auto_pad", "output_shape"),
        whole_shape=True,
    ),
    data_format=DataFormat.NXC,
    filter_format=FilterFormat.OXI,
    operations=("Quantize", "Dequantize"),
    quantised=(
        {
            "data": ("int8", "int8-zero-point", "int8-input"),
            "filter": ("int8", "int8-per-channel"),
            "bias": ("int32",),
            "end": ("int8",),
        },
        # Older quantisers wrote uint8, with one scale for each tensor.
        {"data": ("uint8",), "filter": ("uint8",), "bias": ("int32",), "end": ("uint8",)},
    ),
)
