"""What the headers of two runs say differently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.records.headers import RunHeader


class Difference(NamedTuple):
    """Something that the headers of the two runs say differently; empty where one does not say it."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name} {self.old or 'none'} -> {self.new or 'none'}"


def differences(old: RunHeader, new: RunHeader) -> Iterator[Difference]:
    """Yield what two headers say differently, in the order of the header's fields."""
    before, after = (_texts(header) for header in (old, new))
    for name in before | after:
        if before.get(name) != after.get(name):
            yield Difference(name, before.get(name, ""), after.get(name, ""))


def _texts(header: RunHeader) -> dict[str, str]:
    """Return the values of a header as texts, by their names."""
    named = flat(header.model_dump(mode="json"))
    return {name: " ".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in named}


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested values, each with the names that lead to it, joined by dots."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
