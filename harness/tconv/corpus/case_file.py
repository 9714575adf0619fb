"""The models of a case file, and how layers of settings are merged.

After reading, the program uses dataclasses instead: `cases/case.py`, `sweep.py`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import inf, ldexp
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema, create_model

from tconv.cases.case import BiasSource, Filling, Shapes, Source, Speller
from tconv.cases.context import PREFIX, Context
from tconv.dialects import AttributeName, ConstraintName, DialectName
from tconv.documents.models import Format, Integers, Mappings, Numbers, Part, Texts, Values
from tconv.shown_texts import shown
from tconv.vocabulary import AutoPad, DataFormat, DType, FilterFormat, Tier

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.vocabulary import Ints

MOST_SWEEPS = 2_000
_LIMIT = 2**31
_Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Count = Annotated[int, Field(ge=0, le=_LIMIT)]
_FULL = re.compile(r"full(?:[+-][0-9]{1,6})?")


def _is_size(text: str) -> str:
    if not _FULL.fullmatch(text):
        raise ValueError(f"must be an integer or full, full+n, full-n (got {text!r})")
    return text


_Size = _Number | Annotated[str, AfterValidator(_is_size), Field(json_schema_extra={"pattern": f"^{_FULL.pattern}$"})]
_Counts = Integers[_Count]
_PerAxis = _Number | Integers[_Number]
_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def _is_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        letters = "small letters, digits, '.', '+' and '-', and begin with a letter or a digit"
        raise ValueError(f"must be of {letters} (got {shown(text)})")
    return text


_Name = Annotated[
    str,
    StringConstraints(max_length=80),
    AfterValidator(_is_name),
    Field(json_schema_extra={"pattern": f"^{_NAME.pattern}$"}),
]


_POWER = re.compile(r"(-?)([0-9]{1,16}\*)?2\^(-?[0-9]{1,4})")


def _power_of_two(value: object) -> object:
    """Return the number of a text such as 2^-140 or -3*2^100; a value that is no text is returned unchanged."""
    if not isinstance(value, str):
        return value
    if not (match := _POWER.fullmatch(value)):
        raise ValueError(f"must be a number, or one such as 2^-140 or -3*2^100 (got {shown(value)})")
    factor, exponent = int(f"{match[1]}{(match[2] or '1').rstrip('*')}"), int(match[3])
    try:
        number = ldexp(factor, exponent)
    except OverflowError:
        number = inf
    if number in {inf, -inf} or Fraction(number) != factor * Fraction(2) ** exponent:
        raise ValueError(f"must be a number that f64 holds (got {value!r})")
    return number


_Element = Annotated[
    float,
    BeforeValidator(_power_of_two),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": f"^{_POWER.pattern}$"}]}),
]
"""A number, also written as a multiple of a power of two."""


class Raw(Part):
    """A word that is passed on unchanged, even if the dialect does not know it.

    Attributes:
        raw: the word in the call.
    """

    raw: str


class OperandSettings(Part):
    """Settings of one operand. Each replaces the case's setting of that name.

    Attributes:
        batch: items in the batch, of x.
        channels: input channels, of x and w.
        out_channels: output channels of all groups together, of w and b.
        spatial: spatial sizes, of x.
        kernel: spatial sizes, of w.
        shape: the whole shape, data in NCX and filter in IOX, instead of named sizes; any shape is possible.
        dtype: the element type.
        data: how it is filled.
        seed: another seed gives other elements.
        values: the elements, in row-major order of NCX and IOX, instead of data; the type must represent them. A number
            may be written as a multiple of a power of two, 2^-140 or -3*2^100.
    """

    batch: _Count | None = None
    channels: _Count | None = None
    out_channels: _Count | None = None
    spatial: _Counts | None = None
    kernel: _Counts | None = None
    shape: _Counts | None = None
    dtype: Annotated[DType, Field(strict=False)] | None = None
    data: Filling | None = None
    seed: _Count | None = None
    values: Numbers[_Element] | None = None


_OF_CONTEXT: dict[str, Any] = {axis: (level | None, None) for axis, level in get_type_hints(Context).items()}
ContextSettings = create_model("ContextSettings", __base__=Part, __doc__=Context.__doc__, **_OF_CONTEXT)
"""The levels of a context that a file gives; null removes an earlier one."""


_Scale = Annotated[_Element, Field(gt=0, allow_inf_nan=False)]


class GridSettings(Part):
    """The scale and zero point of a quantised tensor.

    Attributes:
        scale: the scale of the tensor. For the filter, a list has scales of output channels, used in turn.
        zero_point: the quantised value of 0; if it is not given, that of the level.
    """

    scale: _Scale | Annotated[Numbers[_Scale], Field(min_length=1)]
    zero_point: Annotated[int, Field(ge=-128, le=255)] | None = None


class QuantisationSettings(Part):
    """Scales and zero points of a model, instead of those of the context's levels.

    Attributes:
        x: those of the data.
        w: those of the filter.
        y: those of the graph's output.
    """

    x: GridSettings | None = None
    w: GridSettings | None = None
    y: GridSettings | None = None


class Settings(Part):
    """Sizes, attributes, operands and presentation. Every key is optional, and null removes an earlier value.

    Attributes:
        batch: items in the batch.
        channels: input channels of all groups together.
        out_channels: output channels of all groups together.
        spatial: spatial sizes of the data, one for each axis; their number is the rank.
        kernel: spatial sizes of the filter, one for each axis; a single integer for every axis.
        strides: steps in the output for one in the data, at least 1; an integer for every axis, or a list. Not written
            if it is not given, unless the dialect requires it; then it is 1.
        dilations: steps in the output for one in the filter, at least 1; written as strides are.
        pads_begin: elements cropped at the beginning of the output, at least 0; written as strides are, and then 0.
        pads_end: elements cropped at the end of the output, at least 0; written as strides are, and then 0.
        auto_pad: the padding mode, in the canonical words; raw writes any word. Not written if it is not given.
        output_padding: elements added at the end of the output, at least 0. Not written if it is not given.
        output_shape: spatial sizes of the output; full is (X-1)*stride + (K-1)*dilation + 1 of the axis, and full-1 is
            one less. Not written if it is not given.
        groups: groups into which channels and out_channels are divided. If it is not given, it is not written and is 1.
        kernel_shape: the attribute of that name; kernel stands for the filter's own sizes. Not written if not given.
        data_format: the layout of data and output, of batch N, channels C and spatial axes X; raw writes any word. If
            it is not given, it is the dialect's default.
        filter_format: the layout of the filter, of input channels I, output channels O of a group, taps X and groups G;
            raw writes any word. If it is not given, it is the dialect's default.
        bias: whether there is a bias, with an entry for each output channel.
        dtype: the element type of all operands.
        data: how operands are filled; sums of integers are exact in any order.
        seed: another seed gives other elements.
        x: settings of the data alone.
        w: settings of the filter alone.
        b: settings of the bias alone.
        shapes: how the model declares the inputs' shapes, by sizes (static), by a symbol for each, or not at all.
        data_source: whether the data is fed (input), or a constant of the model (initializer).
        filter_source: whether the filter is a constant of the model (initializer), or fed (input).
        bias_source: whether the bias is a constant of the model, or fed; if it is not given, as the filter is. In a
            case without a bias, unnamed writes an input with the name '', as ONNX allows.
        output_shape_source: whether output_shape is a constant of the model, or fed if the text has an input for it.
        spelling: whose words are written, if a text's page and its library use different words.
        context: what surrounds the operator in a graph; data and filter then have small integers. If x, w or b is
            quantised, its values are quantised values.
        quantisation: scales and zero points of a context. A quantised output may then differ by one step anywhere.
        breaks: the one constraint that the case breaks on purpose; dialects/constraints.py of the package has them all.
        omit: attributes that are not written, even if a dialect requires them.
    """

    batch: _Count | None = None
    channels: _Count | None = None
    out_channels: _Count | None = None
    spatial: _Counts | None = None
    kernel: _Count | _Counts | None = None
    strides: _PerAxis | None = None
    dilations: _PerAxis | None = None
    pads_begin: _PerAxis | None = None
    pads_end: _PerAxis | None = None
    auto_pad: Annotated[AutoPad, Field(strict=False)] | Raw | None = None
    output_padding: _PerAxis | None = None
    output_shape: _Size | Values[_Size] | None = None
    groups: _Number | None = None
    kernel_shape: Literal["kernel"] | Integers[_Number] | None = None
    data_format: Annotated[DataFormat, Field(strict=False)] | Raw | None = None
    filter_format: Annotated[FilterFormat, Field(strict=False)] | Raw | None = None
    bias: bool | None = None
    dtype: Annotated[DType, Field(strict=False)] | None = None
    data: Filling | None = None
    seed: _Count | None = None
    x: OperandSettings | None = None
    w: OperandSettings | None = None
    b: OperandSettings | None = None
    shapes: Shapes | None = None
    data_source: Source | None = None
    filter_source: Source | None = None
    bias_source: BiasSource | None = None
    output_shape_source: Source | None = None
    spelling: Speller | None = None
    context: ContextSettings | None = None  # type: ignore[valid-type]
    quantisation: QuantisationSettings | None = None
    breaks: ConstraintName | None = None
    omit: Texts[AttributeName] | None = None

    def written(self) -> dict[str, Any]:
        """Return the keys in the file, also those with null, as plain values."""
        return self.model_dump(mode="python", exclude_unset=True)


OPERAND_ROLES = ("x", "w", "b")
"""The settings of one operand."""
MAPPINGS = (*OPERAND_ROLES, "context", "quantisation")
"""The settings that are mappings."""
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
"""The settings of a case that does not give them."""


def merge_settings(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of all layers. A later one replaces an earlier one; mappings are merged key by key.

    `data` and `values` are two ways to fill an operand: the later one replaces the other.
    """
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if key in MAPPINGS and isinstance(value, dict) and isinstance(result.get(key), dict):
                result[key] = {
                    name: old for name, old in result[key].items() if name not in _replaced(key, value)
                } | value
            else:
                result[key] = value
    return result


def _replaced(key: str, operand: Mapping[str, Any]) -> set[str]:
    """Return the settings of other names that these settings of an operand replace."""
    fillings = {"data", "values"} if key in OPERAND_ROLES else set()
    return fillings if any(operand.get(name) is not None for name in fillings) else set()


def complete_settings(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings of all layers with the defaults; a null removes a setting."""
    return DEFAULTS | {key: value for key, value in merge_settings(*layers).items() if value is not None}


def unwrap(value: Any) -> Any:  # noqa: ANN401 - settings are plain values
    """Return a setting's value: the word of a mapping `raw: word`, any other value unchanged."""
    return value["raw"] if isinstance(value, dict) else value


def spread_per_axis(value: int | Sequence[int], rank: int) -> Ints:
    """Return a setting's entry for each axis; an integer stands for all of them."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


class Citation(Part):
    """A clause of a dialect's text.

    Attributes:
        dialect: the dialect.
        clause: the place in its text, and the words.
    """

    dialect: DialectName
    clause: Annotated[str, Field(min_length=1)]


class Skip(Part):
    """Combinations that a sweep leaves out, and why.

    Attributes:
        when: values by the name of their axis. A list means any of its values; all axes must match.
        because: the reason, for the reader.
    """

    when: Annotated[dict[str, Any], Field(min_length=1)]
    because: Annotated[str, Field(min_length=1)]


LISTED = Settings.model_fields.keys() - set(MAPPINGS)
"""The settings whose values an axis may list. Settings that are mappings have no labels for the ids."""
LEVELS = frozenset(f"{PREFIX}{name}" for name in ContextSettings.model_fields)
"""The axes of a context; an axis of a sweep may list their levels too."""
_FIELDS = Settings.model_fields.items()
_OF_SETTINGS: dict[str, Any] = {name: (list[field.annotation], []) for name, field in _FIELDS if name in LISTED}  # type: ignore[name-defined]
_OF_SETTINGS |= {
    f"{PREFIX}{name}": (list[field.annotation], [])  # type: ignore[name-defined]
    for name, field in ContextSettings.model_fields.items()
}
_ListAxes = create_model("_ListAxes", __base__=Part, **_OF_SETTINGS)
"""Values by the name of a setting."""


def _of_settings(axes: dict[str, Any]) -> dict[str, Any]:
    """Check the values of axes that are lists, and return them as plain values; other axes are mappings."""
    lists = {name: axis for name, axis in axes.items() if isinstance(axis, list) and name in _OF_SETTINGS}
    written: dict[str, Any] = axes | _ListAxes.model_validate(lists).model_dump(exclude_unset=True)
    return written


class Cover(Part):
    """Which combinations of labels the few cases of a sweep have: every pair, and some triples.

    Attributes:
        threes: the axes whose triples of labels all occur.
        levels: how many levels of a context may differ from the neutral one in one case. If there are few, operations
            that a runtime fuses stand next to each other.
    """

    threes: Texts[str] = Field(default=[])
    levels: Annotated[int, Field(ge=1)] = 4


class Sweep(Part):
    """The product of its axes: a list gives an attribute's values, a mapping gives labels that set several keys.

    Attributes:
        name: the last part of the path of its ids, unique in its file; small letters, digits, '.', '+' and '-'.
        about: what it tests.
        with: settings that all of its cases share, in addition to the file's base.
        axes: values by the name of a setting, or, by any other name, labels that set several keys. The first axis
            varies slowest.
        skip: combinations that are left out.
        tier: the smallest tier with its cases; this tier has all of them. If it is not given, gate and smoke have
            those that cover the values of its axes. An exhaustive sweep may have millions of cases.
        cover: for a product that is too large to list. The sweep then has a few of its combinations, and each geometry
            without a context. Ids leave out neutral levels, so an id without levels is the plain twin.
    """

    name: _Name
    about: str = ""
    with_: Settings = Field(default=Settings(), alias="with")
    axes: Annotated[
        dict[str, Annotated[Values[Any], Field(min_length=1)] | Annotated[dict[_Name, Settings], Field(min_length=1)]],
        Field(min_length=1),
        AfterValidator(_of_settings),
    ]
    skip: Mappings[Skip] = Field(default=[])
    tier: Tier | None = None
    cover: Cover | None = None


class WrittenOutput(Part):
    """An expected output that is written in the file.

    Attributes:
        dialects: the dialects that expect it.
        spatial: its spatial sizes.
        values: its elements in NCX order, equal to the reference's.
    """

    dialects: Annotated[Texts[DialectName], Field(min_length=1)]
    spatial: _Counts
    values: Numbers[_Element]


class Single(Part):
    """One case.

    Attributes:
        name: the last part of its id, unique in its file; small letters, digits, '.', '+' and '-'.
        about: what it tests.
        with: its settings, in addition to the file's base.
        expected: expected outputs, which 'tconv check' compares with the reference.
        tier: the smallest tier with this case.
    """

    name: _Name
    about: str = ""
    with_: Settings = Field(default=Settings(), alias="with")
    expected: Mappings[WrittenOutput] = Field(default=[])
    tier: Tier = "gate"


class CaseFile(Part):
    """A case file.

    Attributes:
        format: the version of the format.
        about: what the file tests, in a sentence.
        cites: the clauses of the texts that its cases test.
        base: settings that all of its cases share.
        sweeps: products of axes, with a case for each combination.
        cases: single cases.
    """

    format: Format
    about: Annotated[str, Field(min_length=1)]
    cites: Annotated[Mappings[Citation], Field(min_length=1)]
    base: Settings = Settings()
    sweeps: Annotated[Mappings[Sweep], Field(max_length=MOST_SWEEPS)] = Field(default=[])
    cases: Mappings[Single] = Field(default=[])
