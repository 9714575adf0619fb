"""Backends whose answers depend on earlier calls, or on chance."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends import Outcome, Produced, Refused
from wrong_backends.right import Array, Right, Troubled, troubled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call


class RemembersPads(Right):
    """The first pads that a call of its process has stay for all later ones with pads."""

    def __init__(self) -> None:
        self._pads: dict[str, Any] = {}

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        words = super().understood(attributes)
        given = {name: words[name] for name in ("pads_begin", "pads_end") if words[name]}
        self._pads = self._pads or given
        return words | self._pads if given else words


class RemembersPadsAndDoublesBias(RemembersPads):
    """The same, with the bias twice."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        return super().computed(call, words, {k: v * 2 if k == "b" else v for k, v in arrays.items()})


class WaversAlways(Right):
    """Another answer each time."""

    times = 0

    def answer(self, y: Array) -> Outcome:
        self.times += 1
        return Produced((y + self.times).astype(y.dtype))


class ReadsUnsetMemory(Troubled):
    """The output is memory that was never written, where it is troubled."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        outcome = Right.run(self, call, arrays)
        if troubled(call) and isinstance(outcome, Produced):
            return Produced(np.empty(2**14, "f4")[: outcome.array.size].reshape(outcome.array.shape))
        return outcome


class WrongAtFirst(Right):
    """The first call of its process is wrong, and no other."""

    warm = False

    def answer(self, y: Array) -> Outcome:
        cold, self.warm = not self.warm, True
        return Produced((y + cold).astype(y.dtype))


class Wavers(Troubled):
    """Another answer each time, where it is troubled."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        self.times = getattr(self, "times", 0) + 1
        outcome = Right.run(self, call, arrays)
        if troubled(call) and isinstance(outcome, Produced):
            return Produced(outcome.array + self.times)
        return outcome


SEED = "WRONG_BACKENDS_SEED"
"""The environment's name for what chance is drawn from: the same calls of a process have the same chances again."""


class WrongByChance(Right):
    """The last element is wrong in about one call of three."""

    calls = 0

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        self.calls += 1
        drawn = sha256(repr((os.environ.get(SEED), self.calls, call.attributes)).encode()).digest()[0]
        outcome = super().run(call, arrays)
        if isinstance(outcome, Produced) and drawn < 85 and self.may_fail(call):
            return self.failed(outcome.array)
        return outcome

    def may_fail(self, call: Call) -> bool:  # noqa: ARG002 - others are of some calls
        return True

    def failed(self, y: Array) -> Outcome:
        y = y.copy()
        y[..., -1] += 1
        return Produced(y)


class WrongByChanceAtStride3(WrongByChance):
    """The last element is wrong in about one call of three with a stride of 3."""

    def may_fail(self, call: Call) -> bool:
        return 3 in call.attributes.get("strides", ())


class RefusesByChance(WrongByChance):
    """About one call of three is refused."""

    def failed(self, y: Array) -> Outcome:
        return Refused(f"no handle left for {y.size} elements")


class CrashesByChance(WrongByChanceAtStride3):
    """The process ends in about one call of three with a stride of 3."""

    def failed(self, y: Array) -> Outcome:  # noqa: ARG002 - as above
        os.abort()
