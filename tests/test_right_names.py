"""Each miniature wrong backend is given its right name in nearly all of its failures, and never a wrong one."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest

import wrong_backends
from strategies import every
from tconv.cases.call import write_signature
from tconv.cases.operands import NUMPY_TYPES
from tconv.cases.patterns import topic_of
from tconv.diagnosis.misreadings import CATALOGUE
from tconv.diagnosis.misreadings.misreading import PrecisionOtherwise
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.execution import recording
from tconv.execution.accumulation import path_of
from tconv.execution.evaluation import Evaluator
from tconv.expectation.expected import Values, expect
from tconv.expectation.truth import Truth
from tconv.verdict import kinds as ver
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case
    from tconv.expectation.bound import Terms
    from tconv.records.record import Record
    from tconv.vocabulary import Array

ROW = DIALECTS["onnx/ConvTranspose-22"]
LARGEST = 40_000
"""The product of the operands' elements, so that the diagnosis is not a matter of time."""


@pytest.fixture(scope="module")
def plain(gate_cases: tuple[Case, ...]) -> list[Case]:
    """Return small cases of the gate tier in ONNX's own layouts, which the miniatures know alone."""
    found = []
    for case in gate_cases:
        written = write_signature(case, ROW)
        presented = case.attributes.data_format in {None, "NCX"} and case.attributes.filter_format in {None, "IOX"}
        if (
            presented
            and topic_of(case.id) not in {"contexts", "quantised"}
            and not case.context
            and prod(written.x.shape) * prod(written.w.shape) < LARGEST
        ):
            found.append(case)
    return found


def records(backend: str, cases: Sequence[Case]) -> list[Record]:
    asked = Evaluator(getattr(wrong_backends, backend)(), backend, ROW, None)
    asked.unprobed = frozenset(filter(None, map(path_of, cases)))
    return [asked.evaluate(case) for case in cases]


def products(case: Case) -> int:
    return prod(case.w.shape[2:]) * case.w.shape[0] // (case.attributes.groups or 1)


def finite(case: Case) -> bool:
    numbers = {"special", "nan", "infinity"}.isdisjoint(operand.data for operand in (case.x, case.w, case.b) if operand)
    return numbers and isinstance(expect(case, ROW), Values)


@pytest.mark.thorough
def test_lost_bits_of_steps_have_their_name(plain: list[Case]) -> None:
    """On real data, as integers lose none. The names of other losses stand in golden files."""
    # Each product of the miniature is a call of the reference.
    small = [case for case in plain if finite(case) and products(case) < 300 and case.x.data != "all-bits"]
    made = [
        replace(
            case,
            **{role: replace(getattr(case, role), data="normal", dtype=dtype) for role in "xwb" if getattr(case, role)},
        )
        for case in small[:: every(60)]
        if case.x.data == "integers"
        for dtype in (DType.F16, DType.BF16)
    ]
    real = [case for case in small if topic_of(case.id) == "real-data" and case.x.dtype in {DType.F16, DType.BF16}]
    found = records("StepsIn16Bits", [*made, *real[:: every(1)]])
    # One or two elements that have lost bits are no evidence of it.
    wrong = [record for record in found if isinstance(record.verdict, ver.Differed) and record.verdict.wrong >= 3]
    right = [record for record in wrong if "steps-rounded-to-16-bits" in map(str, record.diagnosis)]
    assert len(right) >= max(10, 0.95 * len(wrong)), [(record.case, record.described) for record in wrong]
    assert [record.case for record in wrong if record.diagnosis and record not in right] == []


ODD: dict[str, Callable[[Array], Array]] = {
    "zeros": np.zeros_like,
    "one more": lambda y: y + np.ones_like(y),
    "not a number": lambda y: np.full_like(y, np.nan),
    "infinity": lambda y: np.full_like(y, np.inf),
    "the largest number": lambda y: np.full_like(y, 1e30),
    "one element off": lambda y: y + np.eye(1, y.size, y.size // 2).reshape(y.shape).astype(y.dtype),
    "5 for infinity": lambda y: np.where(np.isinf(y), np.asarray(5, y.dtype), y),
}
ZERO = {
    "operands-rounded-to-f16",
    "subnormal-results-are-zero",
    "last-column-dropped", "last-tap-dropped", "first-tap-dropped", "one-too-early", "one-too-late", "bias-ignored",
    "strides-for-dilations", "output-padding-is-zero", "last-position-dropped", "data-bounded-by-the-kernel",
    "last-input-channel-dropped",
}  # fmt: skip
"""Misreadings under which nothing may be left of a small output but zeros."""


def _has_more_than_one(case: Case) -> bool:
    """Return whether groups have more than one channel, each axis more than one element, and no operand is zeros."""
    channels = case.x.shape[1] // (case.attributes.groups or 1)
    return 1 not in (channels, *case.x.shape[2:], *case.w.shape[2:]) and "zeros" not in {case.x.data, case.w.data}


def odd_ones(change: Callable[[Array], Array], plain: list[Case], monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    monkeypatch.setattr(wrong_backends.Odd, "change", staticmethod(change))
    return records("Odd", [case for case in plain[:: every(7)] if isinstance(expect(case, ROW), Values)])


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(odd, marks=[pytest.mark.thorough] * (odd not in {"zeros", "one element off", "5 for infinity"}))
        for odd in ODD
    ],
)
def test_what_no_one_would_do_has_no_name(odd: str, plain: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes out, of empty cases and of special values too: it is described, and hardly ever has a name."""
    wrong = [record for record in odd_ones(ODD[odd], plain, monkeypatch) if isinstance(record.verdict, ver.Differed)]
    assert len(wrong) >= (2 if odd == "5 for infinity" else 60)
    assert [
        record.case for record in wrong if not record.diagnosis and "elements differ" not in (record.described or "")
    ] == []
    with_name = [record for record in wrong if record.diagnosis]
    cases = {case.id: case for case in plain}
    # Under some misreadings nothing but zeros is left of an axis of one, or of an operand with zeros.
    counted = [record for record in wrong if odd != "zeros" or _has_more_than_one(cases[record.case])]
    assert len([record for record in with_name if record in counted]) <= 0.05 * len(counted), [
        (record.case, record.diagnosis) for record in with_name
    ]
    if odd == "zeros":
        asked = [record for record in with_name if "zeros=" not in record.case]
        assert {str(misreadings) for record in asked for misreadings in record.diagnosis} <= ZERO


@pytest.mark.parametrize(
    ("change", "kind"),
    [(lambda y: np.ones(y.shape, np.int64), "wrong-dtype"), (lambda y: y[..., None], "wrong-shape")],
    ids=["integers", "another rank"],
)
def test_what_is_no_output_of_the_call_is_not_searched(
    change: Callable[[Array], Array], kind: str, plain: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = odd_ones(change, plain, monkeypatch)
    assert len(found) > 60
    assert {(record.verdict.kind, record.diagnosis, record.described) for record in found} == {(kind, (), None)}


def test_the_search_may_fail(plain: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the explanation is told beside the verdict, which is not lost."""

    def fails(*_: object) -> None:
        raise ZeroDivisionError("by us")

    monkeypatch.setattr(recording, "diagnose", fails)
    found = [each for each in records("BiasDoubled", plain[::100]) if isinstance(each.verdict, ver.Differed)]
    assert found
    assert {record.described for record in found} == {"undiagnosed, the search failed: ZeroDivisionError: by us"}


def sums_of(dtype: DType, x: Array, w: Array, stride: int = 1) -> Terms:
    """Return the terms of the sums of a line of nine positions under three taps."""
    size = (9 - 1) * stride + 3
    geometry = Geometry((9,), (3,), (stride,), (1,), (0,), (size,), 1)
    operands = {role: np.asarray(array, float).astype(NUMPY_TYPES[dtype]) for role, array in (("x", x), ("w", w))}
    return Truth(operands, dtype).compute_terms(geometry)


def accounts(name: str, actual: Array, terms: Terms, dtype: DType) -> bool:
    (change,) = (misreading.change for misreading in CATALOGUE if misreading.name == name)
    assert isinstance(change, PrecisionOtherwise)
    return change.accounts(actual, terms, dtype)


@pytest.mark.parametrize(("count", "named"), [(2, False), (3, True)])
def test_two_elements_are_no_evidence_of_rounded_steps(count: int, *, named: bool) -> None:
    """So few may be wrong for any reason; all others here are off by their one rounding, as they may be."""
    generator = np.random.default_rng(0)
    terms = sums_of(DType.F16, generator.standard_normal((1, 9, 9)), generator.standard_normal((9, 2, 3)))
    actual = terms.y.astype(np.float16)
    actual[0, 0, 3 : 3 + count] += 2 * np.spacing(np.abs(actual[0, 0, 3 : 3 + count]))
    assert accounts("steps-rounded-to-16-bits", actual, terms, DType.F16) == named


@pytest.mark.parametrize(("data", "off"), [("integers", 2.0), ("normal", 12.0)])
def test_errors_that_no_steps_have_are_no_rounded_steps(data: str, off: float) -> None:
    """Integers of few bits are added without an error; and many errors near the worst case are no roundings."""
    generator = np.random.default_rng(0)
    draw = {"integers": lambda shape: generator.integers(-3, 4, shape), "normal": generator.standard_normal}[data]
    terms = sums_of(DType.F16, draw((1, 9, 9)), draw((9, 2, 3)))
    unit = np.spacing(np.abs(terms.y.astype(np.float16))).astype(float)
    actual = (terms.y + np.where(unit > 0, off * unit, 0)).astype(np.float16)
    assert not accounts("steps-rounded-to-16-bits", actual, terms, DType.F16)


def test_results_beyond_the_largest_half_are_sums_kept_in_half_precision() -> None:
    """They are infinite there, and bfloat16 would have them; the smallest are multiples of the smallest number."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((1, 3, 9)) * np.logspace(-8, 7, 9)
    terms = sums_of(DType.F32, x, generator.standard_normal((3, 2, 3)), stride=3)
    with np.errstate(over="ignore"):
        actual = terms.y.astype(np.float16).astype(np.float32)
    assert {np.isinf(actual).any(), (np.abs(actual) < 2.0**-14).any()} == {True}
    assert accounts("sums-kept-in-f16", actual, terms, DType.F32)
    assert not accounts("sums-kept-in-bf16", actual, terms, DType.F32)


@pytest.mark.parametrize(("kept", "other"), [("bf16", "f16"), ("f16", "bf16")])
def test_sums_are_kept_in_the_type_whose_bits_they_have(kept: str, other: str) -> None:
    """Half precision has the bits of bfloat16 too, so an output of these says nothing of half precision."""
    random = np.random.default_rng(3)
    terms = sums_of(DType.F32, random.standard_normal((1, 40, 9)), random.standard_normal((40, 2, 3)))
    actual = terms.y.astype(NUMPY_TYPES[DType(kept)]).astype(np.float32)
    assert accounts(f"sums-kept-in-{kept}", actual, terms, DType.F32)
    assert not accounts(f"sums-kept-in-{other}", actual, terms, DType.F32)
