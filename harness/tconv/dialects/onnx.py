"""ONNX ConvTranspose at opsets 1, 11 and 22. Text: `onnx.defs.get_schema("ConvTranspose", version)`.

Also geometry/1, for runtimes without a text: only plain pads, which may be negative.
"""

from __future__ import annotations

from dataclasses import replace

from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.dialect import SAID_ELSEWHERE, Absent, ConstraintAnswer, Dialect, NoWord, Open, Spelling, Stated
from tconv.dialects.readings import AnswerOtherwise, Reading
from tconv.dialects.rules import Negative, Odd, Same, Sized
from tconv.vocabulary import NEUTRAL, OPERATIONS, DType

_SIZE = "doc, the equation 'output_shape[i] = stride[i] * (input_size[i] - 1) + ...'"
_TOTAL = "doc, the equation 'total_padding[i] = stride[i] * (input_size[i] - 1) + output_padding[i] + ...'"
_SPLIT_11 = "doc, 'If (auto_pads == SAME_UPPER): pads[start_i] = total_padding[i]/2; ... Else: ...'"
_SPLIT_1 = "doc, 'If (auto_pads != SAME_UPPER): pads[start_i] = total_padding[i]/2; ... Else: ...'"
_AUTO_PAD_11 = "attribute auto_pad, 'output_shape[i] = input_shape[i] * strides[i]' for each axis"
_AUTO_PAD_1 = "attribute auto_pad, 'pad the input so that the output spatial size match the input'"
_EXTRA_11 = (
    "attribute auto_pad, 'the extra padding is added at the end for SAME_UPPER and at the beginning for SAME_LOWER'"
)
_EXTRA_1 = (
    "attribute auto_pad, 'In case of odd number add the extra padding at the end for SAME_UPPER and at the beginning'"
)
_OUTPUT_SHAPE = "attribute output_shape, 'If output_shape is specified pads values are ignored'"
_VALID = "attribute auto_pad, 'VALID mean no padding'"
_GROUP = "attribute group, 'number of groups input channels and output channels are divided into'"
_KERNEL_SHAPE = "attribute kernel_shape, 'The shape of the convolution kernel'"
_HALF = "doc, 'total_padding[i]/2': '/' names no rounding"

_RANGE = (
    "attribute pads, 'it can take any value greater than or equal to 0'; attribute output_shape, 'will cause pads values "
    "to be auto generated': they are pads too"
)
_ADDED_11 = "attribute output_padding, 'Additional elements added to the side with higher coordinate indices'"
_ADDED_1 = "attribute output_padding, 'The zero-padding added to one side of the output'"


_GENERATED = "doc, the equations give pads[start_i] and pads[end_i] below 0"


def _negative(size: str, added: str) -> tuple[Reading, ...]:
    """Return the readings of a negative total.

    Args:
        size: the clause about the output's size under SAME_*.
        added: the clause about the elements that output_padding adds.
    """
    return tuple(
        Reading(f"{question.replace('_', '-')}-{name}", AnswerOtherwise(question, answer), cites, against)
        for question in ("negative_sized", "negative_same")
        for name, answer, cites, against in (
            ("appended", Negative.APPEND, f"{_RANGE}; {added}", _GENERATED),
            ("truncated", Negative.TRUNCATE, _HALF, ""),
            ("shrunk", Negative.SHRINK, _RANGE, size),
            ("refused", Negative.REFUSE, _RANGE, _GENERATED),
        )
        # With output_shape the size is fixed.
        if (question, name) != ("negative_sized", "shrunk")
    )


_ANSWERS_11 = {
    "same": Same.INPUT_TIMES_STRIDE.by(_AUTO_PAD_11),
    "sized_explicit": Sized.RECOMPUTED.by(_OUTPUT_SHAPE),
    "sized_valid": Sized.RECOMPUTED.by(_OUTPUT_SHAPE),
    "odd_upper": Odd.END.by(_EXTRA_11),
    "odd_lower": Odd.BEGIN.by(_EXTRA_11),
    "odd_sized_upper": Odd.END.by(_SPLIT_11),
    "odd_sized_lower": Odd.BEGIN.by(_SPLIT_11),
    "odd_sized": Odd.BEGIN.by(_SPLIT_11),
    "negative_same": Negative.FLOOR.by(_HALF),
    "negative_sized": Negative.FLOOR.by(_HALF),
}

_DISPUTED_11 = (
    Reading(
        "same-output-padding-added",
        AnswerOtherwise("same", Same.KERNEL_LESS_STRIDE),
        "attribute output_padding, 'changing this attribute only adds or removes output elements': in a size of "
        "input * stride it would change values instead",
        _AUTO_PAD_11,
    ),
    *_negative(_AUTO_PAD_11, _ADDED_11),
)

_CONSTRAINTS_11: dict[str, ConstraintAnswer] = {
    "strides-length": Open(
        "attribute strides, 'Stride along each spatial axis', describes the list and demands no length"
    ),
    "dilations-length": Open(
        "attribute dilations, 'dilation value along each spatial axis', describes the list and demands no length"
    ),
    "pads-length": Stated("attribute pads, '[x1_begin, x2_begin...x1_end, x2_end,...]'"),
    "output-padding-length": Open(f"{_SIZE} uses output_padding[i] and demands no length"),
    "output-shape-length": Stated(
        "attribute output_shape, 'should not include dimensions for batch size and channels'"
    ),
    "kernel-shape-length": Open(f"{_KERNEL_SHAPE}, describes it and does not demand that it is the filter's"),
    "strides-positive": Open("no range is given for strides"),
    "dilations-positive": Open("no range is given for dilations"),
    "pads-non-negative": Stated("attribute pads, 'it can take any value greater than or equal to 0'"),
    "output-padding-non-negative": Open("attribute output_padding, 'Additional elements': no lower bound is given"),
    "output-shape-non-negative": Open("attribute output_shape names no range"),
    "groups-positive": Open(f"{_GROUP}, names no range"),
    "output-padding-below-stride": Absent(
        "attribute output_padding, 'must be less than the corresponding stride/dilation dimension': of either"
    ),
    "output-padding-below-stride-or-dilation": Stated(
        "attribute output_padding, 'must be less than the corresponding stride/dilation dimension'"
    ),
    "pads-without-auto-pad": Stated("attribute pads, 'This attribute cannot be used simultaneously with auto_pad'"),
    "output-shape-leads-back": Absent(_OUTPUT_SHAPE),
    "kernel-shape-matches": Open(f"{_KERNEL_SHAPE}, describes it and does not demand that it is the filter's"),
    "channels-divisible": Open(f"{_GROUP}, does not demand that they divide evenly"),
    "filter-channels-match": Stated("input W, '(C x M/group x kH x kW), where C is the number of channels'"),
    "filter-rank-matches": Stated("input W, '(C x M/group x k1 x k2 x ... x kn)'"),
    "bias-rank": Stated("input B, 'Optional 1D bias'"),
    "bias-length": Stated("input B, 'has size of M'"),
    "one-type": Stated("inputs X, W, B and output Y share the type parameter T"),
    "auto-pad-known": Stated("attribute auto_pad, 'must be either NOTSET, SAME_UPPER, SAME_LOWER or VALID'"),
    "data-format-known": Stated("input X, 'has size (N x C x H x W)': there is one layout"),
    "filter-format-known": Stated("input W, 'has size (C x M/group x kH x kW)': there is one layout"),
    "strides-given": Absent("attribute strides, 'If not present, the stride defaults to 1'"),
    "dilations-given": Absent("attribute dilations, 'If not present, the dilation defaults to 1'"),
    "pads-given": Absent("attribute pads, 'If not present, the padding defaults to 0'"),
    "type-known": Stated("type constraint T, tensor(float16), tensor(float), tensor(double)"),
    "at-least-one-spatial-axis": Open("input X, '(N x C x D1 x D2 ... x Dn)': n = 0 is neither allowed nor excluded"),
    "two-spatial-axes": Absent("input X, 'Otherwise the size is (N x C x D1 x D2 ... x Dn)'"),
    "two-or-three-spatial-axes": Absent("input X, 'Otherwise the size is (N x C x D1 x D2 ... x Dn)'"),
    "at-most-three-spatial-axes": Absent("input X, 'Otherwise the size is (N x C x D1 x D2 ... x Dn)'"),
    "batch-not-empty": Open("input X, 'N is the batch size': 0 is not spoken of"),
    "channels-not-empty": Open("input X, 'C is the number of channels': 0 is not spoken of"),
    "spatial-not-empty": Open(f"{_SIZE} gives a size for input_size 0 that no element reaches"),
    "kernel-not-empty": Open(f"{_SIZE} gives a size for kernel_shape 0 that no element reaches"),
    "output-not-empty": Open(f"{_SIZE} may give 0"),
    "output-size-non-negative": Open(f"{_SIZE} may give a size below 0"),
}

_SPELLING = Spelling(
    attributes={
        "strides": "strides",
        "dilations": "dilations",
        "pads_begin": "pads",
        "pads_end": "pads",
        "auto_pad": "auto_pad",
        "output_padding": "output_padding",
        "output_shape": "output_shape",
        "groups": "group",
        "kernel_shape": "kernel_shape",
        "data_format": SAID_ELSEWHERE,
        "filter_format": SAID_ELSEWHERE,
    },
    auto_pad={"explicit": "NOTSET", "valid": "VALID", "same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER"},
    inputs={"x": "X", "w": "W", "b": "B"},
    types=(DType.F16, DType.F32, DType.F64),
)

CONV_TRANSPOSE_11 = Dialect(
    name="onnx/ConvTranspose-11",
    text='onnx.defs.get_schema("ConvTranspose", 11)',
    answers=_ANSWERS_11,
    disputed=_DISPUTED_11,
    constraints=_CONSTRAINTS_11,
    spelling=_SPELLING,
    opset=11,
    operations=OPERATIONS,
)

CONV_TRANSPOSE_22 = replace(
    CONV_TRANSPOSE_11,
    name="onnx/ConvTranspose-22",
    text='onnx.defs.get_schema("ConvTranspose", 22)',
    constraints=_CONSTRAINTS_11
    | {"type-known": Absent("type constraint T, tensor(bfloat16), tensor(float16), tensor(float), tensor(double)")},
    spelling=replace(_SPELLING, types=tuple(DType)),
    opset=22,
)

CONV_TRANSPOSE_1 = Dialect(
    name="onnx/ConvTranspose-1",
    text='onnx.defs.get_schema("ConvTranspose", 1)',
    answers=_ANSWERS_11
    | {
        "same": Same.INPUT_SIZE.by(_AUTO_PAD_1),
        "odd_upper": Odd.END.by(_EXTRA_1),
        "odd_lower": Odd.BEGIN.by(_EXTRA_1),
        "odd_sized_upper": Odd.BEGIN.by(_SPLIT_1),
        "odd_sized_lower": Odd.END.by(_SPLIT_1),
        "odd_sized": Odd.END.by(_SPLIT_1),
    },
    disputed=(
        Reading("valid-keeps-pads", AnswerOtherwise("sized_valid", Sized.KEPT), _VALID, _OUTPUT_SHAPE),
        Reading("sized-upper-odd-end", AnswerOtherwise("odd_sized_upper", Odd.END), _EXTRA_1, _SPLIT_1),
        Reading("sized-lower-odd-begin", AnswerOtherwise("odd_sized_lower", Odd.BEGIN), _EXTRA_1, _SPLIT_1),
        *_negative(_AUTO_PAD_1, _ADDED_1),
    ),
    constraints=_CONSTRAINTS_11
    | {
        "output-padding-non-negative": Open(
            "attribute output_padding, 'The zero-padding added to one side': no lower bound is given"
        ),
        "output-padding-below-stride-or-dilation": Absent("attribute output_padding gives no bound"),
        "output-padding-below-stride": Absent("attribute output_padding gives no bound"),
        "output-shape-length": Open(f"{_TOTAL} uses output_shape[i] and demands no length"),
        "strides-given": Open("attribute strides is optional and no default is given"),
        "dilations-given": Open("attribute dilations is optional and no default is given"),
    },
    spelling=replace(_SPELLING, written=("strides", "dilations")),
    # The first opset with a Transpose that runtimes accept in the same model. It has no QuantizeLinear.
    opset=7,
)

_PLAIN = NoWord("Geometry: plain pads only")


def _answer_of_geometry(name: str, onnx: ConstraintAnswer) -> ConstraintAnswer:
    """Return geometry/1's answer to a constraint from ONNX's: a constraint that is open there is absent, unless needed."""
    if name in {"pads-non-negative", "output-padding-below-stride-or-dilation"}:
        return Absent("Geometry: any integer")
    stated = isinstance(onnx, Stated) or CONSTRAINTS[name].needed
    return Stated(f"Geometry: {name}") if stated else Absent(f"Geometry: {name}")


GEOMETRY_1 = replace(
    CONV_TRANSPOSE_22,
    name="geometry/1",
    text="tconv.dialects.geometry.Geometry",
    disputed=(),
    constraints={name: _answer_of_geometry(name, onnx) for name, onnx in CONV_TRANSPOSE_22.constraints.items()},
    spelling=Spelling(
        attributes={name: name for name in (*NEUTRAL, "groups")}
        | dict.fromkeys(("auto_pad", "output_shape", "kernel_shape"), _PLAIN)
        | dict.fromkeys(("data_format", "filter_format"), SAID_ELSEWHERE),
        inputs={"x": "data", "w": "filter", "b": "bias"},
    ),
    opset=None,
    operations=(),
)
