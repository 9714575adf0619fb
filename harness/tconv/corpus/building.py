"""A case from its settings: sizes by meaning become shapes, a scalar becomes a list, `full` becomes a number."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from tconv.cases.case import Case, Operand
from tconv.cases.patterns import label
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import reach
from tconv.expectation.owed import LARGEST_OUTPUT
from tconv.vocabulary import NEUTRAL, Attributes, AutoPad, DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Cite, Expected
    from tconv.vocabulary import Ints, Signature

LARGEST_TENSOR = 2**25
"""Elements; at 8 bytes each a quarter of a gibibyte. Refused before anything is allocated."""

DEFAULTS: dict[str, Any] = {
    "batch": 1,
    "channels": 1,
    "out_channels": 1,
    "spatial": [4],
    "kernel": [3],
    "bias": False,
    "dtype": DType.F32,
    "data": "integers",
    "seed": 0,
    "shapes": "static",
    "data_source": "input",
    "filter_source": "initializer",
    "output_shape_source": "initializer",
    "spelling": "library",
}
"""The settings that are used where a case has none."""
_OPERANDS = ("x", "w", "b")
_MEANINGS = {"x": ("batch", "channels", "spatial"), "w": ("channels", "out_channels", "kernel"), "b": ("out_channels",)}
"""The sizes that each operand has by their meaning."""
_SIZES = {size for sizes in _MEANINGS.values() for size in sizes}


class ImpossibleCase(ValueError):  # noqa: N818 - the case is impossible; its file's loader makes an error of it
    """The settings make no case; the message says what must be."""


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of all layers, a later one replacing an earlier one; operands are merged key by key.

    `data` and `values` are two ways to fill an operand: whichever comes later replaces the other.
    """
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if key in _OPERANDS and isinstance(value, dict) and isinstance(result.get(key), dict):
                result[key] = {name: old for name, old in result[key].items() if name not in _replaced(value)} | value
            else:
                result[key] = value
    return result


def _replaced(operand: Mapping[str, Any]) -> set[str]:
    """Return the settings of earlier layers that these settings of an operand replace, besides those of their names."""
    fillings = {"data", "values"}
    return fillings if any(operand.get(name) is not None for name in fillings) else set()


def build(
    case_id: str,
    settings: Mapping[str, Any],
    labels: Mapping[str, str],
    *,
    about: str = "",
    cites: Sequence[Cite] = (),
    expected: Sequence[Expected] = (),
    smoke: bool = False,
) -> Case:
    """Return the case of these settings.

    Raises:
        ImpossibleCase: no tensor has such a shape, or one would be too large.
    """
    settings = DEFAULTS | {key: value for key, value in settings.items() if value is not None}
    spatial = tuple(settings["spatial"])
    kernel = _per_axis(settings["kernel"], len(spatial))
    attributes = _attributes(settings, spatial, kernel)
    operands = _operands(settings, spatial, kernel)
    facts = settings | {"bias_source": settings.get("bias_source", settings["filter_source"])}
    case = Case(
        case_id,
        attributes,
        operands["x"],
        operands["w"],
        operands.get("b"),
        settings["shapes"],
        settings["filter_source"],
        settings.get("breaks"),
        tuple(settings.get("omit", ())),
        tuple(expected),
        smoke,
        about,
        tuple(cites),
        {key: label(_unwrapped(value)) for key, value in facts.items() if key not in _OPERANDS}
        | _derived(attributes, spatial, kernel)
        | {"empty": _empty(operands["x"].shape, operands["w"].shape)}
        | dict(labels),
        settings["data_source"],
        settings.get("bias_source"),
        settings["output_shape_source"],
        settings["spelling"],
    )
    _refuse_impossible(case)
    return case


def _derived(attributes: Attributes, spatial: Ints, kernel: Ints) -> dict[str, str]:
    """Return facts that follow from several settings, and that runtimes are known to get wrong."""
    rank, strides = len(spatial), attributes.per_axis("strides", len(spatial))
    below = any(y < x for y, x in zip(attributes.output_shape or (), spatial, strict=False))
    reaches = any(op >= s for op, s in zip(attributes.output_padding or (), strides, strict=False))
    return {
        "rank": str(rank),
        "output_shape_given": label(attributes.output_shape is not None),
        "output_shape_below_spatial": label(below),
        "output_shape_beyond_reach": label(_output_shape_beyond_reach(attributes, spatial, kernel)),
        "output_padding_reaches_stride": label(reaches),
        "output_padding_positive": label(any(op > 0 for op in attributes.output_padding or ())),
        "pads_begin_beyond_kernel": label(_pads_begin_beyond_kernel(attributes, kernel)),
        "output_empty": label(_output_empty(attributes, spatial, kernel)),
        "grouped": label((attributes.groups or 1) > 1),
    }


def _output_shape_beyond_reach(attributes: Attributes, spatial: Ints, kernel: Ints) -> bool:
    """Return whether output_shape is larger on an axis than what the taps reach and output_padding adds."""
    per_axis = (attributes.per_axis(name, len(spatial)) for name in ("strides", "dilations", "output_padding"))
    axes = zip(attributes.output_shape or (), spatial, kernel, *per_axis, strict=False)
    return any(size > reach(x, k, s, d) + op for size, x, k, s, d, op in axes)


def _pads_begin_beyond_kernel(attributes: Attributes, kernel: Ints) -> bool:
    """Return whether more is cropped at the beginning of an axis than a kernel reaches beyond one element."""
    dilations = attributes.per_axis("dilations", len(kernel))
    return any(p > (k - 1) * d for p, k, d in zip(attributes.pads_begin or (), kernel, dilations, strict=False))


def _output_empty(attributes: Attributes, spatial: Ints, kernel: Ints) -> bool:
    """Return whether output_shape has a 0, or pads crop all of an axis; padding modes are left to the texts."""
    if attributes.output_shape is not None or attributes.auto_pad not in {None, AutoPad.EXPLICIT}:
        return 0 in (attributes.output_shape or ())
    axes = zip(spatial, kernel, *(attributes.per_axis(name, len(spatial)) for name in NEUTRAL), strict=False)
    return any(reach(x, k, s, d) + op == begin + end for x, k, s, d, begin, end, op in axes)


def _empty(x: Ints, w: Ints) -> str:
    """Return which of the operands' dimensions are 0, by their meaning."""
    dimensions = {"batch": x[:1], "channels": (*x[1:2], *w[:2]), "spatial": x[2:], "kernel": w[2:]}
    return "+".join(meaning for meaning, sizes in dimensions.items() if 0 in sizes) or "none"


def _unwrapped(value: Any) -> Any:  # noqa: ANN401 - settings are plain values
    """Return a setting's value; an unknown word is given as a mapping, `raw: word`."""
    return value["raw"] if isinstance(value, dict) else value


def _per_axis(value: int | Sequence[int], rank: int) -> Ints:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _attributes(settings: Mapping[str, Any], spatial: Ints, kernel: Ints) -> Attributes:
    written = {name: value for name, value in settings.items() if name not in settings.get("omit", ())}
    given: dict[str, Any] = {name: _per_axis(written[name], len(spatial)) for name in NEUTRAL if name in written}
    for name in ("auto_pad", "data_format", "filter_format"):
        if name in written:
            given[name] = str(_unwrapped(written[name]))
    if "groups" in written:
        given["groups"] = written["groups"]
    if "kernel_shape" in written:
        given["kernel_shape"] = kernel if written["kernel_shape"] == "kernel" else tuple(written["kernel_shape"])
    attributes = Attributes(**given)
    if "output_shape" not in written:
        return attributes
    return replace(attributes, output_shape=_output_shape(written["output_shape"], attributes, spatial, kernel))


def _output_shape(value: Any, attributes: Attributes, spatial: Ints, kernel: Ints) -> Ints:  # noqa: ANN401
    rank = len(spatial)
    entries = list(value) if isinstance(value, list | tuple) else [value] * rank
    strides, dilations = attributes.per_axis("strides", rank), attributes.per_axis("dilations", rank)
    full = [reach(*axis) for axis in zip(spatial, kernel, strides, dilations, strict=False)]
    # A longer list breaks output-shape-length, perhaps on purpose: the last axis's full size is used for the rest.
    full += (full or [1])[-1:] * (len(entries) - len(full))
    return tuple(_size(entry, size) for entry, size in zip(entries, full, strict=False))


def _size(value: int | str, full: int) -> int:
    """Return an integer, or `full`, `full+n`, `full-n` with full = (X-1)*stride + (K-1)*dilation + 1."""
    return value if isinstance(value, int) else full + int(value.removeprefix("full") or 0)


def _operands(settings: Mapping[str, Any], spatial: Ints, kernel: Ints) -> dict[str, Operand]:
    own = {role: {k: v for k, v in (settings.get(role) or {}).items() if v is not None} for role in _OPERANDS}
    groups = max(settings.get("groups", 1), 1)
    out_channels = own["w"].get("out_channels", settings["out_channels"])
    if out_channels % groups and "shape" not in own["w"] and settings.get("breaks") != "channels-divisible":
        raise ImpossibleCase(f"out_channels must be divisible by groups {groups} (got {out_channels})")
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
    roles = _OPERANDS if settings["bias"] else _OPERANDS[:2]
    return {role: _operand(role, own[role], shapes[role], settings) for role in roles}


def _operand(role: str, own: Mapping[str, Any], shape: Ints, settings: Mapping[str, Any]) -> Operand:
    if stray := [size for size in own if size in _SIZES and size not in _MEANINGS[role]]:
        raise ImpossibleCase(f"{role} must have sizes of its own, {', '.join(_MEANINGS[role])} (got {stray[0]})")
    if "data" in own and "values" in own:
        raise ImpossibleCase(f"{role} must be filled with data or with values (got both)")
    shape = tuple(own.get("shape", shape))
    if prod(shape) > LARGEST_TENSOR:
        raise ImpossibleCase(f"{role} must have at most {LARGEST_TENSOR} elements (got shape {list(shape)})")
    dtype, seed = DType(own.get("dtype", settings["dtype"])), own.get("seed", settings["seed"])
    if "values" not in own:
        return Operand(shape, dtype, own.get("data", settings["data"]), seed)
    if len(own["values"]) != prod(shape):
        raise ImpossibleCase(
            f"{role} must have {prod(shape)} values for shape {list(shape)} (got {len(own['values'])})"
        )
    return Operand(shape, dtype, "values", seed, tuple(own["values"]))


def _refuse_impossible(case: Case) -> None:
    """Refuse what has no value, unless the case breaks that on purpose, and outputs too large.

    An output_padding beyond its bound may be as large as it likes: who has no such bound is not asked, see `owed`.
    """
    written = case.signature
    for constraint in _NEEDED:
        if violation := constraint.violation(written):
            if case.breaks is None:
                raise ImpossibleCase(
                    f"{violation.attribute} {violation.must} (got {violation.got}), "
                    f"or say breaks: {violation.constraint}"
                )
            return
    # For an empty batch, too, the reference counts the products of every point.
    elements = max(case.x.shape[0] * case.w.shape[1] * written.groups, 1) * prod(_largest_sizes(written))
    if elements > LARGEST_OUTPUT and case.breaks != "output-padding-below-stride-or-dilation":
        raise ImpossibleCase(f"the output must have at most {LARGEST_OUTPUT} elements (got up to {elements})")


def _largest_sizes(written: Signature) -> Iterator[int]:
    """Yield, for each axis, a size that no rule exceeds: from the taps' reach, input * stride, and output_shape."""
    output_shape = written.attributes.output_shape or (0,) * written.rank
    axes = zip(written.spatial, written.kernel, *map(written.per_axis, NEUTRAL), output_shape, strict=True)
    same = written.attributes.auto_pad not in {None, AutoPad.EXPLICIT, AutoPad.VALID}
    for x, k, s, d, begin, end, op, size in axes:
        yield max(max(reach(x, k, s, d), x * s if same else 0) + max(op, 0) + max(-begin, 0) + max(-end, 0), size)


_NEEDED = tuple(constraint for constraint in CONSTRAINTS.values() if constraint.needed)
