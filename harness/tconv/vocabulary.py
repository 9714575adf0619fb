"""The canonical vocabulary. The words of every dialect are translated from it and to it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np


Tier = Literal["smoke", "gate", "full", "exhaustive"]
TIERS: Final[tuple[Tier, ...]] = ("smoke", "gate", "full", "exhaustive")
"""The parts of a corpus; each tier contains those before it."""


class AutoPad(StrEnum):
    """The padding mode; `explicit` uses pads_begin and pads_end."""

    EXPLICIT = "explicit"
    VALID = "valid"
    SAME_UPPER = "same_upper"
    SAME_LOWER = "same_lower"


class DataFormat(StrEnum):
    """The layout of data and output: N batch, C channels, X the spatial axes."""

    NCX = "NCX"
    NXC = "NXC"


class FilterFormat(StrEnum):
    """The layout of the filter: I input channels, O output channels of a group, X the taps, G groups."""

    IOX = "IOX"
    XOI = "XOI"
    OXI = "OXI"
    GIOX = "GIOX"


class DType(StrEnum):
    """An element type."""

    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    F64 = "f64"


class Quantised(StrEnum):
    """An integer type of the tensors around the operator, by numpy's name."""

    INT8 = "int8"
    UINT8 = "uint8"
    INT32 = "int32"


OPERATIONS: Final = frozenset(
    {
        "Add",
        "BatchNormalization",
        "Cast",
        "Clip",
        "Concat",
        "Constant",
        "Conv",
        "Dequantize",
        "Div",
        "Elu",
        "HardSigmoid",
        "HardSwish",
        "Identity",
        "LeakyRelu",
        "Max",
        "Mul",
        "PRelu",
        "Pad",
        "Quantize",
        "Relu",
        "Reshape",
        "Resize",
        "Shape",
        "Sigmoid",
        "Slice",
        "Split",
        "Sub",
        "Tanh",
        "Transpose",
    }
)
"""The operations that may surround the operator in a graph, by ONNX's names; see `expectation.operations`."""

Ints = tuple[int, ...]
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
"""An array of any element type."""
Float64s: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
Mask: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
"""A boolean for each element."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes that the user of the operator writes; None means that one is not written.

    If the case is valid, lists have an entry for each spatial axis. `auto_pad` is a word of `AutoPad`; any other text
    is an unknown mode, which is written unchanged.
    """

    strides: Ints | None = None
    dilations: Ints | None = None
    pads_begin: Ints | None = None
    pads_end: Ints | None = None
    auto_pad: str | None = None
    output_padding: Ints | None = None
    output_shape: Ints | None = None
    groups: int | None = None
    kernel_shape: Ints | None = None
    data_format: str | None = None
    filter_format: str | None = None

    def given(self) -> dict[str, Ints | int | str]:
        """Return the attributes that are written, by name, in the order of the class."""
        return {name: value for name in ATTRIBUTES if (value := getattr(self, name)) is not None}

    def per_axis(self, name: str, rank: int) -> Ints:
        """Return a list attribute; if it is not written, its neutral entry for each of `rank` axes."""
        value: Ints | None = getattr(self, name)
        return (NEUTRAL[name],) * rank if value is None else value


ATTRIBUTES = tuple(field.name for field in fields(Attributes))
NEUTRAL: Final = {"strides": 1, "dilations": 1, "pads_begin": 0, "pads_end": 0, "output_padding": 0}
"""Attributes with an entry for each spatial axis, and the entry that changes nothing, in the order of `Attributes`."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """A shape and an element type."""

    shape: Ints
    dtype: DType


@dataclass(frozen=True, slots=True)
class Signature:
    """Attributes and operand types, which validity and geometry depend on; data in NCX and filter in IOX.

    Attributes:
        attributes: the attributes.
        x: data, (N, C, X...).
        w: filter, (C, O/G, K...).
        b: bias, (O,), or None.
    """

    attributes: Attributes
    x: TensorType
    w: TensorType
    b: TensorType | None

    @property
    def rank(self) -> int:
        """The number of spatial axes of the data."""
        return len(self.x.shape) - 2

    @property
    def spatial(self) -> Ints:
        """The data's spatial sizes."""
        return self.x.shape[2:]

    @property
    def kernel(self) -> Ints:
        """The filter's spatial sizes."""
        return self.w.shape[2:]

    @property
    def groups(self) -> int:
        """The number of groups; 1 if it is not written."""
        return 1 if self.attributes.groups is None else self.attributes.groups

    @property
    def auto_pad(self) -> str:
        """The padding mode; explicit if it is not written."""
        return self.attributes.auto_pad or AutoPad.EXPLICIT

    def per_axis(self, name: str) -> Ints:
        """Return a list attribute; if it is not written, its neutral entry for every spatial axis."""
        return self.attributes.per_axis(name, self.rank)
