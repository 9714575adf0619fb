"""Two runs side by side: each case whose status, values or failure are others, grouped by what caused it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from tconv.gate.status import Rank, Status, rank
from tconv.records.headers import differences
from tconv.reports.between_runs.transitions import (
    CaseState,
    Transition,
    answered_alike,
    has_other_values,
    transition,
)
from tconv.reports.causes import causes
from tconv.reports.notes import NO_VALUES, NOTE_MEANINGS, noted
from tconv.reports.phrases import other_waivers, unasked
from tconv.reports.run_names import run_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.records.headers import Difference
    from tconv.reports.causes import Cause

_CAUSELESS = {Status.PASSED, Status.INEXPRESSIBLE}
_MACHINE = "backend.machine."
_NOT_COMPARED = {
    *("started", "path", "cases", "backend.spec"),
    *(f"{_MACHINE}{name}" for name in ("cores", "memory")),
}
"""Fields of the header that need not be equal in two runs of the same, and facts of a machine that decide no answer."""
_LOOKED_BACK = {Transition.FIXED, Transition.GONE}
"""Those that the old run's records say more of."""


@dataclass(frozen=True, slots=True)
class Group:
    """Cases with the same transition, statuses and causes.

    Attributes:
        transition: what became of them.
        what: the two statuses, and the cause of each.
        cases: their ids, the one first that stands for them, as in the reports of one run.
        other_values: whether they became worse because their values are others than before.
    """

    transition: Transition
    what: str
    cases: tuple[str, ...]
    other_values: bool = False

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
        added: how many were not asked before and do not fail; if the tiers or the corpora differ, those that fail too.
        baselines: how many old runs there are of this backend and dialect, of which `old` is the newest.
    """

    old: Assessment
    new: Assessment
    differences: tuple[Difference, ...]
    groups: tuple[Group, ...]
    same: int
    added: int
    baselines: int = 1

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
        """What a reader must know of the baseline, of waivers that are others now, and of failures not asked again."""
        both = (("old", self.old), ("new", self.new))
        of_both = ((name, note) for name, run in both for note in (unasked(run), other_waivers(run)))
        return [*self._baseline, *(f"{name}: {note}" for name, note in of_both if note)]

    @property
    def _baseline(self) -> Iterator[str]:
        """In what the baseline is not as the new run, in sentences."""
        was, now = self.old.run.header, self.new.run.header
        if self.baselines > 1:
            path, runs = self.old.run.path, f"{self.baselines} runs of this backend and dialect"
            yield f"the baseline is {path}, the newest of {runs}"
        if _other_cases(self.old, self.new):
            of_both = f"the {self.asked_twice:,} cases of both are compared"
            if was.tier != now.tier:
                yield f"the baseline is a run of the {was.tier} tier, and this is one of the {now.tier} tier: {of_both}"
            if was.corpus != now.corpus:
                changed = "a case of the same name may have been changed"
                yield f"the baseline is a run of other case files: {of_both}, and {changed}"
        facts = [difference.name for difference in self.differences if difference.name.startswith(_MACHINE)]
        if facts:
            names = ", ".join(name.removeprefix(_MACHINE) for name in facts)
            yield f"the baseline is a run on another machine ({names}): there a runtime may choose other kernels"

    @property
    def asked_twice(self) -> int:
        """How many cases both runs have."""
        return self.same + sum(len(group.cases) for group in self.groups if group.transition is not Transition.GONE)

    @property
    def sentence(self) -> str:
        """The whole comparison in a sentence."""
        counts = ", ".join(f"{self.count(transition):,} {transition}" for transition in Transition)
        # With these the numbers, those gone aside, are all cases of the new run.
        added = f", {self.added:,} not asked before" if self.added else ""
        worse = f"{self.worse:,}" if self.worse else "no"
        cases = "cases" if self.worse > 1 else "case"
        changed = sum(len(group.cases) for group in self.groups if group.other_values)
        of_values = f", {changed:,} with other values than before" if changed else ""
        return f"{worse} {cases} became worse{of_values} ({counts}, {self.same:,} as before{added})"


def regressions(assessment: Assessment, comparisons: Iterable[Comparison]) -> list[str]:
    """Return why a run is red since its baselines, a sentence for each of which a case became worse."""
    worse = (comparison for comparison in comparisons if comparison.new is assessment and comparison.worse)
    return [f"since {comparison.old.run.path}, {comparison.sentence}" for comparison in worse]


def compared(old: Assessment, new: Assessment, baselines: int = 1) -> Comparison:
    """Return what became of the cases of one run in another.

    Args:
        old: the run that is compared with.
        new: the run that is looked at.
        baselines: how many old runs there are of this backend and dialect, of which `old` is the newest.
    """
    before, after = _states(old), _states(new)
    groups: dict[tuple[Transition, str, bool], list[tuple[str, CaseState | None]]] = defaultdict(list)
    same = added = 0
    others, part = _other_cases(old, new), _is_part(new, old)
    settled_by_others = others or part or _is_part(old, new)
    for case in before.keys() | after.keys():
        was, now = before.get(case), after.get(case)
        if now is None and (others or part):
            continue
        is_as_before = (was is None and others) or (settled_by_others and answered_alike(was, now))
        change = None if is_as_before else transition(was, now)
        if change is not None:
            shown = was if change in _LOOKED_BACK else now
            other_values = change is Transition.NEW and has_other_values(was, now)
            groups[change, _what(was, now, other_values=other_values), other_values].append((case, shown))
        elif was is None:
            added += 1
        else:
            same += 1
    of_headers = differences(old.run.header, new.run.header)
    differing = tuple(difference for difference in of_headers if difference.name not in _NOT_COMPARED)
    return Comparison(old, new, differing, tuple(_sorted(groups)), same, added, baselines)


def _sorted(groups: Mapping[tuple[Transition, str, bool], list[tuple[str, CaseState | None]]]) -> list[Group]:
    """Return groups by transition and then the largest first, each with its example first."""
    order = tuple(Transition)
    in_order = [
        Group(change, what, tuple(case for case, _ in sorted(members, key=lambda member: _rank(*member))), other_values)
        for (change, what, other_values), members in groups.items()
    ]
    return sorted(in_order, key=lambda group: (order.index(group.transition), -len(group.cases), group.what))


def _rank(case: str, state: CaseState | None) -> Rank:
    if state is None:
        return False, False, False, False, (0, len(case), case)
    return rank(state.member, state.group)


def _is_part(new: Assessment, old: Assessment) -> bool:
    """Return whether the new run has not asked all that it would have: of a part of the corpus, a shard, or cut off."""
    header = new.run.header
    part = header.patterns not in {(), old.run.header.patterns} or header.shard
    return bool(part or len(new.run.records) != header.cases)


def _other_cases(old: Assessment, new: Assessment) -> bool:
    """Return whether two runs are of other cases, of which only those of both say what became of them."""
    was, now = old.run.header, new.run.header
    return (was.tier, was.corpus) != (now.tier, now.corpus)


def _states(assessment: Assessment) -> dict[str, CaseState]:
    of_cause = {
        member.record.case: cause
        for status in Status
        if status not in _CAUSELESS and assessment.counts[status]
        for cause in causes(assessment, status)
        for member in cause.members
    }
    return {
        member.record.case: _state(member, of_cause.get(member.record.case), may_vary=assessment.answers_vary)
        for member in assessment.statuses
    }


def _state(member: RecordStatus, cause: Cause | None, *, may_vary: bool) -> CaseState:
    """Return how a case stands in a run; `may_vary` says whether answers of the run vary."""
    what, group = (cause.what, cause.group) if cause else ("", ())
    if member.status is Status.PASSED and NO_VALUES in noted(member):
        what = NOTE_MEANINGS[NO_VALUES]
    by_chance = member.waiver is not None and member.waiver.after_others
    varies = member.record.varies or by_chance or (may_vary and member.may_vary)
    return CaseState(member, what, group, varies)


def _what(was: CaseState | None, now: CaseState | None, *, other_values: bool) -> str:
    words = " -> ".join(str(state.status) if state else "not asked" for state in (was, now))
    words += ", other values" if other_values else ""
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
