"""Where calls have no answer that could be looked at: the conditions on calls that are refused, or end a process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.learning.judged_calls import Condition, JudgedCalls

UNANSWERED = ver.RefusedValid | ver.BackendError | ver.Crashed | ver.TimedOut | ver.Unsupported
"""Failures without values."""
_FEWEST = 12
"""So many calls have hardly a condition in common by chance."""
_MOST_CONDITIONS = 3


class Unanswered(NamedTuple):
    """Calls without an answer that meet a condition.

    Attributes:
        condition: the condition, which hardly any call with a right answer meets.
        cases: the ids of the cases.
        others: how many other calls meet it, those that fail otherwise included.
    """

    condition: Condition
    cases: frozenset[str]
    others: int

    @property
    def evidence(self) -> str:
        """How many of the calls under the condition fail so, in words."""
        return f"{len(self.cases):,} of {len(self.cases) + self.others:,} such calls fail so"


@dataclass
class UnansweredCalls:
    """The calls of a run without an answer, beside those with a right one; worked out when it is asked for.

    Attributes:
        judged: the calls of the run, those with a right answer too.
    """

    judged: JudgedCalls
    _parts: dict[tuple[str, ...], tuple[Unanswered, ...]] = field(default_factory=dict)

    def parts(self, cases: Sequence[str]) -> tuple[Unanswered, ...]:
        """Return parts of some cases, each with its condition; none where there are few cases, or no condition holds.

        Args:
            cases: the ids of cases without an answer, which a runtime says in the same words, or ends in the same way.
        """
        key = tuple(cases)
        if key not in self._parts:
            self._parts[key] = tuple(self._with_conditions(cases))
        return self._parts[key]

    def can_meet(self, case: str) -> bool:
        """Return whether a condition can be on a call: it cannot if the call has no output, or an empty one."""
        return case in self._calls.numbers

    @cached_property
    def _calls(self) -> JudgedCalls:
        return replace(self.judged, wrong_kinds=UNANSWERED)

    def _with_conditions(self, cases: Sequence[str]) -> Iterator[Unanswered]:
        others = [case for case in self._calls.numbers if case not in set(cases)]
        rest = list(cases)
        for _ in range(_MOST_CONDITIONS):
            part = self._part(rest, others) if len(rest) >= _FEWEST else None
            if part is None:
                return
            yield part
            rest = [case for case in rest if case not in part.cases]

    def _part(self, cases: Sequence[str], others: Sequence[str]) -> Unanswered | None:
        """Return the largest part of some cases under a condition that others hardly meet.

        Where other failures meet it as well, as with a reason that a runtime tells in several ways, it is a condition
        if they are fewer.
        """
        for right in (others, None):
            met = self._calls.condition(cases, right)
            if met is not None and len(met[1]) >= _FEWEST:
                count = len(self._calls.meeting(met[0], others))
                if count <= len(met[1]):
                    return Unanswered(met[0], frozenset(met[1]), count)
        return None
