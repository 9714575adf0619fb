"""The gate: the status of each record of a run with its waivers, and whether the run is green."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from tconv.cases.patterns import twin_of
from tconv.diagnosis import Diagnosis
from tconv.evidence.calls import Answer, Calls, answer_of
from tconv.evidence.contexts import with_changes
from tconv.evidence.explanation import explain, explain_alone
from tconv.evidence.hypotheses import Errs, Follows, Relates
from tconv.evidence.joint import explain_by_others
from tconv.evidence.new_calls import ask_new_calls
from tconv.gate.answers import compare_answers
from tconv.gate.entries import WaiverUses, correct_refusals, find_uses, is_whole, select_active
from tconv.gate.pins import PinUses, hold_pins
from tconv.gate.reasons import find_incomplete, find_reasons
from tconv.gate.status import AGREEING, FAILING, MixedReadings, ReadingChanged, Status
from tconv.records.record_file import is_kept
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.evidence.hypotheses import Explanation
    from tconv.gate.answers import QuestionAnswers
    from tconv.gate.entries import ActiveEntries, FactsOf
    from tconv.gate.reasons import OfRecords, Reason
    from tconv.gate.status import RecordStatus, Ruling
    from tconv.gate.waivers import WaiverFile
    from tconv.records.record import Record
    from tconv.records.record_file import Run


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The gate's result for a run.

    Attributes:
        run: the records, as they were read.
        statuses: every record with its status, in the order of ids.
        facts: the facts of the cases, by id; empty for a case that the corpus does not have.
        waivers: the effect of the waiver file.
        pins: the effect of its pins.
        mixed: questions with several answers, if they were looked for.
        explained: the explanations of the failures; those of most failures come first.
        calls: the calls for the explanations; None if nothing failed or nothing was explained.
        incomplete: why the records are incomplete.
        strict: whether accepting an invalid model is a failure.
    """

    run: Run
    statuses: tuple[RecordStatus, ...]
    facts: Mapping[str, Mapping[str, str]]
    waivers: WaiverUses
    pins: PinUses
    mixed: tuple[QuestionAnswers, ...]
    explained: tuple[Explanation, ...]
    calls: Calls | None
    incomplete: tuple[OfRecords, ...]
    strict: bool

    @property
    def smaller(self) -> int:
        """The number of failures in smaller contexts, which the run added to its cases."""
        return len(self.statuses) - len(self.run.records)

    @property
    def waived_before_by(self) -> str:
        """The waivers of the run itself, in words, if they differ from these; empty if not."""
        before = self.run.header.waivers
        same = before is None or (before.digest, before.strict) == (self.waivers.digest, self.strict)
        return "" if same else str(before)

    @cached_property
    def answers_vary(self) -> bool:
        """Whether a failure had another answer when it was asked again."""
        return answers_vary(self.statuses)

    @property
    def unasked(self) -> int:
        """The number of failures that may depend on earlier calls; 0 if some failures were asked again."""
        failed = [member for member in self.statuses if member.status in FAILING]
        asked = any(member.record.alone and not isinstance(member.record.verdict, ver.Crashed) for member in failed)
        return 0 if asked else sum(member.may_vary for member in failed)

    @property
    def mixed_unexplained(self) -> list[QuestionAnswers]:
        """The questions of `mixed` without a failure, or with an unexplained failure."""
        explained = {
            case for each in self.explained if isinstance(each.what, Follows | Relates | Errs) for case in each.cases
        }
        shown: dict[str, bool] = {}
        for member in self.statuses:
            if isinstance(member.ruling, MixedReadings):
                unexplained = member.status is Status.FAILED and member.record.case not in explained
                shown[member.ruling.question] = shown.get(member.ruling.question, False) or unexplained
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
        """The number of cases that the dialect can express and the backend supports."""
        return self.counts.total() - self.counts[Status.UNSUPPORTED] - self.counts[Status.NOT_APPLICABLE]

    @cached_property
    def computes(self) -> bool:
        """Whether the backend computed an output, right or wrong, that was compared with the text."""
        return any(ver.is_output(record.verdict) for record in self.run.records)

    @cached_property
    def red(self) -> list[Reason]:
        """Why the gate is red; empty if it is green."""
        return list(find_reasons(self))


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
    """Assess a run.

    Args:
        run: header and records.
        waivers: the backend's known deviations; None for none.
        facts_of: returns a case's facts by its id; None if the corpus has no such case.
        strict: whether accepting an invalid model is a failure.
        own: whether the waivers were written for this corpus; if not, it need not have their examples.
        digest: the digest of the corpus; None if it is not known.
        find: returns a case by its id, to check pins and to compare answers of the run; None: neither is done. In a
            shard answers are not compared, as it lacks the other cases.
    """
    whole_run, run = run, _with_contexts(run, facts_of)
    facts = {record.case: facts_of(record.case) or {} for record in run.records}
    active = select_active(waivers, run.header.dialect, run.header.backend, strict=strict)

    def assign(record: Record, ruling: Ruling | None = None) -> RecordStatus:
        return active.assign_status(record, facts[record.case], ruling)

    vary = answers_vary(assign(record) for record in run.records if record.varies)
    pins = PinUses() if find is None else hold_pins(run, active, find)
    rulings: dict[str, Ruling] = dict(pins.changed)
    mixed: tuple[QuestionAnswers, ...] = ()
    find_others = None if run.header.shard else find
    if find_others is not None:
        found, mixed = compare_answers(run, find_others, pins, vary=vary)
        rulings |= found
    members = tuple(assign(record, rulings.get(record.case)) for record in run.records)
    if find_others is not None and any(member.status in FAILING for member in members):
        members = tuple(correct_refusals(members, assign))
    members = tuple(active.excuse_end(member, facts) if member.record.earlier else member for member in members)
    members = tuple(_without_twins(members))
    explained: tuple[Explanation, ...] = ()
    calls: Calls | None = None
    if failed := {member.record.case for member in members if member.status in FAILING}:
        if find_others is None:
            explained = explain_alone([*map(_answer, members)])
        else:
            members, calls = _explain_by_others(run, members, failed, active, find_others)
            explained = tuple(with_changes(each, run.changed) for each in explain(calls))
            members = without_doubtful(members, explained) if vary else members
    whole = own and is_whole(run) and len(whole_run.records) == run.header.cases
    return Assessment(
        run=whole_run,
        statuses=members,
        facts=facts,
        waivers=find_uses(waivers, run, members, active, facts, facts_of, own=own),
        pins=pins if whole else replace(pins, stale=()),
        mixed=mixed,
        explained=explained,
        calls=calls,
        incomplete=tuple(find_incomplete(whole_run, digest)),
        strict=strict,
    )


def _explain_by_others(
    run: Run,
    members: Sequence[RecordStatus],
    failed: AbstractSet[str],
    active: ActiveEntries,
    find: Callable[[str], Case | None],
) -> tuple[tuple[RecordStatus, ...], Calls]:
    """Return the records with what other cases of the run show of their outputs, and the calls to explain.

    Args:
        run: the records, and the new calls that the run asked.
        members: the records with their statuses.
        failed: the ids of the cases that failed.
        active: the entries of the waiver file.
        find: returns a case by its id.
    """
    asked = {record.case: record.new_call for record in run.asked}
    new = [_answer_new(active, record) for record in run.asked]

    def find_any(case: str) -> Case | None:
        return asked.get(case) or find(case)

    to_explain = failed | {answer.record.case for answer in new if answer.failure is not None}
    joint = explain_by_others(replace(run, records=[*run.records, *run.asked]), to_explain, find_any)
    explained = tuple(replace(m, why=joint[m.record.case]) if m.record.case in joint else m for m in members)
    new = [answer._replace(why=joint.get(answer.record.case, answer.why)) for answer in new]
    return explained, Calls([*map(_answer, explained), *new], find_any, run.dialect)


def _with_contexts(run: Run, facts_of: FactsOf) -> Run:
    """Return a run whose cases include the smaller contexts that failed: unlike other new calls, these are cases."""
    smaller = [record for record in run.asked if answer_of(record).failure and facts_of(record.case) is not None]
    cases = {record.case for record in smaller}
    others = [record for record in run.asked if record.case not in cases]
    return replace(run, records=[*run.records, *smaller], asked=others) if smaller else run


def _without_twins(members: Sequence[RecordStatus]) -> Iterator[RecordStatus]:
    """Yield records; a failure in a context has the status `twin-failed` if the operator alone fails too."""
    right = {*AGREEING, Status.INCONCLUSIVE, Status.NOT_APPLICABLE}
    wrong = {member.record.case for member in members if member.status not in right}
    for member in members:
        fails_alone = member.status in FAILING and twin_of(member.record.case) in wrong
        yield replace(member, status=Status.TWIN_FAILED) if fails_alone else member


def _answer(member: RecordStatus) -> Answer:
    # A changed reading needs no other explanation.
    fails = member.status in FAILING and not isinstance(member.ruling, ReadingChanged)
    return Answer(member.record, member.ruling, member.why, member.failure if fails else None, member.may_vary)


def _answer_new(active: ActiveEntries, record: Record) -> Answer:
    """Return the answer to a new call; a waived failure needs no explanation."""
    case = record.new_call
    return _answer(active.assign_status(record, {} if case is None else case.facts))


def try_explanations(
    assessment: Assessment, waivers: WaiverFile | None, ask: Callable[[list[Case]], list[Record]]
) -> None:
    """Ask new calls that test the explanations of the failures of a run.

    Args:
        assessment: the gate's result for the run.
        waivers: the backend's known deviations.
        ask: returns the record of each new call.
    """
    if assessment.calls is not None:
        header = assessment.run.header
        active = select_active(waivers, header.dialect, header.backend, strict=assessment.strict)
        ask_new_calls(assessment.calls, assessment.explained, lambda new: [_answer_new(active, of) for of in ask(new)])


def answers_vary(members: Iterable[RecordStatus]) -> bool:
    """Return whether a failure without a waiver had another answer when it was asked again."""
    return any(member.record.answer_varies and member.status in FAILING for member in members)


def without_doubtful(members: Iterable[RecordStatus], explained: Iterable[Explanation]) -> tuple[RecordStatus, ...]:
    """Return the records of a run whose answers vary. A value that may come from another call keeps no diagnosis."""
    known = {case for each in explained for case in each.cases}

    def settle(member: RecordStatus) -> RecordStatus:
        doubtful = member.status in FAILING and member.may_vary and member.record.case not in known
        return replace(member, why=Diagnosis(())) if doubtful else member

    return tuple(map(settle, members))


def assess_with_corpus(
    run: Run,
    waivers: WaiverFile | None,
    corpus: Corpus,
    *,
    strict: bool,
    own: bool,
    find: Callable[[str], Case | None] | None = None,
) -> Assessment:
    """Assess a run as all commands do, with a comparison of its answers.

    Args:
        run: the records.
        waivers: the backend's known deviations.
        corpus: the corpus of the records.
        strict: whether accepting an invalid model is a failure.
        own: whether the waivers were written for this corpus.
        find: returns a case of the corpus by its id, if that is cheaper than to make it.
    """
    find_case = cache(find or corpus.find)

    def facts_of(case_id: str) -> Mapping[str, str] | None:
        case = find_case(case_id)
        return None if case is None else case.facts

    # Kept records may be of an older corpus; those of their cases that still exist are judged.
    digest = None if is_kept(run.path) else corpus.digest
    return assess(run, waivers, facts_of, strict=strict, own=own, digest=digest, find=find_case)
