"""Two runs side by side: each case whose status, values or failure are others, grouped by what caused it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
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
from tconv.reports.notes import NO_VALUES, NOTE_MEANINGS, Note, list_notes
from tconv.reports.run_names import run_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.records.headers import Difference
    from tconv.reports.causes import Cause
    from tconv.reports.report import RunReport

_MACHINE = "backend.machine."
_NOT_COMPARED = {
    *("started", "path", "cases", "backend.spec"),
    *(f"{_MACHINE}{name}" for name in ("cores", "memory")),
}
"""Fields of the header that need not be equal in two runs of the same, and facts of a machine that decide no answer."""
_OF_BOTH = {"not-asked-again", "other-waivers"}
"""The names of notes on each of the runs that their comparison repeats."""
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

    old: RunReport
    new: RunReport
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
        return " -> ".join(run_names([self.old.assessment, self.new.assessment]))

    @property
    def notes(self) -> list[Note]:
        """What a reader must know of the baseline, of waivers that are others now, and of failures not asked again."""
        of_both = ((which, note) for which, run in (("old", self.old), ("new", self.new)) for note in run.notes)
        told = [Note(note.name, f"{which}: {note.text}") for which, note in of_both if note.name in _OF_BOTH]
        return [*self._baseline, *told]

    @property
    def _baseline(self) -> Iterator[Note]:
        """In what the baseline is not as the new run, in sentences."""
        was, now = self.old.assessment.run.header, self.new.assessment.run.header
        if self.baselines > 1:
            path, runs = self.old.assessment.run.path, f"{self.baselines} runs of this backend and dialect"
            yield Note("several-baselines", f"the baseline is {path}, the newest of {runs}")
        if _other_cases(self.old.assessment, self.new.assessment):
            of_both = f"the {self.asked_twice:,} cases of both are compared"
            if was.tier != now.tier:
                tiers = f"a run of the {was.tier} tier, and this is one of the {now.tier} tier"
                yield Note("other-tier", f"the baseline is {tiers}: {of_both}")
            if was.corpus != now.corpus:
                changed = "a case of the same name may have been changed"
                yield Note("other-cases", f"the baseline is a run of other case files: {of_both}, and {changed}")
        facts = [difference.name for difference in self.differences if difference.name.startswith(_MACHINE)]
        if facts:
            names = ", ".join(name.removeprefix(_MACHINE) for name in facts)
            may = "there a runtime may choose other kernels"
            yield Note("other-machine", f"the baseline is a run on another machine ({names}): {may}")

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


def compare(old: RunReport, new: RunReport, baselines: int = 1) -> Comparison:
    """Return what became of the cases of one run in another.

    Args:
        old: the run that is compared with.
        new: the run that is looked at.
        baselines: how many old runs there are of this backend and dialect, of which `old` is the newest.
    """
    before, after = _states(old), _states(new)
    groups: dict[_Key, list[_Changed]] = defaultdict(list)
    same = added = 0
    was_run, now_run = old.assessment, new.assessment
    others, part = _other_cases(was_run, now_run), _is_part(now_run, was_run)
    settled_by_others = others or part or _is_part(was_run, now_run)
    for case in before.keys() | after.keys():
        was, now = before.get(case), after.get(case)
        if now is None and (others or part):
            continue
        is_as_before = (was is None and others) or (settled_by_others and answered_alike(was, now))
        change = None if is_as_before else transition(was, now)
        if change is not None:
            other_values = change is Transition.NEW and has_other_values(was, now)
            groups[change, _key(was), _key(now), other_values].append((case, was, now))
        elif was is None:
            added += 1
        else:
            same += 1
    of_headers = differences(was_run.run.header, now_run.run.header)
    differing = tuple(difference for difference in of_headers if difference.name not in _NOT_COMPARED)
    return Comparison(old, new, differing, tuple(_sorted(groups)), same, added, baselines)


_Changed = tuple[str, CaseState | None, CaseState | None]
"""The id of a case, and how it stands in the old and in the new run."""
_Key = tuple[Transition, object, object, bool]
"""A transition, what cases have in common in each run, and whether their values are others."""


def _key(state: CaseState | None) -> object:
    """Return what cases that stand alike in a run have in common: the status and the cause."""
    return state and (state.status, state.group, state.cause if not state.group else "")


def _sorted(groups: Mapping[_Key, list[_Changed]]) -> list[Group]:
    """Return groups by transition and then the largest first, each with its example first."""
    order = tuple(Transition)
    in_order = [
        _group(change, sorted(members, key=lambda each: _rank(change, each)), other_values=other_values)
        for (change, *_, other_values), members in groups.items()
    ]
    return sorted(in_order, key=lambda group: (order.index(group.transition), -len(group.cases), group.cases))


def _group(change: Transition, members: Sequence[_Changed], *, other_values: bool) -> Group:
    _, was, now = members[0]
    what = _what(was, now, other_values=other_values)
    return Group(change, what, tuple(case for case, _, _ in members), other_values)


def _rank(change: Transition, changed: _Changed) -> Rank:
    case, was, now = changed
    state = was if change in _LOOKED_BACK else now
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


def _states(run: RunReport) -> dict[str, CaseState]:
    of_cause = {
        member.record.case: cause for causes in run.causes.values() for cause in causes for member in cause.members
    }
    return {
        member.record.case: _state(member, of_cause.get(member.record.case), may_vary=run.assessment.answers_vary)
        for member in run.assessment.statuses
    }


def _state(member: RecordStatus, cause: Cause | None, *, may_vary: bool) -> CaseState:
    """Return how a case stands in a run; `may_vary` says whether answers of the run vary."""
    what, group = (cause.what, cause.group) if cause else ("", ())
    if member.status is Status.PASSED and NO_VALUES in list_notes(member):
        what = NOTE_MEANINGS[NO_VALUES]
    by_chance = member.waiver is not None and member.waiver.after_others
    varies = member.record.varies or by_chance or (may_vary and member.may_vary)
    return CaseState(member, what, group, varies)


def _what(was: CaseState | None, now: CaseState | None, *, other_values: bool) -> str:
    words = " -> ".join(str(state.status) if state else "not asked" for state in (was, now))
    words += ", other values" if other_values else ""
    cause = f": {now.cause}" if now and now.cause else ""
    before = was.cause if was and was.cause and not (now and now.cause == was.cause) else ""
    return f"{words}{cause}; was: {before}" if before else f"{words}{cause}"
