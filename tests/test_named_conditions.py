"""A misreading of one kernel alone: its name, with the condition on the calls that reach the kernel, is one cause."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml

from made_records import run_of
from played_backends import ONNX, assessment_of, presented, records_of
from reporting import noted_of, run_report
from tconv.diagnosis.misreadings import apply, misreadings_by_name
from tconv.dialects import find_dialect
from tconv.dialects.readings import Combination
from tconv.expectation.truth import Truth
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.learning import JudgedCalls, named_conditions
from tconv.reports.causes import find_causes
from tconv.reports.page.cause_lines import cause_lines
from tconv.reports.proposed_waivers import proposed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.expectation.problem import Problem
    from tconv.learning import Misread
    from tconv.records.record import Record
    from tconv.reports.causes import Cause
    from tconv.vocabulary import Array

IGNORED = Combination(("dilations-ignored",))


@pytest.fixture(scope="module")
def spread(gate_cases: tuple[Case, ...]) -> list[Case]:
    """Return valid cases with dilations and without, in one group and in several."""
    small = [case for case in gate_cases if case.breaks is None and case.simplicity[1] <= 512]
    return [case for case in small if case.id.startswith(("strides-dilations/", "interactions/", "groups/"))][::4]


def misread(name: str, where: Callable[[Problem], bool]) -> Callable[[Problem], Array]:
    """Return a runtime that misreads the calls for which `where` holds."""
    misreading = misreadings_by_name(find_dialect(ONNX.name))[name]

    def answer(problem: Problem) -> Array:
        assert problem.values is not None
        y = problem.truth.compute_values(problem.values.primary.geometry)
        if where(problem):
            found = apply([misreading], problem.signature, problem.dialect, problem.truth.operands)
            if found is not None:
                y = Truth(found.operands, problem.case.x.dtype).compute_values(found.geometry)
        return presented(problem, y)

    return answer


def is_depthwise(problem: Problem) -> bool:
    """Return whether each group has one output channel, and there are several."""
    return (problem.case.attributes.groups or 1) > 1 and problem.case.w.shape[1] == 1


def failed_of(records: Sequence[Record]) -> list[Record]:
    """Return the records of wrong answers."""
    return [record for record in records if record.verdict.kind in {"differed", "wrong-shape"}]


def is_grouped(problem: Problem) -> bool:
    """Return whether there are several groups."""
    return (problem.case.attributes.groups or 1) > 1


def named_of(records: Sequence[Record], failed: Sequence[Record], corpus: Corpus) -> dict[Combination, Misread]:
    """Return where a runtime misreads, by the names of its failures."""
    calls = JudgedCalls({record.case: record.verdict for record in records}, corpus.find, ONNX)
    return named_conditions(calls, {record.case: record.why for record in failed})


def causes_of(records: Sequence[Record], corpus: Corpus) -> list[Cause]:
    """Return the causes of a run of these records, the largest first."""
    return find_causes(assessment_of(records, corpus), Status.FAILED)


def test_a_kernel_that_misreads_is_one_cause_with_its_condition(spread: list[Case], corpus: Corpus) -> None:
    """In all padding modes, wrong values and wrong shapes together: not a rule for each mode."""
    records = records_of(misread("dilations-ignored", is_depthwise), spread)
    failed = failed_of(records)
    assert len(failed) > 20
    (found,) = named_of(records, failed, corpus).items()
    name, where = found
    assert (name, where.cases) == (IGNORED, {record.case for record in failed})
    # In these cases a group has as many channels as output channels.
    assert (str(where.condition), where.condition.right) == ("channels / groups = 1", 0)
    (cause,) = causes_of(records, corpus)
    assert cause.count == len(failed)
    assert f" as if dilations-ignored where {where.condition}: " in cause.what
    assert "siblings" not in cause.what


def test_a_condition_with_exceptions_names_them(spread: list[Case], corpus: Corpus) -> None:
    """Nearly all of the cases are where it says, and hardly any right answer: how many are not is said."""
    numbers = {case.id: number for number, case in enumerate(spread)}

    def kernel(problem: Problem) -> bool:
        number, groups = numbers[problem.case.id], problem.case.attributes.groups or 1
        return number % 7 != 0 if groups > 1 else number % 25 == 0

    records = records_of(misread("dilations-ignored", kernel), spread)
    failed = {record.case for record in failed_of(records)}
    (cause,) = causes_of(records, corpus)
    assert cause.count == len(failed)
    groups = {case.id: case.attributes.groups or 1 for case in spread}
    elsewhere = sum(groups[case] == 1 for case in failed)
    everywhere = {record.case for record in failed_of(records_of(misread("dilations-ignored", lambda _: True), spread))}
    right = sum(groups[case] > 1 for case in everywhere - failed)
    assert min(elsewhere, right) > 1
    assert " as if dilations-ignored where groups >= 2: " in cause.what
    assert cause.what.endswith(f"; {elsewhere} of these are elsewhere, and {right} such answers are right")


def test_exceptions_are_counted_beyond_the_sample(
    spread: list[Case], corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A condition is learnt from some right answers; how many are right under it is counted over all of the run.

    So are those of calls too large for the sample. Where there are too many, the words say so.
    """
    # The package has the function of this name.
    module = import_module("tconv.learning.named_conditions")
    numbers = {case.id: number for number, case in enumerate(spread)}

    def kernel(problem: Problem) -> bool:
        return is_grouped(problem) and numbers[problem.case.id] % 9 != 0

    records = records_of(misread("dilations-ignored", kernel), spread)
    failed = failed_of(records)
    everywhere = {record.case for record in failed_of(records_of(misread("dilations-ignored", is_grouped), spread))}
    right = everywhere - {record.case for record in failed}
    assert len(right) > 2

    def found() -> Misread:
        return named_of(records, failed, corpus)[IGNORED]

    in_one = found()
    assert str(in_one.condition) == "groups >= 2"
    assert (in_one.right, in_one.exceptions) == (right, f"{len(right)} such answers are right")
    sizes = sorted(case.simplicity[1] for case in spread)
    for name, limit in (("_SAMPLE", len(spread) // 4), ("SMALL", sizes[len(sizes) // 2])):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, limit)
            assert found() == in_one, name
            patch.setattr(module, "_MOST_COUNTED", 0)
            few = found()
        assert 0 <= few.condition.right == len(few.right) < len(right)
        assert few.exceptions == (
            f"at least {few.condition.right} such {'answer is' if len(few.right) == 1 else 'answers are'} right"
            if few.right
            else "not all right answers were looked at"
        )


def test_a_misreading_of_all_calls_has_no_condition(spread: list[Case], corpus: Corpus) -> None:
    """No case that agrees denies its name."""
    records = records_of(misread("dilations-ignored", lambda _: True), spread)
    failed = failed_of(records)
    assert len(failed) > 20
    assert named_of(records, failed, corpus) == {}


def test_a_few_right_answers_beside_many_failures_are_no_condition(
    spread: list[Case], corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What parts them from the failures is no kernel: how many are few depends on the failures beside them."""
    module = import_module("tconv.learning.named_conditions")
    records = records_of(misread("dilations-ignored", is_grouped), spread)
    failed = failed_of(records)
    assert IGNORED in named_of(records, failed, corpus)
    monkeypatch.setattr(module, "_HARDLY_ANY", 10.0)
    assert named_of(records, failed, corpus) == {}


def test_a_name_that_fits_some_wrong_answers_alone_has_no_condition(spread: list[Case], corpus: Corpus) -> None:
    """Where the last tap is left out, a filter with its last column left out fits those of one axis, by chance."""
    records = records_of(misread("last-tap-dropped", is_depthwise), spread)
    failed = failed_of(records)
    found = named_of(records, failed, corpus)
    assert Combination(("last-column-dropped",)) not in found
    assert Combination(("last-tap-dropped",)) in found


def test_failures_without_a_common_condition_have_their_name_alone(spread: list[Case], corpus: Corpus) -> None:
    """Who misreads calls that nothing tells apart has the name, as far as it goes."""
    random = np.random.default_rng(3)
    records = records_of(misread("dilations-ignored", lambda _: bool(random.random() < 0.3)), spread)
    failed = failed_of(records)
    assert len(failed) > 10
    assert named_of(records, failed, corpus) == {}


def test_a_name_that_no_case_denies_leaves_nothing_to_one_that_fits_fewer(spread: list[Case], corpus: Corpus) -> None:
    """A bias that every group adds is a bias twice in two groups: that is no cause of its own, with a condition."""
    more = [case for case in spread if (case.attributes.groups or 1) > 2][::4]
    asked = [case for case in spread if (case.attributes.groups or 1) <= 2] + more
    records = records_of(misread("bias-of-every-group-added", lambda _: True), asked)
    failed = failed_of(records)
    twice = [record for record in failed if Combination(("bias-doubled",)) in record.diagnosis]
    assert 4 < len(twice) < len(failed)
    assert named_of(records, failed, corpus) == {}
    (cause,) = causes_of(records, corpus)
    assert cause.count == len(failed)
    assert " as if bias-of-every-group-added: " in cause.what


def test_the_page_says_under_which_condition_a_misreading_is_made(spread: list[Case], corpus: Corpus) -> None:
    """Among the causes, as the terminal does: without it the name says too much."""
    assessment = assessment_of(records_of(misread("bias-ignored", is_grouped), spread), corpus)
    first = cause_lines([run_report(assessment)])[0]
    assert first.words == "as if bias-ignored where groups >= 2: the bias is overlooked"


def test_one_waiver_is_proposed_for_a_misreading_of_some_calls(spread: list[Case], corpus: Corpus) -> None:
    """It asks for the facts that its cases share, and is not one entry for each sweep."""
    assessment = assessment_of(records_of(misread("bias-ignored", is_grouped), spread), corpus)
    (waiver,) = yaml.safe_load(proposed(assessment))["waivers"]
    assert waiver["where"]["grouped"] == "true"
    assert "bias" in waiver["where"]
    assert waiver["diagnosis"] == ["bias-ignored"]
    assert "cases" not in waiver


def test_a_misreading_of_the_run_is_no_excuse_that_a_note_tells(gate_cases: tuple[Case, ...], corpus: Corpus) -> None:
    """A bias that is left out is no subnormal that is taken for zero; a runtime that does the latter has the note."""
    cases = [case for case in gate_cases if case.id.startswith("special-values/bias[")]

    def notes_of(where: Callable[[Problem], bool]) -> dict[str, int]:
        records = records_of(misread("bias-ignored", where), cases)
        run = replace(run_of({}), records=sorted(records, key=lambda record: record.case))
        return {note.name: note.count for note in noted_of(assess(run, None, corpus.find_facts, find=corpus.find))}

    assert notes_of(lambda problem: (problem.case.attributes.groups or 1) > 1) == {}
    assert notes_of(lambda problem: "kind=subnormal" in problem.case.id).keys() == {"flushed-subnormals"}
