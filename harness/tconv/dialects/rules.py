"""The questions on which the dialects differ, and the answers that texts or runtimes give, each with its words.

A dialect has an answer to every question, and the clause that it rests on beside it. A disputed reading changes one
answer. How specifications disagree about geometry is written nowhere else.

With X, K, s, d the sizes of input and kernel, stride and dilation of an axis and op its output_padding:
full = (X-1)*s + (K-1)*d + 1. `total` is the padding to distribute: what is cut off from full + op.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, NamedTuple, Self, get_type_hints


class Cited(NamedTuple):
    """An answer, and the clause of a text that gives it."""

    answer: Answer
    clause: str


class Answer(StrEnum):
    """An answer to a question of the rules.

    Attributes:
        says: what it says, in words that need no knowledge of the question's name.
        formula: the same in letters.
    """

    says: str
    formula: str

    def __new__(cls, word: str, says: str, formula: str) -> Self:  # noqa: D102 - as of every enumeration
        member = str.__new__(cls, word)
        member._value_, member.says, member.formula = word, says, formula
        return member

    def by(self, clause: str) -> Cited:
        """Return the answer as that of a text, by this clause."""
        return Cited(self, clause)


class Same(Answer):
    """SAME_UPPER or SAME_LOWER without output_shape: how much padding is there to distribute?"""

    INPUT_TIMES_STRIDE = (
        "input-times-stride", "the output has input * stride, output_padding included", "total = full + op - X*s"
    )  # fmt: skip
    KERNEL_LESS_STRIDE = "kernel-less-stride", "the output has input * stride + output_padding", "total = full - X*s"
    INPUT_SIZE = "input-size", "the output is as large as the input", "total = full + op - X"
    NO_PADDING = "no-padding", "nothing is cropped", "total = 0"


class Sized(Answer):
    """With output_shape: where do the pads come from?"""

    RECOMPUTED = "recomputed", "the pads are computed from it", "total = full + op - output_shape"
    KEPT = (
        "kept", "it sets the size alone, and the pads stay as written, none under VALID", "pads_begin as it is written"
    )  # fmt: skip


class Odd(Answer):
    """On which side does the odd unit of the padding go?"""

    BEGIN = "begin", "the odd unit of the padding goes to the beginning", "pads_begin = total - total//2"
    END = "end", "the odd unit of the padding goes to the end", "pads_begin = total//2"


class Negative(Answer):
    """A negative total: the output is larger than all that the taps reach."""

    FLOOR = "floor", "a negative total of padding is halved downwards", "-3 is -2 and -1"
    TRUNCATE = "truncate", "a negative total of padding is halved towards zero", "-3 is -1 and -2"
    APPEND = "append", "a negative total of padding is appended at the end", "pads_begin = 0"
    SHRINK = "shrink", "nothing is cropped or added, and the output stays smaller", "the output has full + op"
    REFUSE = "refuse", "the call is refused", "total >= 0"


@dataclass(frozen=True, slots=True)
class Rules:
    """An answer to each question. Each field says about which calls its question is."""

    same: Annotated[Same, "under SAME_* without output_shape"]
    sized_explicit: Annotated[Sized, "if output_shape is given without a padding mode"]
    sized_valid: Annotated[Sized, "if output_shape is given under VALID"]
    odd_upper: Annotated[Odd, "under SAME_UPPER without output_shape"]
    odd_lower: Annotated[Odd, "under SAME_LOWER without output_shape"]
    odd_sized_upper: Annotated[Odd, "under SAME_UPPER with output_shape"]
    odd_sized_lower: Annotated[Odd, "under SAME_LOWER with output_shape"]
    odd_sized: Annotated[Odd, "if output_shape is given without a padding mode or under VALID"]
    negative_same: Annotated[Negative, "under SAME_*, if the stride exceeds the kernel's reach"]
    negative_sized: Annotated[Negative, "if output_shape is larger than all that the taps reach"]


WHERE: dict[str, str] = {
    question: hint.__metadata__[0] for question, hint in get_type_hints(Rules, include_extras=True).items()
}
"""About which calls each question is."""
QUESTIONS = tuple(WHERE)


def in_words(question: str, answer: Answer) -> str:
    """Return what an answer to a question says, and about which calls."""
    return f"{WHERE[question]}, {answer.says}"


def contrasted(answer: Answer, elsewhere: str) -> str:
    """Return what an answer says, and what the other answer says that a runtime gives in other cases.

    Args:
        answer: the answer here, to a question of `rules`.
        elsewhere: the word of the other answer.
    """
    other = next(other for other in type(answer) if other == elsewhere)
    return f"{answer.says}; in other cases, {other.says}"
