"""The meaning of each name that a report prints: the entries of `tconv explain NAME`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tconv.diagnosis.misreadings import misreadings_in_context
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import Geometry, resolve
from tconv.dialects.readings import AnswerOtherwise
from tconv.dialects.rules import QUESTIONS, WHERE
from tconv.gate.status import RULINGS
from tconv.reports.notes import NOTE_MEANINGS
from tconv.reports.phrases import attribute_words, counted
from tconv.reports.words import FACTS, KINDS, STATUSES
from tconv.vocabulary import Attributes, AutoPad, DType, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.dialects.rules import Rules


class Entry(NamedTuple):
    """The meaning of a name.

    Attributes:
        kind: the kind of name.
        name: the name.
        meaning: the meaning.
        example: an example with numbers; empty if there is none.
        to_do: what to do about it.
    """

    kind: str
    name: str
    meaning: str
    example: str
    to_do: str

    @property
    def lines(self) -> Iterator[str]:
        """The printed lines."""
        yield f"{self.name}  ({self.kind})"
        yield f"  {self.meaning}"
        if self.example:
            yield f"  for example: {self.example}"
        yield f"  what to do: {self.to_do}"


@cache
def entries() -> Mapping[str, tuple[Entry, ...]]:
    """Return the meanings of all names; a name may be of several kinds."""
    found: dict[str, dict[str, Entry]] = {}
    for each in _entries():
        # If several dialects have a reading, its example comes from the first in which a small call shows it.
        known = found.setdefault(each.name, {})
        if each.kind not in known or (each.example and not known[each.kind].example):
            known[each.kind] = each
    return MappingProxyType({name: tuple(of.values()) for name, of in found.items()})


def _entries() -> Iterator[Entry]:
    yield from _of_verdicts()
    yield from _of_texts()
    for name, fact in FACTS.items():
        values = ", ".join(f"{value}: {words}" for value, words in fact.values.items())
        meaning = fact.says.replace("{}", "...") + (f" ({values})" if values else "")
        value = next(iter(fact.values), "...") if "{}" in fact.says else "true"
        yield Entry("fact", name, meaning, f"'**[{name}={value}]' selects such cases", "use it in patterns and waivers")


def _of_verdicts() -> Iterator[Entry]:
    for name, kind in RULINGS.items():
        meaning = (kind.__doc__ or "").partition("\n")[0]
        yield Entry("verdict", name, meaning, KINDS[name].example, KINDS[name].to_do)
    for status, look in STATUSES.items():
        to_do = "correct the backend, or add an entry to its waiver file" if look.is_red else "nothing"
        yield Entry("status", status.value, look.meaning, "", to_do)
    for name, meaning in NOTE_MEANINGS.items():
        yield Entry("note", name, meaning, "", "nothing: a note does not make a run red")


def _of_texts() -> Iterator[Entry]:
    for question in QUESTIONS:
        answers = type(getattr(next(iter(DIALECTS.values())).rules, question))
        listed = "; ".join(f"{answer} ({answer.says})" for answer in answers)
        meaning = f"texts differ {WHERE[question]}. The answers are {listed}"
        yield Entry("question", question, meaning, "", "pin the answer that your runtime gives")
    for name, constraint in CONSTRAINTS.items():
        meaning = f"a rule for calls: {constraint.says}"
        yield Entry("constraint", name, meaning, "", "refuse calls that break it, if the text states it")
        meaning = f"the backend refuses calls that break a rule that the text leaves open: {constraint.says}"
        yield Entry("reading", f"{name}-refused", meaning, "", "nothing: the text allows it")
    for dialect in DIALECTS.values():
        for reading in dialect.disputed:
            example = _example(dialect.rules, reading.change)
            yield Entry("reading", reading.name, reading.says, example, "nothing: the text allows it. You may pin it")
        for misreading in misreadings_in_context(dialect):
            change = misreading.change
            example = _example(dialect.rules, change) if isinstance(change, AnswerOtherwise) else ""
            yield Entry(
                "misreading", misreading.name, misreading.says, example, "correct it, if your text does not allow it"
            )


def _example(rules: Rules, change: AnswerOtherwise) -> str:
    """Return the smallest call with one axis whose output changes with another answer, and both outputs."""
    changed: dict[str, Any] = {change.question: change.answer}
    other = replace(rules, **changed)
    modes = (None, AutoPad.SAME_UPPER, AutoPad.SAME_LOWER, AutoPad.VALID)
    for x, k, s, op, more, mode in product((2, 3), (1, 2, 3), (1, 2, 3), (0, 1), (None, -1, 1, 3), modes):
        size = None if more is None else ((x - 1) * s + k + more,)
        attributes = Attributes(strides=(s,), output_padding=(op,) if op else None, output_shape=size, auto_pad=mode)
        data, taps = (TensorType((1, 1, of), DType.F32) for of in (x, k))
        here, there = (resolve(Signature(attributes, data, taps, None), of) for of in (rules, other))
        if op < s and here != there and size != (0,):
            call = f"input {x}, kernel {k}, {attribute_words(attributes.given())}"
            return f"{call}: {_said(there)}; by the text's first answer: {_said(here)}"
    return ""


def _said(result: object) -> str:
    if not isinstance(result, Geometry):
        return "a refusal"
    return f"{counted(result.output[0], 'element')} with pads {result.pads_begin[0]} and {result.pads_end[0]}"
