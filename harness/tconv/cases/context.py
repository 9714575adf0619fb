"""A context: the graph around the operator, as a level for each axis. In the neutral context the operator is alone.

`expectation.surroundings` builds the levels, from the operations that are named here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

DataLevel = Literal["float", "int8", "int8-zero-point", "uint8", "int8-input"]
FilterLevel = Literal[
    "constant",
    "input",
    "int8",
    "int8-per-channel",
    "uint8",
    "node",
    "identity",
    "reshape",
    "transpose",
    "cast",
    "shared",
]
BiasLevel = Literal["operand", "add", "int32", "node"]
BeforeLevel = Literal["none", "pad-begin", "pad-both", "pad-channels", "transpose", "conv", "concat", "relu", "resize"]
ArithmeticLevel = Literal[
    "none",
    "mul-channel",
    "mul",
    "add-channel",
    "add",
    "batch-normalization",
    "batch-normalization-exported",
    "add-tensor",
    "add-tensor-first",
    "add-batch",
    "sub",
    "div",
    "max",
]
ActivationLevel = Literal[
    "none", "relu", "clip", "leaky-relu", "prelu", "hard-sigmoid", "sigmoid", "tanh", "elu", "hard-swish"
]
UseLevel = Literal[
    "none",
    "concat-channels",
    "concat-spatial",
    "slice-channels",
    "slice-spatial",
    "split-channels",
    "fixed-shape",
    "two-consumers",
    "second-operator",
    "beside",
    "beside-uncropped",
    "reshape",
    "transpose",
]
EndLevel = Literal["none", "int8", "uint8", "f16"]
ValuesLevel = Literal["small", "full-range", "wide-filter", "zero-channel", "zero-points-at-ends"]
ScalesLevel = Literal["simple", "powers-of-two", "uneven"]
SizesLevel = Literal["given", "computed"]


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds the operator in a graph. A level that is not given is the first of its axis, the neutral one.

    Attributes:
        data: the number format of the data. int8 and uint8 go through Quantize and Dequantize; int8-input is fed as
            int8.
        filter: the filter's number format, its source (constant or input), or the node before it.
        bias: the form of the bias: an input of the operator, an Add behind it, int32, or the output of a node.
        before: the operation that makes the data.
        arithmetic: the first operation on the output.
        activation: the operation after that.
        use: the operation that uses the result.
        end: the number format of the graph's output.
        values: the numbers of data and filter.
        scales: the scales of quanta. Simple ones are powers of two, times three for the output, so that results are
            rounded. All powers-of-two are just that. Uneven ones are general, as a quantiser chooses them.
        sizes: whether output_shape is given directly, or computed from the shape of another tensor.
    """

    data: DataLevel = "float"
    filter: FilterLevel = "constant"
    bias: BiasLevel = "operand"
    before: BeforeLevel = "none"
    arithmetic: ArithmeticLevel = "none"
    activation: ActivationLevel = "none"
    use: UseLevel = "none"
    end: EndLevel = "none"
    values: ValuesLevel = "small"
    scales: ScalesLevel = "simple"
    sizes: SizesLevel = "given"

    def __bool__(self) -> bool:
        """Whether the operator is not alone."""
        return self != NEUTRAL

    @property
    def levels(self) -> dict[str, str]:
        """The levels that are not neutral, by axis."""
        return {name: level for name in AXES if (level := getattr(self, name)) != getattr(NEUTRAL, name)}


NEUTRAL = Context()
AXES = tuple(axis.name for axis in fields(Context))
PREFIX = "context."
"""The prefix of an axis's name in the facts of a case and in the labels of an id."""
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}
"""The smallest and the largest number of each quantised type."""
SMOOTH = frozenset({"sigmoid", "tanh", "elu", "hard-swish"})
"""Activations for which no text gives an accuracy."""
ROUNDED = "batch-normalization-exported"
"""The arithmetic that is not exact in f32, with a derived bound."""
COMPUTED_BEHIND = SMOOTH | {"hard-sigmoid", "fixed-shape", "second-operator", "beside-uncropped"}
"""Activations and uses that round what is not exact, so that a bound before them is none behind them."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The scale and the zero point of quanta.

    Attributes:
        scale: one for the tensor, or one for each output channel of a group, repeated if there are fewer.
        zero_point: the quantum of 0; None for the zero point of the level, or for 0.
    """

    scale: tuple[float, ...]
    zero_point: int | None = None


@dataclass(frozen=True, slots=True)
class Quantisation:
    """Scales and zero points of a case, as in a model, or of a backend that quantises by itself.

    None stands for those of the levels; for a backend, a tensor that is not quantised.

    Attributes:
        x: those of the data.
        w: those of the filter.
        y: those of the graph's output.
    """

    x: Grid | None = None
    w: Grid | None = None
    y: Grid | None = None


_NEEDED: Mapping[str, Mapping[tuple[str, ...], tuple[str, ...]]] = {
    "data": {
        ("int8", "int8-zero-point", "uint8"): ("Quantize", "Dequantize"),
        ("int8-input",): ("Dequantize",),
    },
    "filter": {
        ("int8", "int8-per-channel", "uint8"): ("Dequantize",),
        ("node",): ("Constant",),
        ("identity",): ("Identity",),
        ("reshape",): ("Reshape",),
        ("transpose",): ("Transpose",),
        ("cast",): ("Cast",),
        ("shared",): ("Slice", "Add"),
    },
    "bias": {
        ("add", "node"): ("Add",),
        ("int32",): ("Dequantize",),
    },
    "before": {
        ("pad-begin", "pad-both", "pad-channels"): ("Pad",),
        ("transpose",): ("Transpose",),
        ("conv",): ("Conv",),
        ("concat",): ("Concat",),
        ("relu",): ("Relu",),
        ("resize",): ("Resize",),
    },
    "arithmetic": {
        ("mul-channel", "mul"): ("Mul",),
        ("add-channel", "add", "add-tensor", "add-tensor-first", "add-batch"): ("Add",),
        ("batch-normalization", "batch-normalization-exported"): ("BatchNormalization",),
        ("sub",): ("Sub",),
        ("div",): ("Div",),
        ("max",): ("Max",),
    },
    "activation": {
        ("relu",): ("Relu",),
        ("clip",): ("Clip",),
        ("leaky-relu",): ("LeakyRelu",),
        ("prelu",): ("PRelu",),
        ("hard-sigmoid",): ("HardSigmoid",),
        ("sigmoid",): ("Sigmoid",),
        ("tanh",): ("Tanh",),
        ("elu",): ("Elu",),
        ("hard-swish",): ("HardSwish",),
    },
    "use": {
        ("concat-channels", "concat-spatial"): ("Concat",),
        ("slice-channels", "slice-spatial"): ("Slice",),
        ("split-channels",): ("Split", "Concat"),
        ("fixed-shape",): ("Add",),
        ("two-consumers",): ("Relu", "Concat"),
        ("second-operator",): (),
        ("beside",): ("Sub",),
        ("beside-uncropped",): ("Slice", "Transpose", "Add"),
        ("reshape",): ("Reshape",),
        ("transpose",): ("Transpose",),
    },
    "end": {
        ("int8", "uint8"): ("Quantize",),
        ("f16",): ("Cast",),
    },
    "sizes": {
        ("computed",): ("Shape", "Slice", "Concat"),
    },
}
"""For each axis the levels, and the operations that they need, by the names in `expectation.operations`."""
OPERATIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    (axis, level): operations
    for axis, entries in _NEEDED.items()
    for levels, operations in entries.items()
    for level in levels
}
"""The operations that each level requires from a dialect; neutral levels and plain operands require none."""
_SHAPED = {"add-tensor", "add-tensor-first", "concat-channels", "concat-spatial", "fixed-shape", "computed"}
"""The levels with a tensor of the size of the operator's output."""


def operations_of(context: Context) -> tuple[frozenset[str], bool]:
    """Return the operations that a context needs, and whether a tensor of it has the size of the operator's output."""
    kinds = {kind for level in context.levels.items() for kind in OPERATIONS.get(level, ())}
    if context.data != "float" and {"add-tensor", "add-tensor-first"} & {context.arithmetic}:
        kinds.add("Dequantize")
    return frozenset(kinds), not _SHAPED.isdisjoint(context.levels.values())
