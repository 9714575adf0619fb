"""What the atlas says, put together from the rules, the corpus and records; nothing in it is written by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv import verdict as ver
from tconv.answers import Answers, Opened, Told, answers, every_reading
from tconv.call import say
from tconv.constraints import CONSTRAINTS
from tconv.diagnosis import shared
from tconv.dialects import DIALECTS, Absent, Open
from tconv.expectation import Values, expectation
from tconv.judge import Truth
from tconv.operands import make
from tconv.porting import Catalogue, Change, alike
from tconv.reports.atlas import words
from tconv.reports.page.artifacts import kept
from tconv.rules import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.answers import Array
    from tconv.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects import Dialect
    from tconv.expectation import Expectation
    from tconv.gate import Assessment, Status
    from tconv.geometry import Geometry
    from tconv.readings import Reading
    from tconv.records import Record
    from tconv.waivers import Waiver

_SHOWN = 24
"""Elements of an output that are written out."""
_NAMED = 3
"""Misreadings that are named of one deviation."""
_NO_TEXT = "geometry/1"


@dataclass(frozen=True, slots=True)
class Source:
    """A backend's run, as columns and cells name it."""

    name: str
    dialect: str
    assessment: Assessment

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many records have each status."""
        return self.assessment.counts


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """What a text says to a question: its answer with the clause, and what else it allows."""

    dialect: str
    says: str
    cites: str
    also: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A case in the words of a dialect, and what it comes to."""

    case: str
    call: str
    values: str


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


@dataclass(frozen=True, slots=True)
class Row:
    """One change on the way from a text to another.

    Attributes:
        change: the change.
        before: the example in the source's words, and its output there.
        after: the target's output of the same attributes by its text; empty where it cannot say them.
        instead: backends of the target that follow another reading there, with what they returned.
        rewriting: the attributes, in the target's words, that keep the source's output; or what else to do.
        verified: the backends of either side that returned the source's output; or why that is not shown.
    """

    change: Change
    before: Example
    after: str
    instead: tuple[tuple[str, str], ...]
    rewriting: str
    verified: str


@dataclass(frozen=True, slots=True)
class Pair:
    """From one dialect to another."""

    source: str
    target: str
    layouts: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two sentences of one text that do not agree."""

    dialect: str
    about: str
    primary: str
    other: str
    says: str


@dataclass(frozen=True, slots=True)
class Deviation:
    """A waiver that was used: what a backend does against its text, and the misreadings that explain it."""

    source: Source
    waiver: Waiver
    count: int
    explained: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Atlas:
    """Everything that the atlas says."""

    sources: tuple[Source, ...]
    clauses: tuple[Clause, ...]
    pairs: tuple[Pair, ...]
    same: Mapping[str, Sequence[str]]
    contradictions: tuple[Contradiction, ...]
    deviations: tuple[Deviation, ...]

    @property
    def red(self) -> tuple[Source, ...]:
        """The runs that are not green: what the atlas says of them is not all that there is."""
        return tuple(source for source in self.sources if source.assessment.red)


def atlas(assessments: Sequence[Assessment], corpus: Corpus) -> Atlas:
    """Return the atlas of some runs.

    Args:
        assessments: the runs, through the gate.
        corpus: what their ids are of.
    """
    sources = tuple(
        Source(f"{run.header.backend.name} {run.header.backend.version}", run.header.dialect, assessment)
        for assessment in assessments
        for run in [assessment.run]
    )
    names = [name for name in DIALECTS if name != _NO_TEXT]
    same = alike(names)
    return Atlas(
        sources,
        tuple(_clauses(sources, corpus, names)),
        tuple(_pairs(sources, corpus, same)),
        same,
        tuple(_contradictions(names)),
        tuple(_deviations(sources)),
    )


# The matrix.


def _clauses(sources: Sequence[Source], corpus: Corpus, names: Sequence[str]) -> Iterator[Clause]:
    told = {id(source): _told(source, corpus) for source in sources}
    for question in (*QUESTIONS, *CONSTRAINTS):
        texts = tuple(_texts(question, names))
        follows = tuple(
            _follows(source, found[question]) for source in sources if question in (found := told[id(source)])
        )
        if len({text.says for text in texts}) > 1 or any(text.also for text in texts) or question in CONSTRAINTS:
            asked = words.QUESTIONS.get(question) or f"Is a call answered where this does not hold: {_says(question)}?"
            if question not in CONSTRAINTS or _is_open(question, names):
                yield Clause(question, asked, texts, follows)


def _says(constraint: str) -> str:
    return CONSTRAINTS[constraint].says


def _is_open(constraint: str, names: Sequence[str]) -> bool:
    return any(isinstance(DIALECTS[name].constraints[constraint], Open) for name in names)


def _told(source: Source, corpus: Corpus) -> dict[str, Answers]:
    """Return the answers of a run, those among them that no reading of its text allows."""
    run = source.assessment.run
    if source.dialect == _NO_TEXT:
        return {}

    def actual(record: Record) -> Array | None:
        return kept(run.path.parent, record.artifact, "actual")

    found = answers(run, corpus.find, every_reading(DIALECTS[source.dialect]), actual, source.assessment.waived)
    return {one.question: one for one in found}


def _texts(question: str, names: Sequence[str]) -> Iterator[TextAnswer]:
    for name in names:
        row = DIALECTS[name]
        if question in CONSTRAINTS:
            answer = row.constraints[question]
            said = {Absent: "answered", Open: "open"}.get(type(answer), "refused")
            yield TextAnswer(name, said, answer.clause)
        else:
            answer = getattr(row.rules, question)
            also = tuple(reading for reading in row.disputed if reading.change.question == question)
            yield TextAnswer(name, words.ANSWERS[answer], row.cites[question], also)


def _follows(source: Source, found: Answers) -> Follows:
    return Follows(source, tuple(_cell(source, found.question, told) for told in found.told))


def _cell(source: Source, question: str, told: Told) -> tuple[str, str, int, Example]:
    row = DIALECTS[source.dialect]
    return told.answer, _standing(row, question, told.answer), told.count, _example(source, row, told)


def _standing(row: Dialect, question: str, answer: str) -> str:
    """Return whether a text says so, allows it, or neither."""
    if question in CONSTRAINTS:
        return "disputed" if answer == Opened.REFUSED else "text"
    if answer == getattr(row.rules, question):
        return "text"
    allowed = any(r.change.question == question and r.change.answer == answer for r in row.disputed)
    return "disputed" if allowed else "deviation"


def _example(source: Source, row: Dialect, told: Told) -> Example:
    """Return the case and what the backend returned: a verdict of equality says that it is the reference's output."""
    case = told.example
    expected = expectation(case, row)
    record = next(one for one in source.assessment.run.records if one.case == case.id)
    verdict = record.verdict
    if told.answer == Opened.REFUSED or (isinstance(verdict, ver.Disputed) and verdict.rule == "refusal"):
        return Example(case.id, _called(case, row), "refused")
    array = kept(source.assessment.run.path.parent, record.artifact, "actual")
    if array is None and (geometry := _geometry(verdict, expected)) is not None:
        array = _values(case, geometry)
    returned = "a value" if array is None else _listed(array)
    if isinstance(verdict, ver.Agreed | ver.Disputed) and verdict.rule == "shape" and array is not None:
        returned = f"shape {list(array.shape)}"
    return Example(case.id, _called(case, row), returned)


def _values(case: Case, geometry: Geometry) -> Array:
    return Truth(make(case.x, case.w, case.b), case.x.dtype).values(geometry)


def _listed(array: Array) -> str:
    """Return an output: its elements where they are few, else its shape."""
    shape = "x".join(map(str, array.shape))
    if not 0 < array.size <= _SHOWN:
        return f"{shape} elements"
    numbers = " ".join(np.format_float_positional(value, precision=6, trim="-") for value in array.ravel().tolist())
    return numbers if prod(array.shape) == array.shape[-1] else f"{shape}: {numbers}"


def _called(case: Case, row: Dialect) -> str:
    """Return a call in the dialect's words."""
    call = say(case, row)
    given = [f"{one.name} {'x'.join(map(str, one.shape))}" for one in call.inputs if one.dtype is not None]
    given += [f"{one.name} {list(one.values)}" for one in call.inputs if one.dtype is None]
    given += [f"{name}={list(value) if isinstance(value, tuple) else value}" for name, value in call.attributes.items()]
    return ", ".join(given)


# From text to text.


def _pairs(sources: Sequence[Source], corpus: Corpus, same: Mapping[str, Sequence[str]]) -> Iterator[Pair]:
    catalogue = Catalogue(corpus.cases("gate"))
    verdicts = {id(one): {record.case: record for record in one.assessment.run.records} for one in sources}
    for source in same:
        for target in same:
            if source != target:
                ours = [one for one in sources if one.dialect in (source, *same[source])]
                theirs = [one for one in sources if one.dialect in (target, *same[target])]
                rows = tuple(
                    _row(change, source, target, catalogue, (ours, theirs), verdicts)
                    for change in catalogue.changes(source, target)
                )
                yield Pair(source, target, _layouts(DIALECTS[source], DIALECTS[target]), rows)


def _layouts(source: Dialect, target: Dialect) -> str:
    """Return what a layout that is not written becomes."""
    differing = [
        f"{word} {one.value} becomes {two.value}"
        for word, one, two in (
            ("data", source.data_format, target.data_format),
            ("filter", source.filter_format, target.filter_format),
        )
        if one != two
    ]
    return "; ".join(differing)


def _row(
    change: Change,
    source: str,
    target: str,
    catalogue: Catalogue,
    sides: tuple[Sequence[Source], Sequence[Source]],
    verdicts: Mapping[int, Mapping[str, Record]],
) -> Row:
    case = change.example
    row, other = DIALECTS[source], DIALECTS[target]
    before = Example(case.id, _called(case, row), _listed(_values(case, change.before)))
    after = "" if change.after is None else _listed(_values(case, change.after))
    instead = tuple(
        (one.name, said) for one in sides[1] if (said := _instead(verdicts[id(one)].get(case.id), other, case))
    )
    if change.rewriting is None:
        advice = words.ADVICE.get(change.what, "none: crop or pad the output with an operation of its own")
        return Row(change, before, after, instead, advice, "")
    plain = catalogue.asked_plainly(case, change.before)
    verified = "computed" if plain is None else _verified(case.id, plain.id, sides, verdicts)
    return Row(change, before, after, instead, _rewriting(change.rewriting, other), verified)


def _instead(record: Record | None, row: Dialect, case: Case) -> str:
    """Return what a backend returned under another reading of its text; empty where it followed the text."""
    if record is None or not isinstance(record.verdict, ver.Disputed):
        return ""
    if record.verdict.rule == "refusal":
        return "refused"
    geometry = _geometry(record.verdict, expectation(case, row))
    return "" if geometry is None else _listed(_values(case, geometry))


def _geometry(verdict: ver.Verdict, expected: Expectation) -> Geometry | None:
    """Return the geometry that a verdict says was followed."""
    if not isinstance(expected, Values):
        return None
    readings = tuple(verdict.readings) if isinstance(verdict, ver.Disputed) else ()
    candidates = (expected.primary, *expected.disputed)
    return next((one.geometry for one in candidates if one.readings == readings), None)


def _agreed(record: Record | None) -> bool:
    return record is not None and isinstance(record.verdict, ver.Agreed) and record.verdict.rule == "exact"


def _verified(
    asked: str,
    plain: str,
    sides: tuple[Sequence[Source], Sequence[Source]],
    verdicts: Mapping[int, Mapping[str, Record]],
) -> str:
    """Return who of either side returned the source's output, or why that is not shown."""
    found: list[list[str]] = []
    missing: list[str] = []
    for side, case, word in zip(sides, (asked, plain), ("source", "target"), strict=True):
        records = [(one.name, verdicts[id(one)].get(case)) for one in side]
        found.append(list(dict.fromkeys(name for name, record in records if _agreed(record))))
        if not found[-1]:
            said = dict.fromkeys(f"{name}: {record.verdict.kind if record else 'not run'}" for name, record in records)
            missing.append(", ".join(said) or f"no run of the {word}")
    if missing:
        return f"computed; {'; '.join(missing)}"
    return f"{', '.join(found[0])} → {', '.join(found[1])}"


def _rewriting(case: Case, target: Dialect) -> str:
    attributes = say(case, target).attributes
    written = [f"{name}={list(value) if isinstance(value, tuple) else value}" for name, value in attributes.items()]
    return ", ".join(written) or "no attribute"


# Inside a text.


def _contradictions(names: Sequence[str]) -> Iterator[Contradiction]:
    """Yield every reading of a text that stands against the one taken as primary."""
    for name in names:
        row = DIALECTS[name]
        for reading in row.disputed:
            primary = row.cites[reading.change.question]
            yield Contradiction(name, reading.change.question, primary, reading.cites, reading.says)
        for constraint, answer in row.constraints.items():
            if isinstance(answer, Open) and " against " in answer.clause:
                one, _, two = answer.clause.partition(" against ")
                yield Contradiction(name, constraint, one, two, f"Must this hold: {_says(constraint)}?")


def _deviations(sources: Sequence[Source]) -> Iterator[Deviation]:
    for source in sources:
        used = Counter(judged.waiver.name for judged in source.assessment.judged if judged.waiver is not None)
        waivers = {
            judged.waiver.name: judged.waiver for judged in source.assessment.judged if judged.waiver is not None
        }
        diagnoses: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
        for judged in source.assessment.judged:
            if judged.waiver is not None:
                diagnoses[judged.waiver.name][judged.record.case] = judged.record.diagnosis
        for name, count in used.most_common():
            explained = Counter(shared(diagnoses[name]).values())
            yield Deviation(source, waivers[name], count, tuple(one for one, _ in explained.most_common(_NAMED)))
