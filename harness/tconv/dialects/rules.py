"""The questions on which the dialects differ, and the answers of texts or runtimes, each in words.

A dialect answers every question and names the clause. A disputed reading changes one answer. The disagreement of
specifications about geometry is only here.

X, K, s, d are the sizes of input and kernel, stride and dilation of an axis, and op is its output_padding. Then
full = (X-1)*s + (K-1)*d + 1. `total` is the padding to distribute: the elements that are cropped from full + op.
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
        says: the answer in words, understandable without the question.
        formula: the answer as a formula.
    """

    says: str
    formula: str

    def __new__(cls, word: str, says: str, formula: str) -> Self:  # noqa: D102 - as of every enumeration
        member = str.__new__(cls, word)
        member._value_, member.says, member.formula = word, says, formula
        return member

    def by(self, clause: str) -> Cited:
        """Return the answer of a text, with its clause."""
        return Cited(self, clause)


class Same(Answer):
    """SAME_UPPER or SAME_LOWER without output_shape: how much padding is there to distribute?"""

    INPUT_TIMES_STRIDE = (
        "input-times-stride", "the output has the size input * stride, with or without output_padding", "total = full + op - X*s"
    )  # fmt: skip
    KERNEL_LESS_STRIDE = (
        "kernel-less-stride",
        "the output has the size input * stride + output_padding",
        "total = full - X*s",
    )
    INPUT_SIZE = "input-size", "the output is as large as the input", "total = full + op - X"
    NO_PADDING = "no-padding", "nothing is cropped", "total = 0"


class Sized(Answer):
    """With output_shape: which pads hold?"""

    RECOMPUTED = "recomputed", "the pads are computed from output_shape", "total = full + op - output_shape"
    KEPT = (
        "kept", "output_shape sets only the size, and the pads stay as written, or 0 under VALID", "pads_begin as it is written"
    )  # fmt: skip


class Odd(Answer):
    """On which side does the odd unit of the padding go?"""

    BEGIN = "begin", "an odd padding has its larger half at the beginning", "pads_begin = total - total//2"
    END = "end", "an odd padding has its larger half at the end", "pads_begin = total//2"


class Negative(Answer):
    """A negative total: the output is larger than all that the taps reach."""

    FLOOR = "floor", "half of a negative padding is rounded down", "-3 is -2 and -1"
    TRUNCATE = "truncate", "half of a negative padding is rounded towards zero", "-3 is -1 and -2"
    APPEND = "append", "a negative padding adds elements at the end", "pads_begin = 0"
    SHRINK = "shrink", "nothing is cropped or added, and the output stays smaller", "the output has full + op"
    REFUSE = "refuse", "the call is refused", "total >= 0"


@dataclass(frozen=True, slots=True)
class Rules:
    """An answer to each question. The annotation of a field names the calls that its question is about."""

    same: Annotated[Same, "under SAME_* without output_shape"]
    sized_explicit: Annotated[Sized, "if output_shape is given without a padding mode"]
    sized_valid: Annotated[Sized, "if output_shape is given under VALID"]
    odd_upper: Annotated[Odd, "under SAME_UPPER without output_shape"]
    odd_lower: Annotated[Odd, "under SAME_LOWER without output_shape"]
    odd_sized_upper: Annotated[Odd, "under SAME_UPPER with output_shape"]
    odd_sized_lower: Annotated[Odd, "under SAME_LOWER with output_shape"]
    odd_sized: Annotated[Odd, "if output_shape is given without a padding mode or under VALID"]
    negative_same: Annotated[Negative, "under SAME_*, if the stride is larger than the dilated kernel"]
    negative_sized: Annotated[Negative, "if output_shape is larger than the output without pads"]


WHERE: dict[str, str] = {
    question: hint.__metadata__[0] for question, hint in get_type_hints(Rules, include_extras=True).items()
}
"""For each question, the calls that it is about."""
QUESTIONS = tuple(WHERE)


def in_words(question: str, answer: Answer) -> str:
    """Return an answer to a question in words, with the calls that it is about."""
    return f"{WHERE[question]}, {answer.says}"


def contrasted(answer: Answer, elsewhere: str) -> str:
    """Return an answer in words, with the different answer in other cases.

    Args:
        answer: the answer in this case, to a question of `rules`.
        elsewhere: the word of the answer in other cases.
    """
    other = next(other for other in type(answer) if other == elsewhere)
    return f"{answer.says}; in other cases, {other.says}"
