"""The power of a corpus: which cases notice each misreading, if a backend follows it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import outcome as out
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.cases.patterns import topic_of
from tconv.corpus.budget import MOST_ELEMENTS
from tconv.diagnosis.misreadings import apply, misreadings_of
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tconv.cases.call import Call
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
        redundant: cases that notice only what another case of the topic notices too, and that case; an empty text
            instead of it for those that notice nothing at all.
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
        needed: a few cases that together notice every misreading that any case notices.
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
    misreadings = [misreading for misreading in misreadings_of(dialect) if misreading.playable]
    affected: dict[str, list[str]] = defaultdict(list)
    killed: dict[str, list[str]] = defaultdict(list)
    seen: dict[tuple[object, ...], dict[str, bool]] = {}
    case_ids: list[str] = []
    for case in cases:
        problem = Problem(case, dialect)
        if problem.values is None:
            continue
        case_ids.append(case.id)
        # The reference does not depend on layouts and presentation.
        key = (problem.signature.attributes.groups, problem.values, case.x, case.w, case.b, _without_layouts(case))
        if key not in seen:
            seen[key] = _noticed(problem, misreadings)
        for name, kills in seen[key].items():
            affected[name].append(case.id)
            if kills:
                killed[name].append(case.id)
        progress(len(case_ids))
    powers = tuple(
        Power(misreading, tuple(affected[misreading.name]), tuple(killed[misreading.name]))
        for misreading in misreadings
    )
    return Measured(powers, tuple(_topics(case_ids, powers)), tuple(_needed(powers)), len(case_ids))


def _without_layouts(case: Case) -> tuple[object, ...]:
    written = case.attributes.given()
    return tuple((name, value) for name, value in written.items() if name not in {"data_format", "filter_format"})


def _noticed(problem: Problem, misreadings: Sequence[Misreading]) -> dict[str, bool]:
    """Return the misreadings that change a problem's output, and whether the verdict notices them."""
    expected, noticed = problem.output, {}
    for misreading in misreadings:
        array = mutated(problem, misreading)
        # A misreading that gives what is owed cannot be noticed.
        if array is None or expected is None or _equal(array, expected):
            continue
        verdict = judge(problem, out.Produced(array), {})
        noticed[misreading.name] = not isinstance(verdict, ver.Allowed)
    return noticed


def _equal(first: Array, second: Array) -> bool:
    return bool(np.array_equal(first.astype(np.float64), second.astype(np.float64), equal_nan=True))


def mutated(problem: Problem, misreading: Misreading) -> Array | None:
    """Return the output of a backend that follows a misreading, in the call's layout and type; None for no change."""
    return output(misreading, problem.call, problem.truth.operands)


def output(misreading: Misreading, call: Call, operands: dict[str, Array]) -> Array | None:
    """Return the same of a call, whose operands are in float64, NCX and IOX; None too for what no case may ask for."""
    misread = apply((misreading,), call.written, call.dialect, operands)
    if misread is None or not misreading.playable:
        return None
    truth = Truth(misread.operands, call.dtype)
    if prod(truth.shape(misread.geometry)) > MOST_ELEMENTS:
        # A stride of 2^63 - 1 that is taken for a dilation, say.
        return None
    y = truth.values(misread.geometry)
    with np.errstate(invalid="ignore", over="ignore"):
        if misread.finish is not None:
            y = misread.finish(y)
        if misread.precision is not None and misread.precision.at_best is not None:
            y = misread.precision.at_best(y, call.dtype)
    return in_call(y, call)


def in_call(y: Array, call: Call) -> Array:
    """Return an output in NCX in a call's layout and type."""
    with np.errstate(invalid="ignore", over="ignore"):
        return from_ncx(y.astype(NUMPY_TYPES[call.dtype]), call.data_format)


def _topics(case_ids: Sequence[str], powers: Sequence[Power]) -> list[Topic]:
    noticed: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for case in case_ids:
        noticed[topic_of(case)][case] = set()
    for power in powers:
        for case in power.killed:
            noticed[topic_of(case)][case].add(power.misreading.name)
    together = {topic: frozenset[str]().union(*cases.values()) for topic, cases in noticed.items()}
    topics = []
    for topic, cases in noticed.items():
        others = frozenset[str]().union(*(names for other, names in together.items() if other != topic))
        topics.append(Topic(topic, len(cases), together[topic], together[topic] - others, _redundant(cases)))
    return sorted(topics, key=lambda topic: (len(topic.noticed), topic.name))


def _redundant(noticed: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the cases that notice only what another one notices too, with that one; of equal cases one is left out."""
    needed: list[str] = []
    redundant = {}
    for case in sorted(noticed, key=lambda case: (-len(noticed[case]), len(case), case)):
        stronger = next((other for other in needed if noticed[case] <= noticed[other]), None)
        if not noticed[case]:
            redundant[case] = ""
        elif stronger is None:
            needed.append(case)
        else:
            redundant[case] = stronger
    return redundant


def _needed(powers: Sequence[Power]) -> list[str]:
    """Return few cases that notice every misreading that any case notices."""
    # In order, so that of equals the same case is chosen in every process.
    unnoticed = {power.misreading.name: dict.fromkeys(power.killed) for power in powers if power.killed}
    chosen = []
    while unnoticed:
        (best, _), *_ = Counter(case for cases in unnoticed.values() for case in cases).most_common(1)
        chosen.append(best)
        unnoticed = {name: cases for name, cases in unnoticed.items() if best not in cases}
    return chosen
