"""The formulas that the axes of one situation follow: one for all of them, or several.

In a part of a corpus a shorter formula may give the same numbers as the text's own. The text's formula must not depend
on the cases of a run. So the text's answers for random axes are used too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from tconv.dialects.geometry import reach
from tconv.evidence.formulas import HALVES, SUMS, Form, Formula, TermColumns, covering, simplest
from tconv.evidence.observed_geometry import (
    FORWARD,
    FULL,
    LENGTHS,
    OF_TEXT,
    OTHER_AXES,
    SPACING,
    ObservedAxis,
    terms,
)
from tconv.expectation.expected import Values, expect_of_signature
from tconv.vocabulary import Attributes, AutoPad, DType, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.evidence.observed_geometry import Situation
    from tconv.vocabulary import Array

_AXES = 200
"""Number of random axes. The whole gate tier gives no other formulas than these axes, in any dialect and situation."""
_MOST = {"X": 7, "K": 5, "s": 4, "d": 3, "pad": 3}
"""The largest random numbers of an axis: size, taps, stride, dilation, pads."""
_FROM_REACH = 4
"""The largest random difference between output_shape and the full size."""
_Side = Literal["expected", "observed"]
"""Whose numbers are meant: those that the text expects, or those of the runtime."""
_WITNESSES = 3
"""A formula must fit at least so many different axes, and more axes than it has terms: fewer may be a coincidence."""
_MOST_FORMULAS = 3
"""The most formulas of a runtime for a quantity in one situation, without the text's own."""
MOST = 0.95
"""If a formula gives this part of all axes, it is the formula of all: a few answers may have another reason."""
_HALF = 0.5
"""Such a formula must also give this part of the axes that deviate."""
_FORMS = {"stride": (Form.PLAIN,), "dilation": (Form.PLAIN,), "size": SUMS, "pads_begin": HALVES}
_TERMS: Mapping[str, tuple[Mapping[str, int], ...]] = {
    "stride": ({**SPACING, "1": 1},),
    "dilation": ({**SPACING, "1": 1},),
    "size": (LENGTHS, {**LENGTHS, **OTHER_AXES}, {**LENGTHS, **SPACING}),
    "pads_begin": (LENGTHS, {**LENGTHS, **OTHER_AXES}, {**LENGTHS, **SPACING}),
}
"""Sets of terms, with their lengths; they are tried one after the other."""
_PADS = ((-1, "pads_begin"), (-1, "pads_end"))
_REACHED = ((1, FULL), (1, "op"))
_TOTAL = (*_REACHED, (-1, "size"))
_OF_FORWARD = ((1, FORWARD), (-1, "size"))
_HALVED = (Form.HALF_DOWN, Form.HALF_UP, Form.HALF_DOWN_AT_LEAST_0, Form.HALF_UP_AT_LEAST_0)
_USUAL: Mapping[str, tuple[Formula, ...]] = {
    "stride": (Formula(((1, "strides[i]"),)),),
    "dilation": (Formula(((1, "dilations[i]"),)),),
    "size": tuple(
        Formula(terms)
        for terms in (
            (*_REACHED, *_PADS), _REACHED, ((1, "output_shape"),), ((1, "X*s"),), ((1, "X*s"), (1, "op")), ((1, "X"),),
        )
    ),
    "pads_begin": (
        Formula(()),
        Formula(((1, "pads_begin"),)),
        *(Formula(_TOTAL, form) for form in _HALVED),
    ),
}  # fmt: skip
"""The formulas of the texts: `full + op - pads`, and half of what exceeds the size."""
_OFF_BY = (((1, "1"),), ((-1, "1"),), ((1, "2"),), ((-1, "2"),))
_USUAL_OF_RUNTIMES: Mapping[str, tuple[Formula, ...]] = {
    "size": tuple(Formula(((1, OF_TEXT["size"]), *off)) for off in _OFF_BY),
    "pads_begin": (
        *(Formula(_OF_FORWARD, form) for form in _HALVED),
        *(Formula(((1, OF_TEXT["pads_begin"]), *off)) for off in _OFF_BY),
    ),
}
"""Other usual formulas of runtimes: the padding of a forward convolution over the output, and sizes off by 1 or 2."""


def learn_expected(axes: Sequence[ObservedAxis], quantity: str) -> Formula | None:
    """Return the text's own formula for a quantity, learnt from the expected numbers of these axes."""
    return _single(axes, quantity, "expected")


def learn_followed(axes: Sequence[ObservedAxis], quantity: str) -> tuple[Formula, ...]:
    """Return the formulas that answers follow: one for all axes, or several for the axes that deviate from the text.

    Args:
        axes: the axes of a situation.
        quantity: `stride`, `dilation`, `size` or `pads_begin`.
    """
    axes = [axis for axis in axes if quantity in axis.observed]
    deviating = _deviating(axes, quantity)
    if not deviating:
        return ()
    shared = (
        _nearly(axes, deviating, quantity) or _single(axes, quantity, "observed") or _mostly(axes, deviating, quantity)
    )
    if shared and _witnessed(shared, deviating) and not _is_of_text(shared, deviating, quantity):
        return (shared,)
    formulas: list[Formula] = []
    while deviating and len(formulas) < _MOST_FORMULAS:
        formula = _single(deviating, quantity, "observed") or _covering(deviating, quantity)
        if formula is None:
            break
        fits = formula.values(_columns(deviating, "observed")) == _target(deviating, quantity, "observed")
        claimed = [axis for axis, fitting in zip(deviating, fits, strict=True) if fitting]
        if not _witnessed(formula, claimed):
            break
        if _part(formula, axes, quantity) >= MOST:
            return (formula,)
        formulas.append(formula)
        deviating = [axis for axis, fitting in zip(deviating, fits, strict=True) if not fitting]
    return tuple(formulas)


def in_terms_of(text: Formula | None, formula: Formula, axes: Sequence[ObservedAxis]) -> Formula:
    """Return a formula together with the text's other terms, if these are 0 on every axis and nothing else differs.

    No answer shows if a runtime uses these terms. Without them the two formulas would seem to differ more than they do.

    Args:
        text: the text's own formula; None if none was found.
        formula: the formula of the axes.
        axes: the axes.
    """
    if text is None or not set(formula.terms) < set(text.terms):
        return formula
    lacking = {name for _, name in set(text.terms) - set(formula.terms)}
    unseen = not any(axis.observed_terms[name] for axis in axes for name in lacking)
    return Formula(text.terms, formula.form) if unseen else formula


def _deviating(axes: Sequence[ObservedAxis], quantity: str) -> list[ObservedAxis]:
    """Return the axes whose quantity differs from the expected one, and from the result of the text's formula.

    If another quantity deviates, such as the size, the text's formula may give another number than the expected one.
    """
    deviating = [axis for axis in axes if axis.observed[quantity] != axis.expected[quantity]]
    text_formula = learn_expected(axes, quantity) if deviating else None
    return [
        axis
        for axis in deviating
        if text_formula is None or text_formula.value(axis.observed_terms) != axis.observed[quantity]
    ]


def _nearly(axes: Sequence[ObservedAxis], deviating: Sequence[ObservedAxis], quantity: str) -> Formula | None:
    """Return the usual formula for most axes; None if it gives too few of all axes, or of the axes that deviate."""
    usual = [*_usual(quantity, _columns(axes, "observed"), "observed")]
    parts = _parts(usual, axes, quantity)
    best = usual[parts.index(max(parts))]
    return best if max(parts) >= MOST and _part(best, deviating, quantity) >= MOST else None


def _mostly(axes: Sequence[ObservedAxis], deviating: Sequence[ObservedAxis], quantity: str) -> Formula | None:
    """Return a formula that gives nearly all axes, and most of those that deviate; None if there is none."""
    formula = _covering(axes, quantity)
    if formula is None or _part(formula, axes, quantity) < MOST or _part(formula, deviating, quantity) < _HALF:
        return None
    return formula


def _is_of_text(formula: Formula, axes: Sequence[ObservedAxis], quantity: str) -> bool:
    """Return whether a formula also gives the text's numbers: then it shows nothing about the runtime."""
    return bool((formula.values(_columns(axes, "expected")) == _target(axes, quantity, "expected")).all())


def _part(formula: Formula, axes: Sequence[ObservedAxis], quantity: str) -> float:
    """Return the part of the axes whose quantity a formula gives."""
    return _parts([formula], axes, quantity)[0]


def _parts(formulas: Sequence[Formula], axes: Sequence[ObservedAxis], quantity: str) -> list[float]:
    """Return the part of the axes whose quantity each formula gives."""
    columns, target = _columns(axes, "observed"), _target(axes, quantity, "observed")
    return [float((formula.values(columns) == target).mean()) for formula in formulas]


def _single(axes: Iterable[ObservedAxis], quantity: str, side: _Side) -> Formula | None:
    """Return the simplest formula for the expected or the observed numbers of all axes."""
    distinct = _distinct(axis for axis in axes if quantity in getattr(axis, side))
    if not distinct:
        return None
    target = _target(distinct, quantity, side)
    columns = _columns(distinct, side)
    choices = _TERMS[quantity] if side == "observed" else _TERMS[quantity][:1]
    for usual in _usual(quantity, columns, side):
        if (usual.values(columns) == target).all():
            return usual
    formulas = (simplest(target, _terms(columns, lengths, quantity), _FORMS[quantity]) for lengths in choices)
    return next(filter(None, formulas), None)


def _usual(quantity: str, columns: Mapping[str, Array], side: _Side) -> Iterator[Formula]:
    """Yield the usual formulas for a quantity, each without its terms that are 0 on every axis."""
    of_runtimes = _USUAL_OF_RUNTIMES.get(quantity, ()) if side == "observed" else ()
    for formula in (*_USUAL[quantity], *of_runtimes):
        terms = tuple((sign, name) for sign, name in formula.terms if columns[name].any())
        if terms or not formula.terms:
            yield Formula(terms, formula.form)


def _covering(axes: Sequence[ObservedAxis], quantity: str) -> Formula | None:
    """Return the formula that gives most of the axes."""
    distinct = _distinct(axes)
    target, columns = _target(distinct, quantity, "observed"), _columns(distinct, "observed")
    formulas = [covering(target, _terms(columns, lengths, quantity), _FORMS[quantity]) for lengths in _TERMS[quantity]]
    return max(filter(None, formulas), key=lambda formula: int((formula.values(columns) == target).sum()), default=None)


def _terms(columns: Mapping[str, Array], lengths: Mapping[str, int], quantity: str) -> TermColumns:
    # The size is no term of itself.
    names = [name for name in lengths if name != "size" or quantity == "pads_begin"]
    return TermColumns({name: columns[name] for name in names}, lengths)


def _target(axes: Sequence[ObservedAxis], quantity: str, side: _Side) -> Array:
    return np.array([getattr(axis, side)[quantity] for axis in axes], dtype=np.int64)


def _columns(axes: Sequence[ObservedAxis], side: _Side) -> dict[str, Array]:
    """Return the numbers of every term, those of the text or those of the answer."""
    numbers = [axis.observed_terms if side == "observed" else axis.text_terms for axis in axes]
    return {name: np.array([terms[name] for terms in numbers], dtype=np.int64) for name in numbers[0]}


def _distinct(axes: Iterable[ObservedAxis]) -> list[ObservedAxis]:
    """Return the axes without duplicates."""
    return list(
        {
            (*axis.observed_terms.values(), *axis.expected.values(), *axis.observed.items()): axis for axis in axes
        }.values()
    )


def _witnessed(formula: Formula, axes: Sequence[ObservedAxis]) -> bool:
    """Return whether the axes that a formula fits are enough to believe it, and from more than one case."""
    fewest = max(_WITNESSES, len(formula.terms) + 1)
    return len({axis.case for axis in axes}) > 1 and len(_distinct(axes)) >= fewest


def text_axes(situation: Situation, dialect: Dialect) -> Iterator[ObservedAxis]:
    """Yield random axes of calls that the text allows, with the expected numbers and without observed ones.

    Args:
        situation: the padding mode, and whether output_shape is given.
        dialect: the text.
    """
    if situation.auto_pad not in set(AutoPad):
        # An invalid word of a case that breaks this rule on purpose: the text gives it no numbers.
        return
    random = np.random.default_rng(0)
    for _ in range(_AXES):
        signature = _drawn(random, situation, dialect)
        expected = expect_of_signature(signature, dialect)
        if isinstance(expected, Values):
            yield _axis(signature, expected.primary.geometry)


def _drawn(random: np.random.Generator, situation: Situation, dialect: Dialect) -> Signature:
    x, k, s, d = (int(random.integers(1, _MOST[name] + 1)) for name in ("X", "K", "s", "d"))
    begin, end = (int(pad) for pad in random.integers(0, _MOST["pad"] + 1, 2))
    output = max(1, reach(x, k, s, d) + int(random.integers(-_FROM_REACH, _FROM_REACH)))
    explicit = situation.auto_pad == AutoPad.EXPLICIT
    if not explicit:
        # With another mode pads are written only if the text requires them.
        begin, end = 0, 0
    pads = explicit or "pads_begin" in dialect.spelling.written
    attributes = Attributes(
        strides=(s,),
        dilations=(d,),
        pads_begin=(begin,) if pads else None,
        pads_end=(end,) if pads else None,
        auto_pad=None if explicit else AutoPad(situation.auto_pad),
        output_padding=(int(random.integers(0, max(s, d))),),
        output_shape=(output,) if situation.output_shape else None,
    )
    data, filters = (TensorType((1, 1, size), DType.F32) for size in (x, k))
    return Signature(attributes, data, filters, None)


def _axis(signature: Signature, geometry: Geometry) -> ObservedAxis:
    quantities = (geometry.strides, geometry.dilations, geometry.output, geometry.pads_begin)
    stride, dilation, size, begin = (entries[0] for entries in quantities)
    of_text = {OF_TEXT["size"]: size, OF_TEXT["pads_begin"]: begin}
    numbers = terms(signature, 0, stride, dilation, size) | of_text
    expected = {"stride": stride, "dilation": dilation, "size": size, "pads_begin": begin}
    return ObservedAxis("", expected, {}, numbers, numbers)
