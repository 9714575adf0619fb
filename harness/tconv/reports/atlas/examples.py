"""A case as the atlas shows it: its call, and an output."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.call import express
from tconv.expectation.problem import truth_of
from tconv.reports.phrases import attribute_words

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array


_SHOWN = 24
"""Elements of an output that are written out."""


@dataclass(frozen=True, slots=True)
class Example:
    """A case's id, its call in a dialect, and an output of it, as texts."""

    case: str
    call: str
    output: str


def reference(case: Case, geometry: Geometry) -> Array:
    """Return the reference's output, (N, O, Y...)."""
    return truth_of(case).values(geometry)


def output_text(array: Array) -> str:
    """Return the elements of an output where they are few, else its shape."""
    shape = "x".join(map(str, array.shape))
    if not 0 < array.size <= _SHOWN:
        return f"{shape} elements"
    numbers = " ".join(np.format_float_positional(value, precision=6, trim="-") for value in array.ravel().tolist())
    return numbers if prod(array.shape) == array.shape[-1] else f"{shape}: {numbers}"


def call_text(case: Case, dialect: Dialect) -> str:
    """Return a case's call in the dialect: operands, inputs that hold integers, attributes."""
    call = express(case, dialect)
    parts = [f"{tensor.name} {'x'.join(map(str, tensor.shape))}" for tensor in call.inputs if tensor.dtype is not None]
    parts += [f"{tensor.name} {list(tensor.values)}" for tensor in call.inputs if tensor.dtype is None]
    parts += [attribute_words(call.attributes)] if call.attributes else []
    return ", ".join(parts)
