"""From text to text: what changes, how to keep it, and who showed that it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.cases.call import express
from tconv.comparison.porting import Catalogue, Change
from tconv.expectation.owed import expectation
from tconv.reports.atlas import words
from tconv.reports.atlas.source import Example, Source, called, listed, values
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects import Dialect
    from tconv.records.record_file import Record


@dataclass(frozen=True, slots=True)
class Row:
    """One change on the way from a text to another.

    Attributes:
        change: the change.
        before: the example in the source's words, and its output there.
        after: the target's output of the same attributes by its text; empty where it cannot say them.
        instead: backends of the target that follow another reading there, with what they returned.
        rewriting: the attributes, in the target's words, that keep the source's output; or what else to do.
        verified: the backends of either side that returned the source's output; or why that is not shown.
    """

    change: Change
    before: Example
    after: str
    instead: tuple[tuple[str, str], ...]
    rewriting: str
    verified: str


@dataclass(frozen=True, slots=True)
class Pair:
    """From one dialect to another."""

    source: Dialect
    target: Dialect
    layouts: str
    rows: tuple[Row, ...]


def pairs(sources: Sequence[Source], corpus: Corpus, same: Mapping[Dialect, Sequence[Dialect]]) -> Iterator[Pair]:
    """Yield what changes from each text to each other; `same` are the dialects whose texts say the same."""
    catalogue = Catalogue(corpus.cases("gate"), list(same))
    verdicts = {id(run): {record.case: record for record in run.assessment.run.records} for run in sources}
    for source in same:
        for target in same:
            if source is not target:
                ours = [run for run in sources if run.dialect in (source, *same[source])]
                theirs = [run for run in sources if run.dialect in (target, *same[target])]
                rows = tuple(
                    _row(change, source, target, catalogue, (ours, theirs), verdicts)
                    for change in catalogue.changes(source, target)
                )
                yield Pair(source, target, _layouts(source, target), rows)


def _layouts(source: Dialect, target: Dialect) -> str:
    """Return what a layout that is not written becomes."""
    differing = [
        f"{word} {before.value} becomes {after.value}"
        for word, before, after in (
            ("data", source.data_format, target.data_format),
            ("filter", source.filter_format, target.filter_format),
        )
        if before != after
    ]
    return "; ".join(differing)


def _row(
    change: Change,
    source: Dialect,
    target: Dialect,
    catalogue: Catalogue,
    sides: tuple[Sequence[Source], Sequence[Source]],
    verdicts: Mapping[int, Mapping[str, Record]],
) -> Row:
    case = change.example
    before = Example(case.id, called(case, source), listed(values(case, change.before)))
    after = "" if change.after is None else listed(values(case, change.after))
    instead = tuple(
        (run.name, output) for run in sides[1] if (output := _instead(verdicts[id(run)].get(case.id), target, case))
    )
    if change.rewriting is None:
        advice = words.ADVICE.get(change.what, "none: crop or pad the output with an operation of its own")
        return Row(change, before, after, instead, advice, "")
    plain = catalogue.with_explicit_pads(case, change.before)
    verified = "computed" if plain is None else _verified(case.id, plain.id, sides, verdicts)
    return Row(change, before, after, instead, _rewriting(change.rewriting, target), verified)


def _instead(record: Record | None, dialect: Dialect, case: Case) -> str:
    """Return what a backend returned under another reading of its text; empty where it followed the text."""
    if record is None or not isinstance(record.verdict, ver.Disputed):
        return ""
    if record.verdict.rule == "refusal":
        return "refused"
    geometry = followed(record.verdict, expectation(case, dialect))
    return "" if geometry is None else listed(values(case, geometry))


def _agreed(record: Record | None) -> bool:
    return record is not None and isinstance(record.verdict, ver.Agreed) and record.verdict.rule == "exact"


def _verified(
    asked: str,
    plain: str,
    sides: tuple[Sequence[Source], Sequence[Source]],
    verdicts: Mapping[int, Mapping[str, Record]],
) -> str:
    """Return who of either side returned the source's output, or why that is not shown."""
    found: list[list[str]] = []
    missing: list[str] = []
    for side, case, word in zip(sides, (asked, plain), ("source", "target"), strict=True):
        records = [(run.name, verdicts[id(run)].get(case)) for run in side]
        found.append(list(dict.fromkeys(name for name, record in records if _agreed(record))))
        if not found[-1]:
            kinds = dict.fromkeys(f"{name}: {record.verdict.kind if record else 'not run'}" for name, record in records)
            missing.append(", ".join(kinds) or f"no run of the {word}")
    if missing:
        return f"computed; {'; '.join(missing)}"
    return f"{', '.join(found[0])} → {', '.join(found[1])}"


def _rewriting(case: Case, target: Dialect) -> str:
    attributes = express(case, target).attributes
    written = [f"{name}={list(value) if isinstance(value, tuple) else value}" for name, value in attributes.items()]
    return ", ".join(written) or "no attribute"
