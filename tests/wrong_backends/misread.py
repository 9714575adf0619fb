"""Backends that misread: wrong attributes, operands or sums, which a misreading may give."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tconv.backends import Option, Outcome, Produced, Refused
from wrong_backends.right import Array, Right

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call


class PadsSwapped(Right):
    """The padding of the end at the beginning."""

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        words = super().understood(attributes)
        return words | {"pads_begin": words["pads_end"], "pads_end": words["pads_begin"]}


class NoOutputPaddingInThePlane(Right):
    """Ignores output_padding if there are two axes."""

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        words = super().understood(attributes)
        is_plane = len(words["output_padding"] or ()) == 2
        return words | {"output_padding": None} if is_plane else words


class BiasOfTheFirstGroup(Right):
    """Adds the bias of the first group, and no other."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        bias = arrays.get("b")
        if bias is not None and bias.ndim == 1:
            arrays["b"] = bias * (np.arange(len(bias)) < len(bias) // call.groups).astype(bias.dtype)
        return super().computed(call, words, arrays)


class PadsSwappedAndMore(PadsSwapped):
    """The same, and much else that is no business of pads: it dies of one element, refuses two, spoils three."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        match arrays["x"].shape[-1]:
            case 1:
                os.abort()
            case 2:
                return Refused("no kernel for two elements")
            case 3:
                return Produced(super().run(call, arrays).array + 1)  # type: ignore[union-attr] # it is valid
            case _:
                return super().run(call, arrays)


class PadsAsChosen(PadsSwapped):
    """The padding of the end is at the beginning, if an option says so."""

    OPTIONS: ClassVar = (
        Option("pads", "where pads are put", "in-place", ("in-place", "swapped")),
        Option("threads", "how many", "1", range(1, 9)),
    )

    def __init__(self, pads: str = "in-place", threads: str = "1") -> None:
        self._swaps, self._threads = pads == "swapped", threads

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        return super().understood(attributes) if self._swaps else Right.understood(self, attributes)


class DroppedTap(Right):
    """The filter's last tap is not there."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        w = arrays["w"].copy()
        w[..., -1] = 0
        return super().computed(call, words, arrays | {"w": w})


class BiasDoubled(Right):
    """The bias twice."""

    def computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array]) -> Array:
        return super().computed(call, words, {k: v * 2 if k == "b" else v for k, v in arrays.items()})


class LowerAsUpper(Right):
    """SAME_LOWER computed as SAME_UPPER, which itself is right."""

    def understood(self, attributes: dict[str, Any]) -> dict[str, Any]:
        words = super().understood(attributes)
        return words | {"auto_pad": "same_upper"} if words["auto_pad"] == "same_lower" else words


class PadsSwappedAndBiasDoubled(PadsSwapped, BiasDoubled):
    """Two mistakes that know nothing of each other."""


class Odd(Right):
    """What a test makes of the output."""

    @staticmethod
    def change(y: Array) -> Array:
        return y

    def answer(self, y: Array) -> Outcome:
        with np.errstate(over="ignore", invalid="ignore"):
            return Produced(self.change(y))
