"""The parts of the reference that are made from code: `<!-- generated: NAME -->` on a page stands for one of them."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

import tconv
from tconv.cli import GROUPS, _tconv
from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS, WHERE
from tconv.reports.names import entries
from tconv.reports.words import STATUSES
from tconv.schemas import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tconv.dialects.rules import Answer
    from tconv.reports.names import Entry

_MARK = re.compile(r"^<!-- generated: (?P<name>[\w-]+) -->$", re.MULTILINE)
_WIDTH = 100


def fill(text: str) -> str:
    """Return the text of a page with what its marks stand for."""
    return _MARK.sub(lambda mark: "\n".join(PARTS[mark["name"]]()), text)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield from ("", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|")
    for row in rows:
        yield "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"
    yield ""


def _commands() -> Iterator[str]:
    """Yield the help of each command, by the question that it answers."""
    for group, names in GROUPS.items():
        yield f"\n## {group}\n"
        for name in names:
            yield from _command((name,), _tconv.get_command(click.Context(_tconv), name))


def _command(path: tuple[str, ...], command: click.Command | None) -> Iterator[str]:
    """Yield a command's help as it is printed, and that of the commands below it."""
    assert command is not None  # noqa: S101 - GROUPS names commands
    parent = click.Context(click.Command("tconv"), info_name=" ".join(("tconv", *path[:-1])))
    context = click.Context(command, parent=parent, info_name=path[-1], terminal_width=_WIDTH, max_content_width=_WIDTH)
    help_text = command.get_help(context).replace(str(Path(tconv.__file__).parent), "tconv")
    yield from ("#" * (len(path) + 2) + f" tconv {' '.join(path)}\n", "```text", help_text, "```\n")
    for name, below in getattr(command, "commands", {}).items():
        yield from _command((*path, name), below)


def _entries(kind: str) -> list[Entry]:
    """Return what `tconv explain NAME` says of each name of a kind."""
    return [entry for of_name in entries().values() for entry in of_name if entry.kind == kind]


def _verdicts() -> Iterator[str]:
    """Yield a row for each verdict and ruling."""
    rows = ((f"`{each.name}`", each.meaning, each.example, each.to_do) for each in _entries("verdict"))
    return _table(("verdict", "meaning", "example", "what to do"), rows)


def _statuses() -> Iterator[str]:
    """Yield a row for each status."""
    rows = (
        (f"{look.symbol} {status.value}", look.meaning, "yes" if look.is_red else "no")
        for status, look in STATUSES.items()
    )
    return _table(("status", "meaning", "red"), rows)


def _questions() -> Iterator[str]:
    """Yield each question of the rules with its answers, and which dialect gives which first."""
    for name in QUESTIONS:
        yield f"\n### {name}\n\n{WHERE[name]}:\n"
        given: dict[Answer, list[str]] = {}
        for dialect in DIALECTS.values():
            given.setdefault(getattr(dialect.rules, name), []).append(f"`{dialect.name}`")
        rows = (
            (f"`{answer}`", answer.says, f"`{answer.formula}`", ", ".join(given.get(answer, [])))
            for answer in type(next(iter(given)))
        )
        yield from _table(("answer", "in words", "formula", "first answer of"), rows)


def _readings() -> Iterator[str]:
    """Yield a row for each disputed reading, with the dialects that dispute it."""
    found: dict[str, tuple[str, str, list[str]]] = {}
    for dialect in DIALECTS.values():
        for reading in dialect.disputed:
            found.setdefault(reading.name, (reading.says, reading.cites, []))[2].append(f"`{dialect.name}`")
    rows = ((f"`{name}`", says, cites, ", ".join(names)) for name, (says, cites, names) in sorted(found.items()))
    return _table(("reading", "in words", "the text", "dialects"), rows)


def _misreadings() -> Iterator[str]:
    """Yield a row for each misreading."""
    rows = sorted((f"`{each.name}`", each.meaning, each.example) for each in _entries("misreading"))
    return _table(("misreading", "meaning", "example"), rows)


def _constraints() -> Iterator[str]:
    """Yield a row for each constraint, with what each dialect says of it."""
    rows = ((f"`{name}`", one.says, f"`{one.of}`") for name, one in sorted(CONSTRAINTS.items()))
    return _table(("constraint", "demands", "of"), rows)


def _notes() -> Iterator[str]:
    """Yield a row for each note."""
    return _table(("note", "meaning"), ((f"`{each.name}`", each.meaning) for each in _entries("note")))


def _facts() -> Iterator[str]:
    """Yield a row for each fact of a case."""
    return _table(("fact", "meaning"), sorted((f"`{each.name}`", each.meaning) for each in _entries("fact")))


def _schemas() -> Iterator[str]:
    """Yield the keys of each file format."""
    for file, make in SCHEMAS.items():
        schema = make()
        yield f"\n## {file.name}\n"
        yield schema.get("description", "") + "\n"
        parts = schema.get("$defs", {})
        for title, part in chain([("", schema)], parts.items()):
            if keys := part.get("properties"):
                yield f"\n### {file.name}: {title}\n\n{part.get('description', '')}\n" if title else ""
                rows = ((f"`{key}`", _kind(value), value.get("description", "")) for key, value in keys.items())
                yield from _table(("key", "type", "meaning"), rows)


def _findings() -> Iterator[str]:
    """Yield a table for each kind of finding."""
    for title, rows in _data("findings").items():
        yield f"\n## {title}\n"
        cells = ((row["runtime"], row["does"], f"`{row['case']}`" if "case" in row else "") for row in rows)
        yield from _table(("runtime", "what it does", "case"), cells)


def _measurements() -> Iterator[str]:
    """Yield a row for each figure."""
    heads = ("figure", "value", "measured")
    return _table(heads, (tuple(row[head] for head in heads) for row in _data("measurements")))


def _data(name: str) -> Any:  # noqa: ANN401 - as YAML
    """Return what a file of data next to the pages has."""
    return yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))


def _kind(value: Mapping[str, Any]) -> str:
    """Return the type of a key in a word or two."""
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if choices := value.get("enum") or ([value["const"]] if "const" in value else []):
        return "one of " + ", ".join(f"`{choice}`" for choice in choices[:9]) + (", ..." if len(choices) > 9 else "")  # noqa: PLR2004
    if options := value.get("anyOf") or value.get("oneOf"):
        return " or ".join(dict.fromkeys(_kind(option) for option in options))
    kind = value.get("type", "anything")
    if kind == "array" and "items" in value:
        return f"list of {_kind(value['items'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


PARTS = {
    "commands": _commands,
    "verdicts": _verdicts,
    "statuses": _statuses,
    "questions": _questions,
    "readings": _readings,
    "misreadings": _misreadings,
    "constraints": _constraints,
    "notes": _notes,
    "facts": _facts,
    "schemas": _schemas,
    "findings": _findings,
    "measurements": _measurements,
}
"""What a page may ask for, by name."""
