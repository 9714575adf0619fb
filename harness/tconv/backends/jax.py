"""JAX's conv_general_dilated: a convolution of the data with zeros inserted and the filter mirrored."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import jax
import numpy as np
from jax import lax

from tconv.backends import BackendInfo, Option
from tconv.backends.options import with_defaults
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.backends.resolved_call import ALL_DIALECT_NAMES, geometry_for_arrays
from tconv.cases.layouts import from_ncx, to_iox, to_ncx
from tconv.dialects.rules import QUESTIONS
from tconv.errors import BackendMissing
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array


class Jax:
    """jax, by default on the CPU, in the precision of the operands.

    Args:
        options: values of `OPTIONS`, by name.
    """

    OPTIONS: ClassVar = (Option("platform", "where it computes", "cpu", ("cpu", "cuda", "rocm", "tpu", "METAL")),)

    def __init__(self, **options: str) -> None:
        self._platform = with_defaults(self.OPTIONS, options)["platform"]
        jax.config.update("jax_platforms", self._platform)
        jax.config.update("jax_enable_x64", val=True)

    def info(self) -> BackendInfo:
        """Return the versions and the device.

        Raises:
            BackendMissing: jax does not have the platform on this machine.
        """
        try:
            device = jax.devices()[0]
        except (AssertionError, RuntimeError) as error:
            # Of a platform whose package is not installed jax says nothing but that an assertion failed.
            reason = one_line(str(error)) or type(error).__name__
            raise BackendMissing(
                f"option platform of jax must be a platform that jax has on this machine (got {self._platform!r}: "
                f"{reason}); leave the option out for the CPU, or install jax for this platform"
            ) from None
        return BackendInfo(
            "jax",
            jax.__version__,
            ALL_DIALECT_NAMES,
            {"device": str(device), "precision": "highest", "jaxlib": jax.lib.__version__},
            QUESTIONS,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call, its geometry resolved first."""
        geometry = geometry_for_arrays(call)
        if isinstance(geometry, Refused | Unsupported):
            return geometry
        x = to_ncx(arrays["x"], call.data_format)
        try:
            y = np.asarray(_conv_transpose(x, to_iox(arrays["w"], call.filter_format), geometry))
        except (TypeError, ValueError) as error:
            return Refused(str(error).partition("\n")[0])
        y = y if "b" not in arrays else y + arrays["b"].reshape(-1, *(1,) * call.rank)
        return Produced(from_ncx(y, call.data_format))


def _conv_transpose(x: Array, w: Array, geometry: Geometry) -> jax.Array:
    spans = [(k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True)]
    pads = [(s - b, s - e) for s, b, e in zip(spans, geometry.pads_begin, geometry.pads_end, strict=True)]
    rank = len(geometry.kernel)
    giox = w.reshape(geometry.groups, w.shape[0] // geometry.groups, *w.shape[1:])
    mirrored = np.flip(np.moveaxis(giox, 2, 1), axis=tuple(range(3, 3 + rank)))
    filters = mirrored.reshape(mirrored.shape[0] * mirrored.shape[1], *mirrored.shape[2:])
    return lax.conv_general_dilated(
        x,
        filters,
        window_strides=(1,) * rank,
        padding=pads,
        lhs_dilation=geometry.strides,
        rhs_dilation=geometry.dilations,
        feature_group_count=geometry.groups,
        precision=lax.Precision.HIGHEST,
    )
