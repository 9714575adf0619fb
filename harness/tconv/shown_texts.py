"""Texts from outside for messages: printable, in one line, and not too long."""

from __future__ import annotations

import re
from unicodedata import category


def printable(text: str) -> str:
    """Return a text with an escape for every character that a reader does not see.

    A terminal obeys control characters, and an editor those that change the direction of writing. Half of a surrogate
    pair cannot be written at all. Spaces of all widths, newlines and tabs stay.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else repr(c)[1:-1] for c in text)


_LONGEST = 4000
"""Characters of a backend's text that are kept; no known runtime writes more in one message."""


def plain(text: str, width: int = _LONGEST) -> str:
    """Return a backend's text as a `str` of at most `width` characters; no method of a subclass is called."""
    return shortened(str.__str__(text), width)


def raised(error: Exception) -> str:
    """Return an exception of a backend in words; its type alone if its text raises."""
    try:
        return plain(f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 - it is the backend's own code
        return type(error).__name__


def one_line(text: str) -> str:
    """Return the text in one line, and printable."""
    return printable(" ".join(text.split()))


def shortened(text: str, width: int) -> str:
    """Return a text of at most `width` characters; a longer one loses its middle. No short word is cut."""
    if len(text) <= width:
        return text
    half = (width - len(_LEFT_OUT)) // 2
    begin = re.sub(r"\s\S{0,20}$", "", text[: width - len(_LEFT_OUT) - half])
    end = re.sub(r"^\S{0,20}\s", "", text[len(text) - half :])
    return f"{begin}{_LEFT_OUT}{end}"


_LEFT_OUT = " ... "


def shown(value: object, width: int = 60) -> str:
    """Return a value for a message: its repr, which escapes control characters, cut to `width`."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value of a caller, such as an integer of more digits than Python prints
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= width else f"{text[: width - 3]}..."
