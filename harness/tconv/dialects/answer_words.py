"""What each answer to each question of `rules` says, in words that need no knowledge of the questions' names."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.dialects.rules import Negative, Odd, Same, Sized

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects.rules import Answer

WHERE: Mapping[str, str] = MappingProxyType(
    {
        "same": "under SAME_* without output_shape",
        "sized_explicit": "where output_shape is given without a padding mode",
        "sized_valid": "where output_shape is given under VALID",
        "odd_upper": "under SAME_UPPER without output_shape",
        "odd_lower": "under SAME_LOWER without output_shape",
        "odd_sized_upper": "under SAME_UPPER with output_shape",
        "odd_sized_lower": "under SAME_LOWER with output_shape",
        "odd_sized": "where output_shape is given without a padding mode or under VALID",
        "negative_same": "under SAME_* where the stride exceeds the kernel's reach",
        "negative_sized": "where output_shape is larger than all that the taps reach",
    }
)
"""About which calls each question is."""
SAYS: Mapping[Answer, str] = MappingProxyType(
    {
        Same.INPUT_TIMES_STRIDE: "the output has input * stride, output_padding included",
        Same.KERNEL_LESS_STRIDE: "the output has input * stride + output_padding",
        Same.INPUT_SIZE: "the output is as large as the input",
        Same.NO_PADDING: "nothing is cropped",
        Sized.RECOMPUTED: "the pads are computed from it",
        Sized.KEPT: "it sets the size alone, and the pads stay as written, none under VALID",
        Odd.BEGIN: "the odd unit of the padding goes to the beginning",
        Odd.END: "the odd unit of the padding goes to the end",
        Negative.FLOOR: "a negative total of padding is halved downwards",
        Negative.TRUNCATE: "a negative total of padding is halved towards zero",
        Negative.APPEND: "a negative total of padding is appended at the end",
        Negative.SHRINK: "nothing is cropped or added, and the output stays smaller",
        Negative.REFUSE: "the call is refused",
    }
)
"""What each answer says of them."""


def in_words(question: str, answer: Answer) -> str:
    """Return what an answer to a question says, and about which calls."""
    return f"{WHERE[question]} {SAYS[answer]}"


def contrasted(answer: Answer, elsewhere: str) -> str:
    """Return what an answer says, and what the other answer says that a runtime gives in other cases.

    Args:
        answer: the answer here, to a question of `rules`.
        elsewhere: the word of the other answer.
    """
    other = type(answer)(elsewhere)
    return f"{SAYS[answer]}; in other cases, {SAYS[other]}"
