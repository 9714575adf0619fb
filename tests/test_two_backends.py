"""Two backends side by side: what is alike and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from made_records import named
from tconv.dialects import DIALECTS
from tconv.expectation.owed import Values, expectation
from tconv.investigation.two_backends import differ
from tconv.records.record import Record
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.corpus import Corpus

ONNX, GEOMETRY = DIALECTS["onnx/ConvTranspose-22"], DIALECTS["geometry/1"]
AGREED = ver.Agreed("exact")
DIFFERED = ver.Differed("exact", 3, 9, (0, 0, 1), 5.0, 7.0)


@pytest.fixture(scope="module")
def case(corpus: Corpus) -> Case:
    """Return a case whose text allows several sizes."""
    return corpus.case("padding/output-shape/negative-total-by-hand")


def told(case: Case, one: ver.Verdict, other: ver.Verdict, *diagnoses: tuple[str, ...]) -> str:
    """Return how two backends differ that have these verdicts."""
    records = tuple(
        replace(Record(case.id, name, ONNX.name, verdict), diagnosis=named(*diagnosis))
        for name, verdict, diagnosis in zip(("one", "other"), (one, other), diagnoses or ((), ()), strict=True)
    )
    return differ(case, records, (ONNX, ONNX))  # type: ignore[arg-type] # there are two


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (AGREED, AGREED),
        (DIFFERED, DIFFERED),
        (DIFFERED, replace(DIFFERED, worst=3.0)),
        (ver.RefusedValid("no"), ver.RefusedValid("I will not")),
        (ver.Died("SIGSEGV", "at 0x1"), ver.Died("SIGSEGV", "at 0x2")),
    ],
)
def test_what_is_alike(case: Case, one: ver.Verdict, other: ver.Verdict) -> None:
    """The same geometry, the same wrong elements, a refusal in other words, a death of the same cause."""
    assert told(case, one, other) == ""


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (AGREED, DIFFERED, "one as the text says; other differed"),
        (DIFFERED, replace(DIFFERED, actual=11.0), "one differed; other differed"),
        (ver.WrongShape((1,), (2,)), ver.WrongShape((1,), (9,)), "one wrong-shape; other wrong-shape"),
        (AGREED, ver.RefusedValid("no"), "one as the text says; other refuses"),
        (ver.Died("SIGSEGV", ""), ver.Died("SIGABRT", ""), "one died; other died"),
    ],
)
def test_what_is_not(case: Case, one: ver.Verdict, other: ver.Verdict, says: str) -> None:
    """Whoever is right, and where both are wrong in their own ways too."""
    assert told(case, one, other) == says


def test_two_readings_of_one_text_differ(case: Case) -> None:
    """It is told in what; where both come to the same elements they do not."""
    owed = expectation(case, ONNX)
    assert isinstance(owed, Values)
    reading = owed.disputed[0].readings
    assert told(case, AGREED, ver.Disputed(reading, "exact")) == (
        f"one as the text says; other as {' + '.join(reading)}; apart in pads_begin"
    )


def test_one_explanation_makes_two_wrong_outputs_alike(case: Case) -> None:
    """Any that both have, whichever is the first."""
    other = replace(DIFFERED, actual=11.0)
    assert told(case, DIFFERED, other, ("a", "b"), ("b",)) == ""
    assert told(case, DIFFERED, other, ("a",), ("b",)) == "one differed as if a; other differed as if b"
