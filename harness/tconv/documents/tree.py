"""YAML text as a tree of plain values with their places, by the core schema of YAML 1.2.

PyYAML supplies the events of the text. Its composers are not used: they do not store the places of aliases, and the one
of libyaml ends the process if lists are nested deeply. Every limit is checked at the event that exceeds it, so nothing
large is ever built.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from tconv.errors import FileError
from tconv.shown_texts import one_line, printable, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from yaml.events import Event

Scalar: TypeAlias = str | int | float | bool | None


_INTEGER = "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_NUMBER = (
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(inf|Inf|INF)"
    r"|\.(nan|NaN|NAN)"
)

# A text without quotes has the first kind whose pattern it matches.
KINDS: Final = {
    "null": re.compile("null|Null|NULL|~|"),
    "bool": re.compile("true|True|TRUE|false|False|FALSE"),
    "int": re.compile(_INTEGER),
    "float": re.compile(_NUMBER),
    "str": re.compile("(?s:.*)"),
}


def value_of(kind: str, text: str) -> Scalar:
    """Return the value of a text of one of `KINDS`."""
    match kind:
        case "null":
            return None
        case "bool":
            return text[0] in "tT"
        case "int":
            return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
        case "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        case _:
            return text


# A large file repeats few texts, and each is compared with up to five patterns.
@lru_cache(maxsize=4096)
def kind_of(text: str) -> str:
    """Return the name of the kind of a text without quotes."""
    return next(name for name, pattern in KINDS.items() if pattern.fullmatch(text))


Plain: TypeAlias = "dict[str, Plain] | list[Plain] | Scalar"
Place: TypeAlias = tuple[int, int]
_Value: TypeAlias = AliasEvent | ScalarEvent | CollectionStartEvent

MAX_VALUES: Final = 200_000
MAX_DEPTH: Final = 32
MAX_DIGITS: Final = 100

# libyaml is much faster, if PyYAML was built with it.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Characters that YAML 1.2 forbids, a byte order mark in the middle, and characters that end a line only in YAML 1.1. A
# key of one version could be a part of a comment in the other.
_UNREADABLE = re.compile("[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_LINE_END = re.compile("\r\n|\r|\n")
_TAB_AS_INDENTATION = re.compile(r"[ ?:-]*\t\s*")

_CORE_TAG = "tag:yaml.org,2002:"


class Node(NamedTuple):
    """A value, its place, and its parts.

    Attributes:
        place: 1-based line and column; for an alias, those of the alias.
        key: the place of its key; outside of a mapping, its own place.
        value: the plain value; an alias shares it with its anchor.
        parts: the parts of a list or mapping, by index or key.
    """

    place: Place
    key: Place
    value: Plain
    parts: Mapping[str | int, Node] = MappingProxyType({})


def compose(path: Path, text: str) -> Node:
    """Compose the one document of a YAML text.

    Args:
        path: the file that errors name.
        text: its text, without a byte order mark.

    Returns:
        The root of the tree.

    Raises:
        FileError: the text is not YAML, has a feature that is not allowed, or exceeds a limit.
    """
    if match := _UNREADABLE.search(text):
        message = f"must be printable text (got {match[0]!a}); leave it out"
        raise FileError(path, message, *place_after(text[: match.start()]))
    try:
        root = _Composer(path, text).root()
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # ValueError and OverflowError: PyYAML without libyaml does not check the range of escapes and versions.
        raise _syntax_error(path, text, error) from error
    if root is None:
        raise FileError(path, "must hold a YAML document (got an empty file); write it, or remove the file")
    return root


def place_after(text: str) -> Place:
    """Return the 1-based line and column of the character after `text`."""
    lines = _LINE_END.split(text)
    return len(lines), len(lines[-1]) + 1


def _syntax_error(path: Path, text: str, error: Exception) -> FileError:
    problem, context = getattr(error, "problem", None) or str(error), getattr(error, "context", None)
    mark, start = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if mark is None:
        return FileError(path, f"must be YAML (got: {one_line(problem)}); correct the text")
    # If the last line has no newline, libyaml places its end in the next line.
    place = min((mark.line + 1, mark.column + 1), place_after(text))
    before = _LINE_END.split(text)[place[0] - 1][: place[1]]
    if _TAB_AS_INDENTATION.fullmatch(before):
        message = "indentation must be spaces (got a tab); replace it by spaces"
        return FileError(path, message, place[0], before.index("\t") + 1)
    if context:
        problem += f", {context}" + (f" that starts at line {start.line + 1}" if start else "")
    message = f"must be YAML (got: {one_line(problem)}); check indentation, quotes and brackets"
    return FileError(path, message, *place)


class _Composer:
    """Composes the events of a text into a tree."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        # A scalar is stored as its event, as it may be a key or a value. None is a list or mapping that is still open.
        self._anchors: dict[str | None, Node | ScalarEvent | None] = {}
        self._values = 0

    def root(self) -> Node | None:
        """Return the value of the one document; None if there is no document."""
        root = None
        for event in self._events:
            if isinstance(event, DocumentStartEvent) and root:
                self._refuse(event, "must be one document (got a second one); put it in a file of its own")
            if isinstance(event, _Value):
                root = self._value(event, _place(event), 0)
        return root

    def _refuse(self, event: Event, message: str) -> NoReturn:
        raise FileError(self._path, message, *_place(event))

    def _value(self, event: _Value, key: Place, depth: int) -> Node:
        """Return the value that begins with the event, inside `depth` lists and mappings."""
        match target := self._target(event):
            case Node():
                self._count_again(event, target, depth)
                return target._replace(place=_place(event), key=key)
            case ScalarEvent():
                self._count(event, depth)
                return Node(_place(event), key, self._scalar(event, target))
            case _:
                self._count(event, depth + 1)
                parts = self._parts(target, depth + 1)
                plain = {name: part.value for name, part in parts.items()}
                is_list = isinstance(target, SequenceStartEvent)
                node = Node(_place(event), key, list(plain.values()) if is_list else plain, parts)
                # An anchor of the same name inside it is the later one, and counts.
                if self._anchors[target.anchor] is None:
                    self._anchors[target.anchor] = node
                return node

    def _target(self, event: _Value) -> Node | ScalarEvent | CollectionStartEvent:
        """Return the event itself, or the target of an alias."""
        if isinstance(event, AliasEvent):
            alias = shown(f"*{event.anchor}")
            if event.anchor not in self._anchors:
                self._refuse(event, f"must name an anchor that stands above (got {alias}); set it there")
            if (target := self._anchors[event.anchor]) is None:
                self._refuse(event, f"must not contain itself (got {alias}); write the value out")
            return target
        if isinstance(event, ScalarEvent) and not event.value.isprintable() and printable(event.value) != event.value:
            # An escape in double quotes, for example, would reach a terminal with the text.
            self._refuse(event, f"must be printable text (got {shown(event.value)}); leave the characters out")
        if event.tag is not None:
            tag = shown(event.tag.replace(_CORE_TAG, "!!"))
            self._refuse(event, f"must be a plain value (got the tag {tag}); leave the tag out")
        self._anchors[event.anchor] = event if isinstance(event, ScalarEvent) else None
        return event

    def _parts(self, start: CollectionStartEvent, depth: int) -> dict[Any, Node]:
        parts: dict[Any, Node] = {}
        while not isinstance(event := next(self._events), CollectionEndEvent):
            if isinstance(start, SequenceStartEvent):
                parts[len(parts)] = self._value(event, _place(event), depth)
                continue
            key = self._target(event)
            if not isinstance(key, ScalarEvent):
                message = "must have words as keys (got a list or a mapping); put text with brackets in quotes"
                self._refuse(event, message)
            # Keys are texts: 1 is the key "1", although the value 1 is an integer.
            if first := parts.get(key.value):
                message = f"must have each key once (got {shown(key.value)}, as in line {first.key[0]}); remove one"
                self._refuse(event, message)
            parts[key.value] = self._value(next(self._events), _place(event), depth)
        return parts

    def _scalar(self, event: _Value, written: ScalarEvent) -> Scalar:
        text = written.value
        kind = kind_of(text) if written.implicit[0] else "str"
        if kind == "int" and len(text.lstrip("+-")) > MAX_DIGITS:
            message = f"must be an integer of at most {MAX_DIGITS} digits (got {shown(text)}); quote it as text"
            self._refuse(event, message)
        return value_of(kind, text)

    def _count_again(self, alias: Event, node: Node, depth: int) -> None:
        """Count the values of an alias, up to the limits."""
        depth += isinstance(node.value, dict | list)
        self._count(alias, depth)
        for part in node.parts.values():
            self._count_again(alias, part, depth)

    def _count(self, event: Event, depth: int) -> None:
        self._values += 1
        if depth > MAX_DEPTH:
            self._refuse(event, f"must be at most {MAX_DEPTH} lists and mappings deep (got more); make it flatter")
        if self._values > MAX_VALUES:
            self._refuse(event, f"must hold at most {MAX_VALUES} values, aliases expanded (got more); split the file")


def _place(event: Event) -> Place:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
