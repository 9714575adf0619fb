"""A context: the graph around the operator, as a level for each axis. In the neutral context the operator is alone.

`expectation.surroundings` builds the levels, from the operations that are named here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, NamedTuple

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
    """A level of each axis; the first level of an axis is its neutral one.

    Attributes:
        data: the number format of the data. `int8` and `uint8` go through Quantize and Dequantize; `int8-input` is fed
            as int8.
        filter: the filter's number format, its source (constant or input), or the node before it.
        bias: the form of the bias: an input of the operator, an Add behind it, int32, or the output of a node.
        before: the operation that makes the data.
        arithmetic: the first operation on the output.
        activation: the operation after that.
        use: the operation that uses the result.
        end: the number format of the graph's output.
        values: the numbers of data and filter.
        scales: the scales of quanta. `simple` are powers of two, except the output's, which is three times one, so that
            results are rounded. `powers-of-two` are all powers of two. `uneven` are general numbers, such as a
            quantiser chooses.
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


class Operations(NamedTuple):
    """The operations that a level requires from a dialect.

    Attributes:
        kinds: the operations, by the names in `expectation.operations`.
        is_shaped: whether a tensor of the graph has the size of the operator's output.
    """

    kinds: tuple[str, ...]
    is_shaped: bool = False


_QUANTIZE = Operations(("Quantize", "Dequantize"))
_DEQUANTIZE = Operations(("Dequantize",))
OPERATIONS: Mapping[tuple[str, str], Operations] = {
    ("data", "int8"): _QUANTIZE,
    ("data", "int8-zero-point"): _QUANTIZE,
    ("data", "uint8"): _QUANTIZE,
    ("data", "int8-input"): _DEQUANTIZE,
    ("filter", "int8"): _DEQUANTIZE,
    ("filter", "int8-per-channel"): _DEQUANTIZE,
    ("filter", "uint8"): _DEQUANTIZE,
    ("filter", "node"): Operations(("Constant",)),
    ("filter", "identity"): Operations(("Identity",)),
    ("filter", "reshape"): Operations(("Reshape",)),
    ("filter", "transpose"): Operations(("Transpose",)),
    ("filter", "cast"): Operations(("Cast",)),
    ("filter", "shared"): Operations(("Slice", "Add")),
    ("bias", "add"): Operations(("Add",)),
    ("bias", "int32"): _DEQUANTIZE,
    ("bias", "node"): Operations(("Add",)),
    ("before", "pad-begin"): Operations(("Pad",)),
    ("before", "pad-both"): Operations(("Pad",)),
    ("before", "pad-channels"): Operations(("Pad",)),
    ("before", "transpose"): Operations(("Transpose",)),
    ("before", "conv"): Operations(("Conv",)),
    ("before", "concat"): Operations(("Concat",)),
    ("before", "relu"): Operations(("Relu",)),
    ("before", "resize"): Operations(("Resize",)),
    ("arithmetic", "mul-channel"): Operations(("Mul",)),
    ("arithmetic", "mul"): Operations(("Mul",)),
    ("arithmetic", "add-channel"): Operations(("Add",)),
    ("arithmetic", "add"): Operations(("Add",)),
    ("arithmetic", "batch-normalization"): Operations(("BatchNormalization",)),
    ("arithmetic", "batch-normalization-exported"): Operations(("BatchNormalization",)),
    ("arithmetic", "add-tensor"): Operations(("Add",), is_shaped=True),
    ("arithmetic", "add-tensor-first"): Operations(("Add",), is_shaped=True),
    ("arithmetic", "add-batch"): Operations(("Add",)),
    ("arithmetic", "sub"): Operations(("Sub",)),
    ("arithmetic", "div"): Operations(("Div",)),
    ("arithmetic", "max"): Operations(("Max",)),
    ("activation", "relu"): Operations(("Relu",)),
    ("activation", "clip"): Operations(("Clip",)),
    ("activation", "leaky-relu"): Operations(("LeakyRelu",)),
    ("activation", "prelu"): Operations(("PRelu",)),
    ("activation", "hard-sigmoid"): Operations(("HardSigmoid",)),
    ("activation", "sigmoid"): Operations(("Sigmoid",)),
    ("activation", "tanh"): Operations(("Tanh",)),
    ("activation", "elu"): Operations(("Elu",)),
    ("activation", "hard-swish"): Operations(("HardSwish",)),
    ("use", "concat-channels"): Operations(("Concat",), is_shaped=True),
    ("use", "concat-spatial"): Operations(("Concat",), is_shaped=True),
    ("use", "slice-channels"): Operations(("Slice",)),
    ("use", "slice-spatial"): Operations(("Slice",)),
    ("use", "split-channels"): Operations(("Split", "Concat")),
    ("use", "fixed-shape"): Operations(("Add",), is_shaped=True),
    ("use", "two-consumers"): Operations(("Relu", "Concat")),
    ("use", "second-operator"): Operations(()),
    ("use", "beside"): Operations(("Sub",)),
    ("use", "beside-uncropped"): Operations(("Slice", "Transpose", "Add")),
    ("use", "reshape"): Operations(("Reshape",)),
    ("use", "transpose"): Operations(("Transpose",)),
    ("end", "int8"): Operations(("Quantize",)),
    ("end", "uint8"): Operations(("Quantize",)),
    ("end", "f16"): Operations(("Cast",)),
    ("sizes", "computed"): Operations(("Shape", "Slice", "Concat"), is_shaped=True),
}
"""The operations of each level, except neutral ones and plain operands."""


def operations_of(context: Context) -> tuple[frozenset[str], bool]:
    """Return the operations that a context needs, and whether a tensor of it has the size of the operator's output."""
    parts = [OPERATIONS.get(level, Operations(())) for level in context.levels.items()]
    kinds = {kind for part in parts for kind in part.kinds}
    if context.data != "float" and {"add-tensor", "add-tensor-first"} & {context.arithmetic}:
        kinds.add("Dequantize")
    return frozenset(kinds), any(part.is_shaped for part in parts)
