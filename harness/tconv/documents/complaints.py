"""What pydantic holds against a file, as one sentence about one place of it."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic.errors import PydanticUserError

from tconv.errors import nearest, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from tconv.documents.tree import Node

Location: TypeAlias = tuple[int | str, ...]
JsonSchema: TypeAlias = dict[str, Any]

_INTEGER, _NUMBER, _TRUTH, _MAPPING, _DATE = (
    "an integer",
    "a number",
    "true or false",
    "a mapping",
    "a date such as 2026-11-20",
)
_NOUNS: Final = {
    "int_type": _INTEGER,
    "int_parsing": _INTEGER,
    "int_parsing_size": _INTEGER,
    "int_from_float": _INTEGER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "a finite number",
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "string_type": "text",
    "date_type": _DATE,
    "date_parsing": _DATE,
    "date_from_datetime_parsing": _DATE,
    "none_required": "null",
    "dict_type": _MAPPING,
    "mapping_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "dataclass_type": _MAPPING,
}
_LISTS: Final = {"list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"}
_PLURALS: Final = {
    "integer": "integers",
    "number": "numbers",
    "string": "texts",
    "boolean": "truth values",
    "array": "lists",
    "object": "mappings",
}
# The errors that list what is permitted, and where they do.
_CHOICES: Final = {"literal_error": "expected", "enum": "expected", "union_tag_invalid": "expected_tags"}
_OWN: Final = {"value_error", "assertion_error"}
# How pydantic begins most of its sentences, and what it adds where validation may change a length.
_SHOULD: Final = re.compile(r"\w+ should (?P<what>.+?)(?: after validation.*)?")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong at one place of a document; `key` where the key is at fault and not the value."""

    location: Location
    key: bool
    message: str


def first_complaint(root: Node, model: type[BaseModel], errors: Iterable[ErrorDetails]) -> Complaint:
    """Return what is said first: the errors of a union's members are one complaint.

    Of those, the ones that stand deepest count, then those of the member with the fewest: it is the one that was meant.

    Args:
        root: the document that was validated.
        model: what it was to be.
        errors: what pydantic says, at least one.
    """
    groups: dict[Location, list[ErrorDetails]] = {}
    # A misspelt key is unknown, and its right spelling is missing; the former tells more.
    for error in sorted(errors, key=lambda error: error["type"] == "missing"):
        groups.setdefault(_question(root, error), []).append(error)
    chosen = _most_telling(root, next(iter(groups.values())))
    location, key = _place(root, chosen[0])
    more = f" (and {len(groups) - 1} more)" if len(groups) > 1 else ""
    return Complaint(location, key, one_line(_sentence(root, _Schema(model), chosen) + more))


def _existing(root: Node, location: Location) -> Location:
    """Return the location without the segments that are the tags of unions, which no document has."""
    node, found = root, []
    for segment in location:
        if segment in node.parts:
            node = node.parts[segment]
            found.append(segment)
    return tuple(found)


def _question(root: Node, error: ErrorDetails) -> Location:
    """Return the location of the outermost union, or of the error where there is none."""
    location, node = error["loc"], root
    for index, segment in enumerate(location[: -1 if error["type"] == "missing" else None]):
        if segment not in node.parts:
            return location[:index]
        node = node.parts[segment]
    return location


def _place(root: Node, error: ErrorDetails) -> tuple[Location, bool]:
    location = _existing(root, error["loc"][: -1 if error["type"] == "missing" else None])
    if error["type"] == "union_tag_invalid":
        return (*location, error["ctx"]["discriminator"].strip("'")), False
    return location, error["type"] == "extra_forbidden" or error["loc"][-1:] == ("[key]",)


def _most_telling(root: Node, errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Return the errors at one place that tell most about a union."""
    question = len(_question(root, errors[0]))
    members = Counter(error["loc"][: question + 1] for error in errors)

    def distance(error: ErrorDetails) -> tuple[int, int]:
        depth = len(_place(root, error)[0]) + (error["type"] == "missing")
        return -depth, members[error["loc"][: question + 1]]

    nearest_miss = min(map(distance, errors))
    errors = [error for error in errors if distance(error) == nearest_miss]
    head = next((error for error in errors if error["type"] in _OWN), errors[0])
    if head["type"] in _OWN | {"missing", "extra_forbidden"}:
        return [head]
    return [error for error in errors if _place(root, error) == _place(root, head)]


def _sentence(root: Node, schema: _Schema, errors: list[ErrorDetails]) -> str:
    head = errors[0]
    name = head["loc"][-1] if head["loc"] else ""
    if head["type"] in _OWN:
        return str(head.get("ctx", {}).get("error", "")) or head["msg"]
    if head["type"] == "missing":
        in_list = isinstance(name, int)
        return f"must have more items (got {shown(head['input'])})" if in_list else f"must have the key {name!r}"
    if head["type"] == "extra_forbidden":
        known = [key for here in schema.at(root, head["loc"][:-1]) for key in here.get("properties", {})]
        return f"must be one of the known keys (got {shown(name)}){nearest(str(name), known)}"
    wants = [want for error in errors if (want := _want(error, schema.at(root, error["loc"])))]
    if not wants:
        return head["msg"]
    got = head["ctx"]["tag"] if head["type"] == "union_tag_invalid" else head["input"]
    return f"must {_either(wants)} (got {shown(got)}){_advice(errors, got)}"


def _want(error: ErrorDetails, schemas: list[JsonSchema]) -> str:
    """Return what must be, as what follows 'must'; empty where pydantic's message cannot be said so."""
    if error["type"] in _LISTS:
        return f"be {_lists(schemas)}"
    if error["type"] in _NOUNS:
        return f"be {_NOUNS[error['type']]}"
    context = error.get("ctx", {})
    if str(context.get("discriminator")).startswith("'"):
        is_missing = error["type"] == "union_tag_not_found"
        return f"have the key {context['discriminator']}" if is_missing else f"be one of {context['expected_tags']}"
    should = _SHOULD.fullmatch(error["msg"])
    return should["what"] if should else ""


def _lists(schemas: list[JsonSchema]) -> str:
    lists = [schema for schema in schemas if schema.get("type") == "array"]
    return _either([_list(schema) for schema in lists]) if lists else "a list"


def _list(schema: JsonSchema) -> str:
    fixed = schema.get("prefixItems", [])
    plurals = dict.fromkeys(_PLURALS.get(item.get("type"), "values") for item in fixed or [schema.get("items", {})])
    return f"a list of {f'{len(fixed)} ' if fixed else ''}{_either(list(plurals))}"


def _either(wants: list[str]) -> str:
    """Join alternatives; `be` is said once."""
    first, *others = dict.fromkeys(wants)
    *head, last = [first, *(other.removeprefix("be ") if first.startswith("be ") else other for other in others)]
    return f"{', '.join(head)} or {last}" if head else last


def _advice(errors: list[ErrorDetails], got: object) -> str:
    if isinstance(got, str):
        choices = " ".join(
            str(error["ctx"].get(_CHOICES[error["type"]])) for error in errors if error["type"] in _CHOICES
        )
        return nearest(got, re.findall("'([^']*)'", choices))
    is_text_wanted = any(error["type"] == "string_type" for error in errors)
    return "; put it in quotes" if is_text_wanted and isinstance(got, int | float) else ""


class _Schema:
    """A model's JSON schema: pydantic's public answer to which keys and items there are at a place."""

    def __init__(self, model: type[BaseModel]) -> None:
        with warnings.catch_warnings():
            # A default that JSON cannot say is none of our business.
            warnings.simplefilter("ignore")
            try:
                self._root: JsonSchema = model.model_json_schema()
            except PydanticUserError:
                # A type of the model has no JSON schema: the messages do without suggestions.
                self._root = {}

    def at(self, root: Node, location: Location) -> list[JsonSchema]:
        """Return what may stand at a location; a union gives several, of which its tags in the location choose."""
        node, schemas = root, list(self._alternatives(self._root))
        for segment in location:
            if segment in node.parts:
                node = node.parts[segment]
                inner = [_inner(schema, segment) for schema in schemas]
                schemas = [alternative for schema in inner for alternative in self._alternatives(schema)]
            else:
                schemas = [schema for schema in schemas if _is_tagged(schema, segment)] or schemas
        return schemas

    def _alternatives(self, schema: JsonSchema) -> Iterator[JsonSchema]:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        parts = [self._root["$defs"][name]] if name else schema.get("anyOf", schema.get("oneOf"))
        if parts is None:
            yield schema
        for part in parts or ():
            yield from self._alternatives(part)


def _inner(schema: JsonSchema, segment: int | str) -> JsonSchema:
    """Return the schema of one part of a list or mapping; an empty one where it says nothing of it."""
    if isinstance(segment, int):
        fixed: list[JsonSchema] = schema.get("prefixItems", [])
        inner = fixed[segment] if segment < len(fixed) else schema.get("items")
    else:
        others = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
        inner = schema.get("properties", {}).get(segment, others[0])
    return inner if isinstance(inner, dict) else {}


def _is_tagged(schema: JsonSchema, tag: int | str) -> bool:
    """Tell whether a union calls this member so: by its class, or by the value of a discriminator."""
    return tag == schema.get("title") or any(tag == key.get("const") for key in schema.get("properties", {}).values())
