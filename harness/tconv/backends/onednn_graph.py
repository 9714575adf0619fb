"""oneDNN's Graph API through ctypes: one operation, compiled and executed on the CPU.

No compiled code of ours and no binding of others'. An exception escapes the C API where attributes are invalid, and the
process aborts: that is why a backend lives in a process of its own.
"""

from __future__ import annotations

import ctypes as ct
import os
import re
import site
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tconv.errors import BackendMissing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.vocabulary import Array, Ints

LIBRARY_VARIABLE = "TCONV_ONEDNN"
"""The environment variable that chooses libdnnl: its file, or the folder of an environment that has it."""

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
_REMEDY = "pip install 'tconv-conformance[onednn]'"
_DRIVER = "libintelocl.so"
_DRIVERS_VARIABLE = "OCL_ICD_FILENAMES"
# What hides the processor from SYCL, on which the current build's kernels are queued.
_HIDES_THE_CPU = ("ONEAPI_DEVICE_SELECTOR", "SYCL_DEVICE_ALLOWLIST", "CL_CONFIG_DEVICES")
# The threads of the two builds, OpenMP's and SYCL's: where cores are shared, more than one costs the light build 25 to
# 41 ms a case.
_ONE_THREAD = ("OMP_NUM_THREADS", "DPCPP_CPU_NUM_CUS")
_NOT_THERE = re.compile(r"(?P<name>[^\s:/]+): cannot open shared object file")


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
        BackendMissing: there is no libdnnl that can be used.
    """

    def __init__(self) -> None:
        for name in _ONE_THREAD:
            os.environ.setdefault(name, "1")
        self.path = _found()
        self._library = _loaded(self.path)
        self._engine, self._stream = ct.c_void_p(), ct.c_void_p()
        try:
            self._call("engine_create", ct.byref(self._engine), _CPU, ct.c_size_t(0))
            self._call("stream_create", ct.byref(self._stream), self._engine, ct.c_uint(_DEFAULT_STREAM))
        except Refusal as refusal:
            raise BackendMissing(_without_engine(self.path, refusal)) from None

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
    if named and Path(named).is_file():
        return Path(named).resolve()
    roots = [Path(named)] if named else [Path(sys.prefix), Path(site.getuserbase())]
    for folder in (folder for root in roots for folder in (root, root / "lib")):
        # A wheel has no links: all of these are the same library, and the first is what the last wheel brought.
        for candidate in sorted(folder.glob("libdnnl.so.3*")):
            return candidate.resolve()
    raise BackendMissing(
        f"backend 'onednn' must have libdnnl; install it with: {_REMEDY}"
        if not named
        else f"{LIBRARY_VARIABLE} must name libdnnl.so or an environment that has it (got {named!r}); "
        f"make one with: python -m venv {named} && {named}/bin/pip install onednn"
    )


def _loaded(path: Path) -> ct.CDLL:
    """Load the library, and what its current build needs: neither knows that they lie in one folder.

    Raises:
        BackendMissing: it cannot be loaded, or is too old.
    """
    driver = path.parent / _DRIVER
    if driver.is_file():
        # The installed .icd file points nowhere. The loader takes what is named here, and more than one.
        named = [name for name in os.environ.get(_DRIVERS_VARIABLE, "").split(os.pathsep) if name]
        if str(driver) not in named:
            os.environ[_DRIVERS_VARIABLE] = os.pathsep.join([str(driver), *named])
    try:
        library = _with_needed(path)
    except OSError as error:
        told = " ".join(str(error).split())
        raise BackendMissing(f"backend 'onednn' must load {path} (got: {told}){_remedy(path, told)}") from None
    if not hasattr(library, "dnnl_graph_op_create"):
        raise BackendMissing(
            f"backend 'onednn' must have a libdnnl with the Graph API, 3.0 or newer (got {path}); "
            f"install one with: {_REMEDY}"
        )
    return library


def _with_needed(path: Path) -> ct.CDLL:
    """Load a library, and before it each that the loader misses and that lies beside it.

    Raises:
        OSError: one that it misses is not there, or it is no library.
    """
    missed: set[str] = set()
    while True:
        try:
            return ct.CDLL(str(path), mode=ct.RTLD_GLOBAL)
        except OSError as error:
            found = _NOT_THERE.search(str(error))
            if found is None or found["name"] in missed or not (path.parent / found["name"]).is_file():
                raise
            missed.add(found["name"])
        _with_needed(path.parent / found["name"])


def _remedy(path: Path, told: str) -> str:
    """Return the command that brings what the loader misses."""
    found = _NOT_THERE.search(told)
    if found is None:
        return f"; install another with: {_REMEDY}"
    if found["name"].startswith("libgomp"):
        return "; install it with: apt-get install libgomp1"
    return f"; install what it needs with: {_pip(path)} install onednn"


def _without_engine(path: Path, refusal: Refusal) -> str:
    """Return what is in the way of an engine: the current build has one only where SYCL sees the processor."""
    told = f"backend 'onednn' must have an engine for the processor (got {refusal} from {path})"
    hidden = [name for name in _HIDES_THE_CPU if name in os.environ]
    if hidden:
        return f"{told}; let SYCL see it with: unset {' '.join(hidden)}"
    return f"{told}; install its driver with: {_pip(path)} install --force-reinstall intel-opencl-rt"


def _pip(path: Path) -> str:
    """Return the pip of the environment that a library lies in."""
    pip = path.parent.parent / "bin" / "pip"
    return str(pip) if pip.is_file() else "pip"
