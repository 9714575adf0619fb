"""libdnnl: how it is found, loaded and called, and what to install if that fails."""

from __future__ import annotations

import ctypes as ct
import os
import site
import sys
from pathlib import Path

from tconv.backends.extras import installing
from tconv.backends.onednn_graph import MISSING_FILE, Graph, LibraryError, load
from tconv.errors import BackendMissing
from tconv.shown_texts import one_line

LIBRARY_VARIABLE = "TCONV_ONEDNN"
"""The environment variable that chooses libdnnl: its file, or the folder of an environment that has it."""

# Variables that can hide the processor from SYCL, which the current build's kernels need.
_DEVICE_FILTERS = ("ONEAPI_DEVICE_SELECTOR", "SYCL_DEVICE_ALLOWLIST", "CL_CONFIG_DEVICES")
# Threads of the light build (OpenMP) and of the current build (SYCL). On shared cores, more than one thread costs the
# light build 25 to 41 ms a case.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "DPCPP_CPU_NUM_CUS")
_FPMATH = {0: "strict", 1: "bf16", 2: "f16", 3: "any", 4: "tf32"}
"""dnnl_fpmath_mode_t."""


def opened(policy: str) -> Graph:
    """Return the library for graphs.

    Args:
        policy: how graphs are partitioned, a name of `POLICIES`.

    Raises:
        BackendMissing: there is no libdnnl that can be used.
    """
    path = located()
    try:
        return Graph(loaded(path), policy)
    except LibraryError as refusal:
        raise without_engine(path, refusal) from None


def isa(library: ct.CDLL) -> int:
    """Return the instruction set that the library chooses its kernels for, as dnnl_cpu_isa_t."""
    return int(library.dnnl_get_effective_cpu_isa())


def fpmath(graph: Graph) -> str:
    """Return the floating-point math mode: which types f32 may be computed in instead."""
    mode = ct.c_int()
    graph.invoke("get_default_fpmath_mode", ct.byref(mode))
    return _FPMATH.get(mode.value, str(mode.value))


def located() -> Path:
    """Return the path of libdnnl.

    Raises:
        BackendMissing: it is not found.
    """
    choice = os.environ.get(LIBRARY_VARIABLE)
    if choice and Path(choice).is_file():
        return Path(choice).resolve()
    roots = [Path(choice)] if choice else [Path(sys.prefix), Path(site.getuserbase())]
    for folder in (folder for root in roots for folder in (root, root / "lib")):
        # A wheel has no links: all of these files are the library of the last installed wheel.
        for candidate in sorted(folder.glob("libdnnl.so.3*")):
            return candidate.resolve()
    raise BackendMissing(
        f"backend 'onednn' must have libdnnl; install it with: {installing(['onednn'])}"
        if not choice
        else f"{LIBRARY_VARIABLE} must name libdnnl.so or an environment that has it (got {choice!r}); "
        f"make one with: python -m venv {choice} && {choice}/bin/pip install onednn"
    )


def loaded(path: Path) -> ct.CDLL:
    """Load the library for one thread, with the files that the current build needs from the library's folder.

    Raises:
        BackendMissing: it cannot be loaded, or is too old.
    """
    for variable in _THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    try:
        library = load(path)
    except OSError as error:
        reason = one_line(str(error))
        raise BackendMissing(f"backend 'onednn' must load {path} (got: {reason}){_remedy(path, reason)}") from None
    if not hasattr(library, "dnnl_graph_op_create"):
        raise BackendMissing(
            f"backend 'onednn' must have a libdnnl with the Graph API, 3.0 or newer (got {path}); "
            f"install one with: {installing(['onednn'])}"
        )
    return library


def _remedy(path: Path, reason: str) -> str:
    """Return the command that installs a file that the loader does not find."""
    missing = MISSING_FILE.search(reason)
    if missing is None:
        return f"; install another with: {installing(['onednn'])}"
    if missing["name"].startswith("libgomp"):
        return "; install it with: apt-get install libgomp1"
    return f"; install what it needs with: {_pip(path)} install onednn"


def without_engine(path: Path, error: Exception) -> BackendMissing:
    """Return the error if there is no engine: the current build has one only if SYCL finds the processor."""
    message = f"backend 'onednn' must have an engine for the processor (got {error} from {path})"
    filters = [name for name in _DEVICE_FILTERS if name in os.environ]
    if filters:
        return BackendMissing(f"{message}; let SYCL see it with: unset {' '.join(filters)}")
    return BackendMissing(f"{message}; install its driver with: {_pip(path)} install --force-reinstall intel-opencl-rt")


def _pip(path: Path) -> str:
    """Return the pip of a library's environment."""
    pip = path.parent.parent / "bin" / "pip"
    return str(pip) if pip.is_file() else "pip"
