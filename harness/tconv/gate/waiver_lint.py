"""The lint of a waiver file: unknown names of facts, and examples that are not covered."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tconv import documents
from tconv.cases.patterns import parse, path_of
from tconv.gate.waivers import WaiverFile, load
from tconv.nearest_word import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.documents import Document
    from tconv.errors import FileError
    from tconv.gate.scope import Scope
    from tconv.gate.waivers import Waiver

_Location: TypeAlias = tuple[str | int, ...]


def is_waiver_file(path: Path) -> bool:
    """Return whether a file has waivers, not cases.

    Raises:
        FileError: it cannot be read.
    """
    value = documents.read(path).value
    return isinstance(value, dict) and not {"backend", "waivers", "unsupported", "pins"}.isdisjoint(value)


def lint(path: Path, corpus: Corpus) -> tuple[WaiverFile, list[FileError]]:
    """Return a waiver file, and its mistakes with respect to a corpus.

    Raises:
        FileError: it cannot be read, or something in it is wrong.
    """
    file, document = load(path), documents.read(path)
    fact_names = corpus.fact_names
    findings: list[FileError] = []
    for key, entries in (("unsupported", file.unsupported), ("waivers", file.waivers), ("pins", file.pins)):
        for number, entry in enumerate(entries):
            findings += _check_scope(entry, document, (key, number), fact_names)
    for number, waiver in enumerate(file.waivers):
        findings += _check_example(waiver, document, ("waivers", number, "example"), corpus)
    return file, findings


def _check_scope(entry: Scope, document: Document, place: _Location, fact_names: set[str]) -> Iterator[FileError]:
    named = [(name, "where", (*place, "where", name)) for name in entry.where]
    named += [(name, "a pattern", (*place, "cases")) for name in parse(entry.cases).conditions]
    for name, what, at in named:
        if name not in fact_names:
            got = f"(got {name!r}){nearest(name, fact_names)}"
            message = f"{what} must have facts of cases {got}; 'tconv list --json' prints the facts of each case"
            yield documents.place_error(document, at, message, key=what == "where")


def _check_example(waiver: Waiver, document: Document, place: _Location, corpus: Corpus) -> Iterator[FileError]:
    facts = corpus.find_facts(waiver.example)
    if facts is None:
        paths = {path_of(case) for case in (*corpus.singles, *corpus.sweeps)}
        hint = nearest(path_of(waiver.example), paths)
        yield documents.place_error(document, place, f"example must be the id of a case (got {waiver.example!r}){hint}")
    elif not waiver.covers(waiver.example, facts):
        lacking = ""
        if missing := waiver.lacks(facts):
            name, value, wanted = missing
            has = f"has {name}={value} and not {'|'.join(sorted(wanted))}"
            lacking = f", which {has}" if value is not None else f", which has no {name}"
        message = f"example must be a case that the waiver covers (got {waiver.example!r}{lacking})"
        yield documents.place_error(document, place, f"{message}; correct cases, where or it")
