"""Parts of the models of files, made so that pydantic's errors tell the user what to do."""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from tconv.nearest_word import nearest
from tconv.shown_texts import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

T = TypeVar("T")


class Part(BaseModel):
    """A mapping of a file: closed, frozen, and without conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def known_keys(model: type[Part], location: Iterable[str | int]) -> list[str]:
    """Return the keys of the mapping at a location of the file; of a union, those of all its members."""
    types: list[Any] = [model]
    for segment in location:
        types = [member for outer in types for inner in _inner(outer, segment) for member in _members(inner)]
    return [key for part in types if _is_part(part) for key in _fields(part)]


def _inner(outer: Any, segment: str | int) -> Iterator[Any]:  # noqa: ANN401 - any type
    """Return the type of a part of a value of the type `outer`, or nothing where it has no such part."""
    if _is_part(outer) and segment in _fields(outer):
        yield _fields(outer)[segment]
    elif get_origin(outer) is (list if isinstance(segment, int) else dict):
        yield get_args(outer)[-1]


def _members(annotation: Any) -> Iterator[Any]:  # noqa: ANN401 - any type
    """Return the members of a union, or the type itself, without what annotates them."""
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
    """Accept only these words, and suggest the nearest for another."""

    def check(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be {what} (got {text!r}){nearest(text, words)}")
        return text

    return AfterValidator(check)


def _is_known_format(version: int) -> int:
    if version != 1:
        raise ValueError(f"must be 1 (got {shown(version)})")
    return version


Format = Annotated[int, AfterValidator(_is_known_format), Field(json_schema_extra={"const": 1})]
"""The version of a file's format, of which there is one."""


def _list_of(items: str) -> BeforeValidator:
    """Name the items in the error for a value that is no list; pydantic says only that it must be a list."""

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
