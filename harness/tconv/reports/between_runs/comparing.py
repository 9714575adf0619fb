"""Compare two runs: each case with another status, other values or another failure, grouped by its cause."""

from __future__ import annotations

from collections import Counter, defaultdict
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
from tconv.reports.phrases import counted

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
"""Fields of the header that may differ between two equal runs, and facts of a machine that change no answer."""
_OF_BOTH = {"not-asked-again", "other-waivers"}
"""The names of notes on each run that the comparison repeats."""
_LOOKED_BACK = {Transition.FIXED, Transition.GONE}
"""Transitions for which the old run's records say more."""


@dataclass(frozen=True, slots=True)
class Group:
    """Cases with the same transition, statuses and causes.

    Attributes:
        transition: their transition.
        what: the two statuses, and the cause of each.
        cases: their ids, the example first, as in the reports of one run.
        other_values: whether they became worse because their values changed.
    """

    transition: Transition
    what: str
    cases: tuple[str, ...]
    other_values: bool = False

    @property
    def example(self) -> str:
        """The id of the example."""
        return self.cases[0]


@dataclass(frozen=True)
class Comparison:
    """The changes of the cases from one run to another.

    Attributes:
        old: the earlier run.
        new: the later run.
        differences: the differences of their headers.
        groups: the changed cases, by transition, and then the largest group first.
        same: the number of unchanged cases.
        added: the number of cases only in the new run, except failures; if tiers or corpora differ, failures count too.
        baselines: the number of old runs of this backend and dialect; `old` is the newest of them.
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
        """The number of cases that became worse."""
        return self.count(Transition.NEW)

    @property
    def title(self) -> str:
        """The names of both runs; with their files if the names are equal."""
        return " -> ".join(run_names([self.old.assessment, self.new.assessment]))

    @property
    def notes(self) -> list[Note]:
        """Notes on the baseline, on changed waivers, and on failures that were not asked again."""
        of_both = ((which, note) for which, run in (("old", self.old), ("new", self.new)) for note in run.notes)
        told = [Note(note.name, f"{which}: {note.text}") for which, note in of_both if note.name in _OF_BOTH]
        return [*self._baseline, *told]

    @property
    def _baseline(self) -> Iterator[Note]:
        """Notes on the differences between the baseline and the new run."""
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
        """The number of cases that both runs have."""
        return self.same + sum(len(group.cases) for group in self.groups if group.transition is not Transition.GONE)

    @property
    def sentence(self) -> str:
        """The whole comparison in one sentence."""
        counts = ", ".join(f"{self.count(transition):,} {transition}" for transition in Transition)
        # With these, the numbers except the cases that are gone add up to all cases of the new run.
        added = f", {self.added:,} not asked before" if self.added else ""
        worse = counted(self.worse, "case") if self.worse else "no case"
        changed = sum(len(group.cases) for group in self.groups if group.other_values)
        of_values = f", {changed:,} with other values than before" if changed else ""
        return f"{worse} became worse{of_values} ({counts}, {self.same:,} as before{added})"


def run_names(assessments: Sequence[Assessment]) -> list[str]:
    """Return a name for each run: backend with version and options, dialect, and the file if these are not unique."""
    runs = [assessment.run for assessment in assessments]
    names = [f"{run.header.backend.title}, {run.header.dialect}" for run in runs]
    files = [(name, run.path.name) for name, run in zip(names, runs, strict=True)]
    same, same_file = Counter(names), Counter(files)
    return [
        name if same[name] == 1 else f"{name} ({run.path.name if same_file[name, run.path.name] == 1 else run.path})"
        for name, run in zip(names, runs, strict=True)
    ]


def compare(old: RunReport, new: RunReport, baselines: int = 1) -> Comparison:
    """Return the changes of the cases from one run to another.

    Args:
        old: the earlier run.
        new: the later run.
        baselines: the number of old runs of this backend and dialect; `old` is the newest of them.
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
"""The id of a case, and its state in the old and in the new run."""
_Key = tuple[Transition, object, object, bool]
"""A transition, what the cases have in common in each run, and whether their values changed."""


def _key(state: CaseState | None) -> object:
    """Return what cases with one state in a run have in common: the status and the cause."""
    return state and (state.status, state.group, state.cause if not state.group else "")


def _sorted(groups: Mapping[_Key, list[_Changed]]) -> list[Group]:
    """Return the groups by transition, and then the largest first; each begins with its example."""
    order = tuple(Transition)
    found = []
    for (change, *_, other_values), members in groups.items():
        members.sort(key=lambda each: _rank(change, each))
        _, was, now = members[0]
        what = _what(was, now, other_values=other_values)
        found.append(Group(change, what, tuple(case for case, _, _ in members), other_values))
    return sorted(found, key=lambda group: (order.index(group.transition), -len(group.cases), group.cases))


def _rank(change: Transition, changed: _Changed) -> Rank:
    case, was, now = changed
    state = was if change in _LOOKED_BACK else now
    if state is None:
        return False, False, False, False, (0, len(case), case)
    return rank(state.member, state.group)


def _is_part(new: Assessment, old: Assessment) -> bool:
    """Return whether the new run is a part of a run: it has patterns, is a shard, or was stopped."""
    header = new.run.header
    part = header.patterns not in {(), old.run.header.patterns} or header.shard
    return bool(part or len(new.run.records) != header.cases)


def _other_cases(old: Assessment, new: Assessment) -> bool:
    """Return whether two runs have different cases: then only the cases of both can be compared."""
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
    """Return the state of a case in a run; `may_vary` says whether answers of the run vary."""
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
