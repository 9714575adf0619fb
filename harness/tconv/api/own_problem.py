"""A problem made of a caller's arrays and attributes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tconv.api.arguments import Arrays, arrays_of, attributes_of
from tconv.cases.case import Case, Operand
from tconv.cases.operands import NUMPY_TYPES
from tconv.errors import UsageError
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects import Dialect
    from tconv.vocabulary import Array, DType

_TYPES = {numpy_type: dtype for dtype, numpy_type in NUMPY_TYPES.items()}


@dataclass(frozen=True, eq=False)
class ProblemOfArrays(Problem):
    """A problem whose operands are the caller's arrays, not made from recipes.

    Attributes:
        arrays_given: the arrays.
    """

    arrays_given: Arrays

    @property
    def operands(self) -> Mapping[str, Array]:
        """The operands by role, in NCX and IOX, in their own types."""
        arrays = self.arrays_given
        return {"x": arrays.x, "w": arrays.w} | ({} if arrays.b is None else {"b": arrays.b})

    @cached_property
    def _truth(self) -> Truth:
        return Truth(self.operands, self.case.x.dtype)

    @property
    def truth(self) -> Truth:
        """The reference for the operands."""
        return self._truth


def problem_of(x: Any, w: Any, bias: Any, dialect: Dialect, keywords: Mapping[str, Any]) -> ProblemOfArrays:  # noqa: ANN401 - a caller may give anything
    """Return the problem of a caller's arrays and attributes.

    Args:
        x: data, in the written layout or the dialect's default.
        w: filter, in the written layout or the dialect's default.
        bias: (O,), or None.
        dialect: the dialect.
        keywords: attributes and layouts by name.

    Raises:
        Invalid: an array has too few dimensions for its layout.
        UsageError: an array or an attribute is wrong.
    """
    arrays = arrays_of(x, w, bias, dialect, keywords)
    operands = [
        None if array is None else Operand(tuple(array.shape), _dtype(name, array))
        for name, array in (("x", arrays.x), ("w", arrays.w), ("bias", arrays.b))
    ]
    attributes = attributes_of({**keywords, "groups": arrays.groups}, max(arrays.x.ndim - 2, 0))
    data, filters, b = operands
    assert data is not None  # noqa: S101 - only the bias may be missing
    assert filters is not None  # noqa: S101 - as above
    return ProblemOfArrays(Case("call", attributes, data, filters, b), dialect, arrays)


def _dtype(name: str, array: Array) -> DType:
    if array.dtype not in _TYPES:
        names = ", ".join(map(str, _TYPES))
        raise UsageError(
            f"{name} must be of the type that the runtime got, one of {names} (got {array.dtype}); "
            f"convert it: {name}.astype(np.float32)"
        )
    return _TYPES[array.dtype]
