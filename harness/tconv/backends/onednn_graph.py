"""oneDNN's Graph API through ctypes: the partitions of a graph, compiled and executed on the CPU.

With ctypes no compiler and no Python binding is needed. If attributes are invalid, a C++ exception leaves the C API and
aborts the process: one reason why a backend has its own process.
"""

from __future__ import annotations

import ctypes as ct
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tconv.backends.onednn_library import UNIMPLEMENTED, LibraryError, invoke, loaded, located, without_engine
from tconv.backends.onednn_operations import KINDS
from tconv.backends.onednn_tensors import DATA_TYPES, LogicalTensor, logical_tensor, numpy_type

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from tconv.backends.onednn_operations import Attribute, Operation
    from tconv.backends.onednn_tensors import Tensor
    from tconv.vocabulary import Array, DType, Ints, Quantised

_CPU, _DEFAULT_STREAM = 1, 1
POLICIES = {"fusion": 1, "debug": 2}
"""dnnl_graph_partition_policy_t: as many operations as possible in a partition, or one."""

ATTRIBUTES = {
    "alpha": 0x1,
    "beta": 0x2,
    "epsilon": 0x3,
    "max": 0x4,
    "min": 0x5,
    "scales": 0x20,
    "axis": 0x30,
    "groups": 0x32,
    "dilations": 0x41,
    "dst_shape": 0x42,
    "order": 0x44,
    "output_padding": 0x45,
    "pads_begin": 0x46,
    "pads_end": 0x47,
    "shape": 0x48,
    "strides": 0x4B,
    "weights_shape": 0x4C,
    "zps": 0x4D,
    "special_zero": 0x64,
    "auto_pad": 0x81,
    "data_format": 0x83,
    "mode": 0x84,
    "qtype": 0x85,
    "weights_format": 0x87,
}
"""dnnl_graph_op_attr_t, by the attribute's name."""

_UNWRITTEN = 77
"""The value of an integer output that the library does not write."""
_FPMATH = {0: "strict", 1: "bf16", 2: "f16", 3: "any", 4: "tf32"}
"""dnnl_fpmath_mode_t."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of a graph that is compiled together.

    Attributes:
        handle: the library's handle.
        inputs: the ids of its inputs, in the order of the call.
        outputs: the ids of its outputs.
        operations: the kinds of its operations, joined by +.
    """

    handle: ct.c_void_p
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operations: str


class Result(NamedTuple):
    """The result of a graph.

    Attributes:
        array: the output.
        sizes: the sizes of the output by the library. They may be below zero, while the array has 0.
        executed: for each partition the kinds of its operations, joined by +.
    """

    array: Array
    sizes: Ints
    executed: tuple[str, ...]


class Graph:
    """The library, an engine and a stream.

    Args:
        policy: the partitioning of graphs, a name of `POLICIES`.

    Raises:
        BackendMissing: there is no usable libdnnl.
    """

    def __init__(self, policy: str = "fusion") -> None:
        self.policy = policy
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
        """The instruction set of the library's kernels, as dnnl_cpu_isa_t."""
        return int(self._library.dnnl_get_effective_cpu_isa())

    @property
    def fpmath(self) -> str:
        """The floating-point math mode: the types that may replace f32."""
        mode = ct.c_int()
        self._invoke("get_default_fpmath_mode", ct.byref(mode))
        return _FPMATH.get(mode.value, str(mode.value))

    def run(self, operations: Sequence[Operation], tensors: Mapping[str, Tensor], output: str) -> Result:
        """Return a graph's output.

        Args:
            operations: the operations of the graph, in any order.
            tensors: inputs and constants, by name.
            output: the name of the output.

        Raises:
            LibraryError: the library refuses the graph.
        """
        ids = {name: number for number, name in enumerate(_names(operations))}
        types = {ids[each.output]: each.dtype for each in operations if each.output is not None}
        with ExitStack() as handles:
            graph = self._finished(operations, tensors, ids, handles)
            known: dict[int, LogicalTensor] = {}
            arrays: dict[int, Array] = {}
            executed = []
            for name, number in ids.items():
                if (fed := tensors.get(name)) is not None:
                    known[number] = self._logical(number, fed.dtype, fed.array.shape, constant=fed.constant)
                    arrays[number] = fed.array
            for partition in _ordered(self._partitions(graph, operations, handles), known):
                executed.append(partition.operations)
                inputs = [known[number] for number in partition.inputs]
                # An output is contiguous: it must not have a layout of the library's own.
                outputs = [self._logical(number, types[number]) for number in partition.outputs]
                compiled = self._compiled(partition, inputs, outputs, handles)
                for logical in outputs:
                    known[logical.id], arrays[logical.id] = logical, _unwritten(logical, types[logical.id])
                self._execute(
                    compiled,
                    [(logical, arrays[logical.id]) for logical in inputs],
                    [(logical, arrays[logical.id]) for logical in outputs],
                    handles,
                )
            result = known[ids[output]]
            return Result(arrays[ids[output]], tuple(result.dims[: result.ndims]), tuple(executed))

    def _finished(
        self,
        operations: Sequence[Operation],
        tensors: Mapping[str, Tensor],
        ids: Mapping[str, int],
        handles: ExitStack,
    ) -> ct.c_void_p:
        """Return a graph of operations."""
        graph = self._new(handles, "graph_graph")
        self._invoke("graph_graph_create", ct.byref(graph), _CPU)
        types = {each.output: each.dtype for each in operations}
        for number, operation in enumerate(operations):
            op = self._new(handles, "graph_op")
            self._invoke("graph_op_create", ct.byref(op), ct.c_size_t(number), KINDS[operation.kind], b"tconv")
            for name, value in operation.attributes.items():
                self._set_attribute(op, name, value)
            for name in operation.inputs:
                if (fed := tensors.get(name)) is not None:
                    logical = self._logical(ids[name], fed.dtype, fed.declared_sizes, constant=fed.constant)
                else:
                    logical = self._logical(ids[name], types[name])
                self._invoke("graph_op_add_input", op, ct.byref(logical))
            if operation.output is not None:
                logical = self._logical(ids[operation.output], operation.dtype)
                self._invoke("graph_op_add_output", op, ct.byref(logical))
            self._invoke("graph_add_op", graph, op)
        self._invoke("graph_graph_finalize", graph)
        return graph

    def _logical(
        self, number: int, dtype: DType | Quantised, sizes: Ints | None = None, *, constant: bool = False
    ) -> LogicalTensor:
        return logical_tensor(self._library, number, DATA_TYPES[dtype], sizes, constant=constant)

    def _partitions(self, graph: ct.c_void_p, operations: Sequence[Operation], handles: ExitStack) -> list[Partition]:
        """Return the partitions of a graph, all of which the library supports."""
        self._invoke("graph_graph_filter", graph, POLICIES[self.policy])
        count = ct.c_size_t()
        self._invoke("graph_graph_get_partition_num", graph, ct.byref(count))
        if not count.value:
            raise LibraryError("filter gave 0 partitions", UNIMPLEMENTED)
        found = (ct.c_void_p * count.value)()
        self._invoke("graph_graph_get_partitions", graph, count, found)
        partitions = []
        for value in found:
            handle = self._new(handles, "graph_partition")
            handle.value = value
            outputs = self._ports(handle, "output")
            if not outputs:
                # The operation End has none, and does nothing.
                continue
            self._invoke("graph_partition_get_op_num", handle, ct.byref(count))
            numbers = (ct.c_size_t * count.value)()
            self._invoke("graph_partition_get_ops", handle, count, numbers)
            kinds = "+".join(operations[number].kind for number in numbers)
            supported = ct.c_uint8()
            self._invoke("graph_partition_is_supported", handle, ct.byref(supported))
            if not supported.value:
                raise LibraryError(f"partition of {kinds} is not supported", UNIMPLEMENTED)
            partitions.append(Partition(handle, self._ports(handle, "input"), outputs, kinds))
        return partitions

    def _ports(self, partition: ct.c_void_p, of: str) -> tuple[int, ...]:
        """Return the ids of a partition's inputs or outputs."""
        count = ct.c_size_t()
        self._invoke(f"graph_partition_get_{of}_ports_num", partition, ct.byref(count))
        ports = (LogicalTensor * count.value)()
        if count.value:
            self._invoke(f"graph_partition_get_{of}_ports", partition, count, ports)
        return tuple(port.id for port in ports)

    def _compiled(
        self,
        partition: Partition,
        inputs: Sequence[LogicalTensor],
        outputs: Sequence[LogicalTensor],
        handles: ExitStack,
    ) -> ct.c_void_p:
        """Return the compiled partition; `outputs` then have their sizes."""
        compiled = self._new(handles, "graph_compiled_partition")
        self._invoke("graph_compiled_partition_create", ct.byref(compiled), partition.handle)
        self._invoke(
            "graph_partition_compile",
            partition.handle,
            compiled,
            ct.c_size_t(len(inputs)),
            (ct.POINTER(LogicalTensor) * len(inputs))(*map(ct.pointer, inputs)),
            ct.c_size_t(len(outputs)),
            (ct.POINTER(LogicalTensor) * len(outputs))(*map(ct.pointer, outputs)),
            self._engine,
        )
        for output in outputs:
            number = ct.c_size_t(output.id)
            self._invoke("graph_compiled_partition_query_logical_tensor", compiled, number, ct.byref(output))
        return compiled

    def _execute(
        self,
        compiled: ct.c_void_p,
        inputs: Sequence[tuple[LogicalTensor, Array]],
        outputs: Sequence[tuple[LogicalTensor, Array]],
        handles: ExitStack,
    ) -> None:
        """Execute the compiled partition on arrays."""
        tensors = []
        for logical, array in (*inputs, *outputs):
            tensor = self._new(handles, "graph_tensor")
            data = ct.c_void_p(array.ctypes.data)
            self._invoke("graph_tensor_create", ct.byref(tensor), ct.byref(logical), self._engine, data)
            tensors.append(tensor.value)
        self._invoke(
            "graph_compiled_partition_execute",
            compiled,
            self._stream,
            ct.c_size_t(len(inputs)),
            (ct.c_void_p * len(inputs))(*tensors[: len(inputs)]),
            ct.c_size_t(len(outputs)),
            (ct.c_void_p * len(outputs))(*tensors[len(inputs) :]),
        )
        self._invoke("stream_wait", self._stream)

    def _set_attribute(self, op: ct.c_void_p, name: str, value: Attribute) -> None:
        attribute = ATTRIBUTES[name]
        if isinstance(value, str):
            text = value.encode()
            self._invoke("graph_op_set_attr_str", op, attribute, text, ct.c_size_t(len(text)))
            return
        if isinstance(value, bool):
            self._invoke("graph_op_set_attr_bool", op, attribute, ct.byref(ct.c_uint8(value)), ct.c_size_t(1))
            return
        numbers = value if isinstance(value, tuple) else (value,)
        # For the library, a length of 0 means a scalar.
        length = ct.c_size_t(len(value) if isinstance(value, tuple) else 0)
        is_float = any(isinstance(each, float) for each in numbers)
        array = np.array([*numbers] or [0], np.float32 if is_float else np.int64)
        set_numbers = f"graph_op_set_attr_{'f32' if is_float else 's64'}"
        self._invoke(set_numbers, op, attribute, ct.c_void_p(array.ctypes.data), length)

    def _invoke(self, name: str, *arguments: Any) -> None:  # noqa: ANN401 - ctypes
        invoke(self._library, name, *arguments)

    def _new(self, handles: ExitStack, kind: str) -> ct.c_void_p:
        """Return an empty handle; its object is destroyed at the end, in reverse order."""
        handle = ct.c_void_p()
        handles.callback(self._destroy, kind, handle)
        return handle

    def _destroy(self, kind: str, handle: ct.c_void_p) -> None:
        if handle.value:
            getattr(self._library, f"dnnl_{kind}_destroy")(handle)


def _names(operations: Sequence[Operation]) -> Iterator[str]:
    """Yield each tensor of a graph once."""
    names = (name for each in operations for name in (*each.inputs, *([each.output] if each.output else [])))
    yield from dict.fromkeys(names)


def _ordered(partitions: Sequence[Partition], known: Container[int]) -> Iterator[Partition]:
    """Yield partitions, each when all of its inputs are known; the caller adds its outputs to `known`."""
    left = list(partitions)
    while left:
        ready = next(each for each in left if all(number in known for number in each.inputs))
        left.remove(ready)
        yield ready


def _unwritten(logical: LogicalTensor, dtype: DType | Quantised) -> Array:
    """Return an array for an output, filled with NaN or a number, so that elements which are not written show."""
    kind = numpy_type(dtype)
    sizes = [max(size, 0) for size in logical.dims[: logical.ndims]]
    return np.full(sizes, _UNWRITTEN if kind.kind in "iu" else np.nan, dtype=kind)
