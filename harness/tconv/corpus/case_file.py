"""The models of a case file. They are used where the file is read, and nowhere else."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from tconv.cases.case import Shapes, Source, Speller
from tconv.corpus.budget import MOST_SWEEPS
from tconv.dialects.known_names import AttributeName, ConstraintName, DialectName
from tconv.documents.models import Integers, Mappings, Numbers, Part, Texts, Values
from tconv.vocabulary import AutoPad, DataFormat, DType, FilterFormat

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
_Data = Literal[
    "integers",
    "normal",
    "wide",
    "wide-full",
    "ones",
    "impulse",
    "special",
    "nan",
    "infinity",
    "negative-zero",
    "subnormal",
]
_Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]*$", max_length=80)]


class Raw(Part):
    """A word that is written as it is, known to the dialect or not."""

    raw: str


class OperandSettings(Part):
    """Settings of a single operand: sizes by their meaning, or a shape that need not fit such sizes.

    The filter's out_channels are those of all groups together, as everywhere.
    """

    batch: _Count | None = None
    channels: _Count | None = None
    out_channels: _Count | None = None
    spatial: _Counts | None = None
    kernel: _Counts | None = None
    shape: _Counts | None = None
    dtype: Annotated[DType, Field(strict=False)] | None = None
    data: _Data | None = None
    seed: _Count | None = None
    values: Numbers[float] | None = None


class Settings(Part):
    """Sizes, attributes, operands and presentation; every key is optional, and null removes an earlier value."""

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
    data: _Data | None = None
    seed: _Count | None = None
    x: OperandSettings | None = None
    w: OperandSettings | None = None
    b: OperandSettings | None = None
    shapes: Shapes | None = None
    data_source: Source | None = None
    filter_source: Source | None = None
    bias_source: Source | None = None
    output_shape_source: Source | None = None
    spelling: Speller | None = None
    breaks: ConstraintName | None = None
    omit: Texts[AttributeName] | None = None

    def written(self) -> dict[str, Any]:
        """Return the keys that the file has, null included, as plain values."""
        return self.model_dump(mode="python", exclude_unset=True)


class Citation(Part):
    """A clause of a dialect's text."""

    dialect: DialectName
    clause: Annotated[str, Field(min_length=1)]


class Skip(Part):
    """Combinations that a sweep leaves out: axis values, a list meaning any of them, and why."""

    when: Annotated[dict[str, Any], Field(min_length=1)]
    because: Annotated[str, Field(min_length=1)]


class Sweep(Part):
    """The product of its axes: a list gives an attribute's values, a mapping gives labels that set several keys.

    Attributes:
        tier: exhaustive, where only that tier has its cases; they may be millions.
    """

    name: _Name
    about: str = ""
    with_: Settings = Field(default=Settings(), alias="with")
    axes: Annotated[
        dict[str, Annotated[Values[Any], Field(min_length=1)] | Annotated[dict[_Name, Settings], Field(min_length=1)]],
        Field(min_length=1),
    ]
    skip: Mappings[Skip] = Field(default=[])
    smoke: bool = False
    tier: Literal["exhaustive"] | None = None


class Literally(Part):
    """An output written out: the dialects that owe it, spatial sizes, elements in NCX order."""

    dialects: Annotated[Texts[DialectName], Field(min_length=1)]
    spatial: _Counts
    values: Numbers[float]


class Single(Part):
    """One case."""

    name: _Name
    about: str = ""
    with_: Settings = Field(default=Settings(), alias="with")
    expected: Mappings[Literally] = Field(default=[])
    smoke: bool = False


class CaseFile(Part):
    """A case file."""

    format: Annotated[int, Field(ge=1, le=1)]
    about: Annotated[str, Field(min_length=1)]
    cites: Annotated[Mappings[Citation], Field(min_length=1)]
    base: Settings = Settings()
    sweeps: Annotated[Mappings[Sweep], Field(max_length=MOST_SWEEPS)] = Field(default=[])
    cases: Mappings[Single] = Field(default=[])
