"""Cases as the text of a case file: what it must say so that loading it gives these cases."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

from tconv.documents.scalars import kind_of
from tconv.vocabulary import AutoPad, DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.cases.case import Case, Cite, Operand
    from tconv.vocabulary import Attributes, Ints

T = TypeVar("T")

_WIDTH = 120
_PER_AXIS = ("strides", "dilations", "pads_begin", "pads_end", "output_padding")
_WORDS = {"auto_pad": AutoPad, "data_format": DataFormat, "filter_format": FilterFormat}
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_/.+-]*")
"""Texts that need no quotes, in a flow mapping either, unless they mean something else than a text."""
_EXACT = 2.0**53
_BATCH, _CHANNELS, _FIRST_AXIS = 0, 1, 2


def case_file(cases: Iterable[Case], about: str) -> str:
    """Return the text of a case file with these cases; each is named by the last segment of its id.

    A reader of the file adds its own path to the names. What the cases cite is cited once, by the file.
    """
    cases = list(cases)
    cites: list[Cite] = list(dict.fromkeys(cite for case in cases for cite in case.cites))
    lines = ["format: 1", f"about: {flow(about)}", "cites:"]
    lines += [f"  - {flow({'dialect': cite.dialect, 'clause': cite.clause})}" for cite in cites]
    lines.append("cases:")
    for case in cases:
        lines += _single(case)
    return "\n".join(lines) + "\n"


def settings(case: Case) -> dict[str, Any]:
    """Return the settings that a case is built from: sizes by their meaning, and only what is not as ever."""
    sizes, shapes = _sizes(case)
    operands = {role: operand for role in ("x", "w", "b") if (operand := getattr(case, role)) is not None}
    shared = {
        "dtype": str(case.x.dtype),
        "data": _shared({one.data for one in operands.values()} - {"values"}, "integers"),
        "seed": _shared({one.seed for one in operands.values()}, 0),
    }
    own = {role: _own(operand, shapes[role], shared) for role, operand in operands.items()}
    usual = {"batch": 1, "channels": 1, "out_channels": 1, "dtype": DType.F32, "data": "integers", "seed": 0}
    usual |= {"bias": False, "shapes": "static", "filter_source": "initializer"}
    said = sizes | _attributes(case.attributes, len(sizes["spatial"]), case.w.shape[_FIRST_AXIS:])
    said |= {"bias": case.b is not None, **shared, "shapes": case.shapes, "filter_source": case.filter_source}
    kept = {name: value for name, value in said.items() if name not in usual or usual[name] != value}
    kept |= {role: value for role, value in own.items() if value}
    return kept | ({"breaks": case.breaks} if case.breaks else {}) | ({"omit": list(case.omit)} if case.omit else {})


def _sizes(case: Case) -> tuple[dict[str, Any], dict[str, Ints]]:
    """Return the sizes that the operands share, and the shape of each operand that follows from them."""
    x, w = case.x.shape, case.w.shape
    groups = max(case.attributes.groups or 1, 1)
    batch = x[_BATCH] if x else 1
    channels = x[_CHANNELS] if len(x) > _CHANNELS else 1
    filters = w[_CHANNELS] if len(w) > _CHANNELS else 1
    spatial, kernel = x[_FIRST_AXIS:], w[_FIRST_AXIS:]
    sizes = {"batch": batch, "channels": channels, "out_channels": filters * groups}
    shapes = {
        "x": (batch, channels, *spatial),
        "w": (channels, filters, *kernel),
        "b": (filters * groups,),
    }
    return sizes | {"spatial": list(spatial), "kernel": list(kernel)}, shapes


def _shared(found: set[T], usual: T) -> T:
    """Return the one value of all operands, or the usual one where they differ."""
    return found.pop() if len(found) == 1 else usual


def _own(operand: Operand, shape: Ints, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is different about one operand."""
    told: dict[str, Any] = {} if operand.shape == shape else {"shape": list(operand.shape)}
    told |= {name: value for name in ("dtype", "seed") if (value := getattr(operand, name)) != shared[name]}
    if operand.data == "values":
        return told | {"values": list(operand.values)}
    return told if operand.data == shared["data"] else told | {"data": operand.data}


def _attributes(attributes: Attributes, rank: int, kernel: Ints) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, value in attributes.given().items():
        if name in _WORDS:
            told[name] = value if value in set(_WORDS[name]) else {"raw": value}
        elif name == "kernel_shape" and value == kernel:
            told[name] = "kernel"
        elif isinstance(value, tuple):
            one = name in _PER_AXIS and len(value) == rank > 0 and len(set(value)) == 1
            told[name] = value[0] if one else list(value)
        else:
            told[name] = value
    return told


def _single(case: Case) -> list[str]:
    lines = [f"  - name: {flow(case.id.rpartition('/')[2])}"]
    if case.about:
        lines.append(f"    about: {flow(case.about)}")
    lines += _wrapped("    with: ", settings(case))
    if case.expected:
        lines.append("    expected:")
    for one in case.expected:
        told = {"dialects": list(one.dialects), "spatial": list(one.spatial), "values": list(one.values)}
        lines.append(f"      - {flow(told)}")
    return lines + (["    smoke: true"] if case.smoke else [])


def _wrapped(key: str, mapping: Mapping[str, Any]) -> list[str]:
    """Return a key and its mapping in as many lines as the width asks for, none of them broken within an entry."""
    lines, line = [], f"{key}{{"
    entries = [f"{name}: {flow(value)}" for name, value in mapping.items()]
    for number, entry in enumerate(entries):
        text = entry + ("}" if number == len(entries) - 1 else ", ")
        if len(line) + len(text.rstrip()) > _WIDTH and number:
            lines.append(line.rstrip())
            line = " " * (len(key) + 1)
        line += text
    return [*lines, line if entries else f"{line}}}"]


def flow(value: Any) -> str:  # noqa: ANN401 - plain values of any kind
    """Return a plain value as YAML in one line, which the core schema reads as that value."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return str(value) if _PLAIN.fullmatch(value) and kind_of(value) == "str" else _quoted(value)
        case float():
            return _number(value)
        case dict():
            return f"{{{', '.join(f'{name}: {flow(one)}' for name, one in value.items())}}}"
        case list():
            return _listed(value)
        case _:
            return str(value)


def _listed(values: Sequence[Any]) -> str:
    return f"[{', '.join(map(flow, values))}]"


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    # An integer where it is one; but 0 has no sign.
    whole = value.is_integer() and abs(value) <= _EXACT and (value != 0 or math.copysign(1, value) > 0)
    return str(int(value)) if whole else repr(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in escaped) + '"'
