"""Pydantic's errors about a file, as sentences about places of the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from tconv.documents.models import known_keys
from tconv.nearest_word import nearest
from tconv.shown_texts import one_line, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from tconv.documents.models import Part
    from tconv.documents.tree import Node

Location: TypeAlias = tuple[int | str, ...]

# What the user is shown instead of the names of Python's types.
_TYPES: Final = {
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
# How pydantic begins its sentences, and what it adds where validation may change a length.
_FRAME: Final = re.compile(r"^\w+ should | after validation.*")


class Complaint(NamedTuple):
    """A sentence about one place of a file.

    Attributes:
        location: the keys and indices that lead to the place.
        key: whether the key is at fault, and not its value.
        message: what must be, what was got, what to do; one line.
    """

    location: Location
    key: bool
    message: str


class _Fault(NamedTuple):
    """An error of pydantic at its place in the tree.

    Attributes:
        unions: for each union on the way, the outermost first: its location, and the name of its member.
        location: where it stands, without the names of the unions' members.
        key: whether the key is at fault.
        error: what pydantic says.
    """

    unions: tuple[tuple[Location, int | str], ...]
    location: Location
    key: bool
    error: ErrorDetails

    @property
    def depth(self) -> int:
        return len(self.location) + (self.error["type"] == "missing")


def complaints(root: Node, model: type[Part], error: ValidationError) -> list[Complaint]:
    """Return every complaint about a document; the errors of a union's members are those of the member that fits best.

    Args:
        root: the document that was validated.
        model: what it must be.
        error: what pydantic says.
    """
    faults = [_fault(root, details) for details in error.errors(include_url=False)]
    by_group = [_complaint(group, model) for group in _groups(faults, 0)]
    # A misspelt key is unknown, and its right spelling is missing: that is one mistake.
    meant = {(complaint.location[:-1], complaint.message.rpartition("did you mean ")[2]) for complaint, _ in by_group}
    return [
        complaint
        for complaint, missing in by_group
        if missing is None or (complaint.location, f"{missing!r}?") not in meant
    ]


def _groups(faults: list[_Fault], level: int) -> Iterator[list[_Fault]]:
    """Yield the errors that make one complaint each, at this level of unions inside each other."""
    groups: dict[object, list[_Fault]] = {}
    for fault in faults:
        inside = len(fault.unions) > level
        groups.setdefault(fault.unions[level][0] if inside else ("alone", fault.error["loc"]), []).append(fault)
    for group in groups.values():
        # Of equally deep ones a validator's own is the most helpful.
        head = max(group, key=lambda fault: (fault.depth, fault.error["type"] == "value_error"))
        if len(head.unions) <= level:
            yield group
        elif head.depth == len(head.unions[level][0]):
            yield [head, *(fault for fault in group if fault is not head and fault.depth == head.depth)]
        else:
            member = head.unions[level]
            yield from _groups([fault for fault in group if fault.unions[level] == member], level + 1)


def _complaint(group: list[_Fault], model: type[Part]) -> tuple[Complaint, str | None]:
    """Return the complaint of errors at one place, and the name of the key that is missing where one is."""
    head, errors = group[0], [fault.error for fault in group]
    keys = known_keys(model, head.location[:-1]) if head.error["type"] == "extra_forbidden" else []
    missing = str(head.error["loc"][-1]) if head.error["type"] == "missing" else None
    return Complaint(head.location, head.key, one_line(_sentence(errors, keys))), missing


def _fault(root: Node, error: ErrorDetails) -> _Fault:
    node, location, unions = root, [], []
    for segment in error["loc"][: -1 if error["type"] == "missing" else None]:
        if segment in node.parts:
            node = node.parts[segment]
            location.append(segment)
        elif segment != "[key]":
            unions.append((tuple(location), segment))
    is_key = error["type"] == "extra_forbidden" or error["loc"][-1:] == ("[key]",)
    return _Fault(tuple(unions), tuple(location), is_key, error)


def _sentence(errors: list[ErrorDetails], known_keys: list[str]) -> str:
    head = next((error for error in errors if error["type"] == "value_error"), errors[0])
    if head["type"] == "value_error":
        return str(head["ctx"]["error"])
    name = head["loc"][-1] if head["loc"] else ""
    if head["type"] == "missing":
        return f"must have the key {name!r}"
    if head["type"] == "extra_forbidden":
        return f"must be one of the known keys (got {shown(name)}){nearest(str(name), known_keys)}"
    value = head["input"]
    return f"must {_either([_must(error) for error in errors])} (got {shown(value)}){_advice(errors, value)}"


def _must(error: ErrorDetails) -> str:
    """Return what follows 'must' in the sentence."""
    if error["type"] in _TYPES:
        return f"be {_TYPES[error['type']]}"
    return _FRAME.sub("", error["msg"])


def _either(musts: list[str]) -> str:
    """Join alternatives, with one `be` for all."""
    first, *others = dict.fromkeys(musts)
    *head, last = [first, *(other.removeprefix("be ") if first.startswith("be ") else other for other in others)]
    return f"{', '.join(head)} or {last}" if head else last


def _advice(errors: list[ErrorDetails], value: object) -> str:
    if isinstance(value, str):
        choices = " ".join(str(error.get("ctx", {}).get("expected", "")) for error in errors)
        return nearest(value, re.findall("'([^']*)'", choices))
    is_text_wanted = any(error["type"] == "string_type" for error in errors)
    return "; put it in quotes" if is_text_wanted and isinstance(value, int | float) else ""
