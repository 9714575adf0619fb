"""oneDNN's logical tensors: what its Graph API is told of an operation's inputs and output."""

from __future__ import annotations

import ctypes as ct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.backends.onednn_library import invoke

if TYPE_CHECKING:
    from tconv.cases.case import Shapes
    from tconv.vocabulary import Array, Ints

_MOST_DIMENSIONS = 12
_STRIDED = 2
_VARIABLE, _CONSTANT = 1, 2
_UNKNOWN_RANK = -1
_UNKNOWN_SIZE = -(2**63)


class LogicalTensor(ct.Structure):
    """dnnl_graph_logical_tensor_t."""

    _fields_ = (
        ("id", ct.c_size_t),
        ("ndims", ct.c_int),
        ("dims", ct.c_int64 * _MOST_DIMENSIONS),
        ("data_type", ct.c_int),
        ("property", ct.c_int),
        ("layout_type", ct.c_int),
        ("strides", ct.c_int64 * _MOST_DIMENSIONS),
    )


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input of an operation: an array, its oneDNN data type, whether it is a constant, and what is declared of it.

    Where the graph declares symbolic sizes or no shape, its partition is compiled for the array's own.
    """

    array: Array
    data_type: int
    constant: bool = False
    shapes: Shapes = "static"


def declared(library: ct.CDLL, number: int, tensor: Tensor) -> LogicalTensor:
    """Return an input as the graph has it; a constant has its shape whatever the others have.

    Args:
        library: the library.
        number: the id of the logical tensor.
        tensor: the input.
    """
    shapes = "static" if tensor.constant else tensor.shapes
    if shapes == "unranked":
        return without_shape(library, number, tensor.data_type)
    sizes = tensor.array.shape if shapes == "static" else (_UNKNOWN_SIZE,) * tensor.array.ndim
    return of_array(library, number, tensor, sizes)


def of_array(library: ct.CDLL, number: int, tensor: Tensor, sizes: Ints | None = None) -> LogicalTensor:
    """Return an input with these sizes, or with its array's."""
    logical = LogicalTensor()
    invoke(
        library,
        "graph_logical_tensor_init_with_dims",
        ct.byref(logical),
        ct.c_size_t(number),
        tensor.data_type,
        ct.c_int(tensor.array.ndim),
        (ct.c_int64 * _MOST_DIMENSIONS)(*(tensor.array.shape if sizes is None else sizes)),
        _STRIDED,
        _CONSTANT if tensor.constant else _VARIABLE,
    )
    return logical


def without_shape(library: ct.CDLL, number: int, data_type: int) -> LogicalTensor:
    """Return a tensor of which no rank and no size is known, as an output before its partition is compiled."""
    logical = LogicalTensor()
    invoke(
        library,
        "graph_logical_tensor_init",
        ct.byref(logical),
        ct.c_size_t(number),
        data_type,
        ct.c_int(_UNKNOWN_RANK),
        _STRIDED,
        _VARIABLE,
    )
    return logical
