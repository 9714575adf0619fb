"""What wrong answers have in common that follow no formula: what their elements are, and on which calls.

A bug shows in many sweeps, and in some cases as a misreading that it is not. Two things tell that it is one bug: its
wrong elements have the same relation to what is owed, or its calls meet a condition that right answers do not meet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.cases.patterns import path_of
from tconv.diagnosis import single_explanations
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from tconv.dialects.readings import Together
    from tconv.learning.judged_calls import Condition, JudgedCalls
    from tconv.records.record import Record

_PLAIN = ("are 0", "are NaN")
"""Relations that many bugs have."""
_MOST = 0.9
"""The part of answers that a statement about nearly all of them is true of."""
_OF_ALL = 0.98
"""The part of the wrong answers that a condition holds for which says more than that nearly all answers are wrong."""
_FEW_SWEEPS = 5
"""Sweeps that are not everywhere."""
_UNNAMED = 1 / 3
"""The part of a symptom's answers that no misreading gives, so that the symptom says more than their names."""
_MOST_SYMPTOMS = 6


@dataclass(frozen=True, slots=True)
class Symptom:
    """What wrong answers have in common.

    Attributes:
        relation: what the wrong elements of nearly all are beside what is owed; empty where that differs.
        condition: what holds for their calls, and for hardly any right answer; None where nothing is known to.
        cases: their ids.
    """

    relation: str
    condition: Condition | None
    cases: tuple[str, ...]

    @property
    def evidence(self) -> str:
        """How many of the answers under the condition are wrong, in words; empty without a condition."""
        if self.condition is None:
            return ""
        terms, wrong, right = self.condition
        return f"{wrong:,} of {wrong + right:,} {'such ' if terms else ''}answers are wrong"

    def __str__(self) -> str:
        return "; ".join(filter(None, (str(self.condition or ""), self.relation)))


def symptoms(answers: JudgedCalls, failed: Sequence[Record], denied: Container[Together]) -> tuple[Symptom, ...]:
    """Return what failures have in common, what explains most first.

    Args:
        answers: the calls of the run, those with right answers too.
        failed: the records that failed, and follow no learnt rule.
        denied: names of failures that cases which agree deny.
    """
    left = {record.case: record for record in failed if isinstance(record.verdict, ver.WrongOutput)}
    names = single_explanations({case: record.diagnosis for case, record in left.items()})
    named = {case: name for case, name in names.items() if name not in denied}
    if len(left) - len(named) < 2:  # noqa: PLR2004 - what they have in common
        return ()
    # Where misreadings give a part of the answers, that part is no sign of one bug everywhere.
    one_bug = len(left) - len(named) >= _MOST * len(left) and _sweeps([*left]) > _FEW_SWEEPS
    everywhere = answers.everywhere if one_bug else None
    found: list[Symptom] = []
    for _ in range(_MOST_SYMPTOMS):
        symptom = _largest(left, answers, None if found else everywhere)
        if symptom is None:
            break
        cases = tuple(_explained(symptom.cases, named))
        if len(cases) > 1 and sum(case not in named for case in cases) >= _UNNAMED * len(symptom.cases):
            found.append(Symptom(_usual_relation([left[case] for case in cases]), symptom.condition, cases))
            known = set(symptom.cases)
        else:
            # Their names say more; those without one may have something in common by themselves.
            known = named.keys() & symptom.cases or set(symptom.cases)
        left = {case: record for case, record in left.items() if case not in known}
    for relation in _PLAIN:
        plain = tuple(case for case, record in left.items() if case not in named and record.relation == relation)
        if _sweeps(plain) > 1:
            found.append(Symptom(relation, None, plain))
    return tuple(sorted(found, key=lambda symptom: -len(symptom.cases)))


def _largest(left: Mapping[str, Record], answers: JudgedCalls, everywhere: Condition | None) -> Symptom | None:
    """Return the symptom that explains most failures; None where none explains several."""
    if not left:
        return None
    by_relation: defaultdict[str, list[str]] = defaultdict(list)
    for case, record in left.items():
        if record.relation and record.relation not in _PLAIN:
            by_relation[without_numbers(record.relation)].append(case)
    related = max(by_relation.values(), key=len, default=[])
    met = answers.condition([*left])
    if everywhere and (met is None or len(met[1]) < _OF_ALL * sum(case in answers.numbers for case in left)):
        # What holds for a part of them tells which errors happen to be zero, and not where the bug is.
        return Symptom("", everywhere, tuple(left))
    if met is not None and len(met[1]) >= len(related):
        return Symptom("", *met)
    if _sweeps(related) < 2:  # noqa: PLR2004 - else the sweep is what they have in common
        return None
    within = answers.condition(related)
    return Symptom("", within[0] if within and len(within[1]) == len(related) else None, tuple(related))


def _explained(cases: Sequence[str], named: Mapping[str, Together]) -> Iterator[str]:
    """Yield cases but for those of a misreading that gives other wrong answers too."""
    under, of_all = Counter(named[case] for case in cases if case in named), Counter(named.values())
    for case in cases:
        if case not in named or under[named[case]] >= _MOST * of_all[named[case]]:
            yield case


def _usual_relation(records: Sequence[Record]) -> str:
    """Return the relation that nearly all records have; where its numbers differ, in words without them."""
    for known in (Counter(record.relation or "" for record in records), _without_numbers(records)):
        text, count = known.most_common(1)[0]
        if text and count >= _MOST * len(records):
            return text.replace("#", "n") + (", where n differs" if "#" in text else "")
    return ""


def _without_numbers(records: Sequence[Record]) -> Counter[str]:
    return Counter(without_numbers(record.relation or "") for record in records)


def _sweeps(cases: Sequence[str]) -> int:
    return len({path_of(case) for case in cases})
