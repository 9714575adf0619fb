"""oneDNN's Graph API through ctypes: the partitions of a graph, compiled and executed on the CPU.

With ctypes no compiler and no Python binding is needed. If attributes are invalid, a C++ exception leaves the C API and
aborts the process: one reason why a backend has its own process. This module needs nothing of tconv, as it stands in
exported scripts. Numbers are those of the library's headers, `dnnl_graph_types.h` and `dnnl_types.h`.
"""

from __future__ import annotations

import ctypes as ct
import os
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.vocabulary import Array, Ints

Attribute = str | bool | int | float | tuple[int, ...] | tuple[float, ...]
UNIMPLEMENTED = 3
STATUS = {
    1: "out_of_memory",
    2: "invalid_arguments",
    UNIMPLEMENTED: "unimplemented",
    4: "last_impl_reached",
    5: "runtime_error",
    6: "not_required",
    7: "invalid_graph",
    8: "invalid_graph_op",
    9: "invalid_shape",
    10: "invalid_data_type",
}
CPU, DEFAULT_STREAM = 1, 1
POLICIES = {"fusion": 1, "debug": 2}
"""dnnl_graph_partition_policy_t: as many operations as possible in a partition, or one."""
KINDS = {
    "Add": 2,
    "BatchNormalization": 7,
    "Cast": 77,
    "Clip": 10,
    "Concat": 12,
    "Conv": 13,
    "ConvTranspose": 16,
    "ConvolutionBackwardData": 14,
    "Dequantize": 19,
    "Div": 20,
    "Elu": 23,
    "End": 25,
    "HardSigmoid": 79,
    "HardSwish": 29,
    "Identity": 60,
    "LeakyRelu": 35,
    "Max": 40,
    "Mul": 46,
    "PRelu": 47,
    "Quantize": 49,
    "Relu": 58,
    "Reshape": 72,
    "Resize": 31,
    "Sigmoid": 62,
    "Sub": 74,
    "Tanh": 75,
    "Transpose": 73,
}
"""dnnl_graph_op_kind_t, by the name in a context, which for Reorder is Identity, and Resize for Interpolate."""
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
DATA_TYPES = {"f16": 1, "bf16": 2, "f32": 3, "int8": 5, "uint8": 6, "f64": 7}
"""dnnl_data_type_t, by our name for the type. It has int32 too, but no operation that a graph of ours has takes it."""
NUMPY_NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
"""numpy's names, for which `ml_dtypes` must be imported if there is bfloat16; others are the same."""
STRIDED, MOST_DIMENSIONS = 2, 12
VARIABLE, CONSTANT = 1, 2
UNKNOWN_RANK, UNKNOWN_SIZE = -1, -(2**63)
UNWRITTEN = 77
"""The value of an integer output that the library does not write."""
MISSING_FILE = re.compile(r"(?P<name>[^\s:/]+): cannot open shared object file")


class LogicalTensor(ct.Structure):
    """dnnl_graph_logical_tensor_t."""

    _fields_ = (
        ("id", ct.c_size_t),
        ("ndims", ct.c_int),
        ("dims", ct.c_int64 * MOST_DIMENSIONS),
        ("data_type", ct.c_int),
        ("property", ct.c_int),
        ("layout_type", ct.c_int),
        ("strides", ct.c_int64 * MOST_DIMENSIONS),
    )


class LibraryError(Exception):
    """A function of the library did not succeed: which one, and its status."""

    def __init__(self, step: str, status: int) -> None:
        self.status = STATUS.get(status, str(status))
        super().__init__(f"{step}: {self.status}")


class Tensor(NamedTuple):
    """An input of a graph: an array, and what is declared of it.

    Attributes:
        array: the array.
        dtype: its element type, a name of `DATA_TYPES`.
        constant: whether it is a constant.
        shapes: `static` sizes, `symbolic` ones, or no rank (`unranked`). A constant always has its own sizes,
            and a partition is compiled for the sizes of the array.
    """

    array: Array
    dtype: str
    constant: bool = False
    shapes: str = "static"

    @property
    def declared_sizes(self) -> Ints | None:
        """Its sizes as the graph has them, None for no rank."""
        if self.shapes == "unranked" and not self.constant:
            return None
        is_known = self.constant or self.shapes == "static"
        return tuple(size if is_known else UNKNOWN_SIZE for size in self.array.shape)


class Operation(NamedTuple):
    """One operation of a graph.

    Attributes:
        kind: a name of `KINDS`.
        inputs: the names of its inputs, in order.
        output: the name of its output; None if it has none.
        dtype: the output's element type, a name of `DATA_TYPES`.
        attributes: by the names of `ATTRIBUTES`.
    """

    kind: str
    inputs: tuple[str, ...]
    output: str | None
    dtype: str
    attributes: Mapping[str, Attribute]


class Partition(NamedTuple):
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


def quanta(scale: Array, zero_point: Array, axis: int) -> dict[str, Attribute]:
    """Return the attributes of Quantize and Dequantize; the scale is a number, or has one for each channel."""
    return {
        "qtype": "per_channel" if scale.ndim else "per_tensor",
        "axis": axis,
        "scales": tuple(map(float, scale.reshape(-1))),
        "zps": tuple(map(int, zero_point.reshape(-1))),
    }


def load(path: Path) -> ct.CDLL:
    """Load the library, and before it those that the system's loader does not find but that are in its folder.

    Raises:
        OSError: a dependency is not there, or the file is no library.
    """
    # SYCL, which the current build has, finds the processor by its OpenCL driver. The .icd file points nowhere, and the
    # loader also reads this variable, a list.
    driver, drivers = path.parent / "libintelocl.so", os.environ.get("OCL_ICD_FILENAMES", "").split(os.pathsep)
    if driver.is_file() and str(driver) not in drivers:
        os.environ["OCL_ICD_FILENAMES"] = os.pathsep.join([str(driver), *filter(None, drivers)])
    loaded_before: set[str] = set()
    while True:
        try:
            return ct.CDLL(str(path), mode=ct.RTLD_GLOBAL)
        except OSError as error:
            missing = MISSING_FILE.search(str(error))
            if missing is None or missing["name"] in loaded_before or not (path.parent / missing["name"]).is_file():
                raise
            loaded_before.add(missing["name"])
        load(path.parent / missing["name"])


def version(library: ct.CDLL) -> str:
    """Return the library's version."""
    # dnnl_version_t begins with major, minor and patch.
    library.dnnl_version.restype = ct.POINTER(ct.c_int * 3)
    return ".".join(map(str, library.dnnl_version().contents))


class Graph:
    """An engine and a stream of a library, for graphs.

    Args:
        library: the library.
        policy: the partitioning of graphs, a name of `POLICIES`.

    Raises:
        LibraryError: it has no engine for the processor.
    """

    def __init__(self, library: ct.CDLL, policy: str = "fusion") -> None:
        self.library, self._policy = library, policy
        self._engine, self._stream = ct.c_void_p(), ct.c_void_p()
        self.invoke("engine_create", ct.byref(self._engine), CPU, ct.c_size_t(0))
        self.invoke("stream_create", ct.byref(self._stream), self._engine, ct.c_uint(DEFAULT_STREAM))

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
                self._execute(compiled, inputs, outputs, arrays, handles)
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
        self.invoke("graph_graph_create", ct.byref(graph), CPU)
        types = {each.output: each.dtype for each in operations}
        for number, operation in enumerate(operations):
            op = self._new(handles, "graph_op")
            self.invoke("graph_op_create", ct.byref(op), ct.c_size_t(number), KINDS[operation.kind], b"one")
            for name, value in operation.attributes.items():
                self._set_attribute(op, name, value)
            for name in operation.inputs:
                if (fed := tensors.get(name)) is not None:
                    logical = self._logical(ids[name], fed.dtype, fed.declared_sizes, constant=fed.constant)
                else:
                    logical = self._logical(ids[name], types[name])
                self.invoke("graph_op_add_input", op, ct.byref(logical))
            if operation.output is not None:
                logical = self._logical(ids[operation.output], operation.dtype)
                self.invoke("graph_op_add_output", op, ct.byref(logical))
            self.invoke("graph_add_op", graph, op)
        self.invoke("graph_graph_finalize", graph)
        return graph

    def _logical(self, number: int, dtype: str, sizes: Ints | None = None, *, constant: bool = False) -> LogicalTensor:
        """Return a logical tensor; without sizes for no known rank, as an output has none before it is compiled."""
        logical = LogicalTensor()
        begin = ct.byref(logical), ct.c_size_t(number), DATA_TYPES[dtype]
        end = STRIDED, CONSTANT if constant else VARIABLE
        if sizes is None:
            self.invoke("graph_logical_tensor_init", *begin, ct.c_int(UNKNOWN_RANK), *end)
        else:
            rank, dims = ct.c_int(len(sizes)), (ct.c_int64 * MOST_DIMENSIONS)(*sizes)
            self.invoke("graph_logical_tensor_init_with_dims", *begin, rank, dims, *end)
        return logical

    def _partitions(self, graph: ct.c_void_p, operations: Sequence[Operation], handles: ExitStack) -> list[Partition]:
        """Return the partitions of a graph, all of which the library supports."""
        self.invoke("graph_graph_filter", graph, POLICIES[self._policy])
        count = ct.c_size_t()
        self.invoke("graph_graph_get_partition_num", graph, ct.byref(count))
        if not count.value:
            raise LibraryError("filter gave 0 partitions", UNIMPLEMENTED)
        found = (ct.c_void_p * count.value)()
        self.invoke("graph_graph_get_partitions", graph, count, found)
        partitions = []
        for value in found:
            handle = self._new(handles, "graph_partition")
            handle.value = value
            outputs = self._ports(handle, "output")
            if not outputs:
                # The operation End has none, and does nothing.
                continue
            self.invoke("graph_partition_get_op_num", handle, ct.byref(count))
            numbers = (ct.c_size_t * count.value)()
            self.invoke("graph_partition_get_ops", handle, count, numbers)
            kinds = "+".join(operations[number].kind for number in numbers)
            supported = ct.c_uint8()
            self.invoke("graph_partition_is_supported", handle, ct.byref(supported))
            if not supported.value:
                raise LibraryError(f"partition of {kinds} is not supported", UNIMPLEMENTED)
            partitions.append(Partition(handle, self._ports(handle, "input"), outputs, kinds))
        return partitions

    def _ports(self, partition: ct.c_void_p, of: str) -> tuple[int, ...]:
        """Return the ids of a partition's inputs or outputs."""
        count = ct.c_size_t()
        self.invoke(f"graph_partition_get_{of}_ports_num", partition, ct.byref(count))
        ports = (LogicalTensor * count.value)()
        if count.value:
            self.invoke(f"graph_partition_get_{of}_ports", partition, count, ports)
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
        self.invoke("graph_compiled_partition_create", ct.byref(compiled), partition.handle)
        sides: list[Any] = []
        for side in (inputs, outputs):
            sides += [ct.c_size_t(len(side)), (ct.POINTER(LogicalTensor) * len(side))(*map(ct.pointer, side))]
        self.invoke("graph_partition_compile", partition.handle, compiled, *sides, self._engine)
        for output in outputs:
            number = ct.c_size_t(output.id)
            self.invoke("graph_compiled_partition_query_logical_tensor", compiled, number, ct.byref(output))
        return compiled

    def _execute(
        self,
        compiled: ct.c_void_p,
        inputs: Sequence[LogicalTensor],
        outputs: Sequence[LogicalTensor],
        arrays: Mapping[int, Array],
        handles: ExitStack,
    ) -> None:
        """Execute the compiled partition on arrays."""
        sides: list[Any] = []
        for side in (inputs, outputs):
            tensors = []
            for logical in side:
                tensor = self._new(handles, "graph_tensor")
                data = ct.c_void_p(arrays[logical.id].ctypes.data)
                self.invoke("graph_tensor_create", ct.byref(tensor), ct.byref(logical), self._engine, data)
                tensors.append(tensor.value)
            sides += [ct.c_size_t(len(side)), (ct.c_void_p * len(side))(*tensors)]
        self.invoke("graph_compiled_partition_execute", compiled, self._stream, *sides)
        self.invoke("stream_wait", self._stream)

    def _set_attribute(self, op: ct.c_void_p, name: str, value: Attribute) -> None:
        attribute = ATTRIBUTES[name]
        if isinstance(value, str):
            text = value.encode()
            self.invoke("graph_op_set_attr_str", op, attribute, text, ct.c_size_t(len(text)))
            return
        if isinstance(value, bool):
            self.invoke("graph_op_set_attr_bool", op, attribute, ct.byref(ct.c_uint8(value)), ct.c_size_t(1))
            return
        numbers = value if isinstance(value, tuple) else (value,)
        # For the library, a length of 0 means a scalar.
        length = ct.c_size_t(len(value) if isinstance(value, tuple) else 0)
        is_float = any(isinstance(each, float) for each in numbers)
        array = np.array([*numbers] or [0], np.float32 if is_float else np.int64)
        set_numbers = f"graph_op_set_attr_{'f32' if is_float else 's64'}"
        self.invoke(set_numbers, op, attribute, ct.c_void_p(array.ctypes.data), length)

    def invoke(self, name: str, *arguments: Any) -> None:  # noqa: ANN401 - ctypes
        """Call a function of the library, by its name behind `dnnl_`.

        Raises:
            LibraryError: it does not succeed.
        """
        status = getattr(self.library, f"dnnl_{name}")(*arguments)
        if status:
            raise LibraryError(name, status)

    def _new(self, handles: ExitStack, kind: str) -> ct.c_void_p:
        """Return an empty handle; its object is destroyed at the end, in reverse order."""
        handle = ct.c_void_p()
        handles.callback(self._destroy, kind, handle)
        return handle

    def _destroy(self, kind: str, handle: ct.c_void_p) -> None:
        if handle.value:
            getattr(self.library, f"dnnl_{kind}_destroy")(handle)


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


def _unwritten(logical: LogicalTensor, dtype: str) -> Array:
    """Return an array for an output, filled with NaN or a number, so that elements which are not written show."""
    kind = np.dtype(NUMPY_NAMES.get(dtype, dtype))
    sizes = [max(size, 0) for size in logical.dims[: logical.ndims]]
    return np.full(sizes, UNWRITTEN if kind.kind in "iu" else np.nan, dtype=kind)
