"""The power of a corpus: each misreading as a backend, and which cases notice it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.diagnosis.misreadings import imagined, misreadings_of
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.diagnosis.misreadings import Misreading
    from tconv.dialects import Dialect
    from tconv.vocabulary import Array


@dataclass(frozen=True, slots=True)
class Power:
    """What a corpus notices of one misreading.

    Attributes:
        misreading: the misreading.
        affected: cases that it changes.
        killed: those whose verdict is a deviation.
    """

    misreading: Misreading
    affected: tuple[str, ...]
    killed: tuple[str, ...]

    @property
    def survives(self) -> bool:
        """Whether no case notices it."""
        return not self.killed


@dataclass(frozen=True, slots=True)
class Topic:
    """What the cases of one topic notice.

    Attributes:
        name: the topic.
        cases: how many of its cases owe a value.
        noticed: the misreadings that they notice.
        alone: those that no other topic notices.
        redundant: cases that notice nothing but what one other case of the topic does, and that case; empty for those
            that notice nothing at all.
    """

    name: str
    cases: int
    noticed: frozenset[str]
    alone: frozenset[str]
    redundant: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Measured:
    """A corpus measured.

    Attributes:
        powers: what it notices of each misreading.
        topics: what each topic notices, the weakest first.
        needed: cases that together notice all that any do, few of them.
        cases: how many cases owe a value.
    """

    powers: tuple[Power, ...]
    topics: tuple[Topic, ...]
    needed: tuple[str, ...]
    cases: int


def measure(cases: Iterable[Case], dialect: Dialect, progress: Callable[[int], None] = lambda _: None) -> Measured:
    """Return what cases notice of the misreadings of a dialect.

    Args:
        cases: the corpus, or a part of it.
        dialect: the dialect.
        progress: called with the number of cases done.
    """
    misreadings = misreadings_of(dialect)
    affected: dict[str, list[str]] = defaultdict(list)
    killed: dict[str, list[str]] = defaultdict(list)
    seen: dict[tuple[object, ...], dict[str, bool]] = {}
    asked: list[str] = []
    for case in cases:
        problem = Problem(case, dialect)
        if problem.values is None:
            continue
        asked.append(case.id)
        # Layouts and presentation are nothing that the reference sees.
        key = (problem.signature.attributes.groups, problem.values, case.x, case.w, case.b, _plain(case))
        if key not in seen:
            seen[key] = _noticed(problem, misreadings)
        for name, kills in seen[key].items():
            affected[name].append(case.id)
            if kills:
                killed[name].append(case.id)
        progress(len(asked))
    powers = tuple(Power(each, tuple(affected[each.name]), tuple(killed[each.name])) for each in misreadings)
    return Measured(powers, tuple(_topics(asked, powers)), tuple(_needed(powers)), len(asked))


def _plain(case: Case) -> tuple[object, ...]:
    given = case.attributes.given()
    return tuple((name, value) for name, value in given.items() if name not in {"data_format", "filter_format"})


def _noticed(problem: Problem, misreadings: Sequence[Misreading]) -> dict[str, bool]:
    """Return the misreadings that change a problem's answer, and whether the verdict tells."""
    owed, noticed = problem.output, {}
    for misreading in misreadings:
        array = mutated(problem, misreading)
        # Where a misreading comes to the same there is nothing to notice.
        if array is None or owed is None or _equal(array, owed):
            continue
        verdict = judge(problem, out.Produced(array), {})
        noticed[misreading.name] = not isinstance(verdict, ver.Agreed | ver.Disputed)
    return noticed


def _equal(first: Array, second: Array) -> bool:
    return bool(np.array_equal(first.astype(np.float64), second.astype(np.float64), equal_nan=True))


def mutated(problem: Problem, misreading: Misreading) -> Array | None:
    """Return what a backend with a misreading gives, in the call's layout and type; None where it changes nothing."""
    made = imagined((misreading,), problem.signature, problem.dialect, problem.truth.operands)
    if made is None:
        return None
    dtype = problem.call.dtype
    y = Truth(made.operands, dtype).values(made.geometry)
    with np.errstate(invalid="ignore", over="ignore"):
        if made.finish is not None:
            y = made.finish(y)
        if made.precision is not None:
            y = made.precision.at_best(y, dtype)
        return from_ncx(y.astype(NUMPY_TYPES[dtype]), problem.call.data_format)


def _topics(asked: Sequence[str], powers: Sequence[Power]) -> list[Topic]:
    noticed: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for case in asked:
        noticed[_topic(case)][case] = set()
    for power in powers:
        for case in power.killed:
            noticed[_topic(case)][case].add(power.misreading.name)
    together = {topic: frozenset[str]().union(*cases.values()) for topic, cases in noticed.items()}
    found = []
    for topic, cases in noticed.items():
        others = frozenset[str]().union(*(names for other, names in together.items() if other != topic))
        found.append(Topic(topic, len(cases), together[topic], together[topic] - others, _redundant(cases)))
    return sorted(found, key=lambda topic: (len(topic.noticed), topic.name))


def _topic(case: str) -> str:
    return case.split("/", 1)[0]


def _redundant(noticed: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the cases that notice nothing but what another one does, and the other one; of equals one stays."""
    kept: list[str] = []
    redundant = {}
    for case in sorted(noticed, key=lambda case: (-len(noticed[case]), len(case), case)):
        stronger = next((other for other in kept if noticed[case] <= noticed[other]), None)
        if not noticed[case]:
            redundant[case] = ""
        elif stronger is None:
            kept.append(case)
        else:
            redundant[case] = stronger
    return redundant


def _needed(powers: Sequence[Power]) -> list[str]:
    """Return few cases that notice every misreading that any case notices."""
    left = {power.misreading.name: set(power.killed) for power in powers if power.killed}
    chosen = []
    while left:
        (best, _), *_ = Counter(case for cases in left.values() for case in cases).most_common(1)
        chosen.append(best)
        left = {name: cases for name, cases in left.items() if best not in cases}
    return chosen
