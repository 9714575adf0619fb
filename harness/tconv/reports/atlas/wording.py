"""The questions and answers of `rules` in words, and advice where a dialect cannot express a call."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.comparison.answers import Opened
from tconv.dialects.rules import Negative, Odd, Same, Sized

if TYPE_CHECKING:
    from collections.abc import Mapping

QUESTIONS: Mapping[str, str] = MappingProxyType(
    {
        "same": "SAME_UPPER or SAME_LOWER without output_shape: how much padding is distributed, and what is the size?",
        "sized_explicit": "output_shape without a padding mode: are the pads computed from it, or those written?",
        "sized_valid": "output_shape beside VALID: are the pads computed from it, or none?",
        "odd_upper": "SAME_UPPER without output_shape: where does the odd unit of the padding go?",
        "odd_lower": "SAME_LOWER without output_shape: where does the odd unit of the padding go?",
        "odd_sized_upper": "SAME_UPPER with output_shape: where does the odd unit of the padding go?",
        "odd_sized_lower": "SAME_LOWER with output_shape: where does the odd unit of the padding go?",
        "odd_sized": "output_shape without a mode or beside VALID: where does the odd unit of the padding go?",
        "negative_same": "SAME_UPPER or SAME_LOWER where the stride exceeds the kernel's reach: what becomes of a "
        "negative total?",
        "negative_sized": "an output_shape larger than all that the taps reach: what becomes of a negative total?",
    }
)

ANSWERS: Mapping[str, str] = MappingProxyType(
    {
        Same.INPUT_TIMES_STRIDE: "full + op - X*s is distributed, the output has X*s",
        Same.KERNEL_LESS_STRIDE: "full - X*s is distributed and op added after it, the output has X*s + op",
        Same.INPUT_SIZE: "full + op - X is distributed, the output is as large as the input",
        Same.NO_PADDING: "nothing is cropped, the output has full + op",
        Sized.RECOMPUTED: "the pads are computed from it",
        Sized.KEPT: "the pads are those written, none under VALID; it sets the size alone",
        Odd.BEGIN: "at the beginning",
        Odd.END: "at the end",
        Negative.FLOOR: "it is halved downwards",
        Negative.TRUNCATE: "it is halved towards zero",
        Negative.APPEND: "all of it is appended at the end",
        Negative.SHRINK: "nothing is cropped and the output stays smaller",
        Negative.REFUSE: "refused",
        Opened.ANSWERED: "answered",
        Opened.REFUSED: "refused",
    }
)

ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "without-bias": "add the bias to the output",
        "without-groups": "an operation for each group, their outputs concatenated; OpenVINO has a grouped operation",
        "without-kernel-shape": "leave it away: the filter has its own size",
        "without-output-shape": "pads that follow from it",
        "pads-without-auto-pad": "leave the pads away: they are ignored",
        "output-padding-below-stride-or-dilation": "pad the output at its end",
        "data-format-known": "transpose data and output",
        "filter-format-known": "transpose the filter",
        "filter-rank-matches": "reshape the filter",
    }
)
"""What to do where the target cannot express a call, by the constraint that forbids it."""
