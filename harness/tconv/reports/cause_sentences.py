"""The sentence of each cause: what happens, without formulas, clauses and the runtime's own messages.

Its details have what a reader may want next: the formula, the names, the message or an example.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.cases.context import PREFIX
from tconv.diagnosis.misreadings import meanings
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.readings import Combination
from tconv.evidence import Errs, Follows, InContext, Misreads, Relates, Says, Varies
from tconv.gate.status import SEVERITY, ReadingChanged, Status
from tconv.records.failure import without_numbers
from tconv.reports.conditions import in_words
from tconv.reports.phrases import UNDECLARED, fresh_process_phrase, headline, right_with
from tconv.reports.words import KINDS, LEVELS, TYPES
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.evidence import Explanation, Rule
    from tconv.evidence.formulas import Formula
    from tconv.gate.status import RecordStatus

_USUAL = 0.75
"""The least part of a cause's failures for which a relation is printed: with few elements it may not be visible."""
_QUANTITIES = {
    "stride": "the stride",
    "dilation": "the dilation",
    "size": "the output size",
    "pads_begin": "the padding",
}
_LETTERS = {"X": "input", "K": "kernel", "s": "stride", "d": "dilation", "op": "output_padding"}
_LETTER = re.compile(rf"(?<!')\b({'|'.join(_LETTERS)})\b(?!\[)")
_OFF = re.compile(r" is the text's \w+ ([+-]) (\d+)$")
"""The end of a rule that differs from the text only by a number."""
_WRITTEN = "as it is written"
_TIGHT = re.compile(r"(?<=[\w)])([*-])(?=[\w(])")

Sentence = tuple[str, tuple[str, ...]]
"""A sentence, and its details."""


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of one cause.

    Attributes:
        members: the failures.
        shown: the example.
        phrase: the phrase of the example.
        is_invalid: whether all calls are invalid.
    """

    members: Sequence[RecordStatus]
    shown: RecordStatus
    phrase: str
    is_invalid: bool

    def explained(self, explanation: Explanation) -> Sentence:
        """Return the sentence and details for failures with an explanation."""
        what, happens, condition = explanation.what, self._happens(), _condition(explanation)
        example = f"for example, {self.phrase}"
        match what:
            case Misreads(name):
                meaning = says(name.names, self.shown.record.dialect)
                return _sentence(f"{happens}{condition}: {meaning}"), (f"as if {name}", example)
            case Follows(rules):
                kinds = "" if KINDS[self.shown.ruling.kind].returns else f"{happens}, as it "
                return _sentence(f"{kinds}{_computes(rules)}{condition}"), (
                    *map(formula, rules),
                    example,
                )
            case Says():
                known = explanation.condition == (f"dtype={getattr(self.shown.ruling, 'expected', '')}",)
                return _sentence(f"{happens}{'' if known else condition}{self._undeclared}"), self._said()
            case Varies():
                said = filter(None, (fresh_process_phrase(self.shown.record), self.phrase))
                return _sentence(f"answers vary from call to call{condition}"), tuple(said)
            case Relates():
                relation = self._usual_relation() or what.relation
                return _sentence(f"{happens}{condition}: the wrong elements {relation}"), (example,)
            case InContext():
                levels = " and ".join(
                    LEVELS[axis.removeprefix(PREFIX)].format(level)
                    for axis, _, level in (level.partition("=") for level in what.levels)
                )
                also = condition.replace(" if ", " and ", 1)
                alone = f"in a graph with {levels}{also}; alone the operator is right"
                return _sentence(f"{happens} {alone}{self._undeclared}"), (
                    *self._said(),
                    *map(right_with, explanation.changes),
                )
            case Errs():
                relation = self._usual_relation()
                elements = f": the wrong elements {relation}" if relation else ""
                return _sentence(f"{happens}{condition or ' nearly everywhere'}{elements}"), (example,)

    def unexplained(self, sweep: str) -> Sentence:
        """Return the sentence and details for failures without an explanation; a sweep may be all that they share."""
        shown, happens = self.shown, self._happens()
        if shown.record.varies:
            return _sentence(f"{happens} {fresh_process_phrase(shown.record)}"), (self.phrase,)
        if isinstance(shown.ruling, ReadingChanged):
            question, was, now = shown.ruling.question, shown.ruling.was, shown.ruling.now
            return (
                f"Follows another allowed interpretation of {question} than is pinned: it was {was}, and is {now}",
                (),
            )
        # The phrase of a wrong shape already has both shapes.
        described = (shown.why.described,) if shown.why.described and shown.ruling.kind != "wrong-shape" else ()
        is_unknown = isinstance(shown.ruling, ver.WrongOutput | ver.Crashed | ver.TimedOut)
        unknown = ("why is not known",) if is_unknown else ()
        return _sentence(f"{happens}{sweep and f' in {sweep}'}{self._undeclared}"), (
            *self._said(),
            *described,
            *unknown,
        )

    def _happens(self) -> str:
        """Return what the runtime does in the failures, the most severe first."""
        kinds = sorted({member.ruling.kind for member in self.members}, key=SEVERITY.index)
        first, invalid = self.shown.ruling, " on invalid calls" if self.is_invalid else ""
        if kinds == ["wrong-dtype"] and isinstance(first, ver.WrongDtype) and self._have_one("expected", "actual"):
            actual, expected = (TYPES.get(name, name) for name in (first.actual, first.expected))
            return f"returns {actual} instead of {expected}{invalid}"
        if kinds == ["crashed"] and isinstance(first, ver.Crashed) and self._have_one("cause"):
            return f"crashes with {first.cause}{invalid}"
        if self.shown.status is Status.UNDECLARED:
            return f"does not support {'invalid ' if invalid else ''}calls"
        returned = [KINDS[kind].returns for kind in kinds if KINDS[kind].returns]
        does = [KINDS[kind].does for kind in kinds if KINDS[kind].does]
        return " or ".join([*does, *([f"returns {' or '.join(returned)}"] if returned else [])]) + invalid

    @property
    def _undeclared(self) -> str:
        return "; this is not declared" if self.shown.status is Status.UNDECLARED else ""

    def _have_one(self, *names: str) -> bool:
        return len({tuple(getattr(member.ruling, name) for name in names) for member in self.members}) == 1

    def _said(self) -> tuple[str, ...]:
        """Return the details beyond the kind: the runtime's message, an example, or about values of a wrong type."""
        match self.shown.ruling:
            case ver.WrongDtype():
                return tuple(_converted(self.members))
            case ver.Crashed(cause):
                message = self.phrase.removeprefix(cause).removeprefix(": ")
                return (f"message: {message}",) if message else ()
            case ver.RefusedValid() | ver.BackendError() | ver.Unsupported():
                message = self.phrase.removeprefix(f"{UNDECLARED}: ")
                return (f"message: {message}",)
            case _:
                return (f"for example, {self.phrase}",)

    def _usual_relation(self) -> str:
        """Return the relation of wrong elements in most failures, without numbers that vary; empty if there is none."""
        relations = [member.why.relation for member in self.members]
        for texts in (Counter(relations), Counter(map(without_numbers, relations))):
            text, count = texts.most_common(1)[0]
            if text and count >= _USUAL * len(self.members):
                return text.replace("#", "n") + (", where n differs" if "#" in text else "")
        return ""


def of_disputed(shown: RecordStatus, phrase: str) -> Sentence:
    """Return the sentence for answers that follow a reading other than the text's first."""
    ruling = shown.ruling
    if not isinstance(ruling, ver.Disputed):
        return headline(ruling), ()
    names = [name for together in ruling.choices for name in Combination.parse(together).names]
    meaning = says(names, shown.record.dialect)
    if ruling.rule != "refusal":
        return _sentence(f"follows another interpretation that the text allows{meaning and f': {meaning}'}"), (phrase,)
    perhaps = "perhaps " if ruling.notes else ""
    why = "because they break" if _refusing(names[0]) else "as another interpretation says:"
    return _sentence(f"refuses calls, {perhaps}{why} {meaning}"), (phrase,)


def of_accepted(shown: RecordStatus) -> Sentence:
    """Return the sentence for answers to invalid calls."""
    ruling = shown.ruling
    if not isinstance(ruling, ver.AcceptedInvalid):
        return headline(ruling), ()
    constraint = CONSTRAINTS.get(ruling.constraint)
    demands = "the text demands" if ruling.stated else "no value is defined unless"
    if constraint is None:
        return _sentence(f"answers calls that break {ruling.constraint}"), ()
    that = " that" if ruling.stated else ""
    return _sentence(f"answers invalid calls: {demands}{that} {constraint.says}"), (f"breaks {ruling.constraint}",)


def says(names: Iterable[str], dialect_name: str) -> str:
    """Return the meanings of readings or misreadings, by their names."""
    dialect = DIALECTS.get(dialect_name)
    known = meanings(dialect) if dialect else {}
    return "; ".join(text for name in names if (text := known.get(name) or _refusing(name)))


def _refusing(name: str) -> str:
    """Return the meaning of refusing a constraint that a text leaves open; empty for another name."""
    constraint = CONSTRAINTS.get(name.removesuffix("-refused"))
    return f"a rule that the text leaves open: {constraint.says}" if constraint and name.endswith("-refused") else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _condition(explanation: Explanation) -> str:
    """Return the condition of an explanation in words, with the number of exceptions."""
    if not explanation.condition:
        return ""
    words, met = f" if {in_words(explanation.condition)}", explanation.met
    is_mechanism = isinstance(explanation.what, Misreads | Follows)
    # A runtime that computes something else may get the right values by chance.
    others = len(explanation.against) + (0 if is_mechanism else explanation.silent)
    if exceptions := len(explanation.cases) - met + (others if is_mechanism else 0):
        return f"{words}, with {exceptions:,} exception{'' if exceptions == 1 else 's'}"
    return f"{words}, in {met:,} of {met + others:,} such calls" if others else words


def evidence_for(explanation: Explanation) -> str:
    """Return how strong the evidence for an explanation is, in words; empty if there is nothing to say."""
    condition, count, against = explanation.condition, len(explanation.cases), len(explanation.against)
    others, contradict = explanation.others, f"contradict{'' if against > 1 else 's'} it"
    if isinstance(explanation.what, InContext):
        exact = f", of which the condition holds for {against:,}" if condition else ""
        contexts = f"{others:,} other context{'' if others == 1 else 's'}"
        return f"fails in {count:,}, and is right in {contexts} with the same levels{exact}"
    if condition is None:
        return f"{against:,} other calls contradict it" if against else ""
    failures = f"{count:,} failure{'' if count == 1 else 's'}"
    if condition:
        said = f"holds for {explanation.met:,} of {failures} and for {against:,} of {others:,} other calls"
    elif isinstance(explanation.what, Errs):
        return f"{others:,} other answers are right"
    else:
        said = f"explains {failures}; {against or 'none'} of {others:,} other calls {contradict}"
    return f"{said}; {_tested(explanation)}" if explanation.is_testable else said


def _tested(explanation: Explanation) -> str:
    denying = explanation.denying
    if not (count := explanation.agreeing + denying):
        return "not tested on new calls"
    contradict = f", {denying:,} of which contradict{'' if denying > 1 else 's'} it" if denying else ""
    return f"tested on {count:,} new call{'' if count == 1 else 's'}{contradict}"


def _converted(members: Sequence[RecordStatus]) -> Iterator[str]:
    """Yield whether the values of outputs with a wrong type are right after a conversion to the expected type."""
    counts = Counter(getattr(member.ruling, "values_agree", None) for member in members)
    right, known = counts[True], counts[True] + counts[False]
    if known and right in {0, known}:
        yield f"converted to the expected type, the values are {'right' if right else 'wrong too'}"
    elif known:
        yield f"converted to the expected type, the values are right in {right:,} of {known:,} cases"


def _computes(rules: Sequence[Rule]) -> str:
    """Return which quantities are wrong, and by how much if that is the same for all calls."""
    (first, *others), off = rules, _OFF.search(str(rules[0]))
    if not others and off is not None:
        sign, by = off.groups()
        return f"computes {_QUANTITIES[first.quantity]} too {'large' if sign == '+' else 'small'} by {by}"
    return f"computes {_listed(_QUANTITIES[rule.quantity] for rule in rules)} wrongly"


def formula(rule: Rule) -> str:
    """Return what a runtime computes, and what it should compute, with words for the letters of both formulas."""
    name = "the output size" if rule.quantity == "size" else rule.quantity
    computed = _in_words(rule.formula, rule.quantity)
    if rule.expected is None:
        return f"{name} is {computed}"
    used = f"it {computed}" if computed == _WRITTEN else computed
    return f"{name} should be {_in_words(rule.expected, rule.quantity)}, and the runtime uses {used}"


def _in_words(formula: Formula, quantity: str) -> str:
    if str(formula) == quantity:
        return _WRITTEN
    words = _LETTER.sub(lambda found: _LETTERS[found[0]], str(formula))
    return _TIGHT.sub(r" \1 ", words)


def _listed(words: Iterable[str]) -> str:
    *most, last = dict.fromkeys(words)
    return f"{', '.join(most)} and {last}" if most else last
