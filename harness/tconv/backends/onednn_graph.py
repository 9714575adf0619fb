"""oneDNN's Graph API through ctypes: one operation, compiled and executed on the CPU.

No compiled code of ours and no binding of others'. An exception escapes the C API where attributes are invalid, and the
process aborts: that is why a backend lives in a process of its own.
"""

from __future__ import annotations

import ctypes as ct
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tconv.errors import BackendMissing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.vocabulary import Ints

    Array = np.ndarray[Any, np.dtype[Any]]

LIBRARY_VARIABLE = "TCONV_ONEDNN"
"""The environment variable that names libdnnl, for one that is not in the environment's lib folder."""

_MOST_DIMENSIONS = 12
_CPU, _DEFAULT_STREAM, _STRIDED, _FUSION = 1, 1, 2, 1
_VARIABLE, _CONSTANT = 1, 2
_UNKNOWN_RANK = -1

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

_STATUS = {
    1: "out_of_memory",
    2: "invalid_arguments",
    3: "unimplemented",
    4: "last_impl_reached",
    5: "runtime_error",
    6: "not_required",
    7: "invalid_graph",
    8: "invalid_graph_op",
    9: "invalid_shape",
    10: "invalid_data_type",
}
# What the runtime's current build loads by itself only if these are there already, in this order.
_PRELOADED = ("libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so", "libtbb.so.12", "libsycl.so.9")


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


class _Version(ct.Structure):
    """dnnl_version_t."""

    _fields_ = (
        ("major", ct.c_int),
        ("minor", ct.c_int),
        ("patch", ct.c_int),
        ("hash", ct.c_char_p),
        ("cpu_runtime", ct.c_uint),
        ("gpu_runtime", ct.c_uint),
    )


class Refusal(Exception):  # noqa: N818 - it is the library's answer, not a fault of ours
    """A call of the library did not succeed: which one, and its status."""

    def __init__(self, step: str, status: int) -> None:
        self.status = _STATUS.get(status, str(status))
        super().__init__(f"{step}: {self.status}")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input of an operation: an array, its oneDNN data type, and whether it is a constant."""

    array: Array
    data_type: int
    constant: bool = False


class Graph:
    """The library, an engine and a stream.

    Raises:
        BackendMissing: there is no libdnnl.
    """

    def __init__(self) -> None:
        # The light build's OpenMP threads cost 25 to 41 ms a case where cores are shared.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self.path = _found()
        self._library = _loaded(self.path)
        self._engine, self._stream = ct.c_void_p(), ct.c_void_p()
        self._call("engine_create", ct.byref(self._engine), _CPU, ct.c_size_t(0))
        self._call("stream_create", ct.byref(self._stream), self._engine, ct.c_uint(_DEFAULT_STREAM))

    @property
    def version(self) -> str:
        """The library's version."""
        self._library.dnnl_version.restype = ct.POINTER(_Version)
        found = self._library.dnnl_version().contents
        return f"{found.major}.{found.minor}.{found.patch}"

    @property
    def isa(self) -> str:
        """The instruction set that the library chooses its kernels for, as its number."""
        return hex(int(self._library.dnnl_get_effective_cpu_isa()))

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
            Refusal: the library does not take the operation.
        """
        described = [self._described(number, one) for number, one in enumerate(inputs)]
        output = _LogicalTensor()
        self._call(
            "graph_logical_tensor_init",
            ct.byref(output),
            ct.c_size_t(len(inputs)),
            inputs[0].data_type,
            ct.c_int(_UNKNOWN_RANK),
            _STRIDED,
            _VARIABLE,
        )
        with _Handles(self._library) as handles:
            partition = self._partition(kind, attributes, described, output, handles)
            compiled = handles.made("graph_compiled_partition")
            self._call("graph_compiled_partition_create", ct.byref(compiled), partition)
            pointers = (ct.POINTER(_LogicalTensor) * len(described))(*(ct.pointer(one) for one in described))
            outputs = (ct.POINTER(_LogicalTensor) * 1)(ct.pointer(output))
            self._call(
                "graph_partition_compile",
                partition,
                compiled,
                ct.c_size_t(len(described)),
                pointers,
                ct.c_size_t(1),
                outputs,
                self._engine,
            )
            self._call(
                "graph_compiled_partition_query_logical_tensor", compiled, ct.c_size_t(len(inputs)), ct.byref(output)
            )
            # The library writes its strides; a plain array is what it is asked for.
            array = np.full([output.dims[axis] for axis in range(rank)], _UNWRITTEN, dtype=dtype)
            self._execute(compiled, described, [one.array for one in inputs], output, array, handles)
            return array

    def _partition(
        self,
        kind: int,
        attributes: Mapping[str, str | int | Ints],
        described: Sequence[_LogicalTensor],
        output: _LogicalTensor,
        handles: _Handles,
    ) -> ct.c_void_p:
        """Put the operation in a graph of its own and return its only partition."""
        graph, op = handles.made("graph_graph"), handles.made("graph_op")
        self._call("graph_graph_create", ct.byref(graph), _CPU)
        self._call("graph_op_create", ct.byref(op), ct.c_size_t(0), kind, b"tconv")
        for name, value in attributes.items():
            self._attribute(op, name, value)
        for one in described:
            self._call("graph_op_add_input", op, ct.byref(one))
        self._call("graph_op_add_output", op, ct.byref(output))
        self._call("graph_add_op", graph, op)
        self._call("graph_graph_finalize", graph)
        self._call("graph_graph_filter", graph, _FUSION)
        count = ct.c_size_t()
        self._call("graph_graph_get_partition_num", graph, ct.byref(count))
        if count.value != 1:
            raise Refusal(f"filter gave {count.value} partitions", 3)
        partition = handles.made("graph_partition")
        self._call("graph_graph_get_partitions", graph, ct.c_size_t(1), ct.byref(partition))
        supported = ct.c_uint8()
        self._call("graph_partition_is_supported", partition, ct.byref(supported))
        if not supported.value:
            raise Refusal("partition is not supported", 3)
        return partition

    def _execute(
        self,
        compiled: ct.c_void_p,
        described: Sequence[_LogicalTensor],
        arrays: Sequence[Array],
        output: _LogicalTensor,
        y: Array,
        handles: _Handles,
    ) -> None:
        tensors = []
        for logical, array in zip([*described, output], [*arrays, y], strict=True):
            tensor = handles.made("graph_tensor")
            self._call(
                "graph_tensor_create", ct.byref(tensor), ct.byref(logical), self._engine, ct.c_void_p(array.ctypes.data)
            )
            tensors.append(tensor)
        given = (ct.c_void_p * len(arrays))(*(one.value for one in tensors[:-1]))
        wanted = (ct.c_void_p * 1)(tensors[-1].value)
        self._call(
            "graph_compiled_partition_execute",
            compiled,
            self._stream,
            ct.c_size_t(len(arrays)),
            given,
            ct.c_size_t(1),
            wanted,
        )
        self._call("stream_wait", self._stream)

    def _described(self, number: int, one: Tensor) -> _LogicalTensor:
        logical = _LogicalTensor()
        dims = (ct.c_int64 * _MOST_DIMENSIONS)(*one.array.shape)
        kept = _CONSTANT if one.constant else _VARIABLE
        self._call(
            "graph_logical_tensor_init_with_dims",
            ct.byref(logical),
            ct.c_size_t(number),
            one.data_type,
            ct.c_int(one.array.ndim),
            dims,
            _STRIDED,
            kept,
        )
        return logical

    def _attribute(self, op: ct.c_void_p, name: str, value: str | int | Ints) -> None:
        word = ATTRIBUTES[name]
        if isinstance(value, str):
            text = value.encode()
            self._call("graph_op_set_attr_str", op, word, text, ct.c_size_t(len(text)))
            return
        numbers = (value,) if isinstance(value, int) else value
        # A scalar is said by a length of 0.
        length = 0 if isinstance(value, int) else len(value)
        self._call(
            "graph_op_set_attr_s64", op, word, (ct.c_int64 * max(len(numbers), 1))(*numbers), ct.c_size_t(length)
        )

    def _call(self, name: str, *arguments: Any) -> None:  # noqa: ANN401 - ctypes
        status = getattr(self._library, f"dnnl_{name}")(*arguments)
        if status:
            raise Refusal(name, status)


_UNWRITTEN = float("nan")
"""What an output is filled with before, so that memory that is not written is seen."""


class _Handles:
    """Objects of the library, destroyed in the reverse order of their making."""

    def __init__(self, library: ct.CDLL) -> None:
        self._library = library
        self._made: list[tuple[str, ct.c_void_p]] = []

    def made(self, kind: str) -> ct.c_void_p:
        """Return an empty handle whose object is destroyed at the end."""
        handle = ct.c_void_p()
        self._made.append((kind, handle))
        return handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for kind, handle in reversed(self._made):
            if handle.value:
                getattr(self._library, f"dnnl_{kind}_destroy")(handle)


def _found() -> Path:
    """Return where libdnnl is.

    Raises:
        BackendMissing: nowhere.
    """
    named = os.environ.get(LIBRARY_VARIABLE)
    candidates = [Path(named)] if named else sorted((Path(sys.prefix) / "lib").glob("libdnnl.so.3*"))
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    raise BackendMissing(
        "backend 'onednn' must have libdnnl; install it with: pip install 'tconv-conformance[onednn]'"
        if not named
        else f"{LIBRARY_VARIABLE} must name libdnnl (got {named!r}, which is no file)"
    )


def _loaded(path: Path) -> ct.CDLL:
    """Load the library, and first what its current build needs."""
    driver = path.parent / "libintelocl.so"
    if driver.is_file():
        # The installed .icd file points nowhere; the loader takes this one.
        os.environ.setdefault("OCL_ICD_FILENAMES", str(driver))
        for name in _PRELOADED:
            if (path.parent / name).is_file():
                ct.CDLL(str(path.parent / name), mode=ct.RTLD_GLOBAL)
    try:
        return ct.CDLL(str(path), mode=ct.RTLD_GLOBAL)
    except OSError as error:
        raise BackendMissing(f"backend 'onednn' must load {path.name} (got: {error})") from None
