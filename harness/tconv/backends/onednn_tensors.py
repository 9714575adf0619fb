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

    @property
    def declared_sizes(self) -> Ints | None:
        """Its sizes as the graph has them, None for no shape; a constant has its own whatever the others have."""
        if self.shapes == "unranked" and not self.constant:
            return None
        is_known = self.constant or self.shapes == "static"
        return tuple(size if is_known else _UNKNOWN_SIZE for size in self.array.shape)


def logical_tensor(
    library: ct.CDLL, number: int, data_type: int, sizes: Ints | None = None, *, constant: bool = False
) -> LogicalTensor:
    """Return a logical tensor.

    Args:
        library: the library.
        number: its id.
        data_type: its oneDNN data type.
        sizes: its shape; None for no known rank, as an output has none before its partition is compiled.
        constant: whether it is a constant.
    """
    logical = LogicalTensor()
    begin = ct.byref(logical), ct.c_size_t(number), data_type
    end = _STRIDED, _CONSTANT if constant else _VARIABLE
    if sizes is None:
        invoke(library, "graph_logical_tensor_init", *begin, ct.c_int(_UNKNOWN_RANK), *end)
    else:
        rank, dims = ct.c_int(len(sizes)), (ct.c_int64 * _MOST_DIMENSIONS)(*sizes)
        invoke(library, "graph_logical_tensor_init_with_dims", *begin, rank, dims, *end)
    return logical
