"""One case from its settings: sizes by meaning become shapes, a scalar becomes a list, `full` becomes a number."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tconv.cases.case import Case, Operand
from tconv.cases.patterns import label
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import reach
from tconv.vocabulary import Attributes, AutoPad, DType, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Cite, Expected
    from tconv.vocabulary import Ints

LARGEST_TENSOR = 2**25
"""Elements; at 8 bytes each a quarter of a gibibyte. Refused before anything is allocated."""

_DEFAULTS: dict[str, Any] = {
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
    "filter_source": "initializer",
}
_PER_AXIS = ("strides", "dilations", "pads_begin", "pads_end", "output_padding")
_OPERANDS = ("x", "w", "b")
_MEANINGS = {"x": ("batch", "channels", "spatial"), "w": ("channels", "out_channels", "kernel"), "b": ("out_channels",)}
"""The sizes that each operand has by their meaning."""
_SIZES = {size for sizes in _MEANINGS.values() for size in sizes}


class ImpossibleCase(ValueError):  # noqa: N818 - the case is impossible; its file's loader makes an error of it
    """The settings make no case; the message says what must be."""


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of all layers, later ones winning; what they say of an operand is merged key by key.

    Of `data` and `values`, which are two ways to fill an operand, the later one takes the earlier one back.
    """
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if key in _OPERANDS and isinstance(value, dict) and isinstance(result.get(key), dict):
                result[key] = {name: was for name, was in result[key].items() if name not in _taken_back(value)} | value
            else:
                result[key] = value
    return result


def _taken_back(operand: Mapping[str, Any]) -> set[str]:
    ways = {"data", "values"}
    return ways if any(operand.get(way) is not None for way in ways) else set()


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
    full = _DEFAULTS | {key: value for key, value in settings.items() if value is not None}
    spatial = tuple(full["spatial"])
    kernel = _per_axis(full["kernel"], len(spatial))
    attributes = _attributes(full, spatial, kernel)
    operands = _operands(full, spatial, kernel)
    case = Case(
        case_id,
        attributes,
        operands["x"],
        operands["w"],
        operands.get("b"),
        full["shapes"],
        full["filter_source"],
        full.get("breaks"),
        tuple(full.get("omit", ())),
        tuple(expected),
        smoke,
        about,
        tuple(cites),
        {key: label(_plain(value)) for key, value in full.items() if key not in _OPERANDS}
        | _derived(attributes, spatial, kernel)
        | {"empty": _empty(operands["x"].shape, operands["w"].shape)}
        | dict(labels),
    )
    _possible(case)
    return case


def _derived(attributes: Attributes, spatial: Ints, kernel: Ints) -> dict[str, str]:
    """Return facts that follow from several settings, and that runtimes are known to trip over."""
    below = any(asked < size for asked, size in zip(attributes.output_shape or (), spatial, strict=False))
    strides = attributes.strides or (1,) * len(spatial)
    reaches = any(op >= s for op, s in zip(attributes.output_padding or (), strides, strict=False))
    return {
        "rank": str(len(spatial)),
        "output_shape_given": label(attributes.output_shape is not None),
        "output_shape_below_spatial": label(below),
        "output_padding_reaches_stride": label(reaches),
        "output_padding_positive": label(any(op > 0 for op in attributes.output_padding or ())),
        "pads_begin_beyond_kernel": label(_beyond(attributes, kernel)),
        "output_empty": label(_nothing_left(attributes, spatial, kernel)),
        "grouped": label((attributes.groups or 1) > 1),
    }


def _beyond(attributes: Attributes, kernel: Ints) -> bool:
    """Return whether more is cropped at the beginning of an axis than a kernel reaches beyond one element."""
    dilations = attributes.dilations or (1,) * len(kernel)
    return any(p > (k - 1) * d for p, k, d in zip(attributes.pads_begin or (), kernel, dilations, strict=False))


def _nothing_left(attributes: Attributes, spatial: Ints, kernel: Ints) -> bool:
    """Return whether an axis of 0 is asked for, or pads take all of one; what a mode makes of it is each text's own."""
    if attributes.output_shape is not None or attributes.auto_pad not in {None, AutoPad.EXPLICIT}:
        return 0 in (attributes.output_shape or ())
    zeros, ones = (0,) * len(spatial), (1,) * len(spatial)
    axes = zip(
        spatial,
        kernel,
        attributes.strides or ones,
        attributes.dilations or ones,
        attributes.pads_begin or zeros,
        attributes.pads_end or zeros,
        attributes.output_padding or zeros,
        strict=False,
    )
    return any(reach(x, k, s, d) + op == begin + end for x, k, s, d, begin, end, op in axes)


def _empty(x: Ints, w: Ints) -> str:
    """Return which of the operands' dimensions are 0, by their meaning."""
    meant = {"batch": x[:1], "channels": (*x[1:2], *w[:2]), "spatial": x[2:], "kernel": w[2:]}
    return "+".join(meaning for meaning, sizes in meant.items() if 0 in sizes) or "none"


def _plain(value: Any) -> Any:  # noqa: ANN401 - settings are plain values
    return value["raw"] if isinstance(value, dict) else value


def _per_axis(value: int | Sequence[int], rank: int) -> Ints:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _attributes(full: Mapping[str, Any], spatial: Ints, kernel: Ints) -> Attributes:
    written = {name: value for name, value in full.items() if name not in full.get("omit", ())}
    given: dict[str, Any] = {name: _per_axis(written[name], len(spatial)) for name in _PER_AXIS if name in written}
    for name in ("auto_pad", "data_format", "filter_format"):
        if name in written:
            given[name] = str(_plain(written[name]))
    if "groups" in written:
        given["groups"] = written["groups"]
    if "kernel_shape" in written:
        given["kernel_shape"] = kernel if written["kernel_shape"] == "kernel" else tuple(written["kernel_shape"])
    if "output_shape" in written:
        given["output_shape"] = _output_shape(written["output_shape"], given, spatial, kernel)
    return Attributes(**given)


def _output_shape(value: Any, given: Mapping[str, Any], spatial: Ints, kernel: Ints) -> Ints:  # noqa: ANN401
    rank = len(spatial)
    ones = (1,) * rank
    wanted = list(value) if isinstance(value, list | tuple) else [value] * rank
    reached = [
        reach(*axis)
        for axis in zip(spatial, kernel, given.get("strides", ones), given.get("dilations", ones), strict=False)
    ]
    # A list of another length breaks output-shape-length, perhaps on purpose: the last axis's reach stands in.
    reached += (reached or [1])[-1:] * (len(wanted) - len(reached))
    return tuple(_size(one, full) for one, full in zip(wanted, reached, strict=False))


def _size(value: int | str, full: int) -> int:
    """Return an integer, or `full`, `full+n`, `full-n` with full = (X-1)*stride + (K-1)*dilation + 1."""
    return value if isinstance(value, int) else full + int(value.removeprefix("full") or 0)


def _operands(full: Mapping[str, Any], spatial: Ints, kernel: Ints) -> dict[str, Operand]:
    own = {role: {k: v for k, v in (full.get(role) or {}).items() if v is not None} for role in _OPERANDS}
    groups = max(full.get("groups", 1), 1)
    out_channels = own["w"].get("out_channels", full["out_channels"])
    if out_channels % groups and "shape" not in own["w"] and full.get("breaks") != "channels-divisible":
        raise ImpossibleCase(f"out_channels must be divisible by groups {groups} (got {out_channels})")
    shapes = {
        "x": (
            own["x"].get("batch", full["batch"]),
            own["x"].get("channels", full["channels"]),
            *own["x"].get("spatial", spatial),
        ),
        "w": (
            own["w"].get("channels", full["channels"]),
            out_channels // groups,
            *own["w"].get("kernel", kernel),
        ),
        "b": (own["b"].get("out_channels", full["out_channels"]),),
    }
    roles = _OPERANDS if full["bias"] else _OPERANDS[:2]
    return {role: _operand(role, own[role], shapes[role], full) for role in roles}


def _operand(role: str, own: Mapping[str, Any], shape: Ints, full: Mapping[str, Any]) -> Operand:
    if stray := [size for size in own if size in _SIZES and size not in _MEANINGS[role]]:
        raise ImpossibleCase(f"{role} must have sizes of its own, {', '.join(_MEANINGS[role])} (got {stray[0]})")
    if "data" in own and "values" in own:
        raise ImpossibleCase(f"{role} must be filled with data or with values (got both)")
    shape = tuple(own.get("shape", shape))
    if prod(shape) > LARGEST_TENSOR:
        raise ImpossibleCase(f"{role} must have at most {LARGEST_TENSOR} elements (got shape {list(shape)})")
    dtype, seed = DType(own.get("dtype", full["dtype"])), own.get("seed", full["seed"])
    if "values" not in own:
        return Operand(shape, dtype, own.get("data", full["data"]), seed)
    if len(own["values"]) != prod(shape):
        raise ImpossibleCase(
            f"{role} must have {prod(shape)} values for shape {list(shape)} (got {len(own['values'])})"
        )
    return Operand(shape, dtype, "values", seed, tuple(own["values"]))


def _possible(case: Case) -> None:
    """Refuse what no dialect can give a value to, unless the case breaks it on purpose, and outputs too large."""
    written = Signature(
        case.attributes,
        TensorType(case.x.shape, case.x.dtype),
        TensorType(case.w.shape, case.w.dtype),
        TensorType(case.b.shape, case.b.dtype) if case.b else None,
    )
    for constraint in _NEEDED:
        if found := constraint.violation(written):
            if case.breaks is None:
                raise ImpossibleCase(
                    f"{found.attribute} {found.must} (got {found.got}), or say breaks: {found.constraint}"
                )
            return
    # Without a batch there is still a count of products for every point.
    elements = max(case.x.shape[0] * case.w.shape[1] * written.groups, 1) * prod(_largest(written))
    if elements > LARGEST_TENSOR:
        raise ImpossibleCase(f"the output must have at most {LARGEST_TENSOR} elements (got up to {elements})")


def _largest(written: Signature) -> Iterator[int]:
    """Yield, for each axis, no less than what any rule makes of it: what is reached, input * stride, or asked for."""
    asked = written.attributes.output_shape or (0,) * written.rank
    for x, k, s, d, begin, end, op, size in zip(
        written.spatial,
        written.kernel,
        written.per_axis("strides"),
        written.per_axis("dilations"),
        written.per_axis("pads_begin"),
        written.per_axis("pads_end"),
        written.per_axis("output_padding"),
        asked,
        strict=True,
    ):
        yield max(max(reach(x, k, s, d), x * s) + max(op, 0) + max(-begin, 0) + max(-end, 0), size)


_NEEDED = tuple(constraint for constraint in CONSTRAINTS.values() if constraint.needed)
