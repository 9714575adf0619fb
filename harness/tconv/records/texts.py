"""The texts of records: printable whoever wrote them, as they stand on terminals and pages afterwards."""

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
"""A name or a version, which file names are made of."""
_PRINTABLE = bytes(range(ord(" "), ord("~") + 1))
_LONGEST_TEXT = 20_000
"""Characters of a runtime's message: hundreds of them are on one page."""


def file_name_part(text: str, longest: int) -> str:
    """Return a part of a file's name; of one that is too long the beginning, and a digest of the whole."""
    if len(text) <= longest:
        return text
    digest = blake2b(text.encode(errors="surrogateescape"), digest_size=8).hexdigest()
    return f"{text[: longest - len(digest) - 1]}-{digest}"


def printable_line(line: bytes) -> bytes:
    """Return a line of a record file with all of its texts printable; one that is no JSON stays as it is."""
    if not line.translate(None, _PRINTABLE) and b"\\" not in line:
        return line
    try:
        return json.dumps(with_plain_values(json.loads(line.decode("utf-8", "backslashreplace")))).encode()
    except (ValueError, RecursionError):
        return line


def with_plain_values(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Return what JSON can say of a value: texts printable and not too long, NaN and infinities as texts."""
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
