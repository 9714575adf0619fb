"""What a dialect is: the answers and words of one text."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from tconv.dialects.constraints import CONSTRAINTS, find_broken, show_value
from tconv.dialects.readings import AnswerOtherwise, Reading
from tconv.dialects.rules import Rules
from tconv.errors import Violation
from tconv.vocabulary import ATTRIBUTES, NEUTRAL, AutoPad, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from tconv.dialects.rules import Cited
    from tconv.vocabulary import Signature


@dataclass(frozen=True, slots=True)
class Stated:
    """The text states the constraint: a refusal is expected of a call that breaks it.

    It does where a sentence, a range of values, a list of types or a layout demands it. What only follows from a sentence
    that describes something else is open.
    """

    clause: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The text allows what the constraint forbids: the value is expected of the call."""

    clause: str = "nothing in the text forbids it"


@dataclass(frozen=True, slots=True)
class Open:
    """The text says nothing, or contradicts itself: the value is primary, a refusal is a disputed reading."""

    clause: str


ConstraintAnswer = Stated | Absent | Open


@dataclass(frozen=True, slots=True)
class NoWord:
    """The text has no word: what has a value there is not applicable."""

    clause: str


SAID_ELSEWHERE = ""
"""The word of an attribute that an input or a layout says, so that nothing is written for it."""
NO_FORMAT: Mapping[str, str] = dict.fromkeys(DataFormat, SAID_ELSEWHERE)
"""The data layouts where the operator has one, and the backend transposes the other."""
NO_FILTER_FORMAT: Mapping[str, str] = dict.fromkeys(FilterFormat, SAID_ELSEWHERE)
"""The filter layouts where the operator has one, and the backend transposes the others."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a dialect writes what the vocabulary names. What has no word here cannot be written at all.

    Attributes:
        attributes: for every attribute the dialect's name, `SAID_ELSEWHERE`, or `NoWord`. Several names, with spaces between
            them, have an entry of the list each. If both pads have one name,
            see `one_pad` and `pads_by_axis`.
        inputs: the names of data (x), filter (w) and bias (b), or `NoWord`; and of output_shape where it is an input.
        auto_pad: the dialect's word for each padding mode that it has.
        data_formats: the word for each data layout in which arrays may come.
        filter_formats: the same for the filter.
        types: the element types.
        written: attributes written at their neutral value where a case does not mention them; for output_shape that is
            the size that the rules give without one.
        one_pad: why pads that differ from side to side have no word, if both have one attribute with an entry for each
            axis; None where it has an entry for each side.
        pads_by_axis: whether one attribute of both pads has beginning and end of the first axis, then those of the next;
            without it, it has all beginnings and then all ends.
        whole_shape: whether output_shape has the batch and the channels too.
        printed: the page's word for each word above that its library takes and its page spells differently.
    """

    attributes: Mapping[str, str | NoWord]
    inputs: Mapping[str, str | NoWord]
    auto_pad: Mapping[str, str] = field(default_factory=dict)
    data_formats: Mapping[str, str] = field(default_factory=lambda: NO_FORMAT)
    filter_formats: Mapping[str, str] = field(default_factory=lambda: NO_FILTER_FORMAT)
    types: tuple[DType, ...] = tuple(DType)
    written: tuple[str, ...] = ()
    one_pad: NoWord | None = None
    pads_by_axis: bool = False
    whole_shape: bool = False
    printed: Mapping[str, str] = field(default_factory=dict)

    def spelt(self, name: str, value: Any) -> Any:  # noqa: ANN401 - an attribute's value is what it may be
        """Return an attribute's value in the dialect's words; `NoWord` if it has none, None if nothing is to be written."""
        word = self.attributes[name]
        if isinstance(word, NoWord):
            return None if _is_neutral(name, value) else word
        if name in _OF_WORDS:
            return self.words(name).get(value, NoWord(""))
        return value if " " not in word or len(word.split()) == len(value) else NoWord("")

    def words(self, name: str) -> Mapping[str, str]:
        """Return the words of an attribute whose values are words."""
        words: Mapping[str, str] = getattr(self, _OF_WORDS[name])
        return words


_OF_WORDS = {"auto_pad": "auto_pad", "data_format": "data_formats", "filter_format": "filter_formats"}
_ROLES = {"data": "x", "filter": "w", "bias": "b"}


def _is_neutral(name: str, value: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether a value changes nothing, so that it need not be written."""
    if name in NEUTRAL:
        return set(value) <= {NEUTRAL[name]}
    return (name, value) in {("groups", 1), ("auto_pad", AutoPad.EXPLICIT)}


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
        answers: the primary answer to each question, with the clause that it rests on.
        disputed: readings that the same text also allows.
        constraints: an answer for every constraint; those of what has no word are filled in.
        spelling: how it writes the vocabulary.
        data_format: the data layout where none is written.
        filter_format: the filter layout where none is written.
        ambiguities: what else the text says in two ways.
        operations: what may stand around the operator in a graph, by the names of `OPERATIONS`.
        quantised: if quanta are types of the operator itself, the levels of a context, by its axes, that it has together.
        opset: for ONNX's, the lowest opset that runtimes accept for this version of the operator; else None.
        rules: the answers without their clauses.
    """

    name: str
    text: str
    answers: Mapping[str, Cited]
    disputed: tuple[Reading, ...]
    constraints: Mapping[str, ConstraintAnswer]
    spelling: Spelling
    data_format: DataFormat = DataFormat.NCX
    filter_format: FilterFormat = FilterFormat.IOX
    ambiguities: tuple[Ambiguity, ...] = ()
    opset: int | None = None
    operations: Collection[str] = ()
    quantised: tuple[Mapping[str, Collection[str]], ...] = ()
    rules: Rules = field(init=False)

    def __post_init__(self) -> None:
        # Readings are compared and hashed, also if a row has them in a list.
        object.__setattr__(self, "disputed", tuple(self.disputed))
        # In one order, as its text is compared with that of other machines.
        object.__setattr__(self, "operations", tuple(sorted(self.operations)))
        self._refuse_incomplete()
        rules: dict[str, Any] = {question: cited.answer for question, cited in self.answers.items()}
        object.__setattr__(self, "rules", Rules(**rules))
        words = {**self.spelling.attributes, **{of: self.spelling.inputs[role] for of, role in _ROLES.items()}}
        unwritten = {
            # What has no word need not be there.
            name: Absent(word.clause) if name.endswith("-given") else Stated(word.clause)
            for name, constraint in CONSTRAINTS.items()
            if isinstance(word := words.get(constraint.of), NoWord)
        }
        object.__setattr__(self, "constraints", {**self.constraints, **unwritten})

    def _refuse_incomplete(self) -> None:
        """Refuse a row with an answer or a word too few, or of something that there is not.

        Raises:
            ValueError: the message names what.
        """
        if self.name.count("/") != 1:
            raise ValueError(f"the name of a dialect must be text/Operator-version (got {self.name!r})")
        valueless = [name for name, given in self.constraints.items() if isinstance(given, Absent)]
        if valueless := [name for name in valueless if name in CONSTRAINTS and CONSTRAINTS[name].needed]:
            must = "must not be absent: the operator has no value if they are broken"
            raise ValueError(f"{', '.join(sorted(valueless))} of dialect {self.name} {must}")
        spelling, questions = self.spelling, {question.name for question in fields(Rules)}
        without = {of for of, word in {**spelling.attributes, **spelling.inputs}.items() if isinstance(word, NoWord)}
        without |= {of for of, role in _ROLES.items() if role in without}
        for what, given, known, needed in (
            ("answers", self.answers, questions, questions),
            (
                "constraints",
                self.constraints,
                CONSTRAINTS,
                {name for name, constraint in CONSTRAINTS.items() if constraint.of not in without},
            ),
            ("attributes", spelling.attributes, ATTRIBUTES, ATTRIBUTES),
            ("inputs", spelling.inputs, (*_ROLES.values(), "output_shape"), _ROLES.values()),
            ("auto_pad", spelling.auto_pad, tuple(AutoPad), ()),
            ("data_formats", spelling.data_formats, tuple(DataFormat), ()),
            ("filter_formats", spelling.filter_formats, tuple(FilterFormat), ()),
        ):
            for kind, wrong in (("unknown", {*given} - {*known}), ("missing", {*needed} - {*given})):
                if wrong:
                    raise ValueError(
                        f"{what} of dialect {self.name} must be complete ({kind}: {', '.join(sorted(wrong))})"
                    )

    def __str__(self) -> str:
        return self.name

    @property
    def cites(self) -> Mapping[str, str]:
        """The clause that each answer rests on, by question."""
        return {question: cited.clause for question, cited in self.answers.items()}

    def violations(self, signature: Signature) -> Iterator[Violation]:
        """Yield what has no word, then the broken constraints that are stated or open, but those of the output's size."""
        missing = list(self.without_word(signature))
        yield from missing
        names = {violation.constraint for violation in missing}
        for violation in find_broken(signature):
            answer = self.constraints[violation.constraint]
            if not isinstance(answer, Absent) and violation.constraint not in names:
                yield replace(violation, clause=answer.clause)

    def without_word(self, signature: Signature) -> Iterator[Violation]:
        """Yield what of a signature the dialect has no word for: attributes, modes, layouts, inputs and types."""
        spelling, operands = self.spelling, {"data": signature.x, "filter": signature.w, "bias": signature.b}
        for name, value in signature.attributes.given().items():
            if isinstance(spelling.spelt(name, value), NoWord):
                word, known = spelling.attributes[name], f"{name.replace('_', '-')}-known"
                if isinstance(word, NoWord):
                    yield _without(name, value, word)
                elif name in _OF_WORDS:
                    yield self._unknown(known, name, spelling.words(name), str(value))
                else:
                    must, length = f"must have an entry for each of {word}", f"{name.replace('_', '-')}-length"
                    yield Violation(length, name, must, show_value(value), self.constraints[length].clause)
        begin, end = signature.per_axis("pads_begin"), signature.per_axis("pads_end")
        if spelling.one_pad is not None and begin != end:
            must = f"must be at the end as at the beginning {show_value(begin)}"
            yield Violation("pads-symmetric", "pads_end", must, show_value(end), spelling.one_pad.clause)
        if signature.b is not None and isinstance(word := spelling.inputs["b"], NoWord):
            yield _without("bias", signature.b.shape, word)
        for of, operand in operands.items():
            if operand is not None and operand.dtype not in spelling.types:
                yield self._unknown("type-known", of, spelling.types, operand.dtype)
                return

    def _unknown(self, constraint: str, of: str, known: Iterable[str], got: str) -> Violation:
        return Violation(constraint, of, f"must be one of {', '.join(known)}", got, self.constraints[constraint].clause)

    def has_word(self, of: str) -> bool:
        """Return whether an attribute can be written, by itself or as an input, or an operand be given."""
        spelling = self.spelling
        if of == "bias" or of in spelling.inputs:
            return isinstance(spelling.inputs[_ROLES.get(of, of)], str)
        word = spelling.attributes.get("pads_begin" if of == "pads" else of, of)
        return not isinstance(word, NoWord) and word != SAID_ELSEWHERE

    def can_write(self, broken: Violation) -> bool:
        """Return whether a call can have what breaks a constraint: an unknown word must be no other word of the text."""
        of, constraint = broken.attribute, broken.constraint
        if of in _OF_WORDS and constraint.endswith("-known"):
            return self.has_word(of) and broken.got not in self.spelling.words(of).values()
        # An attribute for each entry of a list takes no more and no fewer.
        return self.has_word(of) and not (
            constraint.endswith("-length") and " " in str(self.spelling.attributes.get(of))
        )

    def is_invalid(self, constraint: str) -> bool:
        """Return whether a call that breaks a constraint is invalid: the text states it, or no value is there."""
        answer = self.constraints[constraint]
        return isinstance(answer, Stated) or (CONSTRAINTS[constraint].needed and not isinstance(answer, Absent))

    def foreign_readings(self) -> Iterator[Reading]:
        """Yield a reading for each answer to each question that the text does not allow; other texts may give it."""
        allowed = {(reading.change.question, reading.change.answer) for reading in self.disputed}
        for question, (primary, _) in self.answers.items():
            for answer in type(primary):
                if answer != primary and (question, answer) not in allowed:
                    yield Reading(f"{question}={answer}", AnswerOtherwise(question, answer), "")

    def every_reading(self) -> tuple[Reading, ...]:
        """Return a reading for each answer to each question but the primary ones: the text's own, and all others."""
        answers = [(question, answer) for question, (primary, _) in self.answers.items() for answer in type(primary)]
        readings = (*self.disputed, *self.foreign_readings())
        return tuple(sorted(readings, key=lambda r: answers.index((r.change.question, r.change.answer))))


def _without(of: str, value: object, word: NoWord) -> Violation:
    return Violation(f"without-{of.replace('_', '-')}", of, "must not be there", show_value(value), word.clause)
