"""A backend that goes wrong in twelve ways, each in a case of its own, for the view of a case."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv import conv_transpose
from tconv.backends import Outcome, Produced, Refused
from wrong_backends import FOREVER, Right, Tf32Operands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call

Array = np.ndarray[Any, np.dtype[Any]]

WAYS = {
    5: "wrong-size",
    6: "shift",
    7: "lost-bits",
    8: "missing-product",
    9: "refusal",
    10: "death",
    11: "hang",
    12: "dtype",
    13: "shape",
    14: "unstable",
    15: "accepted-invalid",
    16: "disputed",
    17: "spacing",
}
"""The way by the size of the data's last axis."""
CASES = """\
format: 1
about: A case for each way to go wrong.
cites: [{dialect: onnx/ConvTranspose-22, clause: "operator page, attribute pads"}]
base:
  {batch: 2, channels: 4, out_channels: 6, groups: 2, bias: true, kernel: [3, 3], strides: 2,
   pads_begin: [2, 1], pads_end: [0, 1]}
cases:
  - {name: wrong-size, with: {spatial: [4, 5]}}
  - {name: shift, with: {spatial: [4, 6]}}
  - {name: lost-bits, with: {spatial: [4, 7], data: normal}}
  - {name: missing-product, with: {spatial: [4, 8]}}
  - {name: refusal, with: {spatial: [4, 9]}}
  - {name: death, with: {spatial: [4, 10]}}
  - {name: hang, with: {spatial: [4, 11]}}
  - {name: dtype, with: {spatial: [4, 12]}}
  - {name: shape, with: {spatial: [4, 13]}}
  - {name: unstable, with: {spatial: [4, 14]}}
  - {name: accepted-invalid, with: {spatial: [4, 15], auto_pad: same_upper, breaks: pads-without-auto-pad}}
  - name: disputed
    with: {spatial: [16], kernel: [2], strides: 3, pads_begin: null, pads_end: null, auto_pad: same_upper}
  - {name: spacing, with: {spatial: [4, 17], strides: [3, 2], pads_begin: null, pads_end: null}}
  - name: line
    with: {spatial: [5], kernel: [4], strides: 3, dilations: 2, pads_begin: 2, pads_end: 1, output_padding: 1}
  - {name: volume, with: {spatial: [2, 3, 6], kernel: [2, 2, 3], pads_begin: [1, 0, 2], pads_end: [0, 0, 0]}}
  - {name: long, with: {spatial: [400], kernel: [5], pads_begin: 3, pads_end: 1}}
  - {name: large, with: {spatial: [60, 6], kernel: [5, 3], pads_begin: [2, 2], pads_end: [1, 0]}}
sweeps:
  - name: strides
    about: Neighbours.
    with: {spatial: [4, 6], pads_begin: null, pads_end: null}
    axes:
      strides: [1, 2, 3]
      pads: {none: {}, some: {pads_begin: [2, 1], pads_end: [0, 1]}}
"""


class TwelveWays(Right):
    """Right, except for the cases with a way of their own."""

    asked = 0

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        way = WAYS.get(arrays["x"].shape[-1], "")
        words = self.understood(dict(call.attributes))
        match way:
            case "refusal":
                return Refused("no kernel for nine columns")
            case "death":
                os.abort()
            case "hang":
                time.sleep(FOREVER)
            case "lost-bits":
                return Tf32Operands().run(call, arrays)
            case "accepted-invalid":
                words |= {"pads_begin": None, "pads_end": None}
            case "shift":
                words |= {"pads_begin": words["pads_end"], "pads_end": words["pads_begin"]}
            case "spacing":
                words |= {"strides": words["strides"][::-1]}
            case "missing-product":
                w = arrays["w"].copy()
                w[0, 1, 1, 2] = 0
                arrays = {**arrays, "w": w}
            case _:
                pass
        y = self._computed(call, words, dict(arrays), way)
        return Produced(self._changed(y.astype(arrays["x"].dtype), way))

    def _computed(self, call: Call, words: dict[str, Any], arrays: dict[str, Array], way: str) -> Array:
        if way == "disputed":
            return conv_transpose(
                arrays["x"],
                arrays["w"],
                arrays.get("b"),
                dialect=call.dialect,
                groups=call.groups,
                reading="negative-same-shrunk",
                **words,
            )
        return self.computed(call, words, arrays)

    def _changed(self, y: Array, way: str) -> Array:
        match way:
            case "wrong-size":
                return y[:, :, 1:]
            case "dtype":
                return y.astype(np.float64)
            case "shape":
                return y[..., 0]
            case "unstable":
                self.asked += 1
                return y + self.asked
            case _:
                return y
