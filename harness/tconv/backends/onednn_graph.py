"""oneDNN's Graph API through ctypes: one operation, compiled and executed on the CPU.

ctypes makes a compiler and a Python binding unnecessary. Where attributes are invalid, a C++ exception leaves the C API
and aborts the process, which is one reason why a backend has a process of its own.
"""

from __future__ import annotations

import ctypes as ct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tconv.backends.onednn_library import loaded, located, without_engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.cases.case import Shapes
    from tconv.vocabulary import Array, Ints

_MOST_DIMENSIONS = 12
_CPU, _DEFAULT_STREAM, _STRIDED, _FUSION = 1, 1, 2, 1
_VARIABLE, _CONSTANT = 1, 2
_UNKNOWN_RANK = -1
_UNKNOWN_SIZE = -(2**63)

ATTRIBUTES = {
    "groups": 0x32,
    "dilations": 0x41,
    "dst_shape": 0x42,
    "output_padding": 0x45,
    "pads_begin": 0x46,
    "pads_end": 0x47,
    "strides": 0x4B,
    "weights_shape": 0x4C,
    "auto_pad": 0x81,
    "data_format": 0x83,
    "weights_format": 0x87,
}
"""dnnl_graph_op_attr_t, by the attribute's name."""

_UNIMPLEMENTED = 3
_STATUS = {
    1: "out_of_memory",
    2: "invalid_arguments",
    _UNIMPLEMENTED: "unimplemented",
    4: "last_impl_reached",
    5: "runtime_error",
    6: "not_required",
    7: "invalid_graph",
    8: "invalid_graph_op",
    9: "invalid_shape",
    10: "invalid_data_type",
}

_FPMATH = {0: "strict", 1: "bf16", 2: "f16", 3: "any", 4: "tf32"}
"""dnnl_fpmath_mode_t."""


class _LogicalTensor(ct.Structure):
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


class Refusal(Exception):  # noqa: N818 - it is the library's answer, not a fault of ours
    """A function of the library did not succeed: which one, and its status."""

    def __init__(self, step: str, status: int) -> None:
        self.status = _STATUS.get(status, str(status))
        super().__init__(f"{step}: {self.status}")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input of an operation: an array, its oneDNN data type, whether it is a constant, and what is declared of it.

    Where the graph declares symbolic sizes or no shape, its partition is compiled for the array's own.
    """

    array: Array
    data_type: int
    constant: bool = False
    shapes: Shapes = "static"


class Graph:
    """The library, an engine and a stream.

    Raises:
        BackendMissing: there is no libdnnl that can be used.
    """

    def __init__(self) -> None:
        self.path = located()
        self._library = loaded(self.path)
        self._engine, self._stream = ct.c_void_p(), ct.c_void_p()
        try:
            self._invoke("engine_create", ct.byref(self._engine), _CPU, ct.c_size_t(0))
            self._invoke("stream_create", ct.byref(self._stream), self._engine, ct.c_uint(_DEFAULT_STREAM))
        except Refusal as refusal:
            raise without_engine(self.path, refusal) from None

    @property
    def version(self) -> str:
        """The library's version."""
        # dnnl_version_t begins with major, minor and patch.
        self._library.dnnl_version.restype = ct.POINTER(ct.c_int * 3)
        return ".".join(map(str, self._library.dnnl_version().contents))

    @property
    def isa(self) -> int:
        """The instruction set that the library chooses its kernels for, as dnnl_cpu_isa_t."""
        return int(self._library.dnnl_get_effective_cpu_isa())

    @property
    def fpmath(self) -> str:
        """The floating-point math mode: which types f32 may be computed in instead."""
        mode = ct.c_int()
        self._invoke("get_default_fpmath_mode", ct.byref(mode))
        return _FPMATH.get(mode.value, str(mode.value))

    def run(
        self,
        kind: int,
        attributes: Mapping[str, str | int | Ints],
        inputs: Sequence[Tensor],
        dtype: np.dtype[Any],
        rank: int,
    ) -> Array:
        """Run one operation.

        Args:
            kind: dnnl_graph_op_kind_t.
            attributes: by the names of `ATTRIBUTES`.
            inputs: in the operation's order.
            dtype: the output's numpy type; its oneDNN type is the first input's.
            rank: the output's number of dimensions.

        Raises:
            Refusal: the library does not accept the operation.
        """
        declared = [self._declared_input(number, tensor) for number, tensor in enumerate(inputs)]
        logical_inputs = [self._logical_input(number, tensor) for number, tensor in enumerate(inputs)]
        output = self._without_shape(len(inputs), inputs[0].data_type)
        with _Handles(self._library) as handles:
            partition = self._partition(kind, attributes, declared, output, handles)
            compiled = self._compiled(partition, logical_inputs, output, handles)
            # The output is contiguous: its layout is strided, none of the library's own. NaN remains where the library
            # writes nothing.
            array = np.full(output.dims[:rank], np.nan, dtype=dtype)
            arrays = [*(tensor.array for tensor in inputs), array]
            self._execute(compiled, [*logical_inputs, output], arrays, handles)
            return array

    def _partition(
        self,
        kind: int,
        attributes: Mapping[str, str | int | Ints],
        inputs: Sequence[_LogicalTensor],
        output: _LogicalTensor,
        handles: _Handles,
    ) -> ct.c_void_p:
        """Put the operation in a graph of its own and return its only partition."""
        graph, op = handles.new("graph_graph"), handles.new("graph_op")
        self._invoke("graph_graph_create", ct.byref(graph), _CPU)
        self._invoke("graph_op_create", ct.byref(op), ct.c_size_t(0), kind, b"tconv")
        for name, value in attributes.items():
            self._set_attribute(op, name, value)
        for tensor in inputs:
            self._invoke("graph_op_add_input", op, ct.byref(tensor))
        self._invoke("graph_op_add_output", op, ct.byref(output))
        self._invoke("graph_add_op", graph, op)
        self._invoke("graph_graph_finalize", graph)
        self._invoke("graph_graph_filter", graph, _FUSION)
        count = ct.c_size_t()
        self._invoke("graph_graph_get_partition_num", graph, ct.byref(count))
        if count.value != 1:
            raise Refusal(f"filter gave {count.value} partitions", _UNIMPLEMENTED)
        partition = handles.new("graph_partition")
        self._invoke("graph_graph_get_partitions", graph, ct.c_size_t(1), ct.byref(partition))
        supported = ct.c_uint8()
        self._invoke("graph_partition_is_supported", partition, ct.byref(supported))
        if not supported.value:
            raise Refusal("partition is not supported", _UNIMPLEMENTED)
        return partition

    def _compiled(
        self, partition: ct.c_void_p, inputs: Sequence[_LogicalTensor], output: _LogicalTensor, handles: _Handles
    ) -> ct.c_void_p:
        """Return the compiled partition; `output` then has its sizes."""
        compiled = handles.new("graph_compiled_partition")
        self._invoke("graph_compiled_partition_create", ct.byref(compiled), partition)
        self._invoke(
            "graph_partition_compile",
            partition,
            compiled,
            ct.c_size_t(len(inputs)),
            (ct.POINTER(_LogicalTensor) * len(inputs))(*map(ct.pointer, inputs)),
            ct.c_size_t(1),
            (ct.POINTER(_LogicalTensor) * 1)(ct.pointer(output)),
            self._engine,
        )
        self._invoke(
            "graph_compiled_partition_query_logical_tensor", compiled, ct.c_size_t(len(inputs)), ct.byref(output)
        )
        return compiled

    def _execute(
        self,
        compiled: ct.c_void_p,
        logical_tensors: Sequence[_LogicalTensor],
        arrays: Sequence[Array],
        handles: _Handles,
    ) -> None:
        """Execute the compiled partition on arrays, of which the last is the output's."""
        tensors = []
        for logical, array in zip(logical_tensors, arrays, strict=True):
            tensor = handles.new("graph_tensor")
            data = ct.c_void_p(array.ctypes.data)
            self._invoke("graph_tensor_create", ct.byref(tensor), ct.byref(logical), self._engine, data)
            tensors.append(tensor.value)
        *inputs, output = tensors
        self._invoke(
            "graph_compiled_partition_execute",
            compiled,
            self._stream,
            ct.c_size_t(len(inputs)),
            (ct.c_void_p * len(inputs))(*inputs),
            ct.c_size_t(1),
            (ct.c_void_p * 1)(output),
        )
        self._invoke("stream_wait", self._stream)

    def _declared_input(self, number: int, tensor: Tensor) -> _LogicalTensor:
        """Return an input as the graph has it; a constant has its shape whatever the others have."""
        shapes = "static" if tensor.constant else tensor.shapes
        if shapes == "unranked":
            return self._without_shape(number, tensor.data_type)
        sizes = tensor.array.shape if shapes == "static" else (_UNKNOWN_SIZE,) * tensor.array.ndim
        return self._logical_input(number, tensor, sizes)

    def _logical_input(self, number: int, tensor: Tensor, sizes: Ints | None = None) -> _LogicalTensor:
        """Return an input with these sizes, or with its array's."""
        logical = _LogicalTensor()
        self._invoke(
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

    def _without_shape(self, number: int, data_type: int) -> _LogicalTensor:
        logical = _LogicalTensor()
        self._invoke(
            "graph_logical_tensor_init",
            ct.byref(logical),
            ct.c_size_t(number),
            data_type,
            ct.c_int(_UNKNOWN_RANK),
            _STRIDED,
            _VARIABLE,
        )
        return logical

    def _set_attribute(self, op: ct.c_void_p, name: str, value: str | int | Ints) -> None:
        attribute = ATTRIBUTES[name]
        if isinstance(value, str):
            text = value.encode()
            self._invoke("graph_op_set_attr_str", op, attribute, text, ct.c_size_t(len(text)))
            return
        numbers = (value,) if isinstance(value, int) else value
        # For the library, a length of 0 means a scalar.
        length = 0 if isinstance(value, int) else len(value)
        array = (ct.c_int64 * max(len(numbers), 1))(*numbers)
        self._invoke("graph_op_set_attr_s64", op, attribute, array, ct.c_size_t(length))

    def _invoke(self, name: str, *arguments: Any) -> None:  # noqa: ANN401 - ctypes
        status = getattr(self._library, f"dnnl_{name}")(*arguments)
        if status:
            raise Refusal(name, status)


class _Handles:
    """Objects of the library, destroyed in the reverse order of their creation."""

    def __init__(self, library: ct.CDLL) -> None:
        self._library = library
        self._handles: list[tuple[str, ct.c_void_p]] = []

    def new(self, kind: str) -> ct.c_void_p:
        """Return an empty handle; the object that it gets is destroyed at the end."""
        handle = ct.c_void_p()
        self._handles.append((kind, handle))
        return handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for kind, handle in reversed(self._handles):
            if handle.value:
                getattr(self._library, f"dnnl_{kind}_destroy")(handle)
