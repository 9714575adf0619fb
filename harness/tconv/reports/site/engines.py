"""The runs of the site by engine: the answers of each engine to each question, how often, and since when."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from tconv.backends.engine_names import engine_name
from tconv.cases.patterns import twin_of
from tconv.dialects import GEOMETRY_1
from tconv.dialects.constraints import CONSTRAINTS
from tconv.evidence import sheet
from tconv.gate.answers import Opened, collect_answers, is_disputed_refusal
from tconv.gate.status import Status
from tconv.records import artifacts
from tconv.reports.between_runs.comparing import compare
from tconv.reports.page.arrays import LARGEST
from tconv.reports.site.questions import describe, list_questions
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.evidence.rules import SheetLine
    from tconv.gate.status import RecordStatus
    from tconv.gate.waivers import Waiver
    from tconv.reports.between_runs.comparing import Comparison
    from tconv.reports.report import RunReport
    from tconv.reports.site.questions import Question

    Find = Callable[[str], Case | None]

OUTCOMES: Mapping[str, str] = {
    "right": "as the text says",
    "allowed": "as another reading says, which the text allows too",
    "unsure": "too small to tell",
    "differs": "other values or another size than the text says",
    "refuses": "refuses a call that is valid",
    "accepts": "answers a call that its text calls invalid, which it may",
    "crashes": "the process crashes, or hangs",
    "unsupported": "does not implement it, and says so",
    "impossible": "cannot be written in the engine's call, such as a padding mode that it does not have",
}
"""The outcomes of calls in the words of the pages, the best first."""
_NO_ANSWER = {"unsure", "accepts", "unsupported", "impossible"}
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
    verdict = member.record.verdict
    return "crashes" if isinstance(verdict, _ENDS) else "refuses" if isinstance(verdict, _REFUSES) else "differs"


@dataclass(frozen=True)
class Said:
    """An answer to a question about a text.

    Attributes:
        answer: a word of `rules` or of `Opened`.
        mark: `own` if it is the text's first answer, `allowed` if the text allows it too, `other` if not.
    """

    answer: str
    mark: str


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
    def title(self) -> str:
        """Backend, version and dialect."""
        return f"{self.report.assessment.run.header.backend.title}, {self.dialect.name}"

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

    @cached_property
    def waivers(self) -> Mapping[str, tuple[Waiver, Sequence[RecordStatus]]]:
        """The known deviations in the run, by name, with their records."""
        members: dict[str, tuple[Waiver, list[RecordStatus]]] = {}
        for member in self.report.assessment.statuses:
            if (waiver := member.waiver) is not None:
                members.setdefault(waiver.name, (waiver, []))[1].append(member)
        return members

    def cell(self, question: Question) -> tuple[str, str]:
        """Return a cell of the table of engines and questions: a mark, and a few words."""
        counts = self.counts.get(question.key, Counter())
        said = self.answers.get(question.key, ()) if question.kind != "use" else ()
        if said:
            worst = max(said, key=lambda each: ("own", "allowed", "other").index(each.mark))
            return ("mixed" if len(said) > 1 else worst.mark), " / ".join(each.answer for each in said)
        judged = sum(counts[word] for word in OUTCOMES if word not in _NO_ANSWER)
        good = counts["right"] + counts["allowed"]
        if not judged:
            if counts["accepts"]:
                return "allowed", "answered"
            empty = "unsupported" if counts["unsupported"] else "impossible" if counts["impossible"] else "unasked"
            words = {"unsupported": "not implemented", "impossible": "cannot be written", "unasked": "not asked"}
            return empty, words[empty]
        if question.kind == "rule" and counts["right"] == counts.total():
            return "own", f"{good} of {judged}"
        mark = "yes" if good == judged else "crashes" if counts["crashes"] else "no" if not good else "part"
        return mark, f"{good} of {judged}"


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
    def current(self) -> Sequence[SiteRun]:
        """The runs of the newest release of each backend and dialect."""
        newest: dict[tuple[str, str], SiteRun] = {}
        for run in self.runs:
            newest.setdefault((run.backend, run.dialect.name), run)
        return list(newest.values())

    @cached_property
    def changes(self) -> Sequence[Comparison]:
        """The changes of the calls from release to release, the newest first."""
        by_way: dict[tuple[str, str], list[SiteRun]] = defaultdict(list)
        for run in self.runs:
            by_way[run.backend, run.dialect.name].append(run)
        return [compare(old.report, new.report) for runs in by_way.values() for new, old in pairwise(runs)]

    @property
    def ends(self) -> Iterator[tuple[SiteRun, RecordStatus]]:
        """The calls of the newest release that crash its process or time out."""
        for run in self.current:
            yield from ((run, m) for m in run.report.assessment.statuses if isinstance(m.record.verdict, _ENDS))


def list_engines(reports: Sequence[RunReport], find: Find) -> list[Engine]:
    """Return the engines of some runs, by name."""
    groups: dict[tuple[str, str], list[SiteRun]] = defaultdict(list)
    for report in reports:
        run = SiteRun(report, find)
        groups[engine_name(run.backend)].append(run)
    return [Engine(key, name, sorted(runs, key=_place, reverse=True)) for (key, name), runs in sorted(groups.items())]


def _place(run: SiteRun) -> tuple[Version, int]:
    try:
        version = Version(run.version)
    except InvalidVersion:
        version = Version("0")
    return version, run.report.assessment.judged
