"""YAML text as a tree of plain values that know their places, by the core schema of YAML 1.2.

PyYAML only supplies the events of the text. They are composed here, in one pass without recursion, because the
composer of PyYAML recurses, resolves by YAML 1.1 and forgets where an alias stands. Every limit is checked on the
event that breaks it, so nothing large is ever built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

import yaml
from yaml import AliasEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent
from yaml.events import CollectionEndEvent, CollectionStartEvent, DocumentStartEvent

from tconv.documents.scalars import KINDS, Scalar, kind_of
from tconv.errors import FileError, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from yaml.events import Event

Plain: TypeAlias = "dict[str, Plain] | list[Plain] | Scalar"
Place: TypeAlias = tuple[int, int]

MAX_CHARACTERS: Final = 4 * 2**20
MAX_VALUES: Final = 200_000
MAX_DEPTH: Final = 32
MAX_DIGITS: Final = 100

# libyaml where PyYAML was built with it: it is much faster.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What YAML 1.2 forbids, a byte order mark in the middle, and what YAML 1.1 alone takes for the end of a line: with the
# last, a comment of one reader would be a key of another.
_UNREADABLE = re.compile("[^\t\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
# Only PyYAML without libyaml lets escapes name them.
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile("\r\n|\r|\n")
_TAB_AS_INDENTATION = re.compile(r"[ ?:-]*\t\s*")
_YAML = "tag:yaml.org,2002:"


@dataclass(slots=True)
class Node:
    """A value, where it stands, and its parts.

    Attributes:
        place: 1-based line and column; of an alias, where the alias stands.
        value: the plain value; an alias shares it with its anchor.
        parts: the parts of a list or mapping, by index or key.
        keys: where each key of a mapping stands.
        values: how many values this is once aliases are written out.
        characters: how much text this is once aliases are written out.
        depth: the levels of lists and mappings in it, itself included.
    """

    place: Place
    value: Plain
    parts: dict[str | int, Node] = field(default_factory=dict)
    keys: dict[str, Place] = field(default_factory=dict)
    values: int = 1
    characters: int = 0
    depth: int = 0


def compose(path: Path, text: str) -> Node:
    """Compose the one document of a YAML text.

    Args:
        path: the file that errors name.
        text: its text, without a byte order mark.

    Returns:
        The root of the tree.

    Raises:
        FileError: the text is not YAML, holds what a plain file must not, or exceeds a limit.
    """
    _refuse_unreadable(path, text)
    composer = _Composer(path)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            composer.take(event)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # The latter two: escapes and versions out of range, which PyYAML without libyaml does not check.
        raise _syntax_error(path, text, error) from error
    if composer.root is None:
        raise FileError(path, "must hold a YAML document (got an empty file); write it, or remove the file")
    return composer.root


def place_after(text: str) -> Place:
    """Return the 1-based line and column at which the character after `text` stands."""
    lines = _LINE_END.split(text)
    return len(lines), len(lines[-1]) + 1


def _refuse_unreadable(path: Path, text: str) -> None:
    if found := _UNREADABLE.search(text):
        message = f"must be printable text (got {found[0]!a}); write it as an escape in double quotes"
        raise FileError(path, message, *place_after(text[: found.start()]))


def _syntax_error(path: Path, text: str, error: Exception) -> FileError:
    problem, context = getattr(error, "problem", None) or str(error), getattr(error, "context", None)
    mark, start = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if mark is None:
        return FileError(path, f"must be YAML (got: {one_line(problem)}); correct the text")
    lines = _LINE_END.split(text)
    if mark.line >= len(lines):
        # libyaml puts the end of a last line without an end into the line after it.
        line, column = place_after(text)
    else:
        line, column = mark.line + 1, mark.column + 1
    before = lines[line - 1][:column]
    if _TAB_AS_INDENTATION.fullmatch(before):
        message = "indentation must be spaces (got a tab); replace it by spaces"
        return FileError(path, message, line, before.index("\t") + 1)
    if context:
        problem += f", {context}" + (f" that starts at line {start.line + 1}" if start else "")
    message = f"must be YAML (got: {one_line(problem)}); check indentation, quotes and brackets"
    return FileError(path, message, line, column)


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come, and the key that waits for its value."""

    node: Node
    key: tuple[str, Place] | None = None


class _Composer:
    """Composes events into a tree.

    Attributes:
        root: the document's value; None until it is complete.
    """

    def __init__(self, path: Path) -> None:
        self.root: Node | None = None
        self._path = path
        self._open: list[_Open] = []
        self._anchors: dict[str, Node | ScalarEvent] = {}
        self._values = 0
        self._characters = 0

    def take(self, event: Event) -> None:
        """Take the next event, or raise a FileError at its place."""
        mark = event.start_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        match event:
            case ScalarEvent():
                self._scalar(event, place)
            case AliasEvent():
                self._alias(event, place)
            case SequenceStartEvent() | MappingStartEvent():
                self._start(event, place)
            case CollectionEndEvent():
                self._attach(self._open.pop().node)
            case DocumentStartEvent() if self.root:
                self._refuse(place, "must be one document (got a second one); put it in a file of its own")

    def _refuse(self, place: Place, message: str) -> NoReturn:
        raise FileError(self._path, message, *place)

    def _scalar(self, event: ScalarEvent, place: Place) -> None:
        if event.anchor:
            self._anchors[event.anchor] = event
        if _HALF_CHARACTER.search(event.value):
            self._refuse(place, f"must be whole characters (got {shown(event.value)}); write them without escapes")
        is_key = self._expects_key()
        self._count(place, 0 if is_key else 1, len(event.value), 0)
        if is_key:
            self._tag(event.tag, place, KINDS)
            self._take_key(event.value, place)
        else:
            self._attach(Node(place, self._resolve(event, place), characters=len(event.value)))

    def _alias(self, event: AliasEvent, place: Place) -> None:
        name = event.anchor or ""
        target = self._anchors.get(name)
        if isinstance(target, ScalarEvent):
            # As if it were written here: a key keeps its text, a value is resolved.
            self._scalar(target, place)
        elif target is None:
            self._refuse(place, f"must name an anchor that stands above (got {shown('*' + name)}); set it there")
        elif any(opened.node is target for opened in self._open):
            self._refuse(place, f"must not contain itself (got {shown('*' + name)}); write the value out")
        else:
            self._refuse_as_key(place)
            self._count(place, target.values, target.characters, target.depth)
            self._attach(replace(target, place=place))

    def _start(self, event: CollectionStartEvent, place: Place) -> None:
        is_mapping = isinstance(event, MappingStartEvent)
        self._tag(event.tag, place, {"map" if is_mapping else "seq"})
        self._refuse_as_key(place)
        self._count(place, 1, 0, 1)
        node = Node(place, {} if is_mapping else [], depth=1)
        if event.anchor:
            self._anchors[event.anchor] = node
        self._open.append(_Open(node))

    def _attach(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        opened = self._open[-1]
        parent = opened.node
        if isinstance(parent.value, dict) and opened.key:
            name, parent.keys[name] = opened.key[0], opened.key[1]
            parent.value[name], parent.parts[name] = node.value, node
            parent.characters += len(name)
            opened.key = None
        elif isinstance(parent.value, list):
            parent.parts[len(parent.value)] = node
            parent.value.append(node.value)
        parent.values += node.values
        parent.characters += node.characters
        parent.depth = max(parent.depth, node.depth + 1)

    def _expects_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].node.value, dict) and not self._open[-1].key

    def _refuse_as_key(self, place: Place) -> None:
        if self._expects_key():
            self._refuse(place, "must have words as keys (got a list or a mapping); put text with brackets in quotes")

    def _take_key(self, text: str, place: Place) -> None:
        opened = self._open[-1]
        if text in opened.node.keys:
            first = opened.node.keys[text][0]
            self._refuse(place, f"must have each key once (got {shown(text)}, as in line {first}); remove one")
        opened.key = (text, place)

    def _tag(self, tag: str | None, place: Place, known: Container[str]) -> str | None:
        if tag is None or tag == "!":
            return None
        name = tag.removeprefix(_YAML)
        if name == tag or name not in known:
            written = f"!!{name}" if name != tag else tag
            self._refuse(place, f"must be a plain value (got the tag {shown(written)}); leave the tag out")
        return name

    def _resolve(self, event: ScalarEvent, place: Place) -> Scalar:
        text, is_plain = event.value, event.tag is None and event.implicit[0]
        name = self._tag(event.tag, place, KINDS) or (kind_of(text) if is_plain else "str")
        if not KINDS[name].pattern.fullmatch(text):
            self._refuse(place, f"must be what its tag !!{name} says (got {shown(text)}); leave the tag out")
        if name == "int" and len(text.lstrip("+-")) > MAX_DIGITS:
            message = f"must be an integer of at most {MAX_DIGITS} digits (got {shown(text)}); quote it as text"
            self._refuse(place, message)
        return KINDS[name].value(text)

    def _count(self, place: Place, values: int, characters: int, depth: int) -> None:
        self._values += values
        self._characters += characters
        if len(self._open) + depth > MAX_DEPTH:
            self._refuse(place, f"must be at most {MAX_DEPTH} lists and mappings deep (got more); make it flatter")
        if self._values > MAX_VALUES:
            self._refuse(place, f"must hold at most {MAX_VALUES} values, aliases expanded (got more); split the file")
        if self._characters > MAX_CHARACTERS:
            self._refuse(place, f"must hold at most {MAX_CHARACTERS} characters, aliases expanded (got more); split it")
