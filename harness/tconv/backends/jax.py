"""JAX's conv_general_dilated: a convolution of the data with zeros inserted and the filter mirrored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tconv.backends import BackendInfo, Option
from tconv.backends.options import with_defaults
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.backends.resolved_call import ALL_DIALECT_NAMES, geometry_for_arrays
from tconv.backends.snippet import Snippet, name_of, w_in_iox, x_in_ncx, y_from_ncx
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

    DIALECTS = ALL_DIALECT_NAMES
    OPTIONS: ClassVar = (Option("platform", "where it computes", "cpu", ("cpu", "cuda", "rocm", "tpu", "METAL")),)

    def __init__(self, **options: str) -> None:
        import jax

        self._jax, self._platform = jax, with_defaults(self.OPTIONS, options)["platform"]
        jax.config.update("jax_platforms", self._platform)
        jax.config.update("jax_enable_x64", val=True)

    def info(self) -> BackendInfo:
        """Return the versions and the device.

        Raises:
            BackendMissing: jax does not have the platform on this machine.
        """
        try:
            device = self._jax.devices()[0]
        except (AssertionError, RuntimeError) as error:
            # If the package of a platform is not installed, jax only raises an AssertionError.
            reason = one_line(str(error)) or type(error).__name__
            raise BackendMissing(
                f"option platform of jax must be a platform that jax has on this machine (got {self._platform!r}: "
                f"{reason}); leave the option out for the CPU, or install jax for this platform"
            ) from None
        return BackendInfo(
            "jax",
            self._jax.__version__,
            self.DIALECTS,
            {"device": str(device), "precision": "highest", "jaxlib": self._jax.lib.__version__},
            QUESTIONS,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run the exported lines of one call, with a resolved geometry."""
        geometry = geometry_for_arrays(call)
        if isinstance(geometry, Refused | Unsupported):
            return geometry
        names: dict[str, Any] = {"np": np, "jax": self._jax, **call.operands(arrays)}
        try:
            exec("\n".join(_lines(call, geometry)), names)  # noqa: S102 - no text in them is from outside
        except (TypeError, ValueError) as error:
            return Refused(str(error))
        return Produced(names["y"])

    @staticmethod
    def snippet(call: Call) -> Snippet | None:
        """Return the code that computes a call without tconv; None if it has no geometry, or declares no sizes."""
        geometry = geometry_for_arrays(call)
        if isinstance(geometry, Refused | Unsupported):
            return None
        return Snippet(("jax",), _lines(call, geometry), ("TypeError", "ValueError"), of_model=False)


def _lines(call: Call, geometry: Geometry) -> tuple[str, ...]:
    """Return the lines from the arrays, named as in the dialect, to `y`."""
    channels, out_channels, *kernel = call.written.w.shape
    groups, spatial = geometry.groups, "".join(map(str, range(call.rank)))
    rest = f"feature_group_count={groups}, precision=jax.lax.Precision.HIGHEST"
    added = f"y = y + {name_of(call, 'b')}.reshape({[-1, *[1] * call.rank]})"
    return (
        'jax.config.update("jax_enable_x64", True)',
        f"w = {w_in_iox(call)}.reshape({[groups, channels // groups, out_channels, *kernel]})",
        f"w = np.flip(np.moveaxis(w, 2, 1), axis={tuple(range(3, 3 + call.rank))})",
        f"w = w.reshape({[groups * out_channels, channels // groups, *kernel]})",
        f"x, strides, pads = {x_in_ncx(call)}, {(1,) * call.rank}, {_pads(geometry)}",
        f"options = dict(lhs_dilation={geometry.strides}, rhs_dilation={geometry.dilations})",
        f'axes = ("NC{spatial}", "OI{spatial}", "NC{spatial}")',
        f"options |= dict(dimension_numbers=axes, {rest})",
        "y = np.asarray(jax.lax.conv_general_dilated(x, w, strides, pads, **options))",
        *([added] if name_of(call, "b") else []),
        *y_from_ncx(call, "y = y.transpose(AXES)"),
    )


def _pads(geometry: Geometry) -> list[tuple[int, int]]:
    """Return the pads of the convolution."""
    spans = [(k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True)]
    return [(s - b, s - e) for s, b, e in zip(spans, geometry.pads_begin, geometry.pads_end, strict=True)]
