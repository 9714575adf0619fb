"""Failures that come by chance, or after other calls: alike ones together, with the calls for which they may come.

Of such failures each run shows others. So an entry for those of one run does not hold in the next one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import log, log1p
from typing import TYPE_CHECKING, Any

from tconv.cases.patterns import label
from tconv.corpus.facts import NAMES
from tconv.gate.status import AGREEING, FAILING, MixedReadings
from tconv.learning.shared_facts import IDENTITY
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus

    Facts = Mapping[str, str]

_MOST_FACTS = 3
_UNLIKELY = log(1e-6)
"""The logarithm of a probability: what is less likely is no chance, though hundreds of facts are looked at."""
_EVERYWHERE = "*/**"
_WRONG = ver.WrongOutput | ver.WrongDtype | MixedReadings | ver.Unstable


@dataclass(frozen=True, slots=True)
class Chance:
    """Failures of one kind of verdict that come by chance, or after other calls.

    Attributes:
        kind: the kind of verdict.
        members: the records with their statuses.
        scope: the calls for which they may come, as the scope of a waiver.
    """

    kind: str
    members: Sequence[RecordStatus]
    scope: Mapping[str, Any]


def by_chance(assessment: Assessment) -> list[Chance]:
    """Return the failures of which another answer was seen, and others like them that were not asked again."""
    failed = [member for member in assessment.statuses if member.status in FAILING]
    seen = {_words(member) for member in failed if member.record.varies}
    varying = [m for m in failed if _words(m) in seen and (m.record.varies or m.may_vary)]
    found: list[Chance] = []
    right = [member for member in assessment.statuses if member.status in AGREEING]
    outputs = [member for member in right if ver.is_output(member.record.verdict)]
    for alike in grouped_by_words(varying).values():
        scope = _scope(alike, outputs, assessment)
        kinds = sorted({member.ruling.kind for member in alike})
        found += [Chance(kind, [m for m in alike if m.ruling.kind == kind], scope) for kind in kinds]
    return found


def grouped_by_words(members: Iterable[RecordStatus]) -> dict[str, list[RecordStatus]]:
    """Return failures by what they are in words: all wrong outputs together, others by kind and message."""
    groups: defaultdict[str, list[RecordStatus]] = defaultdict(list)
    for member in members:
        groups[_words(member)].append(member)
    return dict(groups)


def _words(member: RecordStatus) -> str:
    match member.ruling:
        case ver.RefusedValid(message) | ver.Broke(message) as verdict:
            return f"{verdict.kind}: {without_numbers(message)}"
        case verdict:
            return "wrong" if isinstance(verdict, _WRONG) else verdict.kind


def _scope(members: Sequence[RecordStatus], right: Sequence[RecordStatus], assessment: Assessment) -> dict[str, Any]:
    """Return the facts of the calls for which failures may come, if chance alone does not give all of them these facts.

    A value that no failure has is left out if that is no chance either. Without such facts it is everywhere.

    Args:
        members: the failures.
        right: answers that are right, and might have failed so.
        assessment: the run.
    """
    own = {member.record.case for member in members}
    failing = [assessment.facts[case] for case in own]
    others = [member.record.case for member in right if member.record.case not in own]
    covered = failing + [assessment.facts[case] for case in others]
    where: dict[str, Any] = {}
    for _ in range(_MOST_FACTS):
        chosen = min(
            ((name, *_values(name, failing, covered)) for name in sorted(NAMES - IDENTITY - where.keys())),
            key=lambda each: (each[2], len(each[1])),
        )
        name, values, count = chosen
        if len(failing) * log(count / len(covered)) > _UNLIKELY:
            break
        where[name] = values if len(values) > 1 else values[0]
        covered = [facts for facts in covered if facts.get(name, label(None)) in values]
    return {"where": where} if where else {"cases": _EVERYWHERE}


def _values(name: str, failing: Sequence[Facts], covered: Sequence[Facts]) -> tuple[list[str], int]:
    """Return the values of a fact with which failures may come, and how many of the covered cases have one of them.

    A value that no failure has is left out if that is no chance; or if all failures have an entry in common, such as a
    stride of 3 on some axis, and neither this value nor one without failures has it.
    """
    failures = Counter(facts.get(name, label(None)) for facts in failing)
    cases = Counter(facts.get(name, label(None)) for facts in covered)
    right = sum(cases[value] for value in failures) - len(failing)
    rate = len(failing) / (len(failing) + right + 1)
    values = [value for value in cases if value in failures or cases[value] * log1p(-rate) > _UNLIKELY]
    common = set.intersection(*map(_entries, failures)).difference(*map(_entries, cases.keys() - values))
    values = [value for value in values if not common or common & _entries(value)]
    return sorted(values), sum(cases[value] for value in values)


def _entries(value: str) -> set[str]:
    """Return the numbers of a list, or the value itself."""
    entries = value.split("x")
    return set(entries) if all(map(str.isdigit, entries)) else {value}
