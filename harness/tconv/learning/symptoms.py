"""What wrong answers have in common that follow no formula: what their elements are, and on which calls.

A bug shows in many sweeps, and in some cases as a misreading that it is not. Two things tell that it is one bug: its
wrong elements have the same relation to what is owed, or its calls meet a condition that right answers do not meet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.diagnosis import shared
from tconv.expectation.problem import remembered
from tconv.learning.conditions import condition_of
from tconv.learning.features import features_of
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.readings import Together
    from tconv.learning.conditions import Condition
    from tconv.learning.features import Features
    from tconv.records.record import Record

_WRONG = ver.Differed | ver.ExceedsSummationBound | ver.WrongShape
_PLAIN = ("are 0", "are NaN")
"""Relations that many bugs have."""
_MOST = 0.9
"""The part of answers that a statement about nearly all of them is true of."""
_UNNAMED = 1 / 3
"""The part of a symptom's answers that no misreading gives, so that the symptom says more than their names."""


@dataclass(frozen=True, slots=True)
class Symptom:
    """What wrong answers have in common.

    Attributes:
        relation: what nearly all of their wrong elements are beside what is owed; empty where that differs.
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
        count = len(self.condition.cases)
        return f"{count:,} of {count + self.condition.right:,} such answers are wrong"

    def __str__(self) -> str:
        return "; ".join(filter(None, (str(self.condition or ""), self.relation)))


def symptoms(
    records: Sequence[Record],
    failed: Sequence[Record],
    find: Callable[[str], Case | None],
    dialect: Dialect,
    denied: Container[Together],
) -> tuple[Symptom, ...]:
    """Return what failures have in common, what explains most first.

    Args:
        records: the records of a run, those that passed too.
        failed: those that failed, and follow no learnt rule.
        find: returns a case by its id; None where the corpus has no such case.
        dialect: the dialect of the run.
        denied: names of failures that cases which agree deny.
    """
    wrong = {record.case: record for record in failed if isinstance(record.verdict, _WRONG)}
    names = shared({case: record.diagnosis for case, record in wrong.items()})
    named = {case: name for case, name in names.items() if name not in denied}
    if len(wrong) - len(named) < 2:  # noqa: PLR2004 - what they have in common
        return ()
    problems = {case: remembered(found, dialect) for case in wrong if (found := find(case)) is not None}
    features = {case: of for case, problem in problems.items() if (of := features_of(problem)) is not None}
    right = _right(records, find, dialect)
    result: list[Symptom] = []
    left = wrong
    while (symptom := _largest(left, features, right)) is not None:
        cases = tuple(_explained(symptom.cases, named))
        if len(cases) > 1 and sum(case not in named for case in cases) >= _UNNAMED * len(symptom.cases):
            result.append(Symptom(symptom.relation, symptom.condition, cases))
        left = {case: record for case, record in left.items() if case not in set(symptom.cases)}
    known = {case for symptom in result for case in symptom.cases} | set(named)
    for relation in _PLAIN:
        plain = tuple(case for case in wrong if case not in known and wrong[case].relation == relation)
        if _sweeps(plain) > 1:
            result.append(Symptom(relation, None, plain))
    return tuple(sorted(result, key=lambda symptom: -len(symptom.cases)))


def _largest(
    wrong: Mapping[str, Record], features: Mapping[str, Features], right: Sequence[Features]
) -> Symptom | None:
    """Return the symptom that explains most wrong answers; None where none explains several."""
    by_relation: defaultdict[str, list[str]] = defaultdict(list)
    for case, record in wrong.items():
        if record.relation and record.relation not in _PLAIN:
            by_relation[without_numbers(record.relation)].append(case)
    related = max(by_relation.values(), key=len, default=[])
    met = condition_of({case: features[case] for case in wrong if case in features}, right)
    if met is not None and len(met.cases) >= len(related):
        return Symptom(_usual_relation(met.cases, wrong), met, met.cases)
    if _sweeps(related) < 2:  # noqa: PLR2004 - else the sweep is what they have in common
        return None
    within = condition_of({case: features[case] for case in related if case in features}, right)
    whole = within if within is not None and len(within.cases) == len(related) else None
    return Symptom(_usual_relation(related, wrong), whole, tuple(related))


def _explained(cases: Sequence[str], named: Mapping[str, Together]) -> Iterator[str]:
    """Yield cases but for those of a misreading that gives other wrong answers too."""
    under, of_all = Counter(named[case] for case in cases if case in named), Counter(named.values())
    for case in cases:
        if case not in named or under[named[case]] >= _MOST * of_all[named[case]]:
            yield case


def _usual_relation(cases: Sequence[str], wrong: Mapping[str, Record]) -> str:
    """Return the relation of nearly all cases, with the numbers that most of them have; empty where there is none.

    Where a misreading gives an output, no relation was looked for.
    """
    relations = Counter(wrong[case].relation or "" for case in cases if not wrong[case].diagnosis)
    words: Counter[str] = Counter()
    for text, count in relations.items():
        words[without_numbers(text)] += count
    usual = max(words, key=lambda text: words[text], default="")
    if not usual or words[usual] < _MOST * words.total():
        return ""
    return max((text for text in relations if without_numbers(text) == usual), key=lambda text: relations[text])


def _right(records: Sequence[Record], find: Callable[[str], Case | None], dialect: Dialect) -> list[Features]:
    """Return what the calls are like that were answered by right values; without operands any answer is right."""
    made = (find(record.case) for record in records if _by_value(record))
    cases = (case for case in made if case is not None and 0 not in (*case.x.shape, *case.w.shape))
    return list(filter(None, (features_of(remembered(case, dialect)) for case in cases)))


def _by_value(record: Record) -> bool:
    return isinstance(record.verdict, ver.Agreed | ver.Disputed) and record.verdict.rule in {"exact", "bound"}


def _sweeps(cases: Sequence[str]) -> int:
    return len({case.partition("[")[0] for case in cases})
