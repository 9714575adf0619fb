"""Errors; their messages say what must be, what was got, and what to do.

Every error that a user can cause is a `TconvError`; it carries the exit code that the command ends with.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeVar
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

T = TypeVar("T")


class TconvError(Exception):
    """An error with a message for a person; `exit_code` is the command's exit code."""

    exit_code: ClassVar[int] = 2


class UsageError(TconvError):
    """The command line or an argument of the API is not as it must be."""


class DialectError(UsageError):
    """A backend was asked to speak a dialect that it does not speak."""


class OptionError(UsageError):
    """A backend was given an option that it does not have, or a value that the option may not have."""


class FileError(TconvError):
    """Something is wrong at a place in a file.

    Args:
        path: the file.
        message: what must be, what was got, what to do; one line.
        line: 1-based; None where the whole file is meant.
        column: 1-based; None where the whole line is meant.
    """

    def __init__(self, path: Path, message: str, line: int | None = None, column: int | None = None) -> None:
        self.path = path
        self.message = message
        self.line = line
        self.column = column
        place = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(printable(f"{place}: {message}"))


class FileErrors(FileError):  # noqa: N818 - it is several
    """Several errors of files, told together, each in a line of its own.

    Args:
        errors: at least two, in the order in which they are told.
    """

    def __init__(self, errors: Sequence[FileError]) -> None:
        first = errors[0]
        super().__init__(first.path, first.message, first.line, first.column)
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return "\n".join(map(str, self.errors))


def together(errors: Iterable[FileError]) -> FileError:
    """Return one error, or several as one, in the order of their places in each file."""
    several = [one for error in errors for one in (error.errors if isinstance(error, FileErrors) else (error,))]
    paths = list(dict.fromkeys(error.path for error in several))
    several.sort(key=lambda error: (paths.index(error.path), error.line or 0, error.column or 0))
    return several[0] if len(several) == 1 else FileErrors(several)


def made(makers: Iterable[Callable[[], T]]) -> list[T]:
    """Return what all of them make.

    Raises:
        FileError: some raised one; all of these are told together.
    """
    results, errors = [], []
    for make in makers:
        try:
            results.append(make())
        except FileError as error:
            errors.append(error)
    if errors:
        raise together(errors)
    return results


@contextmanager
def writing(path: Path, what: Literal["file", "folder"] = "file") -> Iterator[None]:
    """Report as a `FileError` that the system refuses to write something.

    Args:
        path: the file or folder that is written inside of this context.
        what: which of both it is.

    Raises:
        FileError: the system refused.
    """
    try:
        yield
    except OSError as error:
        raise FileError(path, f"must be a {what} that can be written ({error.strerror})") from None


class BackendMissing(TconvError):  # noqa: N818 - a state of the machine, not a fault of the program
    """A backend was asked for that is not there, or that does not start."""

    exit_code = 3


class BackendLost(BackendMissing):
    """A backend was there, and does not start again after it died."""


class ClusterError(TconvError):
    """A cluster cannot be had, its workers would not judge alike, or none of them is left."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Violation:
    """A constraint that does not hold.

    Attributes:
        constraint: its name.
        attribute: the attribute or input at fault.
        must: what must hold of it.
        got: what was found.
        clause: the words of the dialect's text that state the constraint; empty before a dialect adds them.
    """

    constraint: str
    attribute: str
    must: str
    got: str
    clause: str = ""

    def __str__(self) -> str:
        return f"{self.attribute} {self.must} (got {self.got}) [{self.constraint}: {self.clause}]"


class Invalid(ValueError):  # noqa: N818 - a public name
    """Attributes or shapes violate a constraint that the dialect states.

    Attributes:
        constraint: the constraint's name.
        attribute: the attribute or input at fault.
        must: what must hold.
        got: what was given.
        cites: the clause of the dialect's text.
    """

    def __init__(self, violation: Violation) -> None:
        self.constraint, self.attribute = violation.constraint, violation.attribute
        self.must, self.got, self.cites = violation.must, violation.got, violation.clause
        super().__init__(str(violation))


_ELSEWHERE: Final = {
    "stride": ("strides",),
    "dilation": ("dilations",),
    "kernel_size": ("kernel",),
    "padding": ("pads_begin", "pads_end"),
    "pads": ("pads_begin", "pads_end"),
    "group": ("groups",),
    "notset": ("explicit",),
    "nchw": ("NCX",),
    "ncdhw": ("NCX",),
    "ncw": ("NCX",),
    "nhwc": ("NXC",),
    "ndhwc": ("NXC",),
    "nwc": ("NXC",),
    "float32": ("f32",),
    "float": ("f32",),
    "float16": ("f16",),
    "half": ("f16",),
    "bfloat16": ("bf16",),
    "float64": ("f64",),
    "double": ("f64",),
}
"""What other tools call it, in small letters."""
_FEW = 3
"""Words that may all have been meant."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return '; did you mean X?' for the known word nearest to `word`, or an empty text where none is near.

    Capitals do not count, and words of other tools mean what these call so: 'SAME_UPPER', 'stride', 'NHWC'.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only errors need it, and every command would wait for it

    words = {text.lower(): text for text in map(str, known)}
    meant = [text for text in _ELSEWHERE.get(word.lower(), ()) if text.lower() in words]
    versions = _versions(word.lower(), words)
    match = meant or versions or [words[text] for text in get_close_matches(word.lower(), words, n=1, cutoff=0.6)]
    if not match and word:
        # The beginning of a long name, such as 'openvino' of its dialects; of many it says nothing.
        match = [words[text] for text in words if text.startswith(word.lower())]
    if not match or len(match) > _FEW:
        return ""
    *others, last = map(repr, match)
    joint = " and " if meant else " or "
    return f"; did you mean {joint.join(filter(None, (', '.join(others), last)))}?"


def _versions(word: str, words: Mapping[str, str]) -> list[str]:
    """Return what a word with another version number may mean, such as `name-11` for `name-12`.

    A number that is the beginning of a known one may be cut off. Another means the last version before it, which holds
    until the next. Without a number all versions may be meant.
    """
    given = _VERSIONED.fullmatch(word)
    name, number = (given[1], given[2]) if given else (word, "")
    split = ((_VERSIONED.fullmatch(text), names) for text, names in words.items())
    found = sorted((int(form[2]), text) for form, text in split if form and f"/{form[1]}".endswith(f"/{name}"))
    begun = [text for version, text in found if str(version).startswith(number)]
    return begun or [text for version, text in found if version <= int(number)][-1:]


_VERSIONED = re.compile(r"(.+)-([0-9]{1,9})")


def printable(text: str) -> str:
    """Return text from outside with an escape for every character that is no part of what a reader sees.

    A terminal acts on control characters, an editor on those that turn the direction of writing; half of a surrogate
    pair cannot be written at all. Spaces of all widths, newlines and tabs stay.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else repr(c)[1:-1] for c in text)


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
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 3]}..."
