"""How messages show texts from outside: printable, in one line, and not too long."""

from __future__ import annotations

from unicodedata import category


def printable(text: str) -> str:
    """Return text from outside with an escape for every character that is no part of what a reader sees.

    A terminal acts on control characters, an editor on those that turn the direction of writing; half of a surrogate
    pair cannot be written at all. Spaces of all widths, newlines and tabs stay.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else repr(c)[1:-1] for c in text)


_LONGEST = 4000
"""Characters of a backend's text that are kept: more than any runtime is known to write in one message."""


def plain(text: str, width: int = _LONGEST) -> str:
    """Return a backend's text as a `str` of at most `width` characters; of a derived class no method is called."""
    return shortened(str.__str__(text), width)


def raised(error: Exception) -> str:
    """Return an exception of a backend in words; its type alone where its text raises."""
    try:
        return plain(f"{type(error).__name__}: {error}")
    except Exception:  # noqa: BLE001 - it is the backend's own code
        return type(error).__name__


def one_line(text: str) -> str:
    """Return the text in one line, and printable."""
    return printable(" ".join(text.split()))


def shortened(text: str, width: int) -> str:
    """Return a text of at most `width` characters; a longer one loses its middle, where messages say least.

    No word is cut that begins or ends near.
    """
    if len(text) <= width:
        return text
    half = (width - len(_LEFT_OUT)) // 2
    return f"{beginning(text, width - len(_LEFT_OUT) - half)}{_LEFT_OUT}{without_beginning(text, len(text) - half)}"


_LEFT_OUT = " ... "
_NEAR = 20
"""Characters that are left out beyond what must be, so that no word is cut."""


def beginning(text: str, width: int) -> str:
    """Return at most `width` characters of the beginning of a text; a word is cut only where it is long."""
    if len(text) <= width:
        return text
    blanks = (at for at in range(width, max(width - _NEAR, width // 2), -1) if text[at].isspace())
    return text[: next(blanks, width)].rstrip()


def without_beginning(text: str, start: int) -> str:
    """Return a text without at least `start` characters of its beginning; a word is cut only where it is long."""
    return text[_word_from(text, start) :]


def _word_from(text: str, start: int) -> int:
    """Return where the next word begins, or `start` where none does near it."""
    last = min(start + _NEAR, (start + len(text)) // 2)
    return next((at for at in range(start, last) if text[at - 1].isspace() and not text[at].isspace()), start)


def shown(value: object, width: int = 60) -> str:
    """Return how a message shows a value: its repr, which escapes control characters, cut to `width`."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value of a caller, such as an integer of more digits than Python prints
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= width else f"{text[: width - 3]}..."
