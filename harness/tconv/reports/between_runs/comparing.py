"""Two runs side by side: each case whose status or failure is another, grouped by what caused it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from tconv.gate.examples import Rank, rank
from tconv.gate.notes import NO_VALUES, NOTE_MEANINGS, noted
from tconv.gate.status import Status
from tconv.records.headers import differences
from tconv.reports.between_runs.transitions import CaseState, Transition, answered_alike, transition
from tconv.reports.causes import causes
from tconv.reports.phrases import other_waivers, unasked
from tconv.reports.run_names import run_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.records.headers import Difference
    from tconv.reports.causes import Cause

_CAUSELESS = {Status.PASSED, Status.INEXPRESSIBLE}
_NOT_COMPARED = {"started", "path", "cases", "asked_again", "backend.spec"}
"""Fields of the header that need not be equal in two runs of the same."""
_LOOKED_BACK = {Transition.FIXED, Transition.GONE}
"""Those that the old run's records say more of."""


@dataclass(frozen=True, slots=True)
class Group:
    """Cases with the same transition, statuses and causes.

    Attributes:
        transition: what became of them.
        what: the two statuses, and the cause of each.
        cases: their ids, the one first that stands for them, as in the reports of one run.
    """

    transition: Transition
    what: str
    cases: tuple[str, ...]

    @property
    def example(self) -> str:
        """The case that stands for them."""
        return self.cases[0]


@dataclass(frozen=True)
class Comparison:
    """What became of the cases of one run in another.

    Attributes:
        old: the run that is compared with.
        new: the run that is looked at.
        differences: what their headers say differently.
        groups: the cases that are not as they were, by transition and then the largest first.
        same: how many cases are as they were.
        added: how many were not asked before and do not fail.
    """

    old: Assessment
    new: Assessment
    differences: tuple[Difference, ...]
    groups: tuple[Group, ...]
    same: int
    added: int

    def count(self, transition: Transition) -> int:
        """Return how many cases have a transition."""
        return sum(len(group.cases) for group in self.groups if group.transition is transition)

    @cached_property
    def worse(self) -> int:
        """How many cases became worse."""
        return self.count(Transition.NEW)

    @property
    def title(self) -> str:
        """Both runs in words; with their files where these words are the same."""
        return " -> ".join(run_names([self.old, self.new]))

    @property
    def notes(self) -> list[str]:
        """What a reader must know: other waivers than as the run ended, or failures that were not asked again."""
        both = (("old", self.old), ("new", self.new))
        of_both = ((name, note) for name, run in both for note in (unasked(run), other_waivers(run)))
        return [f"{name}: {note}" for name, note in of_both if note]

    @property
    def sentence(self) -> str:
        """The whole comparison in a sentence."""
        counts = ", ".join(f"{self.count(transition):,} {transition}" for transition in Transition)
        # With these the numbers, those gone aside, are all cases of the new run.
        added = f", {self.added:,} not asked before" if self.added else ""
        worse = f"{self.worse:,}" if self.worse else "no"
        cases = "cases" if self.worse > 1 else "case"
        return f"{worse} {cases} became worse ({counts}, {self.same:,} as before{added})"


def regressions(assessment: Assessment, comparisons: Iterable[Comparison]) -> list[str]:
    """Return why a run is red since its baselines, a sentence for each of which a case became worse."""
    worse = (comparison for comparison in comparisons if comparison.new is assessment and comparison.worse)
    return [f"since {comparison.old.run.path}, {comparison.sentence}" for comparison in worse]


def compared(old: Assessment, new: Assessment) -> Comparison:
    """Return what became of the cases of one run in another."""
    before, after = _states(old), _states(new)
    groups: dict[tuple[Transition, str], list[tuple[str, CaseState | None]]] = defaultdict(list)
    same = added = 0
    in_part = _is_part(new, old) or _is_part(old, new)
    for case in before.keys() | after.keys():
        was, now = before.get(case), after.get(case)
        if now is None and _is_part(new, old):
            continue
        change = None if in_part and answered_alike(was, now) else transition(was, now)
        if change is not None:
            shown = was if change in _LOOKED_BACK else now
            groups[change, _what(was, now)].append((case, shown))
        elif was is None:
            added += 1
        else:
            same += 1
    of_headers = differences(old.run.header, new.run.header)
    differing = tuple(difference for difference in of_headers if difference.name not in _NOT_COMPARED)
    return Comparison(old, new, differing, tuple(_sorted(groups)), same, added)


def _sorted(groups: Mapping[tuple[Transition, str], list[tuple[str, CaseState | None]]]) -> list[Group]:
    """Return groups by transition and then the largest first, each with its example first."""
    order = tuple(Transition)
    in_order = [
        Group(*key, tuple(case for case, _ in sorted(members, key=lambda member: _rank(*member))))
        for key, members in groups.items()
    ]
    return sorted(in_order, key=lambda group: (order.index(group.transition), -len(group.cases), group.what))


def _rank(case: str, state: CaseState | None) -> Rank:
    if state is None:
        return False, False, False, False, (0, len(case), case)
    return rank(state.record, state.group)


def _is_part(new: Assessment, old: Assessment) -> bool:
    """Return whether the new run has not asked all that it would have: of a part of the corpus, a shard, or cut off."""
    header = new.run.header
    part = header.patterns not in {(), old.run.header.patterns} or header.shard
    return bool(part or len(new.run.records) != header.cases)


def _states(assessment: Assessment) -> dict[str, CaseState]:
    of_cause = {
        member.record.case: cause
        for status in Status
        if status not in _CAUSELESS and assessment.counts[status]
        for cause in causes(assessment, status)
        for member in cause.members
    }
    return {member.record.case: _state(member, of_cause.get(member.record.case)) for member in assessment.statuses}


def _state(member: RecordStatus, cause: Cause | None) -> CaseState:
    what, group = (cause.what, cause.group) if cause else ("", ())
    if member.status is Status.PASSED and NO_VALUES in noted(member.record):
        what = NOTE_MEANINGS[NO_VALUES]
    return CaseState(member.status, what, member.record, group)


def _what(was: CaseState | None, now: CaseState | None) -> str:
    words = " -> ".join(str(state.status) if state else "not asked" for state in (was, now))
    # The line of what is unsupported begins with its status.
    cause = f": {now.cause.removeprefix(f'{now.status}: ')}" if now and now.cause else ""
    before = was.cause if was and was.cause and not (now and now.cause == was.cause) else ""
    if not before:
        return f"{words}{cause}"
    return f"{words}{cause}; was: {_otherwise(before, now.cause) if now else before}"


def _otherwise(before: str, now: str) -> str:
    """Return the words of a text that a later one has not, `...` for those of both; all where few are in both."""
    old, new = before.split(), now.split()
    parts = [
        (tag, start, end) for tag, start, end, _, _ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    ]
    alike = sum(end - start for tag, start, end in parts if tag == "equal")
    if 2 * alike < len(old):
        return before
    # A word on each side says where a difference is.
    near = {at for tag, start, end in parts if tag != "equal" for at in range(start - 1, end + 1)}
    shown = (word if at in near else "..." for at, word in enumerate(old))
    return " ".join(word for word, _ in groupby(shown))
