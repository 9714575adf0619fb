"""Causes in words: a condition says what its terms say, and what is printed of a cause is true of its cases."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, get_args, get_type_hints

import pytest

import test_evidence as played
from made_records import CASES, facts, run_of
from played_backends import ONNX, assessment_of
from tconv.cases.context import PREFIX, Context
from tconv.cases.patterns import topic_of
from tconv.evidence.facts import features_of, terms_of
from tconv.evidence.hypotheses import Follows, Misreads
from tconv.expectation.problem import Problem
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.reports.causes import find_causes
from tconv.reports.conditions import in_words
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.vocabulary import Array, Mask

SYMBOLS = re.compile(r"!=|>=|<|(?<!\w)=|_given|=(?:true|false)")
"""What a term has and no sentence."""


def meaning(cases: list[Case]) -> dict[str, Mask]:
    """Return for which cases each term holds."""
    return terms_of([of for case in cases if (of := features_of(Problem(case, ONNX))) is not None])


def refuses_long_outputs(problem: Problem) -> Array:
    """Fail if the output has many rows."""
    if played.geometry_of(problem).output[0] > 8:
        raise RuntimeError("too long")
    return played.computed(problem)


@pytest.fixture(scope="module")
def valid(smoke_cases: tuple[Case, ...]) -> list[Case]:
    """Return valid cases of the smoke tier, few enough for a test."""
    alone = [case for case in smoke_cases if topic_of(case.id) != "contexts"]
    return [case for case in alone if case.breaks is None and case.simplicity[1] <= 4096][::2]


def test_each_level_of_a_context_has_words_of_its_own() -> None:
    """No sentence has the name of a level, as case files write it."""
    levels = [f"{PREFIX}{axis}={level}" for axis, of in get_type_hints(Context).items() for level in get_args(of)]
    words = [in_words([level]) for level in levels]
    assert len(set(words)) == len(levels)
    assert [text for text in words if SYMBOLS.search(text) or PREFIX in text] == []


def test_each_term_has_words_of_its_own(smoke_cases: tuple[Case, ...]) -> None:
    """Terms that hold for different calls say different things, without symbols."""
    words = {term: in_words([term]) for term in meaning([*smoke_cases])}
    assert len(words) > 500
    assert [text for text in words.values() if SYMBOLS.search(text)] == []
    said: dict[str, str] = {}
    assert [(term, said[text]) for term, text in words.items() if said.setdefault(text, term) != term] == []


def test_values_that_a_fact_has_not_are_one_clause() -> None:
    """Nobody reads that it is neither this, and is not that."""
    assert in_words(["dtype!=f16", "rank=2", "dtype!=f32"]) == (
        "the type is neither float16 nor float32 and the number of spatial axes is 2"
    )


@pytest.mark.parametrize(
    ("readings", "alike", "line"),
    [
        (("same-as-convolution", "negative-same-appended"), (), "Follows 2 other interpretations that the text allows"),
        (
            ("sized-lower-odd-begin",),
            ("negative-sized-appended",),
            "Follows one of 2 other interpretations that the text allows",
        ),
    ],
)
def test_readings_that_give_one_output_are_not_all_followed(
    readings: tuple[str, ...], alike: tuple[str, ...], line: str
) -> None:
    """A long sentence counts the readings that are followed together, or those of which one is followed."""
    run = run_of({CASES[0]: ver.Disputed(readings, "exact", alike=alike)})
    run.records = [replace(record, dialect="onednn/ConvolutionBackpropData-1") for record in run.records]
    (cause,) = find_causes(assess(run, None, facts), Status.DISPUTED)
    assert cause.line == line
    meaning, _ = cause.details
    assert ("; or " in meaning) == bool(alike)


def test_of_several_possible_reasons_for_a_refusal_one_is_enough() -> None:
    """They are not joined as if all of them were given."""
    readings = ("output-not-empty-refused", "negative-same-shrunk")
    run = run_of({CASES[0]: ver.Disputed(readings, "refusal", ("ambiguous",), message="no")})
    (cause,) = find_causes(assess(run, None, facts), Status.DISPUTED)
    assert cause.line == "Refuses calls, perhaps for one of 2 reasons that the text allows"
    assert cause.details[0].count("; or ") == 1


@pytest.mark.parametrize(
    "answer",
    [
        refuses_long_outputs,
        played.misread("filter-flipped", played.is_grouped),
        played.refuses_grouped,
        played.no_kernel,
    ],
)
def test_a_printed_condition_holds_for_each_case_and_for_no_passing_one(
    answer: Callable[[Problem], Array], valid: list[Case], corpus: Corpus
) -> None:
    """`if` says so of all, unless the number of exceptions follows."""
    assessment = assessment_of(played.reports_of(answer, valid), corpus)
    passing = [member.record.case for member in assessment.statuses if member.status is Status.PASSED]
    by_id = {case.id: case for case in valid}
    printed = 0
    for cause in find_causes(assessment, Status.FAILED):
        condition = cause.explanation.condition if cause.explanation else None
        if not condition or not cause.explanation or re.search(r"with [\d,]+ exception|such calls", cause.line):
            continue
        is_mechanism = isinstance(cause.explanation.what, Misreads | Follows)
        printed += 1
        assert f" if {in_words(condition)}" in cause.line
        ids = [member.record.case for member in cause.members]
        holds = meaning([by_id[case] for case in (*ids, *passing)])
        # A term that holds for all calls, or for none, tells nothing and has no mask.
        assert all(term in holds for term in condition)
        together = [all(holds[term][place] for term in condition) for place in range(len(ids) + len(passing))]
        assert all(together[: len(ids)])
        # What is computed differently may give the right values by chance.
        assert is_mechanism or not any(together[len(ids) :])
        assert not cause.explanation.against
    assert printed
