"""oneDNN's Graph API through ctypes: a graph of one operation, compiled and executed on the CPU.

ctypes makes a compiler and a Python binding unnecessary. Where attributes are invalid, a C++ exception leaves the C API
and aborts the process, which is one reason why a backend has a process of its own.
"""

from __future__ import annotations

import ctypes as ct
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends.onednn_library import UNIMPLEMENTED, LibraryError, invoke, loaded, located, without_engine
from tconv.backends.onednn_tensors import LogicalTensor, Tensor, logical_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.vocabulary import Array, Ints

_CPU, _DEFAULT_STREAM, _FUSION = 1, 1, 1

_ATTRIBUTES = {
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

_FPMATH = {0: "strict", 1: "bf16", 2: "f16", 3: "any", 4: "tf32"}
"""dnnl_fpmath_mode_t."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The operation of a graph; its inputs and its output have their places for ids, the output behind the inputs.

    Attributes:
        attributes: by the names of `_ATTRIBUTES`.
        inputs: in the operation's order.
        dtype: the output's numpy type; its oneDNN type is the first input's.
        rank: the output's number of dimensions.
    """

    attributes: Mapping[str, str | int | Ints]
    inputs: Sequence[Tensor]
    dtype: np.dtype[Any]
    rank: int


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
        except LibraryError as refusal:
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

    def run(self, kind: int, operation: Operation) -> tuple[Array, Ints]:
        """Return the output of an operation, and its sizes as the library describes them.

        The two have the same sizes, unless the library describes one below zero: the array has 0 there.

        Args:
            kind: dnnl_graph_op_kind_t.
            operation: what is run.

        Raises:
            LibraryError: the library refuses it.
        """
        with ExitStack() as handles:
            partition = self._partition(self._finished(kind, operation, handles), handles)
            inputs = [
                logical_tensor(self._library, place, tensor.data_type, tensor.array.shape, constant=tensor.constant)
                for place, tensor in enumerate(operation.inputs)
            ]
            output = logical_tensor(self._library, len(inputs), operation.inputs[0].data_type)
            compiled = self._compiled(partition, inputs, output, handles)
            # The output is contiguous: its layout is strided, none of the library's own. NaN remains where the library
            # writes nothing.
            sizes = tuple(output.dims[: operation.rank])
            array = np.full([max(size, 0) for size in sizes], np.nan, dtype=operation.dtype)
            arrays = [*(tensor.array for tensor in operation.inputs), array]
            self._execute(compiled, [*inputs, output], arrays, handles)
        return array, sizes

    def _finished(self, kind: int, operation: Operation, handles: ExitStack) -> ct.c_void_p:
        """Return a graph of one operation."""
        graph, op = self._new(handles, "graph_graph"), self._new(handles, "graph_op")
        self._invoke("graph_graph_create", ct.byref(graph), _CPU)
        self._invoke("graph_op_create", ct.byref(op), ct.c_size_t(0), kind, b"tconv")
        for name, value in operation.attributes.items():
            self._set_attribute(op, name, value)
        for place, tensor in enumerate(operation.inputs):
            sizes = tensor.declared_sizes
            logical = logical_tensor(self._library, place, tensor.data_type, sizes, constant=tensor.constant)
            self._invoke("graph_op_add_input", op, ct.byref(logical))
        output = logical_tensor(self._library, len(operation.inputs), operation.inputs[0].data_type)
        self._invoke("graph_op_add_output", op, ct.byref(output))
        self._invoke("graph_add_op", graph, op)
        self._invoke("graph_graph_finalize", graph)
        return graph

    def _partition(self, graph: ct.c_void_p, handles: ExitStack) -> ct.c_void_p:
        """Return the partition of a graph's only operation, which the library supports."""
        self._invoke("graph_graph_filter", graph, _FUSION)
        count = ct.c_size_t()
        self._invoke("graph_graph_get_partition_num", graph, ct.byref(count))
        if not count.value:
            raise LibraryError("filter gave 0 partitions", UNIMPLEMENTED)
        partition = self._new(handles, "graph_partition")
        self._invoke("graph_graph_get_partitions", graph, count, ct.byref(partition))
        supported = ct.c_uint8()
        self._invoke("graph_partition_is_supported", partition, ct.byref(supported))
        if not supported.value:
            raise LibraryError("partition is not supported", UNIMPLEMENTED)
        return partition

    def _compiled(
        self, partition: ct.c_void_p, inputs: Sequence[LogicalTensor], output: LogicalTensor, handles: ExitStack
    ) -> ct.c_void_p:
        """Return the compiled partition; `output` then has its sizes."""
        compiled = self._new(handles, "graph_compiled_partition")
        self._invoke("graph_compiled_partition_create", ct.byref(compiled), partition)
        self._invoke(
            "graph_partition_compile",
            partition,
            compiled,
            ct.c_size_t(len(inputs)),
            (ct.POINTER(LogicalTensor) * len(inputs))(*map(ct.pointer, inputs)),
            ct.c_size_t(1),
            (ct.POINTER(LogicalTensor) * 1)(ct.pointer(output)),
            self._engine,
        )
        number = ct.c_size_t(output.id)
        self._invoke("graph_compiled_partition_query_logical_tensor", compiled, number, ct.byref(output))
        return compiled

    def _execute(
        self,
        compiled: ct.c_void_p,
        logical_tensors: Sequence[LogicalTensor],
        arrays: Sequence[Array],
        handles: ExitStack,
    ) -> None:
        """Execute the compiled partition on arrays, of which the last is the output's."""
        tensors = []
        for logical, array in zip(logical_tensors, arrays, strict=True):
            tensor = self._new(handles, "graph_tensor")
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

    def _set_attribute(self, op: ct.c_void_p, name: str, value: str | int | Ints) -> None:
        attribute = _ATTRIBUTES[name]
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
        invoke(self._library, name, *arguments)

    def _new(self, handles: ExitStack, kind: str) -> ct.c_void_p:
        """Return an empty handle; the object that it gets is destroyed at the end, those that came after it before."""
        handle = ct.c_void_p()
        handles.callback(self._destroy, kind, handle)
        return handle

    def _destroy(self, kind: str, handle: ct.c_void_p) -> None:
        if handle.value:
            getattr(self._library, f"dnnl_{kind}_destroy")(handle)
