"""A case from its settings: sizes by meaning become shapes, a scalar becomes a list, `full` becomes a number."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, Any

from tconv.cases.case import PRESENTATION, Case, Facts, Operand
from tconv.cases.context import Context, Grid, Quantisation
from tconv.corpus.case_file import DEFAULTS, OPERAND_ROLES, complete_settings, spread_per_axis, unwrap
from tconv.corpus.facts import work_out_facts
from tconv.dialects.constraints import CONSTRAINTS, find_broken
from tconv.dialects.geometry import reach
from tconv.expectation.expected import LARGEST_OUTPUT
from tconv.vocabulary import ATTRIBUTES, NEUTRAL, Attributes, AutoPad, DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Cite, Expected
    from tconv.vocabulary import Ints, Signature, Tier

_MEANINGS = {"x": ("batch", "channels", "spatial"), "w": ("channels", "out_channels", "kernel"), "b": ("out_channels",)}
"""The named sizes of each operand."""
_SIZES = {size for sizes in _MEANINGS.values() for size in sizes}
_WORDS = ("auto_pad", "data_format", "filter_format")
MOST_SPATIAL_AXES = 16
"""A case has two further axes; numpy allows 64."""
MOST_PRODUCTS = 2**36
"""Products of one case: ten seconds to a minute of one core."""
MOST_ELEMENTS = LARGEST_OUTPUT
"""Elements of operands and output of a case. Each takes up to 64 bytes in a worker, so together a gigabyte."""


class ImpossibleCase(ValueError):  # noqa: N818 - the case is impossible; who reads the file makes it an error
    """The settings do not make a case.

    Args:
        message: what must be, and what the settings have instead.
        setting: the name of the wrong setting; empty if several settings are involved.
    """

    def __init__(self, message: str, setting: str = "") -> None:
        super().__init__(message)
        self.setting = setting


def build(
    case_id: str,
    *layers: Mapping[str, Any],
    about: str = "",
    cites: Sequence[Cite] = (),
    expected: Sequence[Expected] = (),
    tier: Tier = "gate",
) -> Case:
    """Return the case of these settings; a later layer replaces an earlier one.

    Raises:
        ImpossibleCase: no tensor has such a shape, or one would be too large.
    """
    settings = complete_settings(layers)
    attributes: Attributes = _shared(_attributes(settings))
    x, w, b = _operands(settings)
    copied: dict[str, Any] = {name: settings.get(name) for name in (*PRESENTATION, "breaks")}
    case = Case(
        case_id,
        attributes,
        x,
        w,
        b,
        **copied,
        omit=tuple(settings.get("omit", ())),
        context=Context(**{axis: level for axis, level in settings.get("context", {}).items() if level is not None}),
        quantisation=_quantisation(settings.get("quantisation", {})),
        expected=tuple(expected),
        tier=tier,
        about=about,
        cites=tuple(cites),
        facts=Facts(partial(work_out_facts, case_id, layers, attributes, x, w)),
    )
    if case.b is not None and case.bias_source == "unnamed":
        raise ImpossibleCase("bias_source must be initializer or input with a bias (got unnamed)", "bias_source")
    _refuse_impossible(case.signature, case.breaks)
    return case


@lru_cache(maxsize=1024)
def _shared(value: Any) -> Any:  # noqa: ANN401 - it returns its argument
    """Return the same object for equal values: tens of thousands of cases share a few values."""
    return value


def _quantisation(settings: Mapping[str, Any]) -> Quantisation | None:
    """Return the declared scales and zero points; None if there are none."""
    grids = {}
    for role, grid in settings.items():
        if grid is not None:
            scale = grid["scale"]
            grids[role] = Grid(tuple(scale) if isinstance(scale, list | tuple) else (scale,), grid.get("zero_point"))
    for role in ("x", "y"):
        if role in grids and len(grids[role].scale) != 1:
            raise ImpossibleCase(f"{role} must have one scale (got {len(grids[role].scale)})", "quantisation")
    return Quantisation(**grids) if grids else None


def hint_default_spatial(settings: Mapping[str, Any], message: str) -> str:
    """Return a hint for a message about axes, if the spatial sizes are the default ones."""
    about_sizes = any(words in message for words in ("spatial axis", "rank", "values for shape"))
    if settings.get("spatial") is not None or not about_sizes:
        return ""
    return f"; spatial is not given, so it is {DEFAULTS['spatial']}"


def _attributes(settings: Mapping[str, Any]) -> Attributes:
    """Return the attributes. Those named in `omit` are not written, even if a size depends on them."""
    spatial, omit = tuple(settings["spatial"]), settings.get("omit", ())
    rank, kernel = len(spatial), spread_per_axis(settings["kernel"], len(spatial))
    written = {name: settings[name] for name in ATTRIBUTES if name in settings and name not in omit}
    written |= {name: spread_per_axis(written[name], rank) for name in NEUTRAL if name in written}
    written |= {name: str(unwrap(written[name])) for name in _WORDS if name in written}
    if "kernel_shape" in written:
        written["kernel_shape"] = kernel if written["kernel_shape"] == "kernel" else tuple(written["kernel_shape"])
    if (output_shape := written.pop("output_shape", None)) is None:
        return Attributes(**written)
    attributes = Attributes(**written)
    return replace(attributes, output_shape=_output_shape(output_shape, attributes, spatial, kernel))


def _output_shape(value: Any, attributes: Attributes, spatial: Ints, kernel: Ints) -> Ints:  # noqa: ANN401
    rank = len(spatial)
    entries = list(value) if isinstance(value, list | tuple) else [value] * rank
    strides, dilations = attributes.per_axis("strides", rank), attributes.per_axis("dilations", rank)
    full = [reach(*axis) for axis in zip(spatial, kernel, strides, dilations, strict=False)]
    # A longer list breaks output-shape-length, perhaps on purpose: further entries use the full size of the last axis.
    full += (full or [1])[-1:] * (len(entries) - len(full))
    return tuple(
        # An integer, or full, full+n, full-n.
        entry if isinstance(entry, int) else size + int(entry.removeprefix("full") or 0)
        for entry, size in zip(entries, full, strict=False)
    )


def _operands(settings: Mapping[str, Any]) -> tuple[Operand, Operand, Operand | None]:
    """Return data, filter and bias.

    Raises:
        ImpossibleCase: no tensor has such a shape, or one would be too large.
    """
    spatial = tuple(settings["spatial"])
    kernel = spread_per_axis(settings["kernel"], len(spatial))
    own = {role: {k: v for k, v in settings.get(role, {}).items() if v is not None} for role in OPERAND_ROLES}
    groups = max(settings.get("groups", 1), 1)
    out_channels = own["w"].get("out_channels", settings["out_channels"])
    if out_channels % groups and "shape" not in own["w"] and settings.get("breaks") != "channels-divisible":
        raise ImpossibleCase(f"out_channels must be divisible by groups {groups} (got {out_channels})", "groups")
    shapes = {
        "x": (
            own["x"].get("batch", settings["batch"]),
            own["x"].get("channels", settings["channels"]),
            *own["x"].get("spatial", spatial),
        ),
        "w": (
            own["w"].get("channels", settings["channels"]),
            out_channels // groups,
            *own["w"].get("kernel", kernel),
        ),
        "b": (own["b"].get("out_channels", settings["out_channels"]),),
    }
    x, w = (_operand(role, own[role], shapes[role], settings) for role in ("x", "w"))
    return x, w, _operand("b", own["b"], shapes["b"], settings) if settings["bias"] else None


def _operand(role: str, own: Mapping[str, Any], shape: Ints, settings: Mapping[str, Any]) -> Operand:
    if stray := [size for size in own if size in _SIZES and size not in _MEANINGS[role]]:
        raise ImpossibleCase(f"{role} must have sizes of its own, {', '.join(_MEANINGS[role])} (got {stray[0]})")
    if "data" in own and "values" in own:
        raise ImpossibleCase(f"{role} must be filled with data or with values (got both)")
    shape = tuple(own.get("shape", shape))
    if (axes := len(shape) - 2) > MOST_SPATIAL_AXES:
        raise ImpossibleCase(f"{role} must have at most {MOST_SPATIAL_AXES} spatial axes (got {axes})")
    if prod(shape) > MOST_ELEMENTS:
        most = f"operands and output together must have at most {MOST_ELEMENTS} elements"
        setting = {"x": "spatial", "w": "kernel"}.get(role, "out_channels")
        raise ImpossibleCase(f"{most} (got {prod(shape)} in {role} alone, of shape {list(shape)})", setting)
    dtype, seed = DType(own.get("dtype", settings["dtype"])), own.get("seed", settings["seed"])
    if "values" not in own:
        operand: Operand = _shared(Operand(shape, dtype, own.get("data", settings["data"]), seed))
        return operand
    if len(own["values"]) != prod(shape):
        raise ImpossibleCase(
            f"{role} must have {prod(shape)} values for shape {list(shape)} (got {len(own['values'])})",
            role,
        )
    return Operand(shape, dtype, "values", seed, tuple(own["values"]))


def _refuse_impossible(written: Signature, breaks: str | None) -> None:
    """Refuse a case without a value, unless it breaks a constraint on purpose, and a case that is too large.

    If a case breaks the bound of output_padding, its output may have any size, as no dialect computes it, see `expect`.

    Raises:
        ImpossibleCase: the case is refused.
    """
    if violation := next((found for found in find_broken(written) if CONSTRAINTS[found.constraint].needed), None):
        if breaks is None:
            message = f"{violation.attribute} {violation.must} (got {violation.got})"
            raise ImpossibleCase(f"{message}, or say breaks: {violation.constraint}", violation.attribute)
        return
    # The reference counts the products of every point also for an empty batch.
    x, w = written.x.shape, written.w.shape
    elements = max(x[0] * w[1] * written.groups, 1) * prod(_largest_sizes(written))
    if breaks == "output-padding-below-stride-or-dilation":
        elements = 0
    total = elements + prod(x) + prod(w)
    if total > MOST_ELEMENTS:
        got = f"up to {total}, of which the output has {elements}"
        raise ImpossibleCase(f"operands and output together must have at most {MOST_ELEMENTS} elements (got {got})")
    products = prod(x) * prod(w[1:])
    if products > MOST_PRODUCTS:
        raise ImpossibleCase(f"a case must have at most {MOST_PRODUCTS} products (got {products})")


def _largest_sizes(written: Signature) -> Iterator[int]:
    """Yield an upper limit of each output size for all rules: from full size, input * stride and output_shape."""
    output_shape = written.attributes.output_shape or (0,) * written.rank
    axes = zip(written.spatial, written.kernel, *map(written.per_axis, NEUTRAL), output_shape, strict=True)
    same = written.attributes.auto_pad not in {None, AutoPad.EXPLICIT, AutoPad.VALID}
    for x, k, s, d, begin, end, op, size in axes:
        yield max(max(reach(x, k, s, d), x * s if same else 0) + max(op, 0) + max(-begin, 0) + max(-end, 0), size)
