"""The sentence of each cause: what happens, without formulas, clauses and the runtime's own messages.

Its details have what a reader may want next: the formula, the names, the message or an example.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.diagnosis.misreadings import meanings
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.readings import Combination
from tconv.dialects.rules import in_words as in_the_text
from tconv.evidence.hypotheses import Errs, Follows, InContext, Misreads, Relates, Says, Varies
from tconv.gate.status import SEVERITY, MixedReadings, ReadingChanged, Status
from tconv.records.failure import without_numbers
from tconv.reports.conditions import clauses, listed
from tconv.reports.phrases import UNDECLARED, capitalised, counted, fresh_process_phrase, headline, right_with
from tconv.reports.words import KINDS, LETTERS, QUANTITIES, TYPES, in_graph
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.evidence.formulas import Formula
    from tconv.evidence.hypotheses import Explanation, Rule
    from tconv.gate.status import RecordStatus

_PRIMARY = "primary"
"""The name of a text's first reading in pins."""
_MOST_WORDS = 30
"""The most words of a sentence, if its condition can be shortened."""
_USUAL = 0.75
"""The least part of a cause's failures for which a relation is printed: with few elements it may not be visible."""
_LETTER = re.compile(rf"(?<!')\b({'|'.join(LETTERS)})\b(?!\[)")
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
        what, happens, example = explanation.what, self._happens(), f"for example, {self.phrase}"
        match what:
            case Misreads(name):
                meaning = says(name.names, self.shown.record.dialect)
                return _told(happens, explanation, f": {meaning}", f"as if {name}", example)
            case Follows(rules):
                kinds = "" if KINDS[self.shown.ruling.kind].returns else f"{happens}, as it "
                return _told(f"{kinds}{_computes(rules)}", explanation, "", *map(formula, rules), example)
            case Says():
                if explanation.condition == (f"dtype={getattr(self.shown.ruling, 'expected', '')}",):
                    return capitalised(f"{happens}{self._undeclared}"), self._said()
                return _told(happens, explanation, self._undeclared, *self._said())
            case Varies():
                said = filter(None, (fresh_process_phrase(self.shown.record), self.phrase))
                return _told("answers vary from call to call", explanation, "", *said)
            case Relates():
                relation = self._usual_relation() or what.relation
                return _told(happens, explanation, f": the wrong elements {relation}", example)
            case InContext():
                alone = f"; alone the operator is right{self._undeclared}"
                details = (*self._said(), *map(right_with, explanation.changes))
                words = f"{happens} in a graph with {in_graph(what.levels)}"
                return _told(words, explanation, alone, *details, joint=" and ")
            case Errs():
                relation = self._usual_relation()
                elements = f": the wrong elements {relation}" if relation else ""
                everywhere = "" if explanation.condition else " nearly everywhere"
                return _told(f"{happens}{everywhere}", explanation, elements, example)

    def unexplained(self, sweep: str) -> Sentence:
        """Return the sentence and details for failures without an explanation; a sweep may be all that they share."""
        shown, happens = self.shown, self._happens()
        if shown.record.varies:
            return capitalised(f"{happens} {fresh_process_phrase(shown.record)}"), (self.phrase,)
        if isinstance(shown.ruling, ReadingChanged | MixedReadings):
            return self._of_readings(shown.ruling)
        # The phrase of a wrong shape already has both shapes.
        described = (shown.why.described,) if shown.why.described and shown.ruling.kind != "wrong-shape" else ()
        is_unknown = isinstance(shown.ruling, ver.WrongOutput | ver.Crashed | ver.TimedOut)
        unknown = ("why is not known",) if is_unknown else ()
        return capitalised(f"{happens}{sweep and f' in {sweep}'}{self._undeclared}"), (
            *self._said(),
            *described,
            *unknown,
        )

    def _of_readings(self, ruling: ReadingChanged | MixedReadings) -> Sentence:
        """Return the sentence for allowed answers that a pin or other answers of the run contradict."""
        dialect = self.shown.record.dialect
        if isinstance(ruling, MixedReadings):
            names = ruling.readings or (_PRIMARY,)
            meaning = "; ".join(_interpretation(ruling.question, name, dialect) for name in names)
            return f"Contradicts its other answers: {meaning}", (self.phrase,)
        now, was = (_interpretation(ruling.question, name, dialect) for name in (ruling.now, ruling.was))
        return f"Follows another allowed interpretation than is pinned: {now}", (f"pinned: {was}", self.phrase)

    def _happens(self) -> str:
        """Return what the runtime does in the failures, the most severe first."""
        kinds = sorted({member.ruling.kind for member in self.members}, key=SEVERITY.index)
        is_told = kinds == ["accepted-invalid"]
        first, invalid = self.shown.ruling, " on invalid calls" if self.is_invalid and not is_told else ""
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
        return "; no waiver file declares this" if self.shown.status is Status.UNDECLARED else ""

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
    choices = [Combination.parse(together).names for together in ruling.choices]
    names = [name for together in choices for name in together]
    if ruling.rule != "refusal":
        # Readings of one choice are followed together; several choices give the same output, so that one of them is.
        meaning = "; or ".join(filter(None, (says(together, shown.record.dialect) for together in choices)))
        line = f"Follows another interpretation that the text allows{meaning and f': {meaning}'}"
        if len(line.split()) <= _MOST_WORDS:
            return line, (phrase,)
        several = f"one of {len(choices)}" if len(choices) > 1 else f"{len(names)}"
        return f"Follows {several} other interpretations that the text allows", (meaning, phrase)
    # Several names are possible reasons, of which one is enough.
    reasons = [
        f"{'because they break' if _refusing(name) else 'as another interpretation says:'} "
        f"{says([name], shown.record.dialect) or name}"
        for name in names
    ]
    line = f"Refuses calls, {'perhaps ' if ruling.notes else ''}{' or '.join(reasons)}"
    if len(line.split()) <= _MOST_WORDS or len(reasons) == 1:
        return line, (phrase,)
    perhaps = "perhaps for" if ruling.notes else "for"
    return f"Refuses calls, {perhaps} one of {len(reasons)} reasons that the text allows", (
        "; or ".join(reasons),
        phrase,
    )


def of_accepted(shown: RecordStatus) -> Sentence:
    """Return the sentence for answers to invalid calls."""
    ruling = shown.ruling
    if not isinstance(ruling, ver.AcceptedInvalid):
        return headline(ruling), ()
    constraint = CONSTRAINTS.get(ruling.constraint)
    demands = "the text demands" if ruling.stated else "no value is defined unless"
    if constraint is None:
        return capitalised(f"answers calls that break {ruling.constraint}"), ()
    that = " that" if ruling.stated else ""
    return capitalised(f"answers invalid calls: {demands}{that} {constraint.says}"), (f"breaks {ruling.constraint}",)


def says(names: Iterable[str], dialect_name: str) -> str:
    """Return the meanings of readings or misreadings, by their names."""
    dialect = DIALECTS.get(dialect_name)
    known = meanings(dialect) if dialect else {}
    return "; ".join(text for name in names if (text := known.get(name) or _refusing(name)))


def _interpretation(question: str, name: str, dialect_name: str) -> str:
    """Return the meaning of a reading of a question, or of the text's first reading, in words."""
    if constraint := CONSTRAINTS.get(question):
        return f"calls are {'refused' if _refusing(name) else 'answered'} if this does not hold: {constraint.says}"
    dialect = DIALECTS.get(dialect_name)
    if name == _PRIMARY and dialect:
        return in_the_text(question, getattr(dialect.rules, question))
    return says([name], dialect_name) or name


def _refusing(name: str) -> str:
    """Return the meaning of refusing a constraint that a text leaves open; empty for another name."""
    constraint = CONSTRAINTS.get(name.removesuffix("-refused"))
    return f"a rule that the text leaves open: {constraint.says}" if constraint and name.endswith("-refused") else ""


def _told(before: str, explanation: Explanation, after: str, *details: str, joint: str = " if ") -> Sentence:
    """Return a sentence with the condition of an explanation, and its details.

    A long sentence has only the first terms of the condition; the other terms are the first detail then.

    Args:
        before: the beginning of the sentence.
        explanation: the explanation.
        after: the end of the sentence.
        details: the details.
        joint: the word before the condition.
    """
    terms = [*clauses(explanation.condition or ())]
    if not terms:
        return capitalised(f"{before}{after}"), details
    for shown in range(len(terms), 0, -1):
        more = terms[shown:]
        conditions = "condition" if len(more) == 1 else "conditions"
        words = listed(terms[:shown]) + (f", with {len(more)} more {conditions}" if more else "")
        line = f"{before}{joint}{words}{_exceptions(explanation)}{after}"
        if len(line.split()) <= _MOST_WORDS:
            break
    return capitalised(line), (f"the other {conditions}: {listed(more)}", *details) if more else details


def _exceptions(explanation: Explanation) -> str:
    """Return the number of exceptions from the condition of an explanation."""
    met = explanation.met
    is_mechanism = isinstance(explanation.what, Misreads | Follows)
    # A runtime that computes something else may get the right values by chance.
    others = len(explanation.against) + (0 if is_mechanism else explanation.silent)
    if exceptions := len(explanation.cases) - met + (others if is_mechanism else 0):
        return f", with {counted(exceptions, 'exception')}"
    return f", in {met:,} of {met + others:,} such calls" if others else ""


def evidence_for(explanation: Explanation) -> str:
    """Return how strong the evidence for an explanation is, in words; empty if there is nothing to say."""
    condition, count, against = explanation.condition, len(explanation.cases), len(explanation.against)
    others, contradict = explanation.others, f"contradict{'' if against > 1 else 's'} it"
    if isinstance(explanation.what, InContext):
        exact = f", of which the condition holds for {against:,}" if condition else ""
        contexts = counted(others, "other context")
        return f"fails in {count:,}, and is right in {contexts} with the same levels{exact}"
    if condition is None:
        return f"{against:,} other calls contradict it" if against else ""
    failures = counted(count, "failure")
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
    return f"tested on {counted(count, 'new call')}{contradict}"


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
        return f"computes {QUANTITIES[first.quantity]} too {'large' if sign == '+' else 'small'} by {by}"
    return f"computes {listed([*dict.fromkeys(QUANTITIES[rule.quantity] for rule in rules)])} wrongly"


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
    words = _LETTER.sub(lambda found: LETTERS[found[0]], str(formula))
    return _TIGHT.sub(r" \1 ", words)
