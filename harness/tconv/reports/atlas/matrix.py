"""Who follows what: a question on which texts differ, and each backend's answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.comparison.answers import Answers, Given, Opened, answers
from tconv.dialects import GEOMETRY_1, Absent, Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS
from tconv.expectation.owed import expectation
from tconv.records import artifacts
from tconv.reports.atlas import words
from tconv.reports.atlas.source import Example, Source, called, listed, values
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.corpus import Corpus
    from tconv.dialects import Dialect
    from tconv.dialects.readings import Reading
    from tconv.records.record_file import Record
    from tconv.vocabulary import Array


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """What a text says to a question: its answer with the clause, and what else it allows."""

    dialect: Dialect
    says: str
    cites: str
    also: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class Follows:
    """What one backend answers to a question.

    Attributes:
        source: the run.
        cells: for each answer: the word, whether the text says so (`text`), allows it (`disputed`) or not
            (`deviation`), how many cases tell it, and the smallest of them with what was returned.
    """

    source: Source
    cells: tuple[tuple[str, str, int, Example], ...]

    @property
    def inconsistent(self) -> bool:
        """Whether there are several answers."""
        return len(self.cells) > 1


@dataclass(frozen=True, slots=True)
class Clause:
    """A question on which texts differ, or that one leaves open; what each says, and what each backend does."""

    name: str
    question: str
    texts: tuple[TextAnswer, ...]
    follows: tuple[Follows, ...]


def clauses(sources: Sequence[Source], corpus: Corpus, dialects: Sequence[Dialect]) -> Iterator[Clause]:
    """Yield every question on which texts differ, or that one leaves open, with what each backend answers."""
    given = {id(source): _given(source, corpus) for source in sources}
    for question in (*QUESTIONS, *CONSTRAINTS):
        texts = tuple(_texts(question, dialects))
        follows = tuple(
            _follows(source, found[question]) for source in sources if question in (found := given[id(source)])
        )
        if len({text.says for text in texts}) > 1 or any(text.also for text in texts) or question in CONSTRAINTS:
            asked = (
                words.QUESTIONS.get(question)
                or f"Is a call answered where this does not hold: {CONSTRAINTS[question].says}?"
            )
            if question not in CONSTRAINTS or _is_open(question, dialects):
                yield Clause(question, asked, texts, follows)


def _is_open(constraint: str, dialects: Sequence[Dialect]) -> bool:
    return any(isinstance(dialect.constraints[constraint], Open) for dialect in dialects)


def _given(source: Source, corpus: Corpus) -> dict[str, Answers]:
    """Return the answers of a run, those among them that no reading of its text allows."""
    run = source.assessment.run
    if source.dialect is GEOMETRY_1:
        return {}

    def actual(record: Record) -> Array | None:
        return artifacts.array(run.path.parent, record.artifact, "actual")

    found = answers(run, corpus.find, source.dialect.every_reading(), actual, source.assessment.waived)
    return {answers.question: answers for answers in found}


def _texts(question: str, dialects: Sequence[Dialect]) -> Iterator[TextAnswer]:
    for dialect in dialects:
        if question in CONSTRAINTS:
            answer = dialect.constraints[question]
            says = {Absent: "answered", Open: "open"}.get(type(answer), "refused")
            yield TextAnswer(dialect, says, answer.clause)
        else:
            also = tuple(reading for reading in dialect.disputed if reading.change.question == question)
            says = words.ANSWERS[getattr(dialect.rules, question)]
            yield TextAnswer(dialect, says, dialect.cites[question], also)


def _follows(source: Source, found: Answers) -> Follows:
    return Follows(source, tuple(_cell(source, found.question, given) for given in found.given))


def _cell(source: Source, question: str, given: Given) -> tuple[str, str, int, Example]:
    standing = _standing(source.dialect, question, given.answer)
    return given.answer, standing, given.count, _example(source, given)


def _standing(dialect: Dialect, question: str, answer: str) -> str:
    """Return whether a text says so, allows it, or neither."""
    if question in CONSTRAINTS:
        return "disputed" if answer == Opened.REFUSED else "text"
    if answer == getattr(dialect.rules, question):
        return "text"
    allowed = any(r.change.question == question and r.change.answer == answer for r in dialect.disputed)
    return "disputed" if allowed else "deviation"


def _example(source: Source, given: Given) -> Example:
    """Return the case and what the backend returned: a verdict of equality says that it is the reference's output."""
    case = given.example
    expected = expectation(case, source.dialect)
    record = next(record for record in source.assessment.run.records if record.case == case.id)
    verdict = record.verdict
    if given.answer == Opened.REFUSED or (isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"):
        return Example(case.id, called(case, source.dialect), "refused")
    array = artifacts.array(source.assessment.run.path.parent, record.artifact, "actual")
    if array is None and (geometry := followed(verdict, expected)) is not None:
        array = values(case, geometry)
    returned = "a value" if array is None else listed(array)
    if isinstance(verdict, ver.Agreed | ver.Disputed) and verdict.rule == "shape" and array is not None:
        returned = f"shape {list(array.shape)}"
    return Example(case.id, called(case, source.dialect), returned)
