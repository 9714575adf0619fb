"""The names that files give to dialects, constraints and attributes, as types that know them.

What is recorded is read whatever it names: another version may have known more. An editor completes both.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.documents.models import known_as
from tconv.vocabulary import ATTRIBUTES

RecordedDialect = Annotated[str, Field(json_schema_extra={"enum": list(DIALECTS)})]
RecordedConstraint = Annotated[str, Field(json_schema_extra={"enum": list(CONSTRAINTS)})]
DialectName = Annotated[RecordedDialect, known_as("a dialect", DIALECTS)]
ConstraintName = Annotated[RecordedConstraint, known_as("a constraint's name", CONSTRAINTS)]
AttributeName = Annotated[
    str, Field(json_schema_extra={"enum": list(ATTRIBUTES)}), known_as("an attribute's name", ATTRIBUTES)
]
