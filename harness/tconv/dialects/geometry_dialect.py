"""geometry/1: the operator after a dialect's rules, for runtimes that have no text of their own.

It has plain pads, which may be negative, and neither a padding mode nor output_shape. Its text is `geometry.Geometry`.
"""

from __future__ import annotations

from dataclasses import replace

from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.dialect import Absent, ConstraintAnswer, Spelling, Stated
from tconv.dialects.onnx import CONV_TRANSPOSE_22
from tconv.vocabulary import NEUTRAL

_TEXT = "Geometry"


def _answer(name: str, onnx: ConstraintAnswer) -> ConstraintAnswer:
    """Return geometry/1's answer to a constraint, given ONNX's: what is left open there and has a value is allowed here."""
    if name in {"without-auto-pad", "without-output-shape", "without-kernel-shape"}:
        return Stated(f"{_TEXT}: plain pads only")
    if name in {"pads-non-negative", "output-padding-below-stride-or-dilation"}:
        return Absent(f"{_TEXT}: any integer")
    stated = isinstance(onnx, Stated) or CONSTRAINTS[name].needed
    return Stated(f"{_TEXT}: {name}") if stated else Absent(f"{_TEXT}: {name}")


GEOMETRY_1 = replace(
    CONV_TRANSPOSE_22,
    name="geometry/1",
    text="tconv.dialects.geometry.Geometry",
    disputed=(),
    constraints={name: _answer(name, onnx) for name, onnx in CONV_TRANSPOSE_22.constraints.items()},
    spelling=Spelling(
        attributes={name: name for name in (*NEUTRAL, "groups")},
        inputs={"x": "data", "w": "filter", "b": "bias"},
    ),
    opset=None,
)
