"""The type of a dialect: the answers and words of one text."""

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
    """The text states the constraint: a call that breaks it must be refused.

    A sentence, a range of values, a list of types or a layout demands it. If it only follows from a sentence about
    something else, it is open.
    """

    clause: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The text allows what the constraint forbids: the call must give its value."""

    clause: str = "nothing in the text forbids it"


@dataclass(frozen=True, slots=True)
class Open:
    """The text says nothing, or contradicts itself: the value is primary, a refusal is a disputed reading."""

    clause: str


ConstraintAnswer = Stated | Absent | Open


@dataclass(frozen=True, slots=True)
class NoWord:
    """The text has no word for it: a case with a value there is not applicable."""

    clause: str


SAID_ELSEWHERE = ""
"""The word of an attribute that is not written, as an input or a layout gives its value."""
NO_FORMAT: Mapping[str, str] = dict.fromkeys(DataFormat, SAID_ELSEWHERE)
"""The data layouts of an operator that has one, if the backend transposes the other."""
NO_FILTER_FORMAT: Mapping[str, str] = dict.fromkeys(FilterFormat, SAID_ELSEWHERE)
"""The filter layouts of an operator that has one, if the backend transposes the others."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The words of a dialect for the vocabulary. A value without a word cannot be written.

    Attributes:
        attributes: for every attribute the dialect's name, `SAID_ELSEWHERE`, or `NoWord`. If there are several names,
            separated by spaces, each takes one entry of the list. If both pads have one name, see `one_pad` and
            `pads_by_axis`.
        inputs: the names of data (x), filter (w) and bias (b), or `NoWord`; and of output_shape if it is an input.
        auto_pad: the dialect's word for each of its padding modes.
        data_formats: the word for each data layout that it has.
        filter_formats: the word for each filter layout that it has.
        types: the element types.
        written: attributes that are written at their neutral value if a case does not mention them. For output_shape
            this is the size that the rules give without it.
        one_pad: if both pads are one attribute with one entry for each axis, why unequal pads have no word; None if it
            has an entry for each side.
        pads_by_axis: the order in one attribute of both pads: begin and end of each axis in turn, if true; all begins,
            then all ends, if not.
        whole_shape: whether output_shape includes the batch and the channels.
        printed: the page's spelling of words that the library spells differently.
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
        """Return an attribute's value in the dialect's words; `NoWord` if it has none, None if it is not written."""
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
    """Return whether a value has no effect, so that it need not be written."""
    if name in NEUTRAL:
        return set(value) <= {NEUTRAL[name]}
    return (name, value) in {("groups", 1), ("auto_pad", AutoPad.EXPLICIT)}


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A contradiction in a text about the meaning of an input, not about a rule.

    Attributes:
        about: the question.
        words: the words that tconv follows.
        against: the words that contradict them.
        decision: the meaning that tconv chooses.
    """

    about: str
    words: str
    against: str
    decision: str


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """One operator of one specification at one version, passed as a value.

    Dialects are compared by identity: with changed rules it is another one, even under the same name.

    Attributes:
        name: `text/Operator-version`.
        text: the place of the specification.
        answers: the primary answer to each question, with its clause.
        disputed: readings that the same text also allows.
        constraints: an answer for every constraint; for attributes without a word it is filled in here.
        spelling: its words for the vocabulary.
        data_format: the default data layout.
        filter_format: the default filter layout.
        ambiguities: other contradictions of the text.
        operations: the operations that may surround the operator in a graph, named as in `OPERATIONS`.
        quantised: if the operator itself has quantised types, the levels of a context that it has together, by axis.
        opset: for ONNX, the lowest opset that runtimes accept for this version of the operator; None for others.
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
        # A row may have them in a list, which cannot be hashed.
        object.__setattr__(self, "disputed", tuple(self.disputed))
        # Sorted, as a set has another order in each process.
        object.__setattr__(self, "operations", tuple(sorted(self.operations)))
        self._refuse_incomplete()
        rules: dict[str, Any] = {question: cited.answer for question, cited in self.answers.items()}
        object.__setattr__(self, "rules", Rules(**rules))
        words = {**self.spelling.attributes, **{of: self.spelling.inputs[role] for of, role in _ROLES.items()}}
        unwritten = {
            # An attribute without a word is never required.
            name: Absent(word.clause) if name.endswith("-given") else Stated(word.clause)
            for name, constraint in CONSTRAINTS.items()
            if isinstance(word := words.get(constraint.of), NoWord)
        }
        object.__setattr__(self, "constraints", {**self.constraints, **unwritten})

    def _refuse_incomplete(self) -> None:
        """Refuse a row with a missing answer or word, or with an unknown name.

        Raises:
            ValueError: the row is refused; the message has the names.
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
        """The clause of each answer, by question."""
        return {question: cited.clause for question, cited in self.answers.items()}

    def violations(self, signature: Signature) -> Iterator[Violation]:
        """Yield values without a word, then broken constraints that are stated or open, except those on output sizes."""
        missing = list(self.without_word(signature))
        yield from missing
        names = {violation.constraint for violation in missing}
        for violation in find_broken(signature):
            answer = self.constraints[violation.constraint]
            if not isinstance(answer, Absent) and violation.constraint not in names:
                yield replace(violation, clause=answer.clause)

    def without_word(self, signature: Signature) -> Iterator[Violation]:
        """Yield the parts of a signature without a word in the dialect: attributes, modes, layouts, inputs and types."""
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
            must = f"must be equal to pads_begin {show_value(begin)}"
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
        """Return whether a call can have an attribute (written, or as an input) or an operand."""
        spelling = self.spelling
        if of == "bias" or of in spelling.inputs:
            return isinstance(spelling.inputs[_ROLES.get(of, of)], str)
        word = spelling.attributes.get("pads_begin" if of == "pads" else of, of)
        return not isinstance(word, NoWord) and word != SAID_ELSEWHERE

    def can_write(self, broken: Violation) -> bool:
        """Return whether a call can have a value that breaks a constraint. An unknown word must not be a known one here."""
        of, constraint = broken.attribute, broken.constraint
        if of in _OF_WORDS and constraint.endswith("-known"):
            return self.has_word(of) and broken.got not in self.spelling.words(of).values()
        # If each entry of a list is an attribute, the length is fixed.
        return self.has_word(of) and not (
            constraint.endswith("-length") and " " in str(self.spelling.attributes.get(of))
        )

    def is_invalid(self, constraint: str) -> bool:
        """Return whether a call that breaks a constraint is invalid: the text states it, or the call has no value."""
        answer = self.constraints[constraint]
        return isinstance(answer, Stated) or (CONSTRAINTS[constraint].needed and not isinstance(answer, Absent))

    def foreign_readings(self) -> Iterator[Reading]:
        """Yield a reading for each answer that the text does not allow; other texts may have it."""
        allowed = {(reading.change.question, reading.change.answer) for reading in self.disputed}
        for question, (primary, _) in self.answers.items():
            for answer in type(primary):
                if answer != primary and (question, answer) not in allowed:
                    yield Reading(f"{question}={answer}", AnswerOtherwise(question, answer), "")

    def every_reading(self) -> tuple[Reading, ...]:
        """Return a reading for each answer except the primary ones: the text's own readings, and all others."""
        answers = [(question, answer) for question, (primary, _) in self.answers.items() for answer in type(primary)]
        readings = (*self.disputed, *self.foreign_readings())
        return tuple(sorted(readings, key=lambda r: answers.index((r.change.question, r.change.answer))))


def _without(of: str, value: object, word: NoWord) -> Violation:
    return Violation(f"without-{of.replace('_', '-')}", of, "must not be there", show_value(value), word.clause)
