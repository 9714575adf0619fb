"""Models of files, and pydantic's errors as sentences about places in a file."""

from __future__ import annotations

import re
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from tconv.nearest_word import nearest
from tconv.shown_texts import one_line, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from tconv.documents.tree import Node

T = TypeVar("T")


class Part(BaseModel):
    """A mapping of a file: closed, frozen, and without conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def known_keys(model: type[Part], location: Iterable[str | int]) -> list[str]:
    """Return the keys that a mapping at a location of the file may have; for a union, those of all members."""
    types: list[Any] = [model]
    for segment in location:
        types = [member for outer in types for inner in _inner(outer, segment) for member in _members(inner)]
    return [key for part in types if _is_part(part) for key in _fields(part)]


def _inner(outer: Any, segment: str | int) -> Iterator[Any]:  # noqa: ANN401 - any type
    """Yield the type of a part of a value of type `outer`; nothing if it has no such part."""
    if _is_part(outer) and segment in _fields(outer):
        yield _fields(outer)[segment]
    elif get_origin(outer) is (list if isinstance(segment, int) else dict):
        yield get_args(outer)[-1]


def _members(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - any type
    """Yield the members of a union, or the type itself, without annotations."""
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in {Union, UnionType}:
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _is_part(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Part)


def _fields(part: type[Part]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in part.model_fields.items()}


def known_as(what: str, words: Collection[str]) -> AfterValidator:
    """Accept only these words, and suggest the nearest one for any other word."""

    def check(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be {what} (got {text!r}){nearest(text, words)}")
        return text

    return AfterValidator(check)


def _is_known_format(version: int) -> int:
    if version != 1:
        raise ValueError(f"must be 1 (got {shown(version)})")
    return version


# Literal[1] would also accept true and 1.0.
Format = Annotated[int, AfterValidator(_is_known_format), Field(json_schema_extra={"const": 1})]
"""The version of a file's format; 1 is the only one."""


def _list_of(items: str) -> BeforeValidator:
    """Name the items in the error for a value that is no list; pydantic's message does not."""

    def check(value: object) -> object:
        if not isinstance(value, list):
            raise PydanticCustomError("list_of", "Input should be a list of {items}", {"items": items})
        return value

    return BeforeValidator(check)


Integers = Annotated[list[T], _list_of("integers")]
Numbers = Annotated[list[T], _list_of("numbers")]
Texts = Annotated[list[T], _list_of("texts")]
Mappings = Annotated[list[T], _list_of("mappings")]
Values = Annotated[list[T], _list_of("values")]


Location: TypeAlias = tuple[int | str, ...]

# What the user sees instead of the names of Python's types.
_TYPES: Final = {
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
# The beginning and a possible ending of pydantic's sentences, which are removed.
_FRAME: Final = re.compile(r"^\w+ should | after validation.*")


class Complaint(NamedTuple):
    """A sentence about one place of a file.

    Attributes:
        location: the keys and indices that lead to the place.
        key: whether the key is wrong, not its value.
        message: what must be, what was got, what to do; one line.
    """

    location: Location
    key: bool
    message: str


class _Fault(NamedTuple):
    """An error of pydantic at its place in the tree.

    Attributes:
        unions: for each union on the way, the outermost first: its location, and the name of its member.
        location: its location, without the names of the unions' members.
        key: whether the key is wrong.
        error: pydantic's error.
    """

    unions: tuple[tuple[Location, int | str], ...]
    location: Location
    key: bool
    error: ErrorDetails

    @property
    def depth(self) -> int:
        return len(self.location) + (self.error["type"] == "missing")


def list_complaints(root: Node, model: type[Part], error: ValidationError) -> list[Complaint]:
    """Return every complaint about a document; for a union, those of the member that fits best.

    Args:
        root: the document that was validated.
        model: its model.
        error: pydantic's error.
    """
    faults = [_fault(root, details) for details in error.errors(include_url=False)]
    by_group = [_complaint(group, model) for group in _groups(faults, 0)]
    # A misspelt key is unknown, and its right spelling is missing: only one complaint is wanted.
    meant = {(complaint.location[:-1], complaint.message.rpartition("did you mean ")[2]) for complaint, _ in by_group}
    return [
        complaint
        for complaint, missing in by_group
        if missing is None or (complaint.location, f"{missing!r}?") not in meant
    ]


def _groups(faults: list[_Fault], level: int) -> Iterator[list[_Fault]]:
    """Yield groups of errors, each for one complaint, at this level of nested unions."""
    groups: dict[object, list[_Fault]] = {}
    for fault in faults:
        inside = len(fault.unions) > level
        groups.setdefault(fault.unions[level][0] if inside else ("alone", fault.error["loc"]), []).append(fault)
    for group in groups.values():
        # Among equally deep errors, that of our own validator is the most helpful.
        head = max(group, key=lambda fault: (fault.depth, fault.error["type"] == "value_error"))
        if len(head.unions) <= level:
            yield group
        elif head.depth == len(head.unions[level][0]):
            yield [head, *(fault for fault in group if fault is not head and fault.depth == head.depth)]
        else:
            member = head.unions[level]
            yield from _groups([fault for fault in group if fault.unions[level] == member], level + 1)


def _complaint(group: list[_Fault], model: type[Part]) -> tuple[Complaint, str | None]:
    """Return the complaint of errors at one place, and the name of the missing key, if one is missing."""
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
