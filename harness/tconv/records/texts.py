"""The texts of records. They are made printable, as terminals and pages show them."""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tconv.shown_texts import printable, shortened


def _printable(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_printable)]
"""Text from a runtime or a user."""
Name = Annotated[Text, Field(min_length=1, max_length=100)]
"""A name or a version; file names are made of it."""
_PRINTABLE = bytes(range(ord(" "), ord("~") + 1))
_LONGEST_TEXT = 20_000
"""Characters of a runtime's message: a page may have hundreds of messages."""


def file_name_part(text: str, longest: int) -> str:
    """Return a text as a part of a file's name; if it is too long, its beginning and a digest."""
    if len(text) <= longest:
        return text
    digest = blake2b(text.encode(errors="surrogateescape"), digest_size=8).hexdigest()
    return f"{text[: longest - len(digest) - 1]}-{digest}"


def printable_line(line: bytes) -> bytes:
    """Return a line of a record file with printable texts; a line that is no JSON is returned unchanged."""
    if not line.translate(None, _PRINTABLE) and b"\\" not in line:
        return line
    try:
        return json.dumps(with_plain_values(json.loads(line.decode("utf-8", "backslashreplace")))).encode()
    except (ValueError, RecursionError):
        return line


def with_plain_values(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Return a value for JSON: its texts are printable and not too long, NaN and infinities become texts."""
    match value:
        case str():
            return shortened(printable(value), _LONGEST_TEXT)
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
        case list():
            return [with_plain_values(item) for item in value]
        case dict():
            return {printable(key): with_plain_values(item) for key, item in value.items()}
        case _:
            return value
