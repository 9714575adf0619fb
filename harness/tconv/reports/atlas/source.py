"""A backend's run as the atlas names it, and a case of it with what was returned."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.call import express
from tconv.cases.operands import make_operands
from tconv.expectation.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import Status
    from tconv.vocabulary import Array


_SHOWN = 24
"""Elements of an output that are written out."""


@dataclass(frozen=True, slots=True)
class Source:
    """A backend's run, as columns and cells name it."""

    name: str
    dialect: Dialect
    assessment: Assessment

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many records have each status."""
        return self.assessment.counts


@dataclass(frozen=True, slots=True)
class Example:
    """A case in the words of a dialect, and what it comes to."""

    case: str
    call: str
    values: str


def values(case: Case, geometry: Geometry) -> Array:
    """Return the reference's output, (N, O, Y...)."""
    return Truth(make_operands(case.x, case.w, case.b), case.x.dtype).values(geometry)


def listed(array: Array) -> str:
    """Return an output: its elements where they are few, else its shape."""
    shape = "x".join(map(str, array.shape))
    if not 0 < array.size <= _SHOWN:
        return f"{shape} elements"
    numbers = " ".join(np.format_float_positional(value, precision=6, trim="-") for value in array.ravel().tolist())
    return numbers if prod(array.shape) == array.shape[-1] else f"{shape}: {numbers}"


def called(case: Case, dialect: Dialect) -> str:
    """Return a call in the dialect's words."""
    call = express(case, dialect)
    given = [f"{tensor.name} {'x'.join(map(str, tensor.shape))}" for tensor in call.inputs if tensor.dtype is not None]
    given += [f"{tensor.name} {list(tensor.values)}" for tensor in call.inputs if tensor.dtype is None]
    given += [f"{name}={list(value) if isinstance(value, tuple) else value}" for name, value in call.attributes.items()]
    return ", ".join(given)
