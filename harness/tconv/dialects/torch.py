"""torch's conv_transpose1d, conv_transpose2d and conv_transpose3d.

Text: the docstrings of `torch.nn.functional.conv_transpose2d` and its siblings, and those of `torch.nn.ConvTranspose2d`
and its siblings, to which they refer 'for details and output shape'.
"""

from __future__ import annotations

from tconv.dialects.dialect import SAID_ELSEWHERE, Absent, ConstraintAnswer, Dialect, NoWord, Open, Spelling, Stated
from tconv.dialects.rules import Negative, Odd, Same, Sized

_NO_MODE = "padding, 'Can be a single number or a tuple': there is no padding mode"
_NO_SIZE = "the arguments list no output size; 'exact output size can be also specified' of the module alone"
_SIZE = "Shape, 'H_{out} = (H_{in} - 1)'"
_RANK = "input, 'input tensor of shape' with one, two or three spatial axes"
_FILTER = "weight, 'filters of shape' (in_channels, out_channels / groups, ...)"
_PADDING = "padding, 'zero-padding will be added to both sides of each dimension in the input'"
_ADDED = (
    "no bound is given; but 'output_padding is provided to resolve this ambiguity' of the sizes that a stride gives"
)
_LENGTH = "'Can be a single number or a tuple'"
_ONE_LAYOUT = "there is one layout"

_CONSTRAINTS: dict[str, ConstraintAnswer] = {
    "strides-length": Stated(f"stride, {_LENGTH}"),
    "dilations-length": Stated(f"dilation, {_LENGTH}"),
    "pads-length": Stated(f"padding, {_LENGTH}"),
    "output-padding-length": Stated(f"output_padding, {_LENGTH}"),
    "strides-positive": Open("stride, 'the stride of the convolving kernel': no range is given"),
    "dilations-positive": Open("dilation, 'the spacing between kernel elements': no range is given"),
    "pads-non-negative": Open(f"{_PADDING}: no range is given"),
    "output-padding-non-negative": Open("output_padding, 'additional size added to one side': no range is given"),
    "groups-positive": Open("groups, 'split input into groups': no range is given"),
    "output-padding-below-stride-or-dilation": Open(_ADDED),
    "output-padding-below-stride": Open(_ADDED),
    "channels-divisible": Stated("groups, 'should be divisible by the number of groups'"),
    "filter-channels-match": Stated(_FILTER),
    "filter-rank-matches": Stated(_FILTER),
    "bias-rank": Stated("bias, 'optional bias of shape' (out_channels)"),
    "bias-length": Stated("bias, 'optional bias of shape' (out_channels)"),
    "one-type": Open("no types are given"),
    "type-known": Absent("no types are given"),
    "data-format-known": Stated(f"{_RANK}: {_ONE_LAYOUT}"),
    "filter-format-known": Stated(f"{_FILTER}: {_ONE_LAYOUT}"),
    "strides-given": Absent("stride, 'Default: 1'"),
    "dilations-given": Absent("dilation, 'Default: 1'"),
    "pads-given": Absent("padding, 'Default: 0'"),
    "at-least-one-spatial-axis": Stated(_RANK),
    "two-spatial-axes": Absent(_RANK),
    "two-or-three-spatial-axes": Absent(_RANK),
    "at-most-three-spatial-axes": Stated(_RANK),
    "batch-not-empty": Open("an empty batch is not spoken of"),
    "channels-not-empty": Open("empty channels are not spoken of"),
    "spatial-not-empty": Open("an empty spatial axis is not spoken of"),
    "kernel-not-empty": Open("an empty filter axis is not spoken of"),
    "output-not-empty": Open(f"{_SIZE} may give 0"),
    "output-size-non-negative": Open(f"{_SIZE} may give a size below 0"),
}

CONV_TRANSPOSE = Dialect(
    name="torch/conv_transpose",
    text="torch.nn.functional.conv_transpose2d.__doc__, torch.nn.ConvTranspose2d.__doc__, and those of 1d and 3d",
    # Without padding modes and output sizes, no answer has an effect.
    answers={
        "same": Same.NO_PADDING.by(_NO_MODE),
        "sized_explicit": Sized.RECOMPUTED.by(_NO_SIZE),
        "sized_valid": Sized.RECOMPUTED.by(_NO_SIZE),
        "odd_upper": Odd.END.by(_NO_MODE),
        "odd_lower": Odd.BEGIN.by(_NO_MODE),
        "odd_sized_upper": Odd.END.by(_NO_SIZE),
        "odd_sized_lower": Odd.BEGIN.by(_NO_SIZE),
        "odd_sized": Odd.BEGIN.by(_NO_SIZE),
        "negative_same": Negative.FLOOR.by(_NO_MODE),
        "negative_sized": Negative.FLOOR.by(_NO_SIZE),
    },
    disputed=(),
    constraints=_CONSTRAINTS,
    spelling=Spelling(
        attributes={
            "strides": "stride",
            "dilations": "dilation",
            "pads_begin": "padding",
            "pads_end": "padding",
            "auto_pad": NoWord(_NO_MODE),
            "output_padding": "output_padding",
            "output_shape": NoWord(_NO_SIZE),
            "groups": "groups",
            "kernel_shape": NoWord("the arguments list no kernel size"),
            "data_format": SAID_ELSEWHERE,
            "filter_format": SAID_ELSEWHERE,
        },
        inputs={"x": "input", "w": "weight", "b": "bias"},
        one_pad=NoWord(_PADDING),
    ),
)
