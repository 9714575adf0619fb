"""tconv: the conformance harness for transposed convolution.

from tconv import assert_conforms, conv_transpose, resolve
y = conv_transpose(x, w, bias, dialect="onnx/ConvTranspose-22", strides=2, auto_pad="same_upper")
assert_conforms(mine, x, w, bias, dialect="onnx/ConvTranspose-22", strides=2, auto_pad="same_upper")
"""

from __future__ import annotations

# To load the module typing takes longer than all else before the command's first line, see `__main__`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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

__version__ = "0.1.0"
__all__ = [
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
    "__version__",
    "assert_conforms",
    "conv_transpose",
    "disputed",
    "resolve",
    "tolerance",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type of the name that is asked for
    """Import the interface on first use: the command and its workers need only parts of it."""
    if name in __all__:
        from tconv import api  # noqa: PLC0415 - on first use

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
