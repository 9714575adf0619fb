"""The formulas that the axes of one situation follow: one for all of them, or several.

In a part of a corpus a shorter formula may give the same numbers as the text's own. The text's formula must not depend
on the cases of a run, so it is learnt from the text's answers for random axes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tconv.dialects.geometry import reach
from tconv.evidence.formulas import HALVES, SUMS, Form, Formula, TermColumns, covering, simplest
from tconv.evidence.observed_axes import FORWARD, FULL, LENGTHS, OF_TEXT, OTHER_AXES, SPACING, Axes, axes_of
from tconv.expectation.expected import Values, expect_of_signature
from tconv.vocabulary import Attributes, AutoPad, DType, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.dialects import Dialect
    from tconv.evidence.observed_axes import Columns
    from tconv.evidence.observed_geometry import Situation
    from tconv.vocabulary import Mask

_AXES = 200
"""Number of random axes. The whole gate tier gives no other formulas than these axes, in any dialect and situation."""
_MOST = {"X": 7, "K": 5, "s": 4, "d": 3, "pad": 3}
"""The largest random numbers of an axis: size, taps, stride, dilation, pads."""
_FROM_REACH = 4
"""The largest random difference between output_shape and the full size."""
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


@cache
def learn_expected(situation: Situation, dialect: Dialect, quantity: str) -> Formula | None:
    """Return the text's own formula for a quantity in a situation; None if it has no numbers there, or no formula."""
    axes = text_axes(situation, dialect)
    if not len(axes.outputs):
        return None
    columns, target = axes.terms, axes.expected[quantity]
    usual = (formula for formula in _usual(_USUAL[quantity], columns) if (formula.values(columns) == target).all())
    return next(usual, None) or simplest(target, _terms(columns, _TERMS[quantity][0], quantity), _FORMS[quantity])


def learn_followed(axes: Axes, quantity: str, of_text: Formula | None) -> tuple[Formula, ...]:
    """Return the formulas that answers follow: one for all axes, or several for the axes that deviate from the text.

    Args:
        axes: the axes of a situation.
        quantity: `stride`, `dilation`, `size` or `pads_begin`.
        of_text: the text's own formula. If another quantity deviates, such as the size, this formula may give another
            number than the expected one.
    """
    axes = axes.rows(axes.shown[quantity]).distinct()
    deviates = axes.observed[quantity] != axes.expected[quantity]
    if of_text is not None:
        deviates &= ~_fits(of_text, axes, quantity)
    deviating = axes.rows(deviates)
    shared = _best(axes, quantity) if deviates.any() else None
    if shared and _is_shared(shared, axes, deviating, quantity):
        return (shared,)
    formulas: list[Formula] = []
    while len(deviating.outputs) and len(formulas) < _MOST_FORMULAS:
        formula = _best(deviating, quantity)
        if formula is None or not _is_witnessed(formula, deviating, quantity):
            break
        if _fits(formula, axes, quantity).mean() >= MOST:
            return (formula,)
        formulas.append(formula)
        deviating = deviating.rows(~_fits(formula, deviating, quantity))
    return tuple(formulas)


def in_terms_of(text: Formula | None, formula: Formula, columns: Columns) -> Formula:
    """Return a formula together with the text's other terms, if these are 0 on every axis and nothing else differs.

    No answer shows if a runtime uses these terms. Without them the two formulas would seem to differ more than they do.

    Args:
        text: the text's own formula; None if none was found.
        formula: the formula of the axes.
        columns: the terms of the axes.
    """
    if text is None or not set(formula.terms) < set(text.terms):
        return formula
    unseen = not any(columns[name].any() for _, name in set(text.terms) - set(formula.terms))
    return Formula(text.terms, formula.form) if unseen else formula


def _fits(formula: Formula, axes: Axes, quantity: str) -> Mask:
    """Return the axes whose quantity a formula gives."""
    fits: Mask = formula.values(axes.terms) == axes.observed[quantity]
    return fits


def _is_shared(formula: Formula, axes: Axes, deviating: Axes, quantity: str) -> bool:
    """Return whether a formula is that of all axes: it gives most of them, and differs from the text."""
    gives_text = (formula.values(axes.text_terms) == axes.expected[quantity]).all()
    parts = (_fits(formula, of, quantity).mean() for of in (axes, deviating))
    is_most = all(part >= least for part, least in zip(parts, (MOST, _HALF), strict=True))
    return is_most and not gives_text and _is_witnessed(formula, deviating, quantity)


def _is_witnessed(formula: Formula, axes: Axes, quantity: str) -> bool:
    """Return whether the axes that a formula fits are enough to believe it, and from more than one output."""
    fits = _fits(formula, axes, quantity)
    return len(np.unique(axes.outputs[fits])) > 1 and fits.sum() >= max(_WITNESSES, len(formula.terms) + 1)


def _best(axes: Axes, quantity: str) -> Formula | None:
    """Return the formula that gives most of the axes: a usual one or the simplest one, if it gives all or nearly all.

    Args:
        axes: the axes; no two have the same numbers.
        quantity: `stride`, `dilation`, `size` or `pads_begin`.
    """
    columns, target = axes.terms, axes.observed[quantity]

    def count(formula: Formula) -> int:
        return int((formula.values(columns) == target).sum())

    usual = max(_usual((*_USUAL[quantity], *_USUAL_OF_RUNTIMES.get(quantity, ())), columns), key=count)
    if count(usual) == len(target):
        return usual
    choices = [_terms(columns, lengths, quantity) for lengths in _TERMS[quantity]]
    exact = (simplest(target, terms, _FORMS[quantity]) for terms in choices)
    if (formula := next(filter(None, exact), None)) is not None:
        return formula
    return usual if count(usual) >= MOST * len(target) else covering(target, choices[0], _FORMS[quantity])


def _usual(formulas: tuple[Formula, ...], columns: Columns) -> Iterator[Formula]:
    """Yield usual formulas, each without its terms that are 0 on every axis."""
    for formula in formulas:
        terms = tuple((sign, name) for sign, name in formula.terms if columns[name].any())
        if terms or not formula.terms:
            yield Formula(terms, formula.form)


def _terms(columns: Columns, lengths: Mapping[str, int], quantity: str) -> TermColumns:
    # The size is no term of itself.
    names = [name for name in lengths if name != "size" or quantity == "pads_begin"]
    return TermColumns({name: columns[name] for name in names}, lengths)


@cache
def text_axes(situation: Situation, dialect: Dialect) -> Axes:
    """Return random axes of calls that the text allows; none for an invalid padding mode.

    Args:
        situation: the padding mode, and whether output_shape is given.
        dialect: the text.
    """
    random = np.random.default_rng(0)
    # An invalid word of a case that breaks this rule on purpose has no numbers.
    count = _AXES if situation.auto_pad in set(AutoPad) else 0
    drawn = [_drawn(random, situation, dialect) for _ in range(count)]
    expected = ((signature, expect_of_signature(signature, dialect)) for signature in drawn)
    return axes_of((signature, of.primary.geometry, None) for signature, of in expected if isinstance(of, Values))


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
