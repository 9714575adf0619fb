"""The gate: records judged with waivers, and whether that is green."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from tconv.cases.columns import FactColumns
from tconv.comparison.siblings import settled
from tconv.gate.explanations import (
    Explanations,
    answers_vary,
    explanations,
    where_answers_vary,
    without_explanations,
)
from tconv.gate.joint_explanations import joint_explanations
from tconv.gate.notes import notes_of
from tconv.gate.pins import PinUses, hold_pins
from tconv.gate.reasons import incomplete, other_reasons
from tconv.gate.status import Status, status_of, with_better_causes
from tconv.gate.waiver_uses import WaiverUse, declaration_uses, excused_ends, is_whole, waiver_uses
from tconv.gate.waivers_of_run import active_entries, waivers_elsewhere, waivers_of_other_versions
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tconv.cases.case import Case
    from tconv.comparison.answers import QuestionAnswers
    from tconv.corpus import Corpus
    from tconv.dialects.readings import Together
    from tconv.gate.explanations import Varying
    from tconv.gate.notes import Noted
    from tconv.gate.status import RecordStatus
    from tconv.gate.waiver_uses import DeclarationUse, FactsOf
    from tconv.gate.waivers import Pin, Waiver, WaiverFile
    from tconv.learning import Lesson, Misread, Symptom, UnansweredCalls
    from tconv.records.record import Record
    from tconv.records.record_file import Run


@dataclass(frozen=True)
class Assessment:
    """What the gate says of a run.

    Attributes:
        run: the records, their verdicts settled by the other cases of the run.
        statuses: every record with its status, in the order of ids.
        facts: the facts of the cases, by id; empty for a case that the corpus does not have.
        uses: what the waivers of this dialect and version did.
        declarations: what the declarations of what is unsupported did, those that hold for this backend and machine.
        incomplete: why the records are not all that there should be.
        mixed: questions to which the backend gives no single answer, where they were looked for.
        elsewhere: waivers of this dialect and version for other machines than the run's; nothing is said of them.
        of_other_versions: waivers of this dialect for other versions of the backend that would waive a failure.
        learnt: the rules that the failures follow, learnt from all answers.
        symptoms: what the failures that follow none of these rules have in common.
        denied: how many cases that agree deny the name of a failure, where they are more than those that it explains.
        misread: where a misreading is made on some calls alone, by its name.
        varying: where failures are whose answers vary; None where that is not known, or none varies.
        unanswered: the calls without an answer, and the conditions on them; None where answers vary.
        relative: the backend that the waivers were written for, where it is another.
        of_other_options: whether the waivers are for other options of the backend, so that none applies.
        waivers: the digest of the waivers; empty for none.
        strict: whether accepting an invalid model is a failure.
        stale_pins: the pins that no case of a run of all cases needed.
        unpinned: the questions that the backend answers and that no pin is for.
    """

    run: Run
    statuses: tuple[RecordStatus, ...]
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    uses: tuple[WaiverUse, ...] = ()
    declarations: tuple[DeclarationUse, ...] = ()
    incomplete: tuple[str, ...] = ()
    mixed: tuple[QuestionAnswers, ...] = ()
    elsewhere: tuple[Waiver, ...] = ()
    of_other_versions: tuple[Waiver, ...] = ()
    learnt: tuple[Lesson, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    denied: Mapping[Together, int] = field(default_factory=dict)
    misread: Mapping[Together, Misread] = field(default_factory=dict)
    varying: Varying | None = None
    unanswered: UnansweredCalls | None = None
    relative: str = ""
    of_other_options: bool = False
    waivers: str = ""
    strict: bool = False
    stale_pins: tuple[Pin, ...] = ()
    unpinned: tuple[str, ...] = ()

    @property
    def waived_before_by(self) -> str:
        """The waivers by which the run was judged as it ended, in words, where they are others; else empty."""
        before = self.run.header.waivers
        same = before is None or (before.digest, before.strict) == (self.waivers, self.strict)
        return "" if same else str(before)

    @cached_property
    def answers_vary(self) -> bool:
        """Whether a failure had another answer when it was asked again, so that others may have one too."""
        return answers_vary(self.statuses)

    @property
    def unasked(self) -> int:
        """How many failures may depend on earlier calls, as none was asked again."""
        failed = [member.record for member in self.statuses if member.status is Status.FAILED]
        may = sum(record.may_vary for record in failed)
        return 0 if any(record.alone and not isinstance(record.verdict, ver.Died) for record in failed) else may

    @property
    def stale(self) -> list[Waiver]:
        """The waivers whose example ran and does not deviate any more."""
        return [use.waiver for use in self.uses if use.state == "stale"]

    @property
    def unneeded(self) -> list[Waiver]:
        """The waivers, written for another backend, whose example ran and does not deviate here."""
        return [use.waiver for use in self.uses if use.state == "unneeded"]

    @property
    def void(self) -> list[Waiver]:
        """The waivers that do not cover their example."""
        return [use.waiver for use in self.uses if use.state == "void"]

    @property
    def unknown(self) -> list[Waiver]:
        """The waivers whose example is no case of the corpus for which they were written."""
        return [use.waiver for use in self.uses if use.state == "unknown"]

    @property
    def wide(self) -> list[WaiverUse]:
        """The waivers that also cover cases that agree."""
        return [use for use in self.uses if use.state == "wide"]

    @property
    def shadowed(self) -> list[WaiverUse]:
        """The waivers that waive nothing, as earlier ones of the file waive it first."""
        return [use for use in self.uses if use.shadowed_by]

    @property
    def implemented(self) -> list[DeclarationUse]:
        """The declarations of what is unsupported that cover valid cases that agree, and so do not fit.

        Those of another backend are not asked: this one may implement more.
        """
        return [use for use in self.declarations if use.agreeing and not self.relative]

    @property
    def mixed_unexplained(self) -> list[QuestionAnswers]:
        """Those of `mixed` that no failure shows, or one that neither a learnt rule nor a symptom explains."""
        explained = {case for rule in self.learnt for case in rule.cases}
        explained.update(case for symptom in self.symptoms for case in symptom.cases)
        shown: dict[str, bool] = {}
        for member in self.statuses:
            if isinstance(verdict := member.record.verdict, ver.Inconsistent):
                unexplained = member.status is Status.FAILED and member.record.case not in explained
                shown[verdict.question] = shown.get(verdict.question, False) or unexplained
        return [answers for answers in self.mixed if shown.get(answers.question, True)]

    @property
    def waived(self) -> frozenset[str]:
        """The ids of the cases that are waived."""
        return frozenset(member.record.case for member in self.statuses if member.waiver is not None)

    def is_invalid(self, case: str) -> bool:
        """Return whether the call of a case is invalid in the run's dialect."""
        breaks = self.facts.get(case, {}).get("breaks")
        return breaks is not None and self.run.dialect.is_invalid(breaks)

    @cached_property
    def counts(self) -> Counter[Status]:
        """The number of cases of each status."""
        return Counter(member.status for member in self.statuses)

    @property
    def judged(self) -> int:
        """The number of cases that the dialect can say and the backend does not decline."""
        return self.counts.total() - self.counts[Status.UNSUPPORTED] - self.counts[Status.INEXPRESSIBLE]

    @cached_property
    def computes(self) -> bool:
        """Whether the backend computed an output, right or wrong, that was compared with those that the text allows."""
        return any(ver.is_output(member.record.verdict) for member in self.statuses)

    @cached_property
    def fact_columns(self) -> FactColumns:
        """The facts of the cases of `statuses`, in their order."""
        return FactColumns.of([self.facts[member.record.case] for member in self.statuses])

    @cached_property
    def notes(self) -> list[Noted]:
        """The notes of the records, the most frequent first: all reports show these."""
        return notes_of(self.run.records, frozenset[str]().union(*(misread.right for misread in self.misread.values())))

    @cached_property
    def red(self) -> list[str]:
        """Why the gate is red, in sentences; none where it is green."""
        undeclared = sum(member.undeclared for member in self.statuses)
        failed = self.counts[Status.FAILED] - undeclared
        failures = [f"{failed} {'case' if failed == 1 else 'cases'} failed without a waiver"] if failed else []
        if undeclared:
            failures.append(
                f"{undeclared} {'case is' if undeclared == 1 else 'cases are'} unsupported, and not declared so; "
                "declare them: tconv waivers propose RECORDS --output FILE"
            )
        return [*failures, *self.other_reasons]

    @cached_property
    def other_reasons(self) -> list[str]:
        """Why the gate is red, in sentences, beyond the cases that failed."""
        return list(other_reasons(self))


def assess(
    run: Run,
    waivers: WaiverFile | None,
    facts_of: FactsOf,
    *,
    strict: bool = False,
    own: bool = True,
    digest: str | None = None,
    find: Callable[[str], Case | None] | None = None,
) -> Assessment:
    """Return what the gate says of a run.

    Args:
        run: header and records.
        waivers: the backend's known deviations; None for none.
        facts_of: returns a case's facts by its id; None where the corpus has no such case.
        strict: whether accepting an invalid model is a failure.
        own: whether the waivers were written for this corpus; else it need not have their examples.
        digest: the digest of the corpus that the facts are of; None where that is not known.
        find: returns a case by its id, to hold pins, and to settle verdicts by the other cases of the run; None for
            neither. Of a shard, the cases that may settle a verdict are in the other shards.
    """
    backend, dialect = run.header.backend, run.header.dialect
    facts = {record.case: facts_of(record.case) or {} for record in run.records}
    active = active_entries(waivers, dialect, backend)

    def of(record: Record) -> RecordStatus:
        return status_of(record, facts[record.case], active, strict=strict)

    def is_waived(record: Record) -> bool:
        return of(record).waiver is not None

    vary = answers_vary(map(of, filter(lambda record: record.varies, run.records)))
    pinned = PinUses(run.records) if find is None else hold_pins(run, active.pins, facts, find, is_waived)
    run, settles = replace(run, records=pinned.records), find is not None and not run.header.shard
    run, mixed = settled(run, find, vary=vary, pinned=pinned.by_case) if find is not None and settles else (run, ())
    statuses = excused_ends(_statuses(run, of, settles=settles, vary=vary), active.waivers, facts)
    if find is not None and settles and not vary:
        joint = joint_explanations(
            run, {member.record.case for member in statuses if member.status is Status.FAILED}, find
        )
        statuses = tuple(replace(member, record=joint.get(member.record.case, member.record)) for member in statuses)
    failed = [member.record for member in statuses if member.status is Status.FAILED]
    # A pin explains what it finds.
    unexplained = [record for record in failed if not isinstance(record.verdict, ver.ReadingChanged)]
    explained = Explanations()
    if find is not None and settles and unexplained:
        with_statuses = replace(run, records=[member.record for member in statuses])
        explained = (where_answers_vary if vary else explanations)(with_statuses, unexplained, find)
    relative = waivers.backend if waivers and waivers.backend != backend.name else ""
    uses = waiver_uses(run, statuses, active.waivers, facts, facts_of, own=own)
    return Assessment(
        run,
        statuses,
        facts,
        tuple(replace(use, state="unneeded") if relative and use.state == "stale" else use for use in uses),
        tuple(declaration_uses(statuses, active.unsupported, facts)),
        tuple(incomplete(run, digest)),
        mixed,
        tuple(waivers_elsewhere(waivers, dialect, backend)),
        tuple(
            waivers_of_other_versions(waivers, dialect, backend, [(record, facts[record.case]) for record in failed])
        ),
        *explained,
        relative,
        waivers is not None and not waivers.for_options(backend.options),
        waivers.digest if waivers else "",
        strict,
        tuple(pin for pin in active.pins if pin not in pinned.touched) if own and _is_complete(run) else (),
        pinned.unpinned,
    )


def _is_complete(run: Run) -> bool:
    return is_whole(run) and len(run.records) == run.header.cases


def _statuses(
    run: Run, status_of_record: Callable[[Record], RecordStatus], *, settles: bool, vary: bool
) -> tuple[RecordStatus, ...]:
    """Return the records of a run with their statuses.

    Args:
        run: the records.
        status_of_record: returns a record with its status.
        settles: whether verdicts are settled by the other cases of the run.
        vary: whether answers of the run vary.
    """
    statuses = tuple(map(status_of_record, run.records))
    if settles:
        statuses = with_better_causes(statuses, status_of_record)
    return without_explanations(statuses) if vary else statuses


def assess_with_corpus(
    run: Run,
    waivers: WaiverFile | None,
    corpus: Corpus,
    *,
    strict: bool,
    own: bool,
    find: Callable[[str], Case | None] | None = None,
) -> Assessment:
    """Return what the gate says of a run, as all commands report it: with the questions that are not answered alike.

    Args:
        run: the records.
        waivers: the backend's known deviations.
        corpus: the corpus of the records.
        strict: whether accepting an invalid model is a failure.
        own: whether the waivers were written for this corpus.
        find: returns a case of the corpus by its id, where that is cheaper than making it.
    """
    find_case = cache(find or corpus.find)

    def facts_of(case_id: str) -> Mapping[str, str] | None:
        case = find_case(case_id)
        return None if case is None else case.facts

    return assess(run, waivers, facts_of, strict=strict, own=own, digest=corpus.digest, find=find_case)
