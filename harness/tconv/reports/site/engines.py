"""The runs of the site by engine: the answers of each engine to each question, how often, and since when."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from packaging.version import InvalidVersion, Version

from tconv.backends.engine_names import engine_name
from tconv.cases.patterns import twin_of
from tconv.dialects import GEOMETRY_1
from tconv.dialects.constraints import CONSTRAINTS
from tconv.gate.answers import Opened, collect_answers, is_disputed_refusal
from tconv.gate.status import Status
from tconv.records import artifacts
from tconv.records.failure import failure
from tconv.reports.between_runs.comparing import compare
from tconv.reports.page.arrays import LARGEST
from tconv.reports.rule_sheet import sheet
from tconv.reports.site.questions import TABLES, describe, list_questions
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.gate.status import RecordStatus
    from tconv.gate.waivers import Waiver
    from tconv.reports.between_runs.comparing import Comparison, Group
    from tconv.reports.report import RunReport
    from tconv.reports.rule_sheet import SheetLine
    from tconv.reports.site.questions import Question

    Find = Callable[[str], Case | None]

OUTCOMES: Mapping[str, str] = TABLES["outcomes"]
"""The outcomes of calls in the words of the pages, the best first."""
JUDGED = ("right", "allowed", "differs", "refuses", "crashes")
FEW = 10
"""A mark that rests on fewer calls is not sure."""
_ENDS = ver.Crashed | ver.TimedOut
_REFUSES = ver.RefusedValid | ver.BackendError
_OF_STATUS = {
    Status.PASSED: "right",
    Status.DISPUTED: "allowed",
    Status.INCONCLUSIVE: "unsure",
    Status.REPORTED: "accepts",
    Status.UNSUPPORTED: "unsupported",
    Status.UNDECLARED: "unsupported",
    Status.NOT_APPLICABLE: "impossible",
}


def outcome_of(member: RecordStatus) -> str:
    """Return the word of `OUTCOMES` for a record."""
    if (word := _OF_STATUS.get(member.status)) is not None:
        return word
    ruling = member.ruling
    return "crashes" if isinstance(ruling, _ENDS) else "refuses" if isinstance(ruling, _REFUSES) else "differs"


def outcomes_of(report: RunReport, group: Group) -> str:
    """Return the words of `OUTCOMES` for the cases of a group of changes in one of its runs."""
    cases = set(group.cases)
    found = {outcome_of(member) for member in report.assessment.statuses if member.record.case in cases}
    return " or ".join(word for word in OUTCOMES if word in found) or "not asked"


class Said(NamedTuple):
    """An answer to a question about a text.

    Attributes:
        answer: a word of `rules` or of `Opened`.
        mark: `own` if it is the text's first answer, `allowed` if the text allows it too, `other` if not.
    """

    answer: str
    mark: str


class Cell(NamedTuple):
    """A cell of the table of engines and questions.

    Attributes:
        mark: a word of the table's legend.
        words: the answer, or the numbers of calls.
        few: whether it rests on fewer than `FEW` calls.
    """

    mark: str
    words: str
    few: bool = False


@dataclass(frozen=True, eq=False)
class SiteRun:
    """A run of the site.

    Attributes:
        report: its report.
        find: returns the case with an id.
    """

    report: RunReport
    find: Find

    @property
    def dialect(self) -> Dialect:
        """The dialect in which the backend was asked."""
        return self.report.assessment.run.dialect

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self.report.assessment.run.header.backend.name

    @property
    def version(self) -> str:
        """The version of the runtime."""
        return self.report.assessment.run.header.backend.version

    @property
    def date(self) -> str:
        """The day of the run."""
        return self.report.assessment.run.header.started[: len("2026-11-27")]

    @property
    def about(self) -> dict[str, str]:
        """Backend, version, dialect and date, for JSON."""
        return {"backend": self.backend, "version": self.version, "dialect": self.dialect.name, "date": self.date}

    @cached_property
    def members(self) -> Sequence[tuple[RecordStatus, Case]]:
        """The records whose cases the corpus has."""
        found = ((member, self.find(member.record.case)) for member in self.report.assessment.statuses)
        return [(member, case) for member, case in found if case is not None]

    @cached_property
    def total(self) -> Counter[str]:
        """The number of its calls for each outcome."""
        return Counter(outcome_of(member) for member, _ in self.members)

    @cached_property
    def counts(self) -> Mapping[str, Counter[str]]:
        """By question, the number of its calls for each outcome; for a use or a rule, only valid calls count."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for member, case in self.members:
            outcome, asked = outcome_of(member), describe(case)
            for question in list_questions():
                if question.is_of(asked):
                    counts[question.key][outcome] += 1
        return counts

    @cached_property
    def answers(self) -> Mapping[str, Sequence[Said]]:
        """The answers of the records to questions on which texts differ."""
        run = self.report.assessment.run
        if run.dialect is GEOMETRY_1:
            return {}
        # A refusal that a waiver explains shows no reading, and other readings may not fit the graph around it.
        waived = self.report.assessment.waived
        kept = [
            one
            for one in run.records
            if twin_of(one.case) is None and not (is_disputed_refusal(one.verdict) and one.case in waived)
        ]
        shown = collect_answers(
            replace(run, records=kept),
            self.find,
            run.dialect.every_reading(),
            lambda record: artifacts.array(run.path.parent, record.artifact, "actual", LARGEST),
        )
        return {
            each.question.replace("_", "-"): [Said(a.answer, self._mark(each.question, a.answer)) for a in each.answers]
            for each in shown
        }

    def _mark(self, question: str, answer: str) -> str:
        if question in CONSTRAINTS:
            return "allowed" if answer == Opened.REFUSED else "own"
        if answer == getattr(self.dialect.rules, question):
            return "own"
        changes = [reading.change for reading in self.dialect.disputed]
        allowed = any((change.question, change.answer) == (question, answer) for change in changes)
        return "allowed" if allowed else "other"

    @cached_property
    def rules(self) -> Sequence[SheetLine]:
        """The formulas that it computes and that its text does not have."""
        records = self.report.assessment.run.records
        return [line for line in sheet(records, self.find, self.dialect) if line.deviates]

    def cell(self, question: Question) -> Cell:
        """Return the cell of a question."""
        counts = self.counts.get(question.key, Counter[str]())
        judged = sum(counts[word] for word in JUDGED)
        few = counts.total() < FEW
        if question.kind != "use" and (said := self.answers.get(question.key)):
            worst = max(said, key=lambda each: ("own", "allowed", "other").index(each.mark))
            return Cell("mixed" if len(said) > 1 else worst.mark, " / ".join(each.answer for each in said), few)
        if not judged:
            if counts["accepts"]:
                return Cell("allowed", "answered", few)
            if counts["unsupported"]:
                return Cell("unsupported", "not implemented")
            if counts["impossible"]:
                can_pad = question.instead and self.dialect.has_word("pads")
                return Cell("impossible", "write the pads" if can_pad else "cannot be written")
            return Cell("unasked", "not asked")
        good = counts["right"] + counts["allowed"]
        apart = {"refused": counts["refuses"], "crash": counts["crashes"]}
        words = ", ".join([f"{good} of {judged}", *(f"{count} {says}" for says, count in apart.items() if count)])
        if question.kind == "rule" and counts["right"] == counts.total():
            return Cell("own", words, few)
        part = "part" if good else "no"
        mark = "crashes" if counts["crashes"] else part if counts["differs"] else "refuses"
        return Cell("yes" if good == judged else mark, words, judged < FEW)


@dataclass(frozen=True, slots=True)
class Finding:
    """A known deviation of an engine.

    Attributes:
        key: its place on the page of the engine.
        waiver: the deviation.
        runs: the runs that show it, by their names.
        cases: the cases that show it.
    """

    key: str
    waiver: Waiver
    runs: dict[str, SiteRun]
    cases: list[str]


@dataclass(frozen=True, eq=False)
class Engine:
    """An engine, and its runs: the newest release first; for one release, the run that judged most cases first.

    Attributes:
        key: its permanent address below `engines/`.
        name: its name.
        runs: its runs.
    """

    key: str
    name: str
    runs: Sequence[SiteRun]

    @property
    def first(self) -> SiteRun:
        """The run that represents the engine in the table."""
        return self.runs[0]

    @cached_property
    def releases(self) -> Sequence[Sequence[SiteRun]]:
        """For each backend and dialect, a run of each release, the newest first."""
        by_way: dict[tuple[str, str], dict[str, SiteRun]] = defaultdict(dict)
        for run in self.runs:
            by_way[run.backend, run.dialect.name].setdefault(run.version, run)
        return [list(runs.values()) for runs in by_way.values()]

    @property
    def current(self) -> Sequence[SiteRun]:
        """The runs of the newest release of each backend and dialect."""
        return [runs[0] for runs in self.releases]

    @cached_property
    def changes(self) -> Sequence[Comparison]:
        """The changes of the calls from release to release, the newest first."""
        return [compare(old.report, new.report) for runs in self.releases for new, old in pairwise(runs)]

    @cached_property
    def ends(self) -> Sequence[tuple[SiteRun, RecordStatus, bool]]:
        """The calls of the newest release that crash or hang, and whether each is valid; simple, valid ones first."""
        found = [
            (describe(case).is_valid, case.simplicity, run, member)
            for run in self.current
            for member, case in run.members
            if isinstance(member.record.verdict, _ENDS)
        ]
        simplest = sorted(found, key=lambda each: (not each[0], each[1]))
        return [(run, member, is_valid) for is_valid, _, run, member in simplest]

    @cached_property
    def ends_alike(self) -> Mapping[object, tuple[tuple[SiteRun, RecordStatus, bool], int]]:
        """By run, validity and message without numbers: the simplest call that crashes or hangs, and the number."""
        alike: dict[object, tuple[tuple[SiteRun, RecordStatus, bool], int]] = {}
        for run, member, is_valid in self.ends:
            key = run, is_valid, failure(member.record)
            first, count = alike.get(key, ((run, member, is_valid), 0))
            alike[key] = first, count + 1
        return alike

    @property
    def valid_ends(self) -> int:
        """The number of valid calls that crash or hang."""
        return sum(valid for *_, valid in self.ends)

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """The known deviations of the newest release, each once; those with most cases come first."""
        found: dict[str, Finding] = {}
        for run in self.current:
            for member in run.report.assessment.statuses:
                if member.waiver is not None:
                    key = re.sub(r"[^a-z0-9]+", "-", f"{run.backend}-{member.waiver.name}".lower()).strip("-")
                    finding = found.setdefault(key, Finding(key, member.waiver, {}, []))
                    finding.runs[run.report.name] = run
                    finding.cases.append(member.record.case)
        return sorted(found.values(), key=lambda finding: (-len(finding.cases), finding.key))


def list_engines(reports: Sequence[RunReport], find: Find) -> list[Engine]:
    """Return the engines of some runs, by name."""
    groups: dict[tuple[str, str], list[SiteRun]] = defaultdict(list)
    for report in reports:
        run = SiteRun(report, find)
        groups[engine_name(run.backend)].append(run)
    for runs in groups.values():
        runs.sort(key=lambda run: (in_order(run.version), run.report.assessment.judged), reverse=True)
    return [Engine(key, name, runs) for (key, name), runs in sorted(groups.items())]


def in_order(version: str) -> Version:
    """Return a release as a value that can be compared; one that is no version comes first."""
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")
