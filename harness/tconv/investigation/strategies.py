"""Random cases and calls as hypothesis strategies, for your own property tests: the extra `hypothesis`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from hypothesis import reject
    from hypothesis import strategies as st
except ModuleNotFoundError:
    from tconv.backends.extras import installing

    raise ModuleNotFoundError(
        "tconv.investigation.strategies needs the extra hypothesis (got none installed); install it "
        f"with: {installing(['hypothesis'])}"
    ) from None

from tconv.dialects import find_dialect
from tconv.expectation.problem import Problem
from tconv.investigation.random_cases import draw_case
from tconv.investigation.random_choices import Choices

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.case import Case


_TRIES = 20
"""The most cases that are drawn until a dialect can express one: hypothesis gives up if most examples are rejected."""


class _Hypothesis(Choices):
    """Choices that hypothesis makes and shrinks."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw

    def within(self, low: int, high: int) -> int:
        """Return an integer from low to high."""
        return self._draw(st.integers(low, high))


@st.composite
def cases(draw: Callable[[st.SearchStrategy[Any]], Any], dialect: str, *, broken: bool = True) -> Case:
    """Draw a case that a dialect can express.

    Args:
        draw: hypothesis's function, which hypothesis passes.
        dialect: the dialect's name.
        broken: whether it may break one constraint on purpose that the dialect states or leaves open.
    """
    for _ in range(_TRIES):
        case = draw_case(_Hypothesis(draw), find_dialect(dialect), broken=broken)
        if case is not None:
            return case
    return reject()


@st.composite
def calls(draw: Callable[[st.SearchStrategy[Any]], Any], dialect: str) -> dict[str, Any]:
    """Draw a valid call: arrays and attributes by the names of `conv_transpose` and `assert_conforms`.

    Args:
        draw: hypothesis's function, which hypothesis passes.
        dialect: the dialect's name; pass it to those functions too.

    Returns:
        x, w and perhaps bias, in the written layouts or the dialect's own, and the written attributes.

    Example:
        A test of your own `convolve`, which takes the same names:

        >>> from hypothesis import given, settings
        >>> import numpy as np
        >>> from tconv import assert_conforms, conv_transpose
        >>> from tconv.investigation.strategies import calls
        >>> def convolve(x, **call):
        ...     return conv_transpose(x, **call).astype(x.dtype)
        >>> @settings(max_examples=5, deadline=None, database=None)
        ... @given(calls("onnx/ConvTranspose-22"))
        ... def test_convolve(call):
        ...     assert_conforms(convolve(**call), **call)
        >>> test_convolve()
    """
    problem = Problem(draw(cases(dialect, broken=False)), find_dialect(dialect))
    arrays = dict(problem.arrays)
    operands = {"x": arrays["x"], "w": arrays["w"]} | ({"bias": arrays["b"]} if "b" in arrays else {})
    # kernel_shape only repeats the filter's sizes.
    attributes = {name: value for name, value in problem.case.attributes.given().items() if name != "kernel_shape"}
    return operands | attributes
