"""The Python interface: reference, resolver and judge for the caller's arrays and attributes."""

from tconv.api.arguments import DEFAULT_DIALECT
from tconv.api.conforming import Tolerance, assert_conforms, tolerance
from tconv.api.reference import conv_transpose, disputed, resolve
from tconv.dialects.geometry import Geometry
from tconv.errors import (
    BackendLost,
    BackendMissing,
    DialectError,
    FileError,
    FileErrors,
    Invalid,
    OptionError,
    TconvError,
    UsageError,
    Violation,
)

__all__ = [
    "DEFAULT_DIALECT",
    "BackendLost",
    "BackendMissing",
    "DialectError",
    "FileError",
    "FileErrors",
    "Geometry",
    "Invalid",
    "OptionError",
    "TconvError",
    "Tolerance",
    "UsageError",
    "Violation",
    "assert_conforms",
    "conv_transpose",
    "disputed",
    "resolve",
    "tolerance",
]
