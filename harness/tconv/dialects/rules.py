"""The questions on which the dialects differ, and the answers that texts or runtimes give.

A dialect has one `Rules`: an answer to every question. A disputed reading changes one answer. How specifications
disagree about geometry is written nowhere else.

With X, K, s, d the sizes of input and kernel, stride and dilation of an axis and op its output_padding:
full = (X-1)*s + (K-1)*d + 1.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum


class Same(StrEnum):
    """SAME_UPPER or SAME_LOWER without output_shape: how much padding is there to distribute?"""

    INPUT_TIMES_STRIDE = "input-times-stride"
    """full + op - X*s: the output has X*s."""
    KERNEL_LESS_STRIDE = "kernel-less-stride"
    """full - X*s, output_padding is added afterwards: the output has X*s + op."""
    INPUT_SIZE = "input-size"
    """full + op - X: the output is as large as the input."""
    NO_PADDING = "no-padding"
    """0: the output has full + op."""


class Sized(StrEnum):
    """With output_shape: where do the pads come from?"""

    RECOMPUTED = "recomputed"
    """full + op - output_shape is distributed."""
    KEPT = "kept"
    """The pads are those written, none under VALID; output_shape sets the size alone."""


class Odd(StrEnum):
    """On which side does the odd unit of the padding go?"""

    BEGIN = "begin"
    END = "end"


class Negative(StrEnum):
    """A negative total: the output is larger than all that the taps reach."""

    FLOOR = "floor"
    """It is halved downwards, towards minus infinity."""
    TRUNCATE = "truncate"
    """It is halved towards zero."""
    APPEND = "append"
    """All of it goes to the end."""
    SHRINK = "shrink"
    """Pads are 0 and the output has full + op."""
    REFUSE = "refuse"
    """There is no answer."""


Answer = Same | Sized | Odd | Negative


@dataclass(frozen=True, slots=True)
class Rules:
    """An answer to each question, which is a field."""

    same: Same
    """SAME_* without output_shape."""
    sized_explicit: Sized
    """output_shape without a padding mode."""
    sized_valid: Sized
    """output_shape beside VALID."""
    odd_upper: Odd
    """The odd unit under SAME_UPPER without output_shape."""
    odd_lower: Odd
    """The odd unit under SAME_LOWER without output_shape."""
    odd_sized_upper: Odd
    """The odd unit under SAME_UPPER with output_shape."""
    odd_sized_lower: Odd
    """The odd unit under SAME_LOWER with output_shape."""
    odd_sized: Odd
    """The odd unit with output_shape, without a mode or under VALID."""
    negative_same: Negative
    """A negative total under SAME_* without output_shape."""
    negative_sized: Negative
    """A negative total with output_shape."""


QUESTIONS = tuple(field.name for field in fields(Rules))
