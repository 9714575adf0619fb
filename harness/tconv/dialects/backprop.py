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
_RANGE = "pads_begin and pads_end, 'non-negative integers'"
_VALID = "auto_pad, 'valid - do not use padding'"

_ADDED = "output_padding, 'Elements are added at the higher coordinate indices for the spatial dimensions'"

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
        _NO_PADS,
    ),
    Reading(
        "valid-keeps-pads",
        "VALID pads nothing also beside output_shape, which then sets the size alone.",
        _VALID,
        AnswerOtherwise("sized_valid", Sized.KEPT),
        _SPLIT,
    ),
    Reading(
        "sized-upper-odd-end",
        "Beside output_shape SAME_UPPER puts the odd unit at the end, as the prose says; the formula says the beginning.",
        _PROSE,
        AnswerOtherwise("odd_sized_upper", Odd.END),
        _SPLIT,
    ),
    Reading(
        "sized-lower-odd-begin",
        "Beside output_shape SAME_LOWER puts the odd unit at the beginning, as the prose says; the formula says the end.",
        _PROSE,
        AnswerOtherwise("odd_sized_lower", Odd.BEGIN),
        _SPLIT,
    ),
    *(
        Reading(f"{question.replace('_', '-')}-{name}", says, cites, AnswerOtherwise(question, answer), against)
        for question in ("negative_sized", "negative_same")
        for name, says, cites, answer, against in (
            ("appended", "A negative total is appended at the end.", f"{_RANGE}; {_ADDED}", Negative.APPEND, _SPLIT),
            ("refused", "An output that needs padding below zero is refused.", _RANGE, Negative.REFUSE, _SPLIT),
        )
    ),
)

BACKPROP_CONSTRAINTS: dict[str, ConstraintAnswer] = {
    "strides-length": Open("strides, 'same definition as strides for a regular Convolution': no length is demanded"),
    "dilations-length": Open("dilations, 'same definition', and the formulas use dilations[i]: no length is demanded"),
    "pads-length": Open("pads_begin, 'same definition', and the formulas use pads_begin[i]: no length is demanded"),
    "output-padding-length": Stated(
        "output_padding, 'Number of elements ... matches the number of spatial dimensions'"
    ),
    "output-shape-length": Stated("input 3, 'specifies spatial shape of the output'; 'No batch or channel dimension'"),
    "kernel-shape-length": Stated("the attributes list no kernel_shape"),
    "strides-positive": Stated("strides, 'positive integers'"),
    "dilations-positive": Stated("dilations, 'positive integers'"),
    "pads-non-negative": Stated("pads_begin and pads_end, 'non-negative integers'"),
    "output-padding-non-negative": Stated("output_padding, 'non-negative integer values'"),
    "output-shape-non-negative": Open("input 3, 'specifies spatial shape of the output': no range is given"),
    "groups-positive": Stated("the attributes list no groups"),
    "output-padding-below-stride-or-dilation": Absent("output_padding, 'non-negative integer values': no upper bound"),
    "pads-without-auto-pad": Absent("pads_begin, 'the attribute is ignored when auto_pad attribute is specified'"),
    "kernel-shape-matches": Stated("input 2, the kernel's size is not 'specified by any attribute'"),
    "channels-divisible": Stated("the attributes list no groups"),
    "filter-channels-match": Open("input 2 names no shape; it follows from the gradient of a Convolution"),
    "filter-rank-matches": Open("the formulas use K_i along each spatial axis i: no rank is demanded"),
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
    "at-most-three-spatial-axes": Absent("input 1, 'input tensor of rank 3 or greater'"),
    "batch-not-empty": Open("an empty batch is not spoken of"),
    "channels-not-empty": Open("empty channels are not spoken of"),
    "spatial-not-empty": Open("an empty spatial axis is not spoken of"),
    "kernel-not-empty": Open("an empty filter axis is not spoken of"),
    "output-not-empty": Open(f"{_SIZE} may give 0"),
    "output-size-non-negative": Open(f"{_SIZE} may give a size below 0"),
}
