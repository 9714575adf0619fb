"""What the texts say: rules, constraints, readings, geometry, and each dialect as a constant."""

from __future__ import annotations

from tconv.dialects.dialect import Absent, Dialect, Open, Spelling, Stated
from tconv.dialects.geometry_dialect import GEOMETRY_1
from tconv.dialects.onednn import CONV_TRANSPOSE_1, CONVOLUTION_BACKPROP_DATA_1
from tconv.dialects.onnx import CONV_TRANSPOSE_1 as ONNX_1
from tconv.dialects.onnx import CONV_TRANSPOSE_11 as ONNX_11
from tconv.dialects.onnx import CONV_TRANSPOSE_22 as ONNX_22
from tconv.dialects.openvino import CONVOLUTION_BACKPROP_DATA_1 as OPENVINO_1
from tconv.dialects.openvino import GROUP_CONVOLUTION_BACKPROP_DATA_1 as OPENVINO_GROUPED_1
from tconv.errors import UsageError
from tconv.nearest_word import nearest

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        ONNX_1,
        ONNX_11,
        ONNX_22,
        CONV_TRANSPOSE_1,
        CONVOLUTION_BACKPROP_DATA_1,
        OPENVINO_1,
        OPENVINO_GROUPED_1,
        GEOMETRY_1,
    )
}
"""Every dialect by its name, `text/Operator-version`."""

__all__ = ["DIALECTS", "GEOMETRY_1", "Absent", "Dialect", "Open", "Spelling", "Stated", "dialect_named"]


def dialect_named(name: str) -> Dialect:
    """Return the dialect of that name.

    Raises:
        UsageError: no dialect has that name.
    """
    try:
        return DIALECTS[name]
    except KeyError:
        known = ", ".join(DIALECTS)
        raise UsageError(f"dialect must be one of {known} (got {name!r}){nearest(name, DIALECTS)}") from None
