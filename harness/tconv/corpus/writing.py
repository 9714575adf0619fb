"""Cases as the text of a case file. Reading the text gives the same cases."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from tconv.cases.case import PRESENTATION
from tconv.corpus.case_file import DEFAULTS
from tconv.documents.tree import KINDS
from tconv.vocabulary import NEUTRAL, AutoPad, DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.cases.case import Case, Cite, Operand
    from tconv.cases.context import Quantisation
    from tconv.vocabulary import Attributes, Ints

T = TypeVar("T")

_WIDTH = 100
"""Letters of a line; a longer word is not broken."""
_WORDS = {"auto_pad": AutoPad, "data_format": DataFormat, "filter_format": FilterFormat}
_BATCH, _CHANNELS, _FIRST_AXIS = 0, 1, 2
_SHAPE = ("spatial", "kernel")
PRESENTATION_WITH_DEFAULTS = tuple(name for name in PRESENTATION if name in DEFAULTS)
"""How a case is presented, without `bias_source`, whose default is the value of `filter_source`."""


def write_case_file(cases: Iterable[Case], about: str) -> str:
    """Return the text of a case file with these cases; the last segment of an id is the name of its case.

    The path of the new file replaces the other segments. The file has all citations of the cases, each once.
    """
    cases = list(cases)
    cites: list[Cite] = list(dict.fromkeys(cite for case in cases for cite in case.cites))
    file = {
        "format": 1,
        "about": about,
        "cites": [{"dialect": cite.dialect, "clause": cite.clause} for cite in cites],
        "cases": [_written(case) for case in cases],
    }
    return _dumped(file, default_flow_style=None, width=_WIDTH)


def settings(case: Case) -> dict[str, Any]:
    """Return the settings of a case: named sizes, and only values that are not defaults."""
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
    result |= {"context": case.context.levels} if case.context else {}
    result |= {"quantisation": _grids(case.quantisation)} if case.quantisation else {}
    return result | ({"breaks": case.breaks} if case.breaks else {}) | ({"omit": list(case.omit)} if case.omit else {})


def _grids(quantisation: Quantisation) -> dict[str, Any]:
    """Return declared scales and zero points, by role."""
    grids = {role: getattr(quantisation, role) for role in ("x", "w", "y")}
    return {
        role: {"scale": list(grid.scale) if len(grid.scale) > 1 else grid.scale[0]}
        | ({} if grid.zero_point is None else {"zero_point": grid.zero_point})
        for role, grid in grids.items()
        if grid is not None
    }


def _sizes(case: Case) -> tuple[dict[str, Any], dict[str, Ints]]:
    """Return the sizes that the operands share, and the shapes of the operands by these sizes."""
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
    """Return the single value of all operands, or the default if they differ."""
    return values.pop() if len(values) == 1 else default


def _own(operand: Operand, shape: Ints, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an operand that differ from the shared ones."""
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


def _written(case: Case) -> dict[str, Any]:
    """Return a case as an entry of a file."""
    entry: dict[str, Any] = {"name": case.id.rpartition("/")[2]}
    entry |= {"about": case.about} if case.about else {}
    entry["with"] = settings(case)
    if case.expected:
        entry["expected"] = [
            {"dialects": list(y.dialects), "spatial": list(y.spatial), "values": list(y.values)} for y in case.expected
        ]
    return entry | ({"tier": case.tier} if case.tier != "gate" else {})


def flow(value: object) -> str:
    """Return a plain value as YAML in one line."""
    return _dumped(value, default_flow_style=True, width=math.inf).removesuffix("\n").removesuffix("\n...")


def _dumped(value: object, **options: Any) -> str:  # noqa: ANN401 - of `yaml.dump`
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, **options)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes by the core schema of YAML 1.2, as case files are read by it; PyYAML writes by YAML 1.1."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's interface
        """Return True: equal values are written twice, without an alias."""
        return True


_Dumper.add_multi_representer(str, yaml.SafeDumper.represent_str)
_Dumper.yaml_implicit_resolvers = {}
for _name, _pattern in KINDS.items():
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern.pattern})\Z"), None)
