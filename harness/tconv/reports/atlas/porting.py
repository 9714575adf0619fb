"""Porting a call from one text to another: what changes, how to rewrite it, and which runs verify the rewriting."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from tconv.cases.call import express
from tconv.comparison.porting import Catalogue, Change
from tconv.expectation.owed import expectation
from tconv.reports.atlas import wording
from tconv.reports.atlas.examples import Example, call_text, output_text, reference
from tconv.reports.phrases import attribute_words
from tconv.verdict import kinds as ver
from tconv.verdict.judge import followed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects import Dialect
    from tconv.records.record import Record
    from tconv.reports.atlas.runs import AtlasRun

    Sides = tuple[list[AtlasRun], list[AtlasRun]]


@dataclass(frozen=True, slots=True)
class PortedChange:
    """A change between two texts, with its example.

    Attributes:
        change: the change.
        before: the example in the source dialect, with its output there.
        after: the output of the same attributes by the target's text; empty where it cannot express them.
        instead: the target's backends that follow another reading there, with their outputs.
        rewriting: the attributes in the target dialect that give the source's output; or advice where none do.
        verified: the backends of both sides that returned the source's output, or which are missing; empty for advice.
    """

    change: Change
    before: Example
    after: str
    instead: tuple[tuple[str, str], ...]
    rewriting: str
    verified: str


@dataclass(frozen=True, slots=True)
class Pair:
    """The way from one dialect to another; `layouts` says what default layouts become."""

    source: Dialect
    target: Dialect
    layouts: str
    changes: tuple[PortedChange, ...]


def pairs(runs: Sequence[AtlasRun], corpus: Corpus, same: Mapping[Dialect, Sequence[Dialect]]) -> Iterator[Pair]:
    """Yield what changes from each text to each other; `same` are the dialects whose texts say the same."""
    catalogue = Catalogue(corpus.cases("gate"), list(same))
    runs_of = {text: [run for run in runs if run.dialect in (text, *others)] for text, others in same.items()}
    for source, target in permutations(same, 2):
        sides = runs_of[source], runs_of[target]
        changes = catalogue.changes(source, target)
        ported = tuple(_ported(change, source, target, catalogue, sides) for change in changes)
        yield Pair(source, target, _layouts(source, target), ported)


def _layouts(source: Dialect, target: Dialect) -> str:
    """Return how the default layouts change."""
    differing = [
        f"{role} {before.value} becomes {after.value}"
        for role, before, after in (
            ("data", source.data_format, target.data_format),
            ("filter", source.filter_format, target.filter_format),
        )
        if before != after
    ]
    return "; ".join(differing)


def _ported(change: Change, source: Dialect, target: Dialect, catalogue: Catalogue, sides: Sides) -> PortedChange:
    case = change.example
    before = Example(case.id, call_text(case, source), output_text(reference(case, change.before)))
    after = "" if change.after is None else output_text(reference(case, change.after))
    instead = tuple(
        (run.name, output) for run in sides[1] if (output := _instead(run.records.get(case.id), target, case))
    )
    if change.rewriting is None:
        advice = wording.ADVICE.get(change.what, "none: crop or pad the output with an operation of its own")
        return PortedChange(change, before, after, instead, advice, "")
    rewriting = attribute_words(express(change.rewriting, target).attributes) or "no attribute"
    plain = catalogue.with_explicit_pads(case, change.before)
    verified = "computed" if plain is None else _verified((case.id, plain.id), sides)
    return PortedChange(change, before, after, instead, rewriting, verified)


def _instead(record: Record | None, dialect: Dialect, case: Case) -> str:
    """Return what a backend returned under another reading of its text; empty where it followed the text."""
    if record is None or not isinstance(record.verdict, ver.Disputed):
        return ""
    if record.verdict.rule == "refusal":
        return "refused"
    geometry = followed(record.verdict, expectation(case, dialect))
    return "" if geometry is None else output_text(reference(case, geometry))


def _agreed(record: Record | None) -> bool:
    return record is not None and isinstance(record.verdict, ver.Agreed) and record.verdict.rule == "exact"


def _verified(case_ids: tuple[str, str], sides: Sides) -> str:
    """Return the backends of both sides that returned the source's output, or the verdicts of a side without any.

    Args:
        case_ids: the example for the source's runs, and the case that is its rewriting for the target's.
        sides: the runs of source and target.
    """
    agreeing: list[str] = []
    missing: list[str] = []
    for runs, case_id, side in zip(sides, case_ids, ("source", "target"), strict=True):
        records = [(run.name, run.records.get(case_id)) for run in runs]
        agreeing.append(", ".join(dict.fromkeys(name for name, record in records if _agreed(record))))
        if not agreeing[-1]:
            kinds = dict.fromkeys(f"{name}: {record.verdict.kind if record else 'not run'}" for name, record in records)
            missing.append(", ".join(kinds) or f"no run of the {side}")
    return f"computed; {'; '.join(missing)}" if missing else " → ".join(agreeing)
