"""The scope of an entry of a waiver file: cases and machines."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from tconv.backends.machine import SIMD
from tconv.cases.patterns import label, parse, path_of
from tconv.documents.models import Part, Texts, Values, known_as
from tconv.errors import TconvError
from tconv.vocabulary import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Mapping

Scalar = str | int | bool | None
Extension = Annotated[str, Field(json_schema_extra={"enum": list(SIMD)}), known_as("a vector extension", SIMD)]
Extensions = Annotated[Texts[Extension], Field(min_length=1)]
Name = Annotated[str, Field(min_length=1)]


def _is_pattern(text: str) -> str:
    try:
        parse(text)
    except TconvError as error:
        raise ValueError(str(error)) from None
    return text


class Machines(Part):
    """The machines of an entry, by the facts in the header of a run.

    If the header does not name the vector extensions, a condition on them is false: an unknown fact must not hide a
    deviation.

    Attributes:
        with: vector extensions that the backend may use, all of them, named as in Linux's /proc/cpuinfo.
        without: vector extensions that the backend may not use, none of them.
        system: the operating system, such as Linux; if it is not given, any.
        architecture: the processor's, such as x86_64; if it is not given, any.
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
        """Return whether a machine has these facts."""
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


class Scope(Part):
    """Which cases are covered, and on which machines.

    Attributes:
        cases: a pattern of ids, such as padding/**[strides=2|3].
        where: values of facts that the case must have; a list means any of its values. 'tconv list --json' prints the
            facts of each case.
        machine: the machines of the entry; if it is not given, all.
    """

    cases: Annotated[str, AfterValidator(_is_pattern)] = "**"
    where: dict[str, Scalar | Values[Scalar]] = Field(default={})
    machine: Machines | None = None

    @property
    def words(self) -> str:
        """The cases in words, such as `padding/** dtype=f64|bf16`."""
        where = [
            f"{key}={'|'.join(map(label, value if isinstance(value, list) else [value]))}"
            for key, value in self.where.items()
        ]
        return " ".join(([] if self.cases == "**" else [self.cases]) + where)

    def is_for(self, path: str) -> bool:
        """Return whether cases with this path (their id without labels) may be covered."""
        return bool(parse(self.cases).path.fullmatch(path))

    def covers(self, case_id: str, facts: Mapping[str, str]) -> bool:
        """Return whether the case is covered."""
        return self.is_for(path_of(case_id)) and self.holds(facts)

    def holds(self, facts: Mapping[str, str]) -> bool:
        """Return whether a case with these facts is covered, if its path is."""
        return all(facts.get(key, default) in labels for key, default, labels in self._wanted)

    def lacks(self, facts: Mapping[str, str]) -> tuple[str, str | None, set[str]] | None:
        """Return the first condition of pattern or `where` that a case does not meet: fact, its value, wanted texts."""
        labelled = ((key, facts.get(key, default), labels) for key, default, labels in self._wanted)
        return next(((key, value, labels) for key, value, labels in labelled if value not in labels), None)

    @cached_property
    def _wanted(self) -> list[tuple[str, str | None, set[str]]]:
        """The conditions of pattern and `where`: fact, its value in a case without it, the wanted texts.

        An attribute that is not written has the label of None.
        """
        conditions = [(key, None, set(texts)) for key, texts in parse(self.cases).conditions.items()]
        return conditions + [
            (key, label(None) if key in ATTRIBUTES else None, list_texts(value)) for key, value in self.where.items()
        ]

    def on_machine(self, facts: Mapping[str, str]) -> bool:
        """Return whether the entry is for a machine with these facts."""
        return self.machine is None or self.machine.include(facts)


class NarrowScope(Scope):
    """A scope that must not be all cases: a backend that fails all of them needs no waiver, but a repair."""

    @model_validator(mode="after")
    def _names_cases(self) -> Self:
        if self.cases == "**" and not self.where:
            raise ValueError("must say which cases, with cases or where (got neither)")
        return self


def list_texts(value: Scalar | list[Scalar]) -> set[str]:
    """Return the text of a value, or the texts of a list of values."""
    return {label(word) for word in (value if isinstance(value, list) else [value])}
