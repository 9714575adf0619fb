"""The texts as data: rules, constraints, readings, geometry, and each dialect as a constant.

The names of dialects, constraints, attributes and misreadings in files are types. A name in a case file or a waiver is
checked. In a record it is not, as another version may have had more names. The schemas list the names for both, so an
editor can complete them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, GetPydanticSchema
from pydantic_core import CoreSchema, core_schema

from tconv.dialects import onednn, onnx, openvino, tflite, torch, webnn
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.dialect import Absent, Dialect, NoWord, Open, Spelling, Stated
from tconv.dialects.onnx import GEOMETRY_1
from tconv.dialects.readings import Combination
from tconv.documents.models import known_as
from tconv.errors import UsageError
from tconv.nearest_word import nearest
from tconv.vocabulary import ATTRIBUTES

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        onnx.CONV_TRANSPOSE_1,
        onnx.CONV_TRANSPOSE_11,
        onnx.CONV_TRANSPOSE_22,
        onednn.CONV_TRANSPOSE_1,
        onednn.CONVOLUTION_BACKPROP_DATA_1,
        openvino.CONVOLUTION_BACKPROP_DATA_1,
        openvino.GROUP_CONVOLUTION_BACKPROP_DATA_1,
        torch.CONV_TRANSPOSE,
        tflite.TRANSPOSE_CONV,
        webnn.CONV_TRANSPOSE_2D,
        GEOMETRY_1,
    )
}
"""Every dialect by its name, `text/Operator-version`."""

SPOKEN = {name: dialect for name, dialect in DIALECTS.items() if dialect is not webnn.CONV_TRANSPOSE_2D}
"""The dialects that a backend speaks. The tiers are chosen for these."""

__all__ = [
    "DIALECTS",
    "GEOMETRY_1",
    "SPOKEN",
    "Absent",
    "Dialect",
    "NoWord",
    "Open",
    "Spelling",
    "Stated",
    "find_dialect",
]


def find_dialect(name: str) -> Dialect:
    """Return the dialect of that name.

    Raises:
        UsageError: no dialect has that name.
    """
    try:
        return DIALECTS[name]
    except KeyError:
        known = ", ".join(DIALECTS)
        raise UsageError(f"dialect must be one of {known} (got {name!r}){nearest(name, DIALECTS)}") from None


RecordedDialect = Annotated[str, Field(json_schema_extra={"enum": list(DIALECTS)})]
RecordedConstraint = Annotated[str, Field(json_schema_extra={"enum": list(CONSTRAINTS)})]
DialectName = Annotated[RecordedDialect, known_as("a dialect", DIALECTS)]
ConstraintName = Annotated[RecordedConstraint, known_as("a constraint's name", CONSTRAINTS)]
AttributeName = Annotated[
    str, Field(json_schema_extra={"enum": list(ATTRIBUTES)}), known_as("an attribute's name", ATTRIBUTES)
]


def _joined(*_: object) -> CoreSchema:
    return core_schema.no_info_after_validator_function(
        Combination.parse, core_schema.str_schema(), serialization=core_schema.to_string_ser_schema()
    )


MisreadingNames = Annotated[Combination, GetPydanticSchema(_joined)]
"""Misreadings that give an output together; in a file they are one text, joined by ` + `."""
