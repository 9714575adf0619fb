"""What a backend that follows a misreading gives."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.corpus.budget import MOST_ELEMENTS
from tconv.diagnosis.misreadings import apply
from tconv.expectation.truth import Truth

if TYPE_CHECKING:
    from tconv.cases.call import Call
    from tconv.diagnosis.misreadings import Misreading
    from tconv.expectation.problem import Problem
    from tconv.vocabulary import Array


def mutated(problem: Problem, misreading: Misreading) -> Array | None:
    """Return the output of a backend that follows a misreading, in the call's layout and type; None for no change."""
    return output(misreading, problem.call, problem.truth.operands)


def output(misreading: Misreading, call: Call, operands: dict[str, Array]) -> Array | None:
    """Return the same of a call, whose operands are in float64, NCX and IOX; None too for what no case may ask for."""
    misread = apply((misreading,), call.written, call.dialect, operands)
    if misread is None or not misreading.playable:
        return None
    truth = Truth(misread.operands, call.dtype)
    if prod(truth.shape(misread.geometry)) > MOST_ELEMENTS:
        # A stride of 2^63 - 1 that is taken for a dilation, say.
        return None
    y = truth.values(misread.geometry)
    with np.errstate(invalid="ignore", over="ignore"):
        if misread.finish is not None:
            y = misread.finish(y)
        if misread.precision is not None and misread.precision.at_best is not None:
            y = misread.precision.at_best(y, call.dtype)
    return in_call(y, call)


def in_call(y: Array, call: Call) -> Array:
    """Return an output in NCX in a call's layout and type."""
    with np.errstate(invalid="ignore", over="ignore"):
        return from_ncx(y.astype(NUMPY_TYPES[call.dtype]), call.data_format)
