"""What three texts say in the same words: ConvolutionBackpropData-1 of oneDNN and of OpenVINO, and OpenVINO's grouped one."""

from __future__ import annotations

from tconv.dialects.dialect import Absent, ConstraintAnswer, Open, Stated
from tconv.dialects.readings import AnswerOtherwise, Reading
from tconv.dialects.rules import Negative, Odd, Rules, Same, Sized

_SIZE = "detailed description, first formula 'Y_i = stride[i] * (X_i - 1) + ...'"
_NO_PADS = "detailed description, first formula 'if auto_pads != None: pads_begin[i] = 0; pads_end[i] = 0'"
_SPLIT = "detailed description, second formula 'if auto_pads != SAME_UPPER: pads_begin[i] = total_padding[i] // 2 ...'"
_IGNORED = "detailed description, 'If output_shape is specified, pads_begin and pads_end are ignored'"
_ALIKE = "detailed description, 'accepts the same set of attributes as a regular Convolution operation'"
_PROSE = "auto_pad, 'In case of odd padding value an extra padding is added at the end (at the beginning)'"
_VALID = "auto_pad, 'valid - do not use padding'"

BACKPROP_RULES = Rules(
    same=Same.NO_PADDING,
    sized_explicit=Sized.RECOMPUTED,
    sized_valid=Sized.RECOMPUTED,
    odd_upper=Odd.END,
    odd_lower=Odd.BEGIN,
    odd_sized_upper=Odd.BEGIN,
    odd_sized_lower=Odd.END,
    odd_sized=Odd.END,
    negative_same=Negative.FLOOR,
    negative_sized=Negative.FLOOR,
)

BACKPROP_CITES = {
    "same": _NO_PADS,
    "sized_explicit": _IGNORED,
    "sized_valid": _IGNORED,
    "odd_upper": _PROSE,
    "odd_lower": _PROSE,
    "odd_sized_upper": _SPLIT,
    "odd_sized_lower": _SPLIT,
    "odd_sized": _SPLIT,
    "negative_same": "detailed description, '//' rounds down",
    "negative_sized": "detailed description, second formula, '//' rounds down",
}

BACKPROP_DISPUTED = (
    Reading(
        "same-as-convolution",
        "Under SAME_* the output has input * stride, the size whose regular Convolution gives the input.",
        f"{_ALIKE}; auto_pad, 'the input is padded to match the output size'",
        AnswerOtherwise("same", Same.INPUT_TIMES_STRIDE),
    ),
    Reading(
        "output-shape-keeps-pads",
        "output_shape sets the size alone; the pads are those written.",
        "auto_pad, 'use explicit padding values from pads_begin and pads_end'",
        AnswerOtherwise("sized_explicit", Sized.KEPT),
    ),
    Reading(
        "valid-keeps-pads",
        "VALID pads nothing also beside output_shape, which then sets the size alone.",
        _VALID,
        AnswerOtherwise("sized_valid", Sized.KEPT),
    ),
    Reading(
        "sized-upper-odd-end",
        "Beside output_shape SAME_UPPER puts the odd unit at the end, as the prose says; the formula says the beginning.",
        f"{_PROSE} against {_SPLIT}",
        AnswerOtherwise("odd_sized_upper", Odd.END),
    ),
    Reading(
        "sized-lower-odd-begin",
        "Beside output_shape SAME_LOWER puts the odd unit at the beginning, as the prose says; the formula says the end.",
        f"{_PROSE} against {_SPLIT}",
        AnswerOtherwise("odd_sized_lower", Odd.BEGIN),
    ),
    *(
        Reading(
            f"{question.replace('_', '-')}-{name}",
            says,
            "pads_begin, 'non-negative integers'",
            AnswerOtherwise(question, answer),
        )
        for question in ("negative_sized", "negative_same")
        for name, says, answer in (
            ("appended", "A negative total is appended at the end.", Negative.APPEND),
            ("refused", "An output that needs padding below zero is refused.", Negative.REFUSE),
        )
    ),
)

BACKPROP_CONSTRAINTS: dict[str, ConstraintAnswer] = {
    "strides-length": Stated(
        "strides, 'same definition as strides for a regular Convolution'; strides[i] for each axis"
    ),
    "dilations-length": Stated("dilations, 'same definition'; the formulas use dilations[i] for each axis"),
    "pads-length": Stated("pads_begin and pads_end, 'same definition'; the formulas use pads_begin[i] for each axis"),
    "output-padding-length": Stated(
        "output_padding, 'Number of elements ... matches the number of spatial dimensions'"
    ),
    "output-shape-length": Stated("input 3, 'specifies spatial shape of the output'; 'No batch or channel dimension'"),
    "kernel-shape-length": Stated("the attributes list no kernel_shape"),
    "strides-positive": Stated("strides, 'positive integers'"),
    "dilations-positive": Stated("dilations, 'positive integers'"),
    "pads-non-negative": Stated("pads_begin and pads_end, 'non-negative integers'"),
    "output-padding-non-negative": Stated("output_padding, 'non-negative integer values'"),
    "output-shape-non-negative": Stated("input 3, 'spatial shape of the output': a size is a count of elements"),
    "groups-positive": Stated("the attributes list no groups"),
    "output-padding-below-stride-or-dilation": Absent("output_padding, 'non-negative integer values': no upper bound"),
    "output-padding-below-stride": Absent("output_padding, 'non-negative integer values': no upper bound"),
    "pads-without-auto-pad": Absent("pads_begin, 'the attribute is ignored when auto_pad attribute is specified'"),
    "kernel-shape-matches": Stated("input 2, the kernel's size is not 'specified by any attribute'"),
    "channels-divisible": Stated("the attributes list no groups"),
    "filter-channels-match": Stated("the gradient of a Convolution whose output channels are the data's channels"),
    "filter-rank-matches": Stated("the formulas use K_i along each spatial axis i"),
    "bias-rank": Stated("the inputs list no bias"),
    "bias-length": Stated("the inputs list no bias"),
    "one-type": Open("no types are given for the inputs"),
    "auto-pad-known": Stated("auto_pad, the modes that it lists"),
    "data-format-known": Stated("the layouts that it lists"),
    "filter-format-known": Stated("the layouts that it lists"),
    "strides-given": Stated("strides, 'Required: yes'"),
    "dilations-given": Stated("dilations, 'Required: yes'"),
    "pads-given": Open(
        "pads_begin, 'Required: yes' against 'May be omitted, in which case pads are calculated automatically'"
    ),
    "without-auto-pad": Absent("auto_pad"),
    "without-output-shape": Absent("input 3, output_shape"),
    "without-kernel-shape": Stated("the attributes list no kernel_shape"),
    "without-groups": Stated("the attributes list no groups"),
    "without-bias": Stated("the inputs list no bias"),
    "without-bf16": Absent("no types are given"),
    "without-f64": Absent("no types are given"),
    "at-least-one-spatial-axis": Stated("input 1, 'input tensor of rank 3 or greater'"),
    "two-or-three-spatial-axes": Absent("input 1, 'input tensor of rank 3 or greater'"),
    "batch-not-empty": Open("an empty batch is not spoken of"),
    "channels-not-empty": Open("empty channels are not spoken of"),
    "spatial-not-empty": Open("an empty spatial axis is not spoken of"),
    "kernel-not-empty": Open("an empty filter axis is not spoken of"),
    "output-not-empty": Open(f"{_SIZE} may give 0"),
    "output-size-non-negative": Stated(f"{_SIZE}: a size below 0 is no tensor's"),
}
