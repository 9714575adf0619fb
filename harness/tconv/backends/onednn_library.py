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
        # The current build has an engine only if SYCL finds the processor by an OpenCL driver.
        must = f"backend 'onednn' must have an engine for the processor (got {refusal} from {path})"
        raise BackendMissing(f"{must}; install the driver intel-opencl-rt next to it") from None


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
        remedy = "; install the missing file, such as libgomp1" if MISSING_FILE.search(reason) else ""
        raise BackendMissing(f"backend 'onednn' must load {path} (got: {reason}){remedy}") from None
    if not hasattr(library, "dnnl_graph_op_create"):
        raise BackendMissing(
            f"backend 'onednn' must have a libdnnl with the Graph API, 3.0 or newer (got {path}); "
            f"install one with: {installing(['onednn'])}"
        )
    return library
