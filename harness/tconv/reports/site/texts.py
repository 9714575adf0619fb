"""Comparisons of texts for the site: what a call means in another text, and in what texts contradict themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import permutations
from math import prod
from typing import TYPE_CHECKING

from tconv.dialects import Absent, Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.expectation.expected import Values, expect
from tconv.reports.site.questions import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.reports.site.questions import Question

_OF_TYPES = "type-known"


def answers(question: Question) -> Mapping[str, Sequence[str]]:
    """Return the answers of the texts to a question, each in words with the names of its texts."""
    says: dict[str, list[str]] = defaultdict(list)
    name = question.key if question.key in CONSTRAINTS else question.key.replace("-", "_")
    for text in TEXTS:
        if question.kind == "open":
            answer = text.constraints.get(name)
            says[
                "the call has a value" if isinstance(answer, Absent)
                else "the text leaves it open" if isinstance(answer, Open)
                else "the call is invalid"
            ].append(text.name)  # fmt: skip
        elif question.kind == "rule":
            says[getattr(text.rules, name).says].append(text.name)
            for reading in text.disputed:
                if reading.change.question == name:
                    says[f"allowed too, {reading.name}: {reading.says}"].append(text.name)
    return says


def contradictions() -> Mapping[tuple[str, str], Sequence[str]]:
    """Return all disputed readings, other ambiguities, and constraints with conflicting clauses."""
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for text in TEXTS:
        for reading in text.disputed:
            texts[reading.name, reading.says].append(text.name)
        for ambiguity in text.ambiguities:
            texts[ambiguity.about, ambiguity.decision].append(text.name)
        for name, answer in text.constraints.items():
            if isinstance(answer, Open) and " against " in answer.clause:
                texts[name, f"must this hold: {CONSTRAINTS[name].says}?"].append(text.name)
    return texts


@dataclass(frozen=True, slots=True)
class Passage:
    """The changes of a call from one text to another.

    Attributes:
        source, target: the texts.
        layouts: default layouts that differ.
        changed: combinations of attributes with another meaning, with the number of cases that show it.
        missing: what the target cannot express.
    """

    source: str
    target: str
    layouts: Sequence[str]
    changed: Sequence[tuple[str, int]]
    missing: Sequence[str]


def passages(cases: Sequence[Case]) -> Iterator[Passage]:
    """Yield the changes from each text to each other one. If texts differ only in types, the last stands for all.

    Args:
        cases: the cases to try; only plain and valid ones are used.
    """
    texts = list(_distinct())
    plain = [
        case
        for case in cases
        if case.breaks is None and not case.omit and case.plain and prod(case.x.shape) * prod(case.w.shape) > 0
    ]
    expected = {text.name: [expect(case, text) for case in plain] for text in texts}
    for source, target in permutations(texts, 2):
        changes: Counter[str] = Counter()
        missing: set[str] = set()
        for case, before, after in zip(plain, expected[source.name], expected[target.name], strict=True):
            if not isinstance(before, Values):
                continue
            if not isinstance(after, Values):
                missing |= {after.violation.constraint} - {_OF_TYPES}
            elif after.primary.geometry != before.primary.geometry:
                changes[_combination(case)] += 1
        formats = (
            ("data", source.data_format, target.data_format),
            ("filter", source.filter_format, target.filter_format),
        )
        yield Passage(
            source.name,
            target.name,
            [f"{role} {here} becomes {there}" for role, here, there in formats if here != there],
            sorted(changes.items()),
            sorted(missing),
        )


def _distinct() -> Iterator[Dialect]:
    groups: dict[tuple[object, ...], Dialect] = {}
    for text in TEXTS:
        constraints = tuple((key, answer) for key, answer in text.constraints.items() if key != _OF_TYPES)
        spelling = (tuple(text.spelling.attributes.items()), tuple(text.spelling.inputs.items()))
        groups[text.rules, text.disputed, constraints, spelling, text.data_format, text.filter_format] = text
    yield from groups.values()


def _combination(case: Case) -> str:
    """Return the padding mode of a case, with output_shape and output_padding if they are written."""
    attributes = case.attributes
    mode = str(attributes.auto_pad or "explicit")
    sized = " + output_shape" if attributes.output_shape is not None else ""
    return f"{mode}{sized}{' + output_padding' if any(attributes.output_padding or ()) else ''}"
