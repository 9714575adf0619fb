"""The Python interface: reference, resolver and judge for the caller's arrays and attributes. `tconv` has its names."""

# ruff: noqa: F401 - `tconv.__all__` lists them

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
