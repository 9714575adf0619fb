"""The questions on which texts differ, with the answer of every text and of every backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.comparison.answers import Opened, answers
from tconv.dialects import GEOMETRY_1, Absent, Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS
from tconv.expectation.owed import expectation
from tconv.records import artifacts
from tconv.reports.atlas import wording
from tconv.reports.atlas.examples import Example, call_text, output_text, reference
from tconv.reports.page.arrays import LARGEST
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.comparison.answers import QuestionAnswers, ShownAnswer
    from tconv.corpus import Corpus
    from tconv.dialects import Dialect
    from tconv.dialects.readings import Reading
    from tconv.records.record import Record
    from tconv.reports.atlas.runs import AtlasRun
    from tconv.vocabulary import Array


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """A text's answer to a question with its clause, and the disputed readings that answer otherwise."""

    dialect: Dialect
    says: str
    cites: str
    also: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class BackendAnswer:
    """An answer that a backend gives.

    Attributes:
        answer: the answer.
        standing: `text` where it is the text's own, `disputed` where a reading allows it, else `deviation`.
        count: the number of cases that show it.
        example: the smallest of them, with the output of the backend.
    """

    answer: str
    standing: str
    count: int
    example: Example


@dataclass(frozen=True, slots=True)
class Follows:
    """The answers of one backend to a question, several where it is inconsistent."""

    run: AtlasRun
    cells: tuple[BackendAnswer, ...]

    @property
    def inconsistent(self) -> bool:
        """Whether there are several answers."""
        return len(self.cells) > 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question on which texts differ, or that a text leaves open, with the answers of texts and backends."""

    name: str
    wording: str
    texts: tuple[TextAnswer, ...]
    follows: tuple[Follows, ...]


def questions(runs: Sequence[AtlasRun], corpus: Corpus, dialects: Sequence[Dialect]) -> Iterator[Question]:
    """Yield every question on which texts differ, or that a text leaves open."""
    run_answers = [(run, _answers(run, corpus)) for run in runs]
    for name in (*QUESTIONS, *CONSTRAINTS):
        texts = tuple(_texts(name, dialects))
        says = {text.says for text in texts}
        if name in CONSTRAINTS:
            # Where the operator has no value at all, a refusal is the only answer.
            differ = "open" in says and not CONSTRAINTS[name].needed
            asks = f"Is a call answered where this does not hold: {CONSTRAINTS[name].says}?"
        else:
            differ = len(says) > 1 or any(text.also for text in texts)
            asks = wording.QUESTIONS[name]
        if differ:
            follows = tuple(_follows(run, by_name[name]) for run, by_name in run_answers if name in by_name)
            yield Question(name, asks, texts, follows)


def _answers(run: AtlasRun, corpus: Corpus) -> dict[str, QuestionAnswers]:
    """Return the answers that a run shows, by question, including those that no reading of its text allows."""
    records = run.assessment.run
    if run.dialect is GEOMETRY_1:
        return {}

    def actual(record: Record) -> Array | None:
        return artifacts.array(records.path.parent, record.artifact, "actual", LARGEST)

    shown = answers(records, corpus.find, run.dialect.every_reading(), actual, run.assessment.waived)
    return {answered.question: answered for answered in shown}


def _texts(name: str, dialects: Sequence[Dialect]) -> Iterator[TextAnswer]:
    for dialect in dialects:
        if name in CONSTRAINTS:
            answer = dialect.constraints[name]
            says = {Absent: "answered", Open: "open"}.get(type(answer), "refused")
            yield TextAnswer(dialect, says, answer.clause)
        else:
            also = tuple(reading for reading in dialect.disputed if reading.change.question == name)
            says = wording.ANSWERS[getattr(dialect.rules, name)]
            yield TextAnswer(dialect, says, dialect.cites[name], also)


def _follows(run: AtlasRun, answered: QuestionAnswers) -> Follows:
    cells = (
        BackendAnswer(
            answer.answer, _standing(run.dialect, answered.question, answer.answer), answer.count, _example(run, answer)
        )
        for answer in answered.answers
    )
    return Follows(run, tuple(cells))


def _standing(dialect: Dialect, question: str, answer: str) -> str:
    """Return whether an answer is the text's own, disputed, or a deviation."""
    if question in CONSTRAINTS:
        return "disputed" if answer == Opened.REFUSED else "text"
    if answer == getattr(dialect.rules, question):
        return "text"
    changes = [reading.change for reading in dialect.disputed]
    allowed = any(change.question == question and change.answer == answer for change in changes)
    return "disputed" if allowed else "deviation"


def _example(run: AtlasRun, answer: ShownAnswer) -> Example:
    case = answer.example
    return Example(case.id, call_text(case, run.dialect), _output(run, case, answer.answer))


def _output(run: AtlasRun, case: Case, answer: str) -> str:
    """Return what a backend returned for a case; where the verdict is equality, that is the reference's output."""
    record = run.records[case.id]
    verdict = record.verdict
    if answer == Opened.REFUSED or (isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"):
        return "refused"
    array = artifacts.array(run.assessment.run.path.parent, record.artifact, "actual", LARGEST)
    if array is None and (geometry := followed(verdict, expectation(case, run.dialect))) is not None:
        array = reference(case, geometry)
    if array is None:
        return "a value"
    if isinstance(verdict, ver.Allowed) and verdict.rule == "shape":
        return f"shape {list(array.shape)}"
    return output_text(array)
