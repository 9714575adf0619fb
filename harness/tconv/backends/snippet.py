"""Python code that calls a runtime without tconv, and expressions that several backends need for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.cases.layouts import inverse, permutation
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from tconv.cases.call import Call


@dataclass(frozen=True, slots=True)
class Snippet:
    """Python code that calls a runtime.

    Attributes:
        modules: the modules that it imports; the first one has the version.
        lines: the code up to `y`, the output as an array in the call's layout. It begins with `model`, an
            `onnx.ModelProto`, and `feeds`, arrays by the names of its inputs; or with arrays named as in the dialect.
        refusals: the names of the exceptions that are refusals.
        of_model: whether it needs `model` and `feeds`.
        shape_only: whether only the shape and type of `y` have a meaning.
        version: the expression for the runtime's version; empty for that of the first module.
    """

    modules: tuple[str, ...]
    lines: tuple[str, ...]
    refusals: tuple[str, ...] = ()
    of_model: bool = True
    shape_only: bool = False
    version: str = ""


def name_of(call: Call, role: str) -> str:
    """Return the dialect's name for an input of the call; empty if the call does not have it."""
    return next((tensor.name for tensor in call.inputs if tensor.role == role), "")


def x_in_ncx(call: Call) -> str:
    """Return the expression for the data in NCX."""
    name = name_of(call, "x")
    axes = permutation(call.data_format, call.rank)
    return name if call.data_format is DataFormat.NCX else f"{name}.transpose({axes})"


def w_in_iox(call: Call) -> str:
    """Return the expression for the filter in IOX."""
    name = name_of(call, "w")
    if call.filter_format is FilterFormat.GIOX:
        return f"{name}.reshape({list(call.written.w.shape)})"
    axes = permutation(call.filter_format, call.rank)
    return name if call.filter_format is FilterFormat.IOX else f"{name}.transpose({axes})"


def y_from_ncx(call: Call, line: str) -> list[str]:
    """Return the line that transposes `y` from NCX to the call's layout; none if that is NCX.

    Args:
        call: the call.
        line: the line, with `AXES` for the permutation.
    """
    axes = inverse(permutation(call.data_format, call.rank))
    return [] if call.data_format is DataFormat.NCX else [line.replace("AXES", str(axes))]
