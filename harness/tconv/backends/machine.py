"""Facts of the machine by which a runtime chooses its kernels, collected in the process of the runtime."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SIMD: Final = (
    *("sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx_ne_convert", "avx_vnni_int8"),
    *("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "svebf16", "sme"),
)
"""The vector extensions by which runtimes choose kernels, in Linux's words: of x86-64, then of 64-bit Arm."""

_OF_ONEDNN = "oneDNN, also of the one inside OpenVINO and torch"
VARIABLES: Final = {
    # The first of a pair has priority.
    "ONEDNN_MAX_CPU_ISA": _OF_ONEDNN,
    "DNNL_MAX_CPU_ISA": _OF_ONEDNN,
    "ONEDNN_CPU_ISA_HINTS": _OF_ONEDNN,
    "DNNL_CPU_ISA_HINTS": _OF_ONEDNN,
    "ONEDNN_DEFAULT_FPMATH_MODE": _OF_ONEDNN,
    "DNNL_DEFAULT_FPMATH_MODE": _OF_ONEDNN,
    "ATEN_CPU_CAPABILITY": "torch",
    "XLA_FLAGS": "XLA, which jax has",
    "NPY_DISABLE_CPU_FEATURES": "numpy",
    "NPY_ENABLE_CPU_FEATURES": "numpy",
    "OPENBLAS_CORETYPE": "OpenBLAS, which numpy has for matrix products",
    "MKL_ENABLE_INSTRUCTIONS": "MKL",
}
"""Environment variables that choose kernels or a precision, each with its library. onnxruntime has none."""

_CPUINFO = Path("/proc/cpuinfo")
_GIB = 2**30


def describe(simd: Iterable[str] | None = None) -> dict[str, str]:
    """Return the facts; unknown ones are left out.

    Args:
        simd: the vector extensions that the runtime may use; None: all that the processor has.

    Returns:
        `system` and `architecture` as Python names them, `processor` by its maker's name, `simd` as words of `SIMD`,
        `cores` that this process may use, and `memory` of the machine in GiB.
    """
    cpu = _cpuinfo()
    flags = set((cpu.get("flags") or cpu.get("Features") or "").split())
    values = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": cpu.get("model name", platform.processor()),
        "simd": " ".join(word for word in SIMD if word in flags and (simd is None or word in simd)),
        "cores": str(cores()),
        "memory": _memory(),
    }
    return {name: value for name, value in values.items() if value}


def variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables of `VARIABLES` that are set."""
    return {name: environ[name] for name in VARIABLES if name in environ}


def chosen_kernels(environment: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the variables of `VARIABLES` in an environment, as `name=value`, by library."""
    chosen: dict[str, list[str]] = {}
    for name, of in VARIABLES.items():
        if name in environment:
            chosen.setdefault(of, []).append(f"{name}={environment[name]}")
    return chosen


def _cpuinfo() -> dict[str, str]:
    """Return Linux's facts of the first processor; empty on other systems."""
    with suppress(OSError):
        first = _CPUINFO.read_text(encoding="ascii", errors="replace").partition("\n\n")[0]
        pairs = (line.partition(":") for line in first.splitlines())
        return {name.strip(): value.strip() for name, _, value in pairs}
    return {}


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> str:
    with suppress(ValueError, OSError, AttributeError):
        return f"{round(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / _GIB)} GiB"
    return ""
