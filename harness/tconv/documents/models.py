"""Parts of the models of files, made so that pydantic's errors tell the user what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from tconv.errors import nearest, shown

if TYPE_CHECKING:
    from collections.abc import Collection

T = TypeVar("T")

UNKNOWN_KEY = "unknown_key"
"""The type of the error about an unknown key, which is `key` in its context."""


class Part(BaseModel):
    """A mapping of a file: closed, frozen, and without conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_its_keys(cls, value: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
        """Refuse an unknown key before pydantic does, with a suggestion from the known ones."""
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in value if isinstance(value, dict) else ():
            if key not in known:
                must = "must be one of the known keys (got {got}){meant}"
                raise PydanticCustomError(
                    UNKNOWN_KEY, must, {"key": key, "got": shown(key), "meant": nearest(key, known)}
                )
        return value


def known_as(what: str, words: Collection[str]) -> AfterValidator:
    """Accept only these words, and suggest the nearest for another."""

    def check(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be {what} (got {text!r}){nearest(text, words)}")
        return text

    return AfterValidator(check)


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
