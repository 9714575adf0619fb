"""libdnnl: how it is found, loaded and called, and what to install if that fails."""

from __future__ import annotations

import ctypes as ct
import os
import re
import site
import sys
from pathlib import Path
from typing import Any

from tconv.backends.extras import installing
from tconv.errors import BackendMissing
from tconv.shown_texts import one_line

LIBRARY_VARIABLE = "TCONV_ONEDNN"
"""The environment variable that chooses libdnnl: its file, or the folder of an environment that has it."""

_DRIVER = "libintelocl.so"
_DRIVERS_VARIABLE = "OCL_ICD_FILENAMES"
# Variables that can hide the processor from SYCL, which the current build's kernels need.
_DEVICE_FILTERS = ("ONEAPI_DEVICE_SELECTOR", "SYCL_DEVICE_ALLOWLIST", "CL_CONFIG_DEVICES")
# Threads of the light build (OpenMP) and of the current build (SYCL). On shared cores, more than one thread costs the
# light build 25 to 41 ms a case.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "DPCPP_CPU_NUM_CUS")
_MISSING_FILE = re.compile(r"(?P<name>[^\s:/]+): cannot open shared object file")

UNIMPLEMENTED = 3
_STATUS = {
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


class LibraryError(Exception):
    """A function of the library did not succeed: which one, and its status."""

    def __init__(self, step: str, status: int) -> None:
        self.status = _STATUS.get(status, str(status))
        super().__init__(f"{step}: {self.status}")


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
    driver = path.parent / _DRIVER
    if driver.is_file():
        # The installed .icd file has a wrong path; the OpenCL loader also reads this variable, a list.
        drivers = [name for name in os.environ.get(_DRIVERS_VARIABLE, "").split(os.pathsep) if name]
        if str(driver) not in drivers:
            os.environ[_DRIVERS_VARIABLE] = os.pathsep.join([str(driver), *drivers])
    try:
        library = _with_dependencies(path)
    except OSError as error:
        reason = one_line(str(error))
        raise BackendMissing(f"backend 'onednn' must load {path} (got: {reason}){_remedy(path, reason)}") from None
    if not hasattr(library, "dnnl_graph_op_create"):
        raise BackendMissing(
            f"backend 'onednn' must have a libdnnl with the Graph API, 3.0 or newer (got {path}); "
            f"install one with: {installing(['onednn'])}"
        )
    return library


def _with_dependencies(path: Path) -> ct.CDLL:
    """Load a library, and before it dependencies in its folder that the system's loader does not find.

    Raises:
        OSError: a dependency is not there, or the file is no library.
    """
    loaded_before: set[str] = set()
    while True:
        try:
            return ct.CDLL(str(path), mode=ct.RTLD_GLOBAL)
        except OSError as error:
            missing = _MISSING_FILE.search(str(error))
            if missing is None or missing["name"] in loaded_before or not (path.parent / missing["name"]).is_file():
                raise
            loaded_before.add(missing["name"])
        _with_dependencies(path.parent / missing["name"])


def _remedy(path: Path, reason: str) -> str:
    """Return the command that installs a file that the loader does not find."""
    missing = _MISSING_FILE.search(reason)
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


def invoke(library: ct.CDLL, name: str, *arguments: Any) -> None:  # noqa: ANN401 - ctypes
    """Call a function of the library, by its name without `dnnl_`.

    Raises:
        LibraryError: it does not succeed.
    """
    status = getattr(library, f"dnnl_{name}")(*arguments)
    if status:
        raise LibraryError(name, status)
