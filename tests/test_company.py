"""Cases in company: what agrees is believed, everything else is asked alone, and a difference between both is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from small_corpus import HEAD, TIMEOUT, written
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.backends.outcome import Produced
from tconv.cases.layouts import from_ncx
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.execution.company import Companion, axes_key
from tconv.execution.evaluation import Evaluator
from tconv.execution.pool import Pool
from tconv.execution.position import Position
from tconv.execution.worker import Assignment
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from wrong_backends import TROUBLE, RefusesTrouble, troubled

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.backends import Backend
    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.records.record import Record

SIZE = 8
PEACE = f"""{HEAD}
sweeps:
  - name: few
    axes: {{spatial: [[2], [3], [4], [5]], strides: [1, 2, 3, 4]}}
"""
WITH_TROUBLE = PEACE.replace("[1, 2, 3, 4]", f"[1, 2, 3, {TROUBLE}]")
INVALID = """cases:
  - {name: invalid, with: {strides: [0], breaks: strides-positive}}
  - {name: symbols, with: {shapes: symbolic}}
"""


def cases(folder: Path, text: str) -> list[Case]:
    """Return the cases of a case file's text."""
    return list(Corpus.load(written(folder, text)).cases())


def records(backend: str, asked: list[Case], *, together: int = SIZE, timeout: float = TIMEOUT) -> dict[str, Record]:
    """Return what a backend's records are, in company of so many, by id and without seconds."""
    assignment = Assignment(f"wrong_backends:{backend}", None, None, "", together=together)
    with Pool(assignment, 1, timeout) as pool:
        return {line.case: replace(line.record, seconds=0.0) for line in pool.run(asked)}


def in_trouble(asked: list[Case]) -> set[str]:
    """Return the ids of the cases that some backends cannot stand."""
    return {case.id for case in asked if case.attributes.strides == (TROUBLE,)}


@pytest.mark.parametrize("backend", ["Company", "RefusesTrouble", "DiesOfTrouble"])
def test_company_finds_what_is_found_alone(tmp_path: Path, backend: str) -> None:
    """Agreements, refusals and deaths: every record is the one that the case has alone."""
    asked = cases(tmp_path, WITH_TROUBLE + INVALID)
    alone = records(backend, asked, together=1)
    assert records(backend, asked) == alone
    assert len(alone) == len(asked)


@pytest.mark.parametrize("together", [1, SIZE])
@pytest.mark.parametrize(
    "backend", ["OverwritesItsCompany", "OverwritesItsPosition", "OverwritesWithOnes", "OverwritesWithNaN"]
)
def test_nobody_is_blamed_for_a_death_of_an_unknown_case(tmp_path: Path, backend: str, together: int) -> None:
    """A runtime may write over the memory that says who is asked: each case is asked again, and only the guilty die."""
    asked = cases(tmp_path, WITH_TROUBLE)
    found = records(backend, asked, together=together)
    assert {case for case, record in found.items() if record.verdict.kind == "died"} == in_trouble(asked)
    assert {record.verdict.kind for case, record in found.items() if case not in in_trouble(asked)} == {"agreed"}


def test_a_company_may_be_answered_in_memory_that_is_used_again(tmp_path: Path) -> None:
    """The first is asked alone too while the answers to the others wait: these are still what they were."""
    found = records("CompanyInOneBuffer", cases(tmp_path, PEACE))
    assert {record.verdict.kind for record in found.values()} == {"agreed"}


def test_a_wrong_answer_in_company_alone_is_a_verdict_of_its_own(tmp_path: Path) -> None:
    """The record names the whole company, what was wrong there, and that the same case agrees alone."""
    asked = cases(tmp_path, PEACE)
    found = records("LastWrongInCompany", asked)
    differing = {case: record.verdict for case, record in found.items() if record.verdict.kind != "agreed"}
    assert list(differing) == [asked[SIZE - 1].id, asked[2 * SIZE - 1].id]
    first = differing[asked[SIZE - 1].id]
    assert first == ver.DiffersInCompany(tuple(case.id for case in asked[:SIZE]), "differed", "agreed")


def test_a_wrong_answer_alone_does_not_hide_in_company(tmp_path: Path) -> None:
    """The first case of each company is asked alone too."""
    asked = cases(tmp_path, PEACE)
    verdicts = {case: record.verdict for case, record in records("WrongAlone", asked).items()}
    for first in (asked[0], asked[SIZE]):
        verdict = verdicts.pop(first.id)
        assert isinstance(verdict, ver.DiffersInCompany)
        assert (verdict.in_company, verdict.alone) == ("agreed", "differed")
    assert {verdict.kind for verdict in verdicts.values()} == {"agreed"}


def test_wrong_alone_and_otherwise_wrong_in_company_is_told(tmp_path: Path) -> None:
    """Both are `differed`, and the record names the first element with its two values; after some, all go alone."""
    asked = cases(tmp_path, PEACE)
    found = records("WrongEverywhere", asked)
    for case in asked[:SIZE]:
        verdict = found[case.id].verdict
        assert isinstance(verdict, ver.DiffersInCompany)
        in_company, place = verdict.in_company.split(" at ")
        alone, same_place = verdict.alone.split(" at ")
        assert (float(in_company), place) == (float(alone) + 1, same_place)
    assert {found[case.id].verdict.kind for case in asked[SIZE:]} == {"differed"}


def test_equally_wrong_alone_and_in_company_is_just_wrong(tmp_path: Path) -> None:
    """The record is the one that the case has alone."""
    asked = cases(tmp_path, PEACE)
    found = records("WrongAlike", asked)
    assert found == records("WrongAlike", asked, together=1)
    assert {record.verdict.kind for record in found.values()} == {"differed"}


def test_a_difference_that_is_not_repeated_is_unstable(tmp_path: Path) -> None:
    """Whoever answers a company in two ways is not blamed for company."""
    asked = cases(tmp_path, PEACE)
    found = {case: record.verdict for case, record in records("WrongOnceInCompany", asked).items()}
    verdict = found.pop(asked[SIZE - 1].id)
    assert isinstance(verdict, ver.Unstable)
    assert verdict.message == "differed in company and agreed alone, and then agreed and agreed"
    assert {verdict.kind for verdict in found.values()} == {"agreed"}


@pytest.mark.parametrize(
    ("backend", "size", "words"),
    [
        ("RefusesLargeCompany", SIZE // 2, "too many nodes"),
        ("RaisesInCompany", 2, "no company"),
        ("ShortInCompany", 2, "must return a list with an outcome for each of 2 calls (got 1"),
    ],
)
def test_a_company_that_is_refused_while_each_half_agrees_differs(
    tmp_path: Path, backend: str, size: int, words: str
) -> None:
    """The smallest company that is refused as a whole, or ends in an exception, is what its records name."""
    asked = cases(tmp_path, PEACE)
    found = records(backend, asked)
    assert set(found) == {case.id for case in asked}
    for record in found.values():
        assert isinstance(record.verdict, ver.DiffersInCompany)
        assert len(record.verdict.company) == size
        assert record.case in record.verdict.company
        assert words in record.verdict.in_company


def test_a_company_that_is_refused_once_and_then_answered_is_unstable(tmp_path: Path) -> None:
    """Its halves agree and it is asked again: nobody can say what is wrong, and it is not hidden."""
    asked = cases(tmp_path, PEACE)
    found = records("RefusesOnceInCompany", asked)
    for number, case in enumerate(asked):
        assert found[case.id].verdict.kind == ("unstable" if number < SIZE else "agreed")


@pytest.mark.parametrize(("backend", "what"), [("DiesInCompany", "SIGSEGV"), ("HangsInCompany", "no answer in 2 s")])
def test_a_company_that_nobody_survives_is_told_where_each_does_alone(tmp_path: Path, backend: str, what: str) -> None:
    """All of that company differ, as nobody knows whose fault it is; other companies agree."""
    asked = cases(tmp_path, WITH_TROUBLE + INVALID)
    found = records(backend, asked, together=4, timeout=0.5)
    assert set(found) == {case.id for case in asked}
    for case in asked:
        verdict = found[case.id].verdict
        if isinstance(verdict, ver.DiffersInCompany):
            assert (verdict.in_company, verdict.alone) == (what, "agreed")
            assert in_trouble(asked) & set(verdict.company)
        else:
            assert verdict.kind == "agreed"
            assert case.id not in in_trouble(asked)
    assert any(isinstance(record.verdict, ver.DiffersInCompany) for record in found.values())


def test_a_company_that_hangs_once_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked again and answered: no process died, and a busy machine may be slow."""
    monkeypatch.setenv("WRONG_BACKENDS_HUNG", str(tmp_path / "hung"))
    found = records("HangsOnceInCompany", cases(tmp_path, PEACE), together=4, timeout=0.5)
    assert {record.verdict.kind for record in found.values()} == {"agreed"}
    assert {record.harmed for record in found.values()} == {None}


def test_what_is_like_cases_that_end_workers_goes_alone(tmp_path: Path) -> None:
    """After two deaths of a kind a death costs no more workers than alone: one that has a past, and a fresh one."""
    sizes = [[size] for size in range(2, 18)]
    asked = cases(tmp_path, PEACE.replace("[[2], [3], [4], [5]]", str(sizes)).replace("2, 3, 4]", f"{TROUBLE}]"))
    with Pool(Assignment("wrong_backends:DiesOfTrouble", None, None, "", together=4), 1, TIMEOUT) as pool:
        died = {line.case for line in pool.run(asked) if line.record.verdict.kind == "died"}
        started = pool._workers._started
    assert died == in_trouble(asked)
    assert started <= 2 * len(died) + 4


def test_what_was_refused_is_asked_alone_with_other_layouts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One refusal breaks one company up: calls of the same sizes and attributes have the likeness of others too."""
    layouts = "{data_format: [NCX, NXC], filter_format: [XOI, IOX], spatial: [["
    asked = cases(tmp_path, WITH_TROUBLE.replace("{spatial: [[", layouts))
    companies = []
    backend = RefusesTrouble()
    together = backend.run_together
    monkeypatch.setattr(backend, "run_together", lambda *given: companies.append(given) or together(*given))
    evaluator = Evaluator(backend, "wrong", DIALECTS["onnx/ConvTranspose-22"], {}, None)
    found = dict(Companion(evaluator, Position(SIZE), SIZE).records(asked))
    questions = {axes_key(asked[place]) for place, record in found.items() if record.verdict.kind == "refused-valid"}
    refusing = [calls for calls, _ in companies if any(map(troubled, calls))]
    assert len(in_trouble(asked)) == 4 * len(questions)
    assert len(refusing) == len(questions)
    assert len(companies) > len(refusing)


class OfReadings:
    """Answers under one of the readings alone, and under another in company, by their numbers; 0 is the primary one."""

    def __init__(self, problems: list[Problem], alone: int, together: int) -> None:
        self.problems, self.alone, self.together = problems, alone, together

    def produced(self, call: Call, reading: int) -> Produced:
        """Return the output under a reading."""
        problem = next(problem for problem in self.problems if problem.call == call)
        assert problem.values is not None
        values = problem.truth.values(problem.values.candidates[reading].geometry)
        return Produced(from_ncx(values.astype(np.float32), call.data_format))

    def run(self, call: Call, _: object) -> Produced:
        """Answer alone."""
        return self.produced(call, self.alone)

    def run_together(self, calls: list[Call], _: object) -> list[Produced]:
        """Answer in company."""
        return [self.produced(call, self.together) for call in calls]


@pytest.mark.parametrize(
    ("alone", "together", "kind"),
    [(0, 1, "differs-in-company"), (1, 0, "differs-in-company"), (1, 1, "disputed")],
)
def test_a_disputed_reading_is_not_believed_of_company(alone: int, together: int, kind: str) -> None:
    """Another reading in company than alone is a difference, for each case and not for the first alone."""
    dialect = DIALECTS["onnx/ConvTranspose-22"]
    problems = [Problem(case, dialect) for case in Corpus.load().cases("gate") if case.plain and case.x.dtype == "f32"]
    disputed = [of for of in problems if of.values and of.values.disputed and not of.values.refusals]
    asked = [of for of in disputed if of.case.breaks is None][:3]
    assert len(asked) == 3
    evaluator = Evaluator(cast("Backend", OfReadings(asked, alone, together)), "readings", dialect, {}, None)
    found = Companion(evaluator, Position(SIZE), SIZE).records([problem.case for problem in asked])
    kinds = [record.verdict.kind for _, record in found]
    if (alone, together) == (1, 0):
        # The primary reading is what all owe: in company it is believed, but of the first, which is asked alone too.
        assert kinds == [kind, "agreed", "agreed"]
    else:
        assert kinds == [kind] * 3


def test_what_cannot_be_asked_says_nothing_of_its_like(tmp_path: Path) -> None:
    """Cases that the dialect has no words for stand between cases of a refused question, and do not count as failed."""
    asked = cases(tmp_path, WITH_TROUBLE.replace("{spatial: [[", "{data_format: [NCX, NXC], spatial: [["))
    backend = RefusesTrouble()
    evaluator = Evaluator(backend, "wrong", DIALECTS["onnx/ConvTranspose-22"], {}, None)
    companion = Companion(evaluator, Position(SIZE), SIZE)
    list(companion.records(asked))
    expressible = [case for case in asked if Problem(case, evaluator.dialect).values is not None]
    assert companion._asked[asked[0].x.dtype] == len(expressible)


def test_a_death_of_a_case_that_found_no_company_is_its_own(tmp_path: Path) -> None:
    """It is asked when all others of its chunk have been prepared or answered, and none of those is harmed."""
    text = WITH_TROUBLE.replace("[1, 2, 3, 7]", "[1, 2]") + (
        "cases:\n  - {name: alone, with: {strides: 7, dtype: f64}}\n  - {name: last, with: {shapes: symbolic}}\n"
    )
    asked = sorted(cases(tmp_path, text), key=lambda case: case.id != "small/alone")
    assert asked[0].id == "small/alone"
    found = records("DiesOfTrouble", asked)
    assert {case for case, record in found.items() if record.verdict.kind == "died"} == {"small/alone"}
    assert not any(record.harmed for record in found.values())


def test_a_model_of_several_calls_gives_what_each_alone_gives() -> None:
    """Onnxruntime on groups, layouts, types, biases and filters that are fed: bit for bit, and in the calls' order."""
    runtime, dialect = OnnxRuntime(), DIALECTS["onnx/ConvTranspose-22"]
    corpus = Corpus.load()
    patterns = ("layouts/**", "groups/**", "presentation/**[shapes=static]")
    problems = [Problem(case, dialect) for case in corpus.cases("smoke", patterns) if case.shapes == "static"]
    problems = [problem for problem in problems if problem.values is not None and problem.call.dtype == "f32"][:40]
    assert len(problems) > 20
    alone = [runtime.run(problem.call, problem.arrays) for problem in problems]
    answered = [problem for problem, outcome in zip(problems, alone, strict=True) if hasattr(outcome, "array")]
    together = runtime.run_together([p.call for p in answered], [p.arrays for p in answered])
    assert isinstance(together, list)
    expected = [outcome.array for outcome in alone if hasattr(outcome, "array")]
    assert [outcome.array.tobytes() for outcome in together] == [array.tobytes() for array in expected]
