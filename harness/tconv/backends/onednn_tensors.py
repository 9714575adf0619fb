"""oneDNN's logical tensors, which describe the tensors of a graph in its Graph API."""

from __future__ import annotations

import ctypes as ct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends.onednn_library import invoke
from tconv.cases.operands import NUMPY_TYPES
from tconv.vocabulary import DType, Quantised

if TYPE_CHECKING:
    from tconv.cases.case import Shapes
    from tconv.vocabulary import Array, Ints

DATA_TYPES: dict[DType | Quantised, int] = {
    DType.F16: 1,
    DType.BF16: 2,
    DType.F32: 3,
    Quantised.INT8: 5,
    Quantised.UINT8: 6,
    DType.F64: 7,
}
"""dnnl_data_type_t, by our name for the type. It also has int32, but no operation of our graphs takes it."""
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
    """An input of a graph: an array, its element type, whether it is a constant, and its declared shape.

    If the graph declares symbolic sizes or no shape, its partition is compiled for the array's sizes.
    """

    array: Array
    dtype: DType | Quantised
    constant: bool = False
    shapes: Shapes = "static"

    @property
    def declared_sizes(self) -> Ints | None:
        """Its sizes in the graph, None for no shape; a constant always has its own sizes."""
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
        sizes: its shape; None if the rank is not known, as for an output before its partition is compiled.
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


def numpy_type(dtype: DType | Quantised) -> np.dtype[Any]:
    """Return numpy's type for an element type."""
    return np.dtype(NUMPY_TYPES[dtype] if isinstance(dtype, DType) else dtype)
