"""The names of dialects, constraints, attributes and misreadings in files, as types.

A name in a case file or a waiver is checked; in a record it is not, as another version may have had more names. The
schemas list the names for both, so that an editor can complete them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, GetPydanticSchema
from pydantic_core import CoreSchema, core_schema

from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.readings import Together
from tconv.documents.models import known_as
from tconv.vocabulary import ATTRIBUTES

RecordedDialect = Annotated[str, Field(json_schema_extra={"enum": list(DIALECTS)})]
RecordedConstraint = Annotated[str, Field(json_schema_extra={"enum": list(CONSTRAINTS)})]
DialectName = Annotated[RecordedDialect, known_as("a dialect", DIALECTS)]
ConstraintName = Annotated[RecordedConstraint, known_as("a constraint's name", CONSTRAINTS)]
AttributeName = Annotated[
    str, Field(json_schema_extra={"enum": list(ATTRIBUTES)}), known_as("an attribute's name", ATTRIBUTES)
]


def _joined(*_: object) -> CoreSchema:
    return core_schema.no_info_after_validator_function(Together.parse, core_schema.str_schema())


MisreadingNames = Annotated[Together, GetPydanticSchema(_joined)]
"""Misreadings that give an output together; in a file a text, in which ` + ` joins them."""
