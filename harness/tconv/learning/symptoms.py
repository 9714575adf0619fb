"""What wrong answers have in common that follow no formula: what their elements are, and on which calls.

A bug shows in many sweeps, and in some cases as a misreading that it is not. Two things tell that it is one bug: its
wrong elements have the same relation to what is expected, or its calls meet a condition that right answers do not meet.
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

    from tconv.diagnosis import Diagnosis
    from tconv.dialects.readings import Combination
    from tconv.learning.judged_calls import Condition, JudgedCalls

_PLAIN = ("are 0", "are NaN")
"""Relations that many bugs have."""
_MOST = 0.9
"""The part of answers that a statement about nearly all of them is true of."""
_OF_ALL = 0.98
"""The part of the wrong answers that a condition holds for which says more than that nearly all answers are wrong."""
_FEW_SWEEPS = 5
"""Sweeps that are not everywhere."""
_USUAL = 0.75
"""The part of a symptom's cases whose relation is said, with their number: of few elements it may not be seen."""
_UNNAMED = 1 / 3
"""The part of a symptom's answers that no misreading gives, so that the symptom says more than their names."""
_MOST_SYMPTOMS = 6


@dataclass(frozen=True, slots=True)
class Symptom:
    """What wrong answers have in common.

    Attributes:
        relation: what the wrong elements of most are beside what is expected; empty where that differs.
        condition: what holds for their calls, and for hardly any right answer; None where nothing is known to.
        cases: their ids.
        related: how many of the cases have the relation; None for nearly all.
    """

    relation: str
    condition: Condition | None
    cases: tuple[str, ...]
    related: int | None = None

    @property
    def evidence(self) -> str:
        """How many of the answers under the condition are wrong, in words; empty without a condition."""
        return "" if self.condition is None else self.condition.evidence

    @property
    def wrong_elements(self) -> str:
        """What wrong elements are, with the number of cases where they are so; empty where that differs."""
        seen = "" if self.related is None else f", in {self.related:,} of {len(self.cases):,} cases"
        return f"wrong elements {self.relation}{seen}" if self.relation else ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (str(self.condition or ""), self.relation)))


def symptoms(
    answers: JudgedCalls, failed: Mapping[str, Diagnosis], denied: Container[Combination]
) -> tuple[Symptom, ...]:
    """Return what failures have in common, what explains most first.

    Args:
        answers: the calls of the run, those with right answers too.
        failed: why the output of each failure is wrong that follows no learnt rule, by the id of its case.
        denied: names of failures that cases which agree deny.
    """
    left = {case: why for case, why in failed.items() if isinstance(answers.verdicts[case], ver.WrongOutput)}
    names = single_explanations({case: why.explained for case, why in left.items()})
    named = {case: name for case, name in names.items() if name not in denied}
    if len(left) - len(named) < 2:  # noqa: PLR2004 - what they have in common
        return ()
    everywhere = _everywhere(left, named, answers)
    found: list[Symptom] = []
    for _ in range(_MOST_SYMPTOMS):
        symptom = _largest(left, answers) if found or everywhere is None else everywhere
        if symptom is None:
            break
        cases = tuple(_explained(symptom.cases, named))
        if len(cases) > 1 and sum(case not in named for case in cases) >= _UNNAMED * len(symptom.cases):
            relation, related = _usual_relation([left[case] for case in cases])
            found.append(Symptom(relation, symptom.condition, cases, related))
            known = set(symptom.cases)
        else:
            # Their names say more; those without one may have something in common by themselves.
            known = named.keys() & symptom.cases or set(symptom.cases)
        left = {case: why for case, why in left.items() if case not in known}
    for relation in _PLAIN:
        plain = tuple(case for case, why in left.items() if case not in named and why.relation == relation)
        if _sweeps(plain) > 1:
            found.append(Symptom(relation, None, plain))
    return tuple(sorted(found, key=lambda symptom: -len(symptom.cases)))


def _everywhere(
    left: Mapping[str, Diagnosis], named: Mapping[str, Combination], answers: JudgedCalls
) -> Symptom | None:
    """Return the failures of a runtime of which nearly all answers are wrong; None where more can be said of them.

    Where misreadings give a part of the answers these have names, and the others are what is wrong everywhere.
    """
    unnamed = [case for case in left if case not in named]
    of_one_bug = [*left] if len(unnamed) >= _MOST * len(left) else unnamed
    if answers.everywhere is None or _sweeps(of_one_bug) <= _FEW_SWEEPS or len(unnamed) < _UNNAMED * len(left):
        return None
    met = answers.condition(of_one_bug)
    if met is not None and len(met[1]) >= _OF_ALL * sum(case in answers.numbers for case in of_one_bug):
        return None
    # What holds for a part of them tells which errors happen to be zero, and not where the bug is.
    return Symptom("", answers.everywhere, tuple(of_one_bug))


def _largest(left: Mapping[str, Diagnosis], answers: JudgedCalls) -> Symptom | None:
    """Return the symptom that explains most failures; None where none explains several."""
    if not left:
        return None
    by_relation: defaultdict[str, list[str]] = defaultdict(list)
    for case, why in left.items():
        if why.relation and why.relation not in _PLAIN:
            by_relation[without_numbers(why.relation)].append(case)
    related = max(by_relation.values(), key=len, default=[])
    met = answers.condition([*left])
    if met is not None and len(met[1]) >= len(related):
        return Symptom("", *met)
    if _sweeps(related) < 2:  # noqa: PLR2004 - else the sweep is what they have in common
        return None
    within = answers.condition(related)
    return Symptom("", within[0] if within and len(within[1]) == len(related) else None, tuple(related))


def _explained(cases: Sequence[str], named: Mapping[str, Combination]) -> Iterator[str]:
    """Yield cases but for those of a misreading that gives other wrong answers too."""
    under, of_all = Counter(named[case] for case in cases if case in named), Counter(named.values())
    for case in cases:
        if case not in named or under[named[case]] >= _MOST * of_all[named[case]]:
            yield case


def _usual_relation(found: Sequence[Diagnosis]) -> tuple[str, int | None]:
    """Return the relation that most outputs have, in words without its numbers where these differ.

    And how many have it; None for nearly all.
    """
    known = [(count, text) for texts in _relations(found) for text, count in texts.most_common(1) if text]
    nearly = [(text, None) for count, text in known if count >= _MOST * len(found)]
    most = [(text, count) for count, text in known if count >= _USUAL * len(found)]
    text, related = next(iter((*nearly, *most)), ("", None))
    return text.replace("#", "n") + (", where n differs" if "#" in text else ""), related


def _relations(found: Sequence[Diagnosis]) -> tuple[Counter[str], Counter[str]]:
    """Return how many outputs have each relation, with its numbers and without."""
    return Counter(why.relation for why in found), Counter(without_numbers(why.relation) for why in found)


def _sweeps(cases: Sequence[str]) -> int:
    return len({path_of(case) for case in cases})
