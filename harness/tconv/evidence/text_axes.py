"""Axes of a situation on which the text is asked what it expects, whatever was run.

What the text says must not depend on which cases a run has: in a part of a corpus a shorter formula may give the same
numbers as the text's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.dialects.geometry import reach
from tconv.evidence.axis_terms import OF_TEXT, terms
from tconv.evidence.observed_geometry import ObservedAxis
from tconv.expectation.expected import Values, expect_of_signature
from tconv.vocabulary import Attributes, AutoPad, DType, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.evidence.observed_geometry import Situation

_AXES = 200
"""Axes that are drawn. The whole gate tier gives no other formula than these, in any dialect and situation."""
_MOST = {"X": 7, "K": 5, "s": 4, "d": 3, "pad": 3}
"""The largest numbers of an axis: size, taps, stride, dilation, pads."""
_FROM_REACH = 4
"""How far output_shape is at most from all that the taps reach."""


def text_axes(situation: Situation, dialect: Dialect) -> Iterator[ObservedAxis]:
    """Yield axes of calls that the text allows, with what is expected; nothing was got of them.

    Args:
        situation: the padding mode, and whether output_shape is given.
        dialect: the text.
    """
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
        # Beside another mode they are written only where the text requires them.
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
