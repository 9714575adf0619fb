"""The lint of a waiver file: names that no case has, examples that are not covered, pins that overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tconv import documents
from tconv.cases.patterns import parse, path_of
from tconv.gate.waivers import WaiverFile, have_common_version, load
from tconv.nearest_word import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.corpus import Corpus
    from tconv.documents import Document
    from tconv.errors import FileError
    from tconv.gate.scope import Scope
    from tconv.gate.waivers import Pin, Waiver

_Location: TypeAlias = tuple[str | int, ...]


def is_waiver_file(path: Path) -> bool:
    """Return whether a file is of waivers, and not of cases: it names a backend.

    Raises:
        FileError: it cannot be read.
    """
    value = documents.read(path).value
    return isinstance(value, dict) and not {"backend", "waivers", "unsupported", "pins"}.isdisjoint(value)


def lint(path: Path, corpus: Corpus) -> tuple[WaiverFile, list[FileError]]:
    """Return a waiver file, and what is wrong with it beside a corpus.

    Raises:
        FileError: it cannot be read, or something in it is not as it must be.
    """
    file, document = load(path), documents.read(path)
    fact_names = corpus.fact_names
    findings: list[FileError] = []
    for key, entries in (("unsupported", file.unsupported), ("waivers", file.waivers), ("pins", file.pins)):
        for number, entry in enumerate(entries):
            findings += _of_scope(entry, document, (key, number), fact_names)
    for number, waiver in enumerate(file.waivers):
        findings += _of_example(waiver, document, ("waivers", number, "example"), corpus)
    return file, [*findings, *_overlaps(file.pins, document, corpus)]


def _overlaps(pins: Sequence[Pin], document: Document, corpus: Corpus) -> Iterator[FileError]:
    """Yield the pins of which an earlier one says the same question of the same case, dialect, version and machine."""
    pairs = [
        (number, first, second)
        for number, second in enumerate(pins)
        for first in pins[:number]
        if first.question == second.question
        and not set(first.dialects).isdisjoint(second.dialects)
        and have_common_version(first.versions, second.versions)
        and (first.machine is None or second.machine is None or first.machine.may_be(second.machine))
    ]
    for case in corpus.cases() if pairs else ():
        facts = case.facts
        for pair in [pair for pair in pairs if all(pin.covers(case.id, facts) for pin in pair[1:])]:
            number, first, _ = pair
            pairs.remove(pair)
            message = f"a case must have one pin of a question (got {case.id} in '{first}' too); narrow one of them"
            yield documents.error_at(document, ("pins", number), message)


def _of_scope(entry: Scope, document: Document, place: _Location, fact_names: set[str]) -> Iterator[FileError]:
    for name in entry.where:
        if name not in fact_names:
            message = f"where must have facts of cases (got {name!r}){nearest(name, fact_names)}; {_SEE}"
            yield documents.error_at(document, (*place, "where", name), message, key=True)
    for name in parse(entry.cases).conditions:
        if name not in fact_names:
            got = f"(got {name!r}){nearest(name, fact_names)}"
            message = f"a pattern must have facts of cases {got}; {_SEE}"
            yield documents.error_at(document, (*place, "cases"), message)


_SEE = "'tconv list --json' prints the facts of each case"


def _of_example(waiver: Waiver, document: Document, place: _Location, corpus: Corpus) -> Iterator[FileError]:
    facts = corpus.facts(waiver.example)
    if facts is None:
        paths = {path_of(case) for case in (*corpus.singles, *corpus.sweeps)}
        hint = nearest(path_of(waiver.example), paths)
        yield documents.error_at(document, place, f"example must be the id of a case (got {waiver.example!r}){hint}")
    elif not waiver.covers(waiver.example, facts):
        message = f"example must be a case that the waiver covers (got {waiver.example!r}{_lacking(waiver, facts)})"
        yield documents.error_at(document, place, f"{message}; correct cases, where or it")


def _lacking(waiver: Waiver, facts: Mapping[str, str]) -> str:
    """Return what a case has otherwise than the waiver asks; an empty text where its path parts them."""
    lacking = waiver.lacks(facts)
    if lacking is None:
        return ""
    name, value, wanted = lacking
    if value is None:
        return f", which has no {name}"
    return f", which has {name}={value} and not {'|'.join(sorted(wanted))}"
