"""Hostile strings from every side through every output: terminal, pages, Markdown, XML, records."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from campaign import Surroundings, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RUN = ("run", "--cases", "cases.yaml", "--tier", "full", "--waivers", "none", "--backend", "wrong_backends:PadsSwapped")
STRINGS = (
    "\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\0", "\x85", "\r", "\u2028", "\u2029", "\u202e", "\u2066", "\ud800", "\udcff",
    "\ufeff", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- x", "]]>", "[x](javascript:x)", "`", "|",
    "[bold red]x[/]", "{{ 7 * 7 }}", "\n# heading", "& &lt;",
)  # fmt: skip
PLACES: dict[str, Callable[[list[Any], str], object]] = {
    "backend": lambda lines, text: [
        lines[0]["run"]["backend"].update(name=f"a{text}"),
        *(line.update(backend=f"a{text}") for line in lines[1:]),
    ],
    "version": lambda lines, text: lines[0]["run"]["backend"].update(version=f"1{text}"),
    "environment": lambda lines, text: lines[0]["run"]["backend"].update(environment={f"k{text}": text}),
    "option": lambda lines, text: lines[0]["run"]["backend"].update(options={"key": text}),
    "machine": lambda lines, text: lines[0]["run"]["backend"].update(machine={"processor": text}),
    "path": lambda lines, text: lines[0]["run"].update(path=text),
    "refusal": lambda lines, text: lines[1].update(verdict={"kind": "refused-valid", "message": f"no {text}"}),
    "death": lambda lines, text: lines[1].update(
        verdict={"kind": "crashed", "cause": text, "stderr": f"{text}\n{text}"}
    ),
    "described": lambda lines, text: lines[1].update(described=text),
    "earlier": lambda lines, text: lines[1].update(earlier=[text]),
    "artifact": lambda lines, text: lines[1].update(artifact=text),
}


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tally of each output; `count` limits the strings."""
    del seed
    from in_process import command  # noqa: PLC0415 - it imports tconv

    tallies = {name: Tally(f"hostile strings: {name}") for name in ("page", "JUnit", "arguments")}
    with Surroundings() as surroundings:
        surroundings.run(*RUN)
        text = next((surroundings.folder / "reports").glob("*.jsonl")).read_text()
        records = surroundings.folder / "reports" / "edited.jsonl"
        for string in STRINGS[:count]:
            for place, put in PLACES.items():
                lines = [json.loads(line) for line in text.splitlines()]
                put(lines, string)
                records.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
                common = ("reports/edited.jsonl", "--cases", "cases.yaml", "--waivers", "none")
                for name, arguments, written, look in (
                    ("page", ("report", *common, "--page", "page.html"), "page.html", _of_html),
                    ("JUnit", ("report", *common, "--junit", "junit.xml"), "junit.xml", ET.fromstring),
                ):
                    code, printed = command(surroundings, *arguments)
                    wrong = None if code in {0, 1, 2} else f"exit code {code}: {printed[-200:]!r}"
                    tallies[name].count(f"{string!r} in {place}", wrong or _looked(surroundings.folder / written, look))
            for arguments in (
                ("list", string),
                ("check", f"x{string}"),
                ("run", "--option", f"a={string}"),
                ("report", f"r{string}"),
            ):
                if not _can_be_an_argument(string):
                    continue
                code, printed = command(surroundings, *(word.replace("\0", "0") for word in arguments))
                wrong = None if code in {0, 1, 2, 3} else f"exit code {code}: {printed[-200:]!r}"
                tallies["arguments"].count(f"{string!r} in {arguments[0]}", wrong)
    yield from tallies.values()


def _can_be_an_argument(text: str) -> bool:
    """Return whether the system could hand a text to a process: half a surrogate pair is no bytes."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _looked(path: Path, look: Callable[[str], object]) -> str | None:
    """Return what is wrong with a file that was written; nothing where there is none."""
    if not path.exists():
        return None
    text = path.read_text(encoding="utf-8")
    path.unlink()
    if controls := {c for c in text if not (c.isprintable() or c in "\n\t\xa0")}:
        return f"control characters {controls!r} in {path.name}"
    try:
        result = look(text)
    except ET.ParseError as error:
        return f"no XML: {error}"
    return result if isinstance(result, str) else None


def _of_html(text: str) -> str | None:
    markup = text.partition("<body")[2]
    return "an element of a text" if "<img src=x" in markup or "<script>alert(1)" in markup else None
