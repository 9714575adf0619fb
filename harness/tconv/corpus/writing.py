"""Cases as the text of a case file: loading the text gives these cases again."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

from tconv.cases.case import PRESENTATION
from tconv.corpus.building import DEFAULTS
from tconv.documents.scalars import kind_of
from tconv.vocabulary import NEUTRAL, AutoPad, DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.cases.case import Case, Cite, Operand
    from tconv.vocabulary import Attributes, Ints

T = TypeVar("T")

_WIDTH = 120
_WORDS = {"auto_pad": AutoPad, "data_format": DataFormat, "filter_format": FilterFormat}
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_/.+-]*")
"""Texts that need no quotes in a flow mapping, unless YAML reads them as a number, a boolean or null."""
_EXACT = 2.0**53
_BATCH, _CHANNELS, _FIRST_AXIS = 0, 1, 2
_SHAPE = ("spatial", "kernel")
PRESENTATION_WITH_DEFAULTS = tuple(name for name in PRESENTATION if name in DEFAULTS)
"""How a case is presented, without `bias_source`, whose default is the value of `filter_source`."""


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
        lines += _case_lines(case)
    return "\n".join(lines) + "\n"


def settings(case: Case) -> dict[str, Any]:
    """Return the settings that a case is built from: sizes by their meaning, and only what is not a default."""
    sizes, shapes = _sizes(case)
    operands = {role: operand for role in ("x", "w", "b") if (operand := getattr(case, role)) is not None}
    shared = {
        "dtype": str(case.x.dtype),
        "data": _shared({operand.data for operand in operands.values()} - {"values"}, DEFAULTS["data"]),
        "seed": _shared({operand.seed for operand in operands.values()}, DEFAULTS["seed"]),
    }
    own = {role: _own(operand, shapes[role], shared) for role, operand in operands.items()}
    result = sizes | _attributes(case.attributes, len(sizes["spatial"]), case.w.shape[_FIRST_AXIS:])
    result |= {
        "bias": case.b is not None,
        **shared,
        **{name: getattr(case, name) for name in PRESENTATION_WITH_DEFAULTS},
    }
    # Spatial sizes and kernel are always written.
    result = {name: value for name, value in result.items() if name in _SHAPE or DEFAULTS.get(name) != value}
    result |= {"bias_source": case.bias_source} if case.bias_source else {}
    result |= {role: value for role, value in own.items() if value}
    return result | ({"breaks": case.breaks} if case.breaks else {}) | ({"omit": list(case.omit)} if case.omit else {})


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


def _shared(values: set[T], default: T) -> T:
    """Return the single value of all operands, or the default where they differ."""
    return values.pop() if len(values) == 1 else default


def _own(operand: Operand, shape: Ints, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an operand that differ from what the operands share."""
    own: dict[str, Any] = {} if operand.shape == shape else {"shape": list(operand.shape)}
    own |= {name: value for name in ("dtype", "seed") if (value := getattr(operand, name)) != shared[name]}
    if operand.data == "values":
        return own | {"values": list(operand.values)}
    return own if operand.data == shared["data"] else own | {"data": operand.data}


def _attributes(attributes: Attributes, rank: int, kernel: Ints) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in attributes.given().items():
        if name in _WORDS:
            settings[name] = value if value in set(_WORDS[name]) else {"raw": value}
        elif name == "kernel_shape" and value == kernel:
            settings[name] = "kernel"
        elif isinstance(value, tuple):
            uniform = name in NEUTRAL and len(value) == rank > 0 and len(set(value)) == 1
            settings[name] = value[0] if uniform else list(value)
        else:
            settings[name] = value
    return settings


def _case_lines(case: Case) -> list[str]:
    lines = [f"  - name: {flow(case.id.rpartition('/')[2])}"]
    if case.about:
        lines.append(f"    about: {flow(case.about)}")
    lines += _wrapped("    with: ", settings(case))
    if case.expected:
        lines.append("    expected:")
    for literal in case.expected:
        entry = {"dialects": list(literal.dialects), "spatial": list(literal.spatial), "values": list(literal.values)}
        lines.append(f"      - {flow(entry)}")
    return lines + ([f"    tier: {case.tier}"] if case.tier != "gate" else [])


def _wrapped(key: str, mapping: Mapping[str, Any]) -> list[str]:
    """Return a key and its mapping in lines of the width, broken only between entries."""
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
            return f"{{{', '.join(f'{name}: {flow(entry)}' for name, entry in value.items())}}}"
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
    # A whole number is written as an integer; but an integer 0 has no sign.
    whole = value.is_integer() and abs(value) <= _EXACT and (value != 0 or math.copysign(1, value) > 0)
    return str(int(value)) if whole else repr(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in escaped) + '"'
