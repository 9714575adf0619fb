"""The common words of three texts: ConvolutionBackpropData-1 of oneDNN and of OpenVINO, and OpenVINO's grouped one."""

from __future__ import annotations

from tconv.dialects.dialect import SAID_ELSEWHERE, Absent, ConstraintAnswer, NoWord, Open, Stated
from tconv.dialects.readings import AnswerOtherwise, Reading
from tconv.dialects.rules import Negative, Odd, Same, Sized
from tconv.vocabulary import NEUTRAL

_SIZE = "detailed description, first formula 'Y_i = stride[i] * (X_i - 1) + ...'"
_NO_PADS = "detailed description, first formula 'if auto_pads != None: pads_begin[i] = 0 ... pads_end[i] = 0'"
_SPLIT = "detailed description, second formula 'if auto_pads != SAME_UPPER: pads_begin[i] = total_padding[i] // 2 ...'"
_IGNORED = "detailed description, 'If output_shape is specified, pads_begin and pads_end are ignored'"
_ALIKE = "detailed description, 'accepts the same set of attributes as a regular Convolution operation'"
_PROSE = "auto_pad, 'In case of odd padding value an extra padding is added at the end (at the beginning)'"
_RANGE = "pads_begin and pads_end, 'non-negative integers'"
_VALID = "auto_pad, 'valid - do not use padding'"

_ADDED = "output_padding, 'Elements are added at the higher coordinate indices for the spatial dimensions'"

NO_KERNEL_SHAPE = NoWord("the attributes list no kernel_shape")
BACKPROP_ATTRIBUTES: dict[str, str | NoWord] = {
    **{name: name for name in (*NEUTRAL, "auto_pad")},
    "output_shape": SAID_ELSEWHERE,
    "groups": NoWord("the attributes list no groups"),
    "kernel_shape": NO_KERNEL_SHAPE,
    "data_format": SAID_ELSEWHERE,
    "filter_format": SAID_ELSEWHERE,
}
BACKPROP_INPUTS: dict[str, str | NoWord] = {
    "x": "data",
    "w": "filter",
    "b": NoWord("the inputs list no bias"),
    "output_shape": "output_shape",
}

BACKPROP_ANSWERS = {
    "same": Same.NO_PADDING.by(_NO_PADS),
    "sized_explicit": Sized.RECOMPUTED.by(_IGNORED),
    "sized_valid": Sized.RECOMPUTED.by(_IGNORED),
    "odd_upper": Odd.END.by(_PROSE),
    "odd_lower": Odd.BEGIN.by(_PROSE),
    "odd_sized_upper": Odd.BEGIN.by(_SPLIT),
    "odd_sized_lower": Odd.END.by(_SPLIT),
    "odd_sized": Odd.END.by(_SPLIT),
    "negative_same": Negative.FLOOR.by("detailed description, '//' rounds down"),
    "negative_sized": Negative.FLOOR.by("detailed description, second formula, '//' rounds down"),
}

BACKPROP_DISPUTED = (
    Reading(
        "same-as-convolution",
        AnswerOtherwise("same", Same.INPUT_TIMES_STRIDE),
        f"{_ALIKE}; auto_pad, 'the input is padded to match the output size'",
        _NO_PADS,
    ),
    Reading("valid-keeps-pads", AnswerOtherwise("sized_valid", Sized.KEPT), _VALID, _SPLIT),
    Reading("sized-upper-odd-end", AnswerOtherwise("odd_sized_upper", Odd.END), _PROSE, _SPLIT),
    Reading("sized-lower-odd-begin", AnswerOtherwise("odd_sized_lower", Odd.BEGIN), _PROSE, _SPLIT),
    *(
        Reading(f"{question.replace('_', '-')}-{name}", AnswerOtherwise(question, answer), cites, _SPLIT)
        for question in ("negative_sized", "negative_same")
        for name, answer, cites in (
            ("appended", Negative.APPEND, f"{_RANGE}; {_ADDED}"),
            ("refused", Negative.REFUSE, _RANGE),
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
    "strides-positive": Stated("strides, 'positive integers'"),
    "dilations-positive": Stated("dilations, 'positive integers'"),
    "pads-non-negative": Stated("pads_begin and pads_end, 'non-negative integers'"),
    "output-padding-non-negative": Stated("output_padding, 'non-negative integer values'"),
    "output-shape-non-negative": Open("input 3, 'specifies spatial shape of the output': no range is given"),
    "output-padding-below-stride-or-dilation": Absent("output_padding, 'non-negative integer values': no upper bound"),
    "output-padding-below-stride": Absent("output_padding, 'non-negative integer values': no upper bound"),
    "pads-without-auto-pad": Absent("pads_begin, 'the attribute is ignored when auto_pad attribute is specified'"),
    "output-shape-leads-back": Absent("detailed description, 'shape of the output exactly matches the specified size'"),
    "filter-channels-match": Open("input 2 names no shape; it follows from the gradient of a Convolution"),
    "filter-rank-matches": Open("the formulas use K_i along each spatial axis i: no rank is demanded"),
    "one-type": Open("no types are given for the inputs"),
    "type-known": Absent("no types are given"),
    "auto-pad-known": Stated("auto_pad, the modes that it lists"),
    "data-format-known": Stated("the layouts that it lists"),
    "filter-format-known": Stated("the layouts that it lists"),
    "strides-given": Stated("strides, 'Required: yes'"),
    "dilations-given": Stated("dilations, 'Required: yes'"),
    "pads-given": Open(
        "pads_begin, 'Required: yes' against 'May be omitted, in which case pads are calculated automatically'"
    ),
    "at-least-one-spatial-axis": Stated("input 1, 'input tensor of rank 3 or greater'"),
    "two-spatial-axes": Absent("input 1, 'input tensor of rank 3 or greater'"),
    "two-or-three-spatial-axes": Absent("input 1, 'input tensor of rank 3 or greater'"),
    "at-most-three-spatial-axes": Absent("input 1, 'input tensor of rank 3 or greater'"),
    "batch-not-empty": Open("an empty batch is not spoken of"),
    "channels-not-empty": Open("empty channels are not spoken of"),
    "spatial-not-empty": Open("an empty spatial axis is not spoken of"),
    "kernel-not-empty": Open("an empty filter axis is not spoken of"),
    "output-not-empty": Open(f"{_SIZE} may give 0"),
    "output-size-non-negative": Open(f"{_SIZE} may give a size below 0"),
}
