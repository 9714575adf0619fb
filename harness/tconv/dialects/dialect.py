"""What a dialect is: the answers and words of one text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tconv.dialects.answer_words import in_words
from tconv.dialects.readings import AnswerOtherwise, Reading
from tconv.dialects.rules import QUESTIONS
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.dialects.rules import Answer, Rules


@dataclass(frozen=True, slots=True)
class Stated:
    """The text states the constraint: a call that breaks it is owed a refusal.

    It does where a sentence, a range of values, a list of types or a layout demands it. What only follows from a sentence
    that describes something else is open.
    """

    clause: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The text allows what the constraint forbids: the call is owed its value."""

    clause: str = "nothing in the text forbids it"


@dataclass(frozen=True, slots=True)
class Open:
    """The text says nothing, or contradicts itself: the value is primary, a refusal is a disputed reading."""

    clause: str


ConstraintAnswer = Stated | Absent | Open


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a dialect writes what the vocabulary names.

    Attributes:
        attributes: the dialect's name for each attribute that it has. ONNX writes both pads in one list, `pads`.
        auto_pad: the dialect's word for each padding mode.
        data_formats: the word for each data layout that the operator accepts; empty where it has no such attribute.
        filter_formats: the same for the filter.
        inputs: the names of data, filter, and bias or output_shape where they are inputs.
        written: attributes written at their neutral value where a case does not mention them.
        printed: the page's word for each word above that its library takes and its page spells otherwise.
    """

    attributes: Mapping[str, str]
    auto_pad: Mapping[str, str] = field(default_factory=dict)
    data_formats: Mapping[str, str] = field(default_factory=dict)
    filter_formats: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    written: tuple[str, ...] = ()
    printed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Words of a text that do not fit other words of it, where the meaning of an input, and no rule, is in question.

    Attributes:
        about: what is in question.
        words: the words that tconv follows.
        against: the words that do not fit.
        decision: the meaning that tconv gives them.
    """

    about: str
    words: str
    against: str
    decision: str


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One operator of one specification at one version. It is passed to whatever needs a dialect.

    Dialects are compared by identity: one with changed rules is another one, also under the same name.

    Attributes:
        name: `text/Operator-version`.
        text: where the specification is found.
        rules: the primary answer to each question.
        cites: the clause that each answer rests on, by question.
        disputed: readings that the same text also allows.
        constraints: an answer for every constraint there is.
        spelling: how it writes the vocabulary.
        data_format: the data layout where none is written.
        filter_format: the filter layout where none is written.
        ambiguities: what else the text says in two ways.
        opset: for ONNX's, the lowest opset that runtimes accept for this version of the operator; else None.
    """

    name: str
    text: str
    rules: Rules
    cites: Mapping[str, str]
    disputed: tuple[Reading, ...]
    constraints: Mapping[str, ConstraintAnswer]
    spelling: Spelling
    data_format: DataFormat = DataFormat.NCX
    filter_format: FilterFormat = FilterFormat.IOX
    ambiguities: tuple[Ambiguity, ...] = ()
    opset: int | None = None

    def __str__(self) -> str:
        return self.name

    def foreign_readings(self) -> Iterator[Reading]:
        """Yield a reading for each answer to each question that the text does not allow; other texts may give it."""
        allowed = {(reading.change.question, reading.change.answer) for reading in self.disputed}
        for question in QUESTIONS:
            primary: Answer = getattr(self.rules, question)
            for answer in type(primary):
                if answer != primary and (question, answer) not in allowed:
                    name, says = f"{question}={answer}", in_words(question, answer)
                    yield Reading(name, says, "", AnswerOtherwise(question, answer))

    def every_reading(self) -> tuple[Reading, ...]:
        """Return a reading for each answer to each question but the primary ones: the text's own, and all others."""
        answers = [(question, answer) for question in QUESTIONS for answer in type(getattr(self.rules, question))]
        readings = (*self.disputed, *self.foreign_readings())
        return tuple(sorted(readings, key=lambda r: answers.index((r.change.question, r.change.answer))))
