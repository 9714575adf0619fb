"""Operands as a call wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tconv.layouts import from_iox, from_ncx

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tconv.call import Call

    Array = np.ndarray[Any, np.dtype[Any]]


def in_layouts(operands: Mapping[str, Array], call: Call) -> dict[str, Array]:
    """Return the operands, in NCX and IOX, in the call's layouts."""
    arrays = dict(operands)
    arrays["x"] = from_ncx(operands["x"], call.data_format)
    arrays["w"] = from_iox(operands["w"], call.filter_format, call.groups)
    return arrays
