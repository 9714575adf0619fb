"""Drawn cases as a hypothesis strategy, for property tests of your own; hypothesis must be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import reject
from hypothesis import strategies as st

from tconv.dialects import dialect_named
from tconv.investigation.random_cases import draw_case
from tconv.investigation.random_choices import Choices

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.case import Case


class _Hypothesis(Choices):
    """Choices that hypothesis makes, and shrinks."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw

    def within(self, low: int, high: int) -> int:
        """Return an integer of low..high."""
        return self._draw(st.integers(low, high))


@st.composite
def cases(draw: Callable[[st.SearchStrategy[Any]], Any], dialect: str, *, broken: bool = True) -> Case:
    """Draw a case that a dialect can express.

    Args:
        draw: hypothesis's function, which it passes itself.
        dialect: the dialect's name.
        broken: whether it may break one constraint on purpose, of those that the dialect states or leaves open.
    """
    case = draw_case(_Hypothesis(draw), dialect_named(dialect), broken=broken)
    return case if case is not None else reject()
