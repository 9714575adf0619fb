"""The judge for a caller's array: does it conform to a dialect's text, and what is its tolerance?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np

from tconv.api.arguments import (
    DEFAULT_DIALECT,
    Written,
    dialect_of,
    geometry_of,
    read_numbers,
    reading_names,
    refuse_too_large,
    word_of,
)
from tconv.api.keywords import checked
from tconv.api.own_problem import ProblemOfArrays, problem_of
from tconv.backends.outcome import Produced
from tconv.cases.layouts import from_ncx, to_ncx
from tconv.diagnosis import diagnose
from tconv.diagnosis.misreadings import meanings
from tconv.dialects import DIALECTS
from tconv.errors import Invalid
from tconv.expectation.bound import SYMBOLS, bound_errors, derive
from tconv.expectation.expected import Candidate, Values
from tconv.reports.phrases import attribute_words, headline
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge_values
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.problem import Problem
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array, Float64s


@dataclass(frozen=True, slots=True, eq=False)
class Tolerance:
    """How far a conforming output may be from the reference.

    Attributes:
        rule: `exact` if every order of summation gives the same bits; if not, `bound`.
        expected: the reference's values in float64, in the caller's data layout.
        allowed: the largest `|actual - expected|` of each element, in the same layout; 0 for the rule `exact`.
        derivation: the derivation of `allowed`, in words.
    """

    rule: ver.Rule
    expected: Float64s
    allowed: Float64s
    derivation: str


@checked
def assert_conforms(
    y: Array,
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    dialect: str | Dialect = DEFAULT_DIALECT,
    reading: str | Iterable[str] | None = None,
    accumulates: str | None = None,
    **attributes: Unpack[Written],
) -> ver.Verdict:
    """Raise an AssertionError with an explanation if an output does not conform to a dialect's text.

    Args:
        y: the output to judge, (N, O, Y...) in `data_format`, in the runtime's element type.
        x: data, as the runtime got it, in y's element type: float16, bfloat16 (of ml_dtypes), float32 or float64.
        w: filter, in the same type.
        bias: (O,), in the same type, or None.
        dialect: the dialect, or its name.
        reading: the names of the disputed readings to follow; an empty list for the primary ones alone; None: every
            reading that the text allows is accepted.
        accumulates: the type in which the runtime accumulates products of f16 or bf16: that type, or f32 (the default).
        attributes: strides, auto_pad and so on, and the layouts, as for `conv_transpose`.

    Returns:
        The verdict, with its notes: `agreed`, or `disputed` with the readings that y follows.

    Raises:
        AssertionError: y differs; the message has the first wrong element, the tolerance, and a misreading that gives
            y, if there is one. Or the tolerance is so wide that zeros would pass.
        Invalid: a constraint that the dialect states is violated, so no value is expected.
        UsageError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from tconv import assert_conforms
        >>> x, w = np.array([[[1, 2]]], np.float32), np.array([[[1, 10, 100]]], np.float32)
        >>> y = np.array([[[1, 10, 102, 20, 200]]], np.float32)
        >>> assert_conforms(y, x, w, strides=2).kind
        'agreed'
        >>> y = np.array([[[100, 10, 201, 20, 2]]], np.float32)
        >>> assert_conforms(y, x, w, strides=2)
        Traceback (most recent call last):
            ...
        AssertionError: y must conform to onnx/ConvTranspose-22 (got differed: 3 of 5 elements; [0,0,0] must be 1 ...
          call       strides=[2]; f32, x [1, 1, 2], w [1, 1, 3] in NCX and IOX
          expected   [1, 1, 5], pads_begin [0], pads_end [0]
          tolerance  exact: integers with so few bits that every order of summation gives the same sum
          explained  as if filter-flipped: ...
    """
    problem = problem_of(x, w, bias, dialect_of(dialect), attributes)
    values = _values(problem, reading)
    accumulator = _accumulator(problem.case.x.dtype, accumulates)
    layout = problem.arrays_given.data_format
    actual = read_numbers("y", y)
    verdict = judge_values(values, Produced(actual), problem.truth, layout, accumulator)
    if isinstance(verdict, ver.Allowed):
        return verdict
    lines = [f"y must conform to {problem.dialect} (got {headline(verdict)})"]
    lines += [f"  {name:<11}{text}" for name, text in _account(problem, values, verdict, actual, accumulator)]
    raise AssertionError("\n".join(lines))


@checked
def tolerance(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    dialect: str | Dialect = DEFAULT_DIALECT,
    reading: str | Iterable[str] = (),
    accumulates: str | None = None,
    **attributes: Unpack[Written],
) -> Tolerance:
    """Return the reference's values and the tolerance of each element.

    Args:
        x: data, in the element type of the output. All arguments are as for `assert_conforms`.
        w: filter.
        bias: (O,), or None.
        dialect: the dialect, or its name.
        reading: the names of the disputed readings to follow.
        accumulates: the type in which products of f16 or bf16 are accumulated.
        attributes: strides, auto_pad and so on.

    Raises:
        Invalid: a constraint that the dialect states is violated.
        UsageError: an argument is wrong.

    Example:
        >>> import numpy as np
        >>> from tconv import tolerance
        >>> x, w = np.full((1, 1, 2), 0.3, np.float32), np.full((1, 1, 2), 0.7, np.float32)
        >>> allowed = tolerance(x, w)
        >>> allowed.rule, allowed.derivation
        ('bound', "gamma_n(2^-24)*A + n*2^-150; and the reference's own gamma_(n+1)(2^-53)*A")
        >>> bool((allowed.allowed < 1e-7).all())
        True
    """
    problem = problem_of(x, w, bias, dialect_of(dialect), attributes)
    geometry, truth = _values(problem, reading).primary.geometry, problem.truth
    accumulator, layout = _accumulator(truth.dtype, accumulates), problem.arrays_given.data_format
    expected = from_ncx(truth.compute_values(geometry), layout)
    if truth.exact(geometry):
        return Tolerance("exact", expected, np.zeros_like(expected), _EXACT)
    allowed = bound_errors(truth.compute_terms(geometry), truth.dtype, accumulator).allowed
    return Tolerance("bound", expected, from_ncx(allowed, layout), derive(truth.dtype, accumulator))


_EXACT = "integers with so few bits that every order of summation gives the same sum"


def _values(problem: Problem, reading: str | Iterable[str] | None) -> Values:
    """Return the expected values: all that the text allows, or those of the named readings."""
    expected = problem.expectation
    names = () if reading is None else reading_names(reading)
    if not isinstance(expected, Values) and not names:
        raise Invalid(expected.violation)
    if not isinstance(expected, Values) or reading is not None:
        expected = Values(Candidate(names, geometry_of(problem.signature, problem.dialect, names)))
    for candidate in expected.candidates:
        geometry = candidate.geometry
        refuse_too_large(geometry, problem.case.x.shape[0], problem.case.w.shape[1] * geometry.groups)
    return expected


def _accumulator(dtype: DType, accumulates: str | None) -> DType:
    if accumulates is None:
        return DType.F32
    choices = list(dict.fromkeys((str(dtype), str(DType.F32))))
    return DType(word_of(f"accumulates for {dtype}", accumulates, choices))


def _account(
    problem: ProblemOfArrays, values: Values, verdict: ver.Verdict, actual: Array, accumulator: DType
) -> Iterator[tuple[str, str]]:
    """Yield the lines about a wrong output: the call, the expectation, and the diagnosis."""
    case, truth, layout = problem.case, problem.truth, problem.arrays_given.data_format
    shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in problem.operands.items())
    yield (
        "call",
        f"{attribute_words(case.attributes.given()) or 'no attribute'}; {case.x.dtype}, {shapes} in NCX and IOX",
    )
    for candidate in values.candidates:
        geometry = candidate.geometry
        yield "expected", _describe_expected(geometry, candidate.readings, truth)
    if isinstance(verdict, ver.WrongDtype):
        yield "advice", "give the operands in the type that the runtime got, and y in the type that it gave"
    if isinstance(verdict, ver.Inconclusive):
        yield "advice", "the tolerance is so wide that zeros would pass: use integers, or sums of fewer products"
    if isinstance(verdict, ver.WrongValues):
        rule = derive(truth.dtype, accumulator) if verdict.rule == "bound" else _EXACT
        yield "tolerance", f"{verdict.rule}: {rule}"
        if verdict.rule == "bound":
            yield "where", SYMBOLS
    wrong = isinstance(verdict, ver.WrongOutput)
    if wrong and actual.ndim == len(case.x.shape):
        yield from _diagnosis(problem, to_ncx(actual, layout), accumulator)


def _describe_expected(geometry: Geometry, readings: tuple[str, ...], truth: Truth) -> str:
    under = f" under {' + '.join(readings)}" if readings else ""
    pads = f"pads_begin {list(geometry.pads_begin)}, pads_end {list(geometry.pads_end)}"
    return f"{list(truth.shape(geometry))}{under}, {pads}"


def _diagnosis(problem: Problem, actual: Array, accumulator: DType) -> Iterator[tuple[str, str]]:
    says = meanings(problem.dialect)
    diagnosis = diagnose(problem, actual, accumulator)
    for together in diagnosis.explained:
        yield "explained", f"as if {together}: {'; '.join(_said(name, says[name]) for name in together.names)}"
    if not diagnosis.explained and diagnosis.described:
        yield "described", diagnosis.described


def _said(name: str, says: str) -> str:
    """Return a misreading in words; for an answer to a question, with the texts that give it."""
    question, _, answer = name.partition("=")
    texts = [str(dialect) for dialect in DIALECTS.values() if str(getattr(dialect.rules, question, "")) == answer]
    return f"{says}, as in {', '.join(texts)}" if answer and texts else says
