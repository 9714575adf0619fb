"""Each miniature wrong backend is given its right name in nearly all of its failures, and never a wrong one."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest

import wrong_backends
from tconv.cases.call import signature
from tconv.corpus import Corpus
from tconv.diagnosis import diagnose, shared
from tconv.dialects import DIALECTS
from tconv.execution import evaluation
from tconv.execution.evaluation import Evaluator
from tconv.expectation.owed import Values, expectation
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.case import Case
    from tconv.records.record_file import Record

ROW = DIALECTS["onnx/ConvTranspose-22"]
NAMES = {
    "PadsSwapped": "pads-exchanged",
    "GroupsReversed": "group-outputs-reversed",
    "DroppedTap": "last-column-dropped",
    "BiasDoubled": "bias-doubled",
    "BiasOfNextChannel": "bias-of-the-next-channel",
}
"""Whose mistake shows on integers."""
PRECISION = {
    "Tf32Operands": "operands-rounded-to-tf32",
    "Bf16Operands": "operands-rounded-to-bf16",
    "Bf16Truncated": "operands-truncated-to-bf16",
    "F16Sums": "sums-kept-in-f16",
    "ResultsTruncated": "results-truncated",
    "SubnormalOperandsFlushed": "subnormal-operands-are-zero",
    "SubnormalResultsFlushed": "subnormal-results-are-zero",
}
"""Who is right, but for bits."""
TOPICS = {"SubnormalOperandsFlushed": "special-values", "SubnormalResultsFlushed": "special-values"}
LARGEST = 40_000
"""The product of the operands' elements, so that the diagnosis is not a matter of time."""


@cache
def plain() -> tuple[Case, ...]:
    """Return small cases of the gate tier in ONNX's own layouts, which the miniatures know alone."""
    found = []
    for case in Corpus.load().cases("gate"):
        written = signature(case, ROW)
        presented = case.attributes.data_format in {None, "NCX"} and case.attributes.filter_format in {None, "IOX"}
        if presented and prod(written.x.shape) * prod(written.w.shape) < LARGEST:
            found.append(case)
    return tuple(found)


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not leave anything undiagnosed here."""
    monkeypatch.setattr(evaluation, "diagnose", partial(diagnose, budget=10))


def failures(backend: str, accept: Callable[[Case], bool], step: int = 1) -> list[Record]:
    """Return the records of wrong values and shapes of a miniature backend."""
    asked = Evaluator(getattr(wrong_backends, backend)(), backend, ROW, {"f16": "f32", "bf16": "f32"}, None)
    records = [asked.evaluate(case) for case in [case for case in plain() if accept(case)][::step]]
    return [one for one in records if isinstance(one.verdict, ver.Differed | ver.WrongShape)]


def products(case: Case) -> int:
    """Return the most products that an element may have."""
    return prod(case.w.shape[2:]) * case.w.shape[0] // (case.attributes.groups or 1)


def finite(case: Case) -> bool:
    """Return whether the operands are numbers, and a value is owed."""
    numbers = {"special", "nan", "infinity"}.isdisjoint(one.data for one in (case.x, case.w, case.b) if one)
    return numbers and isinstance(expectation(case, ROW), Values)


@pytest.mark.parametrize("backend", NAMES)
def test_a_mistake_has_its_name(backend: str) -> None:
    """In at least 95 of 100 failures; the rest have no name, rather than a wrong one."""
    found = failures(backend, finite, step=3)
    assert len(found) > 20
    named = [one for one in found if NAMES[backend] in map(str, one.diagnosis)]
    assert len(named) >= 0.95 * len(found), [one.case for one in found if one not in named]
    assert [one.case for one in found if one.diagnosis and one not in named] == []


@pytest.mark.parametrize("backend", PRECISION)
def test_lost_bits_have_their_name(backend: str) -> None:
    """On real data, as integers lose none."""

    def real(case: Case) -> bool:
        # Each product of the miniature that adds in float16 is a call of the reference.
        kept = backend != "F16Sums" or case.x.dtype == "f32"
        return kept and finite(case) and case.topic == TOPICS.get(backend, "real-data") and products(case) < 300

    found = failures(backend, real)
    assert found
    named = [one for one in found if PRECISION[backend] in map(str, one.diagnosis)]
    assert len(named) >= 0.95 * len(found), [(one.case, one.described) for one in found if one not in named]
    assert [one.case for one in found if one.diagnosis and one not in named] == []


@pytest.mark.parametrize(("times", "says"), [(0, "is left out"), (2, "is added twice")])
@pytest.mark.parametrize("last", [False, True])
def test_one_product_of_many_is_accounted_for(
    times: int,
    says: str,
    last: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No misreading drops one product; which one it is is told, on integers and on real data, wherever it is."""
    monkeypatch.setattr(wrong_backends.OneProduct, "times", times)
    monkeypatch.setattr(wrong_backends.OneProduct, "last", last)
    found = failures("OneProduct", lambda case: finite(case) and products(case) > 2 and case.w.shape[1] > 1, step=9)
    unexplained = [one for one in found if not one.diagnosis]
    told = [one for one in unexplained if (one.described or "").split(";")[0].endswith(says)]
    assert len(unexplained) > 20
    assert len(told) >= 0.95 * len(unexplained), [(one.case, one.described) for one in unexplained if one not in told]


def test_one_product_among_thousands_is_found() -> None:
    """Of 18,432 products an element, on integers, whose sums are exact."""
    pattern = "real-data/real-data/sizes[size=n-18432,data=integers,dtype=f32,data_format=NCX,bias=false]"
    case = Corpus.load().one(pattern)
    assert products(case) == 18_432
    record = Evaluator(wrong_backends.OneProduct(), "OneProduct", ROW, {}, None).evaluate(case)
    assert record.described is not None
    assert record.described.startswith("as if input channel 0 at tap [0, 0] of output channel 0 is left out; ")


@pytest.mark.parametrize("backend", NAMES)
def test_the_closing_table_has_the_right_name(backend: str) -> None:
    """Of what gives an output the one that explains most failures names them, and that is the right one."""
    found = failures(backend, finite, step=3)
    names = Counter(map(str, shared({one.case: one.diagnosis for one in found}).values()))
    assert names.most_common(1)[0][0] == NAMES[backend]
    assert names[NAMES[backend]] >= 0.95 * len(found), names


ODD = {
    "nothing": np.zeros_like,
    "one more": lambda y: y + np.ones_like(y),
    "not a number": lambda y: np.full_like(y, np.nan),
    "infinity": lambda y: np.full_like(y, np.inf),
    "the largest number": lambda y: np.full_like(y, 1e30),
    "integers": lambda y: np.ones(y.shape, np.int64),
    "another rank": lambda y: y[..., None],
    "one element off": lambda y: y + np.eye(1, y.size, y.size // 2).reshape(y.shape).astype(y.dtype),
    "5 for infinity": lambda y: np.where(np.isinf(y), np.asarray(5, y.dtype), y),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_no_one_would_do_has_no_name(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes out, of empty cases and of special values too: there is a verdict, and hardly ever a name."""
    monkeypatch.setattr(wrong_backends.Odd, "change", staticmethod(ODD[odd]))
    asked = Evaluator(wrong_backends.Odd(), "Odd", ROW, {"f16": "f32", "bf16": "f32"}, None)
    records = [asked.evaluate(case) for case in plain()[::7] if isinstance(expectation(case, ROW), Values)]
    assert [one.case for one in records if "failed" in (one.described or "")] == []
    wrong = [one for one in records if isinstance(one.verdict, ver.Differed)]
    named = [(one.case, one.diagnosis) for one in wrong if one.diagnosis]
    # An output of one element, or of zeros, may be what some misreading gives.
    assert len(named) <= 0.05 * len(wrong) or odd == "nothing", named


def test_the_search_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the explanation is told beside the verdict, which is not lost."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError("by us")

    monkeypatch.setattr(evaluation, "diagnose", fails)
    found = failures("BiasDoubled", finite, step=50)
    assert found
    assert {one.described for one in found} == {"undiagnosed, the search failed: ZeroDivisionError: by us"}
