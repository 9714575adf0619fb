"""Pydantic's errors about a file, as one sentence about one place of the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from tconv.documents.models import known_keys
from tconv.errors import nearest, one_line, shown

if TYPE_CHECKING:
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


class _Fault(NamedTuple):
    """An error of pydantic at its place in the tree.

    Attributes:
        group: the location of the outermost union; errors of the members of a union have it in common.
        location: where it stands, without the names of the unions' members.
        key: whether the key is at fault.
        error: what pydantic says.
    """

    group: Location
    location: Location
    key: bool
    error: ErrorDetails

    @property
    def depth(self) -> int:
        return len(self.location) + (self.error["type"] == "missing")


def first_complaint(root: Node, model: type[Part], error: ValidationError) -> tuple[Location, bool, str]:
    """Return what is reported first: the errors of a union's members are one complaint, made of the deepest of them.

    Args:
        root: the document that was validated.
        model: what it must be.
        error: what pydantic says.

    Returns:
        The place, whether its key is at fault and not its value, and the sentence.
    """
    groups: dict[Location, list[_Fault]] = {}
    # A misspelt key is unknown and its right spelling is missing; the former error is more helpful, so it goes first.
    for details in sorted(error.errors(include_url=False), key=lambda details: details["type"] == "missing"):
        fault = _fault(root, details)
        groups.setdefault(fault.group, []).append(fault)
    faults = next(iter(groups.values()))
    # Of equally deep ones a validator's own is the most helpful.
    head = max(faults, key=lambda fault: (fault.depth, fault.error["type"] == "value_error"))
    alternatives = [fault.error for fault in faults if (fault.depth, fault.location) == (head.depth, head.location)]
    more = f" (and {len(groups) - 1} more)" if len(groups) > 1 else ""
    known = known_keys(model, head.location[:-1]) if head.error["type"] == "extra_forbidden" else []
    return head.location, head.key, one_line(_sentence(alternatives, known) + more)


def _fault(root: Node, error: ErrorDetails) -> _Fault:
    node, location, group = root, [], None
    for segment in error["loc"][: -1 if error["type"] == "missing" else None]:
        if segment in node.parts:
            node = node.parts[segment]
            location.append(segment)
        elif group is None:
            group = tuple(location)
    is_key = error["type"] == "extra_forbidden" or error["loc"][-1:] == ("[key]",)
    return _Fault(error["loc"] if group is None else group, tuple(location), is_key, error)


def _sentence(errors: list[ErrorDetails], known_keys: list[str]) -> str:
    head = next((error for error in errors if error["type"] == "value_error"), errors[0])
    if head["type"] == "value_error":
        return str(head["ctx"]["error"])
    name = head["loc"][-1] if head["loc"] else ""
    if head["type"] == "missing":
        return f"must have the key {name!r}"
    if head["type"] == "extra_forbidden":
        return f"must be one of the known keys (got {shown(name)}){nearest(str(name), known_keys)}"
    got = head["input"]
    return f"must {_either([_must(error) for error in errors])} (got {shown(got)}){_advice(errors, got)}"


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


def _advice(errors: list[ErrorDetails], got: object) -> str:
    if isinstance(got, str):
        choices = " ".join(str(error.get("ctx", {}).get("expected", "")) for error in errors)
        return nearest(got, re.findall("'([^']*)'", choices))
    is_text_wanted = any(error["type"] == "string_type" for error in errors)
    return "; put it in quotes" if is_text_wanted and isinstance(got, int | float) else ""
