"""Where drawn cases get their choices from: a counter-based generator, the same on every machine and every numpy.

Hypothesis's own choices depend on the literals that it finds in the modules around it. As an alternative backend of
hypothesis, this one depends on its key alone.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import NoReturn

import numpy as np
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider

KEY: ContextVar[int] = ContextVar("KEY", default=0)
"""What the choices depend on, of 128 bits."""
BACKEND = "tconv-philox"
_ONE = 2.0**64


class Bits(PrimitiveProvider):
    """Integers and booleans from the raw bits of Philox, keyed by `KEY`; strategies of cases draw nothing else."""

    def __init__(self, _: object, /) -> None:
        """Key the generator; hypothesis makes one for each run of a test."""
        super().__init__(None)
        self._bits = np.random.Philox(key=KEY.get())

    def draw_boolean(self, p: float = 0.5) -> bool:
        """Return true with probability p."""
        return int(self._bits.random_raw()) < p * _ONE

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,  # noqa: ARG002 - hypothesis's taste for endpoints
        shrink_towards: int = 0,  # noqa: ARG002 - hypothesis gives it by name
    ) -> int:
        """Return one of the integers between two, each as likely."""
        if min_value is None or max_value is None:
            self._not_drawn()
        return min_value + int(self._bits.random_raw()) % (max_value - min_value + 1)

    def draw_float(self, **_: object) -> NoReturn:
        """Draw nothing."""
        self._not_drawn()

    def draw_string(self, *_: object, **__: object) -> NoReturn:
        """Draw nothing."""
        self._not_drawn()

    def draw_bytes(self, *_: object, **__: object) -> NoReturn:
        """Draw nothing."""
        self._not_drawn()

    def _not_drawn(self) -> NoReturn:
        raise NotImplementedError("cases are made of integers within bounds and of booleans")


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{Bits.__name__}"
