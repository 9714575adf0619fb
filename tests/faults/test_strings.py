"""Hostile strings from every side through every output: terminal, page, JUnit."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from faults.place import DOCUMENTED, RUN, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STRINGS = (
    "\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\0", "\x85", "\r", "\u2028", "\u2029", "\u202e", "\u2066", "\ud800", "\udcff",
    "\ufeff", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- x", "]]>", "[x](javascript:x)", "`", "|",
    "[bold red]x[/]", "{{ 7 * 7 }}", "\n# heading", "& &lt;",
)  # fmt: skip


def _backend(lines: list[Any], **values: object) -> None:
    lines[0]["run"]["backend"].update(values)


def _name(lines: list[Any], text: str) -> None:
    _backend(lines, name=text)
    for line in lines[1:]:
        line["backend"] = text


def _crash(lines: list[Any], text: str) -> None:
    lines[1]["verdict"] = {"kind": "crashed", "cause": text, "stderr": f"{text}\n{text}"}


PLACES: dict[str, Callable[[list[Any], str], object]] = {
    "backend": lambda lines, text: _name(lines, f"a{text}"),
    "version": lambda lines, text: _backend(lines, version=f"1{text}"),
    "environment": lambda lines, text: _backend(lines, environment={f"k{text}": text}),
    "option": lambda lines, text: _backend(lines, options={"key": text}),
    "machine": lambda lines, text: _backend(lines, machine={"processor": text}),
    "path": lambda lines, text: lines[0]["run"].update(path=text),
    "refusal": lambda lines, text: lines[1].update(verdict={"kind": "refused-valid", "message": f"no {text}"}),
    "crash": _crash,
    "described": lambda lines, text: lines[1].update(described=text),
    "earlier": lambda lines, text: lines[1].update(earlier=[text]),
    "artifact": lambda lines, text: lines[1].update(artifact=text),
}


@pytest.fixture(scope="module")
def red() -> Iterator[tuple[Place, str]]:
    """Return a place with the records of a red run, and their text."""
    with Place() as place:
        place.run(*RUN, "wrong_backends:PadsSwapped")
        (path,) = (place.folder / "reports").glob("*.jsonl")
        yield place, path.read_text()


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("string", STRINGS, ids=repr)
def test_a_string_of_a_record_stays_a_text(red: tuple[Place, str], string: str, where: str) -> None:
    """It is no element of the page, and XML stays XML."""
    place, text = red
    lines = [json.loads(line) for line in text.splitlines()]
    PLACES[where](lines, string)
    (place.folder / "edited.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    common = ("report", "edited.jsonl", "--cases", "cases.yaml", "--waivers", "none")
    place.command(*common, "--page", "page.html", "--junit", "junit.xml", codes={0, 1, 2})
    for path in (place.folder / "page.html", place.folder / "junit.xml"):
        if path.exists():
            written = path.read_text(encoding="utf-8")
            path.unlink()
            assert not {c for c in written if not (c.isprintable() or c in "\n\t\xa0")}
            if path.suffix == ".xml":
                ET.fromstring(written)  # noqa: S314 - tconv wrote it
            else:
                markup = written.partition("<body")[2]
                assert "<img src=x" not in markup
                assert "<script>alert(1)" not in markup


@pytest.mark.parametrize("string", STRINGS, ids=repr)
@pytest.mark.parametrize(
    "arguments", [("list", "{}"), ("check", "x{}"), ("run", "--option", "a={}"), ("report", "r{}")], ids="-".join
)
def test_a_string_of_the_command_line_is_printed_safely(place: Place, arguments: tuple[str, ...], string: str) -> None:
    """The command ends as documented; half a surrogate pair cannot be an argument."""
    with suppress(UnicodeEncodeError):
        os.fsencode(string)
        place.command(*(word.format(string.replace("\0", "0")) for word in arguments), codes=DOCUMENTED)
