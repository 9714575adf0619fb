"""A backend with one fault that a single node of a model shows; the option `fault` says which."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tconv.backends import BackendInfo, Option, Outcome, Produced, Refused
from tconv.dialects import DIALECTS
from wrong_backends.right import Array, Right

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnx import ModelProto

    from tconv.cases.call import Call


ONNX_NAMES = tuple(name for name, dialect in reversed(DIALECTS.items()) if dialect.opset is not None)


class Fault(NamedTuple):
    """A fault.

    Attributes:
        model: the model that shows it.
        node: the name of its node.
        filters: the sizes of this node's filter, by which the backend knows it.
        effect: what becomes of operands and output.
    """

    model: str
    node: str
    filters: tuple[int, ...]
    effect: Callable[[Array, Mapping[str, Array]], Any]


def _changed(y: Array, place: Any, value: Callable[[Array], Any]) -> Array:  # noqa: ANN401 - an index of numpy
    y = y.copy()
    y[place] = value(y[place])
    return y


def _dies(_y: Array, _operands: Mapping[str, Array]) -> Any:  # noqa: ANN401 - it does not return
    os.kill(os.getpid(), signal.SIGSEGV)


FAULTS: tuple[Fault, ...] = (
    Fault("decoder", "up_c", (8, 6, 4, 4), lambda y, _: _changed(y, (..., -1, -1), lambda last: last + 1)),
    Fault("decoder", "up_y", (9, 2, 3, 3), lambda y, of: y - of["b"].reshape(-1, 1, 1)),
    Fault("decoder", "up_y", (9, 2, 3, 3), lambda y, _: np.roll(y, 1, axis=-1)),
    Fault("paddle", "up_a", (12, 8, 2, 2), lambda y, _: _changed(y, (0, 7), lambda _: 0)),
    Fault("paddle", "up_e", (8, 1, 2, 2), lambda y, _: y[..., ::-1]),
    Fault("paddle", "up_e", (8, 1, 2, 2), lambda _y, _of: "not supported"),
    Fault("keras-same", "up_b", (3, 5, 2, 2), lambda y, _: y[..., :-2, :-2]),
    Fault("keras-same", "up_b", (3, 5, 2, 2), lambda y, _: np.roll(y, 1, axis=-2)),
    Fault("keras-output-shape", "up_y", (6, 4, 3, 3), lambda y, _: np.roll(y, (1, 1), axis=(-1, -2))),
    Fault("keras-output-shape", "up_y", (6, 4, 3, 3), _dies),
    Fault("quantised", "up_a", (6, 4, 4, 4), lambda y, _: np.clip(y, -127, 127)),
    Fault("quantised-channels", "up_a", (6, 4, 4, 4), lambda y, of: y + of["b"].reshape(-1, 1, 1)),
    Fault("shared", "up_y", (4, 4, 5), lambda y, of: y[:, ::-1] if of["x"].shape[-1] == 129 else y),
    Fault("branch", "up_of_else_branch", (3, 2, 3, 3), lambda y, _: y if y.shape[-1] != 21 else np.abs(y)),
    Fault("function", "up_result__1", (3, 6, 2, 3), lambda y, _: _changed(y, 1, lambda _: y[0])),
    Fault("function", "up_result__2", (6, 1, 3, 2), lambda y, _: y.astype(np.float64)),
    Fault("vocoder", "up_a", (16, 8, 16), lambda y, _: _changed(y, (..., slice(500, None)), lambda _: 0)),
    Fault("vocoder", "up_y", (8, 1, 4), lambda y, _: y[:, [1, 0, 2, 3]]),
    Fault("volume", "up_y", (4, 3, 2, 2, 2), lambda y, _: y.swapaxes(-1, -2)),
    Fault("volume", "up_y", (4, 3, 2, 2, 2), lambda y, _: np.where(y == np.rint(y), y, y.astype(np.float16))),
)
"""The last one is right on integers."""
NONE = len(FAULTS)
"""The number of no fault."""


class Seeded(Right):
    """The reference with one of `FAULTS`, or with none."""

    OPTIONS: ClassVar = (Option("fault", "the number of the fault", str(NONE), range(NONE + 1)),)

    def __init__(self, fault: str = str(NONE)) -> None:
        self._fault = FAULTS[int(fault)] if int(fault) < NONE else None

    def info(self) -> BackendInfo:
        return BackendInfo("Seeded", "1.0", ONNX_NAMES)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        outcome = super().run(call, arrays)
        if self._fault is None or call.written.w.shape != self._fault.filters or not isinstance(outcome, Produced):
            return outcome
        y = self._fault.effect(outcome.array, arrays)
        if isinstance(y, str):
            return Refused(y)
        return Produced(np.ascontiguousarray(y if y.dtype == np.float64 else y.astype(outcome.array.dtype)))


class Fusing(Right):
    """Right alone; its optimisation loses a Relu behind the operator, and is no worse than that."""

    OPTIONS: ClassVar = (Option("optimise", "whether it loses it", "yes", ("yes", "no"), "no"),)

    def __init__(self, optimise: str = "yes") -> None:
        self._loses = optimise == "yes"

    def info(self) -> BackendInfo:
        return BackendInfo("Fusing", "1.0", ONNX_NAMES)

    def whole(self, model: ModelProto, feeds: Mapping[str, Array]) -> Array:
        made = {node.output[0] for node in model.graph.node if node.op_type == "ConvTranspose"}
        for node in model.graph.node:
            if self._loses and node.op_type == "Relu" and node.input[0] in made:
                node.op_type = "Identity"
        return super().whole(model, feeds)
