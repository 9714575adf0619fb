"""Machines that a waiver or a declaration is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from tconv.backends.machine import SIMD
from tconv.documents.models import Part, Texts, known_as

if TYPE_CHECKING:
    from collections.abc import Mapping

Extension = Annotated[str, Field(json_schema_extra={"enum": list(SIMD)}), known_as("a vector extension", SIMD)]
Extensions = Annotated[Texts[Extension], Field(min_length=1)]
Name = Annotated[str, Field(min_length=1)]


class Machines(Part):
    """The machines whose facts, as the header of a run has them, are these.

    The backend may use every vector extension of `with`, and none of `without`. A run whose header says nothing of the
    vector extensions is on none of these machines: what is not known must not hide a deviation.

    Attributes:
        with: vector extensions, all of which the backend may use, named as in Linux's /proc/cpuinfo.
        without: vector extensions, none of which it may use.
        system: the operating system, such as Linux; where it is not given, any.
        architecture: the processor's, such as x86_64; where it is not given, any.
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    with_: Extensions = Field(default=[], alias="with")
    without: Extensions = Field(default=[])
    system: Name = Field(default="")
    architecture: Name = Field(default="")

    @model_validator(mode="after")
    def _names_machines(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must say which machines, by with, without, system or architecture (got none of them)")
        return self

    def include(self, facts: Mapping[str, str]) -> bool:
        """Return whether a machine with these facts is one of them."""
        simd = facts.get("simd", "").split()
        if (self.with_ or self.without) and not simd:
            return False
        return (
            set(simd).issuperset(self.with_)
            and set(simd).isdisjoint(self.without)
            and self.system in {"", facts.get("system")}
            and self.architecture in {"", facts.get("architecture")}
        )

    def __str__(self) -> str:
        values = self.model_dump(by_alias=True, exclude_unset=True).items()
        return ", ".join(f"{key} {' '.join(value) if isinstance(value, list) else value}" for key, value in values)
