"""The gate: what records and waivers come to, and whether that is green."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from tconv import verdict as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.answers import Answers
    from tconv.records import Record, Run
    from tconv.waivers import Waiver, WaiverFile


class Status(StrEnum):
    """What a record is to whoever reads a report."""

    PASSED = "passed"
    DISPUTED = "disputed"
    WAIVED = "waived"
    REPORTED = "reported"
    UNSUPPORTED = "unsupported"
    INEXPRESSIBLE = "inexpressible"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Judged:
    """A record with its status, and the reason of a waiver or of a declaration."""

    record: Record
    status: Status
    waiver: Waiver | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """How a waiver fared: records that it waives, and those of its cases that agree."""

    waiver: Waiver
    waived: int
    agreeing: tuple[str, ...]


@dataclass(slots=True)
class Assessment:
    """A run through the gate.

    Attributes:
        run: the records.
        judged: every record with its status, in the order of ids.
        facts: by id, the facts of the cases that the corpus has.
        stale: waivers whose cases ran and none of which deviates any more.
        void: waivers whose example is no case of theirs.
        wide: waivers that also cover cases that agree.
        harmed: cases in which a process died that an earlier one had harmed, where no waiver knows of one that does.
        mixed: questions to which the backend gives no single answer, where whoever made this asked for them.
        incomplete: why the records are not all that there should be.
        red: why the gate is red, in sentences; none where it is green.
    """

    run: Run
    judged: list[Judged] = field(default_factory=list)
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stale: list[Waiver] = field(default_factory=list)
    void: list[Waiver] = field(default_factory=list)
    wide: list[WaiverUse] = field(default_factory=list)
    harmed: list[Record] = field(default_factory=list)
    mixed: list[Answers] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    red: list[str] = field(default_factory=list)

    @property
    def waived(self) -> frozenset[str]:
        """The ids of what is waived."""
        return frozenset(judged.record.case for judged in self.judged if judged.waiver is not None)

    @property
    def counts(self) -> Counter[Status]:
        """The number of records of each status."""
        return Counter(judged.status for judged in self.judged)


def assess(
    run: Run,
    waivers: WaiverFile | None,
    facts: Callable[[str], Mapping[str, str] | None],
    *,
    strict: bool = False,
    own: bool = True,
    digest: str | None = None,
) -> Assessment:
    """Return what a run comes to.

    Args:
        run: header and records.
        waivers: the backend's known deviations; None for none.
        facts: a case's facts by its id; None where the corpus has no such case.
        strict: whether accepting an invalid model is a failure.
        own: whether the waivers speak of this corpus; else an example that it does not have is no fault of theirs.
        digest: the corpus that the facts are of; None where that is not known.
    """
    version = run.header.backend.version
    known = {record.case: facts(record.case) or {} for record in run.records}
    assessment = Assessment(run, facts=known)
    for record in run.records:
        assessment.judged.append(judged(record, known[record.case], waivers, version, strict=strict))
    active = _active(waivers, run.header.dialect, version)
    _check_waivers(assessment, active, known, facts, own=own)
    assessment.harmed = list(_harmed(run, active, known))
    assessment.incomplete = _incomplete(run, digest)
    assessment.red = _reasons(assessment)
    return assessment


def judged(
    record: Record, facts: Mapping[str, str], waivers: WaiverFile | None, version: str, *, strict: bool = False
) -> Judged:
    """Return a record with its status.

    Args:
        record: what came of a case.
        facts: the case's facts.
        waivers: the backend's known deviations; None for none.
        version: the backend's version.
        strict: whether accepting an invalid model is a failure.
    """
    match record.verdict:
        case ver.Agreed():
            return Judged(record, Status.PASSED)
        case ver.Disputed():
            waiver = _waiver(record, facts, waivers, version)
            return Judged(
                record, Status.WAIVED if waiver else Status.DISPUTED, waiver, waiver.because if waiver else ""
            )
        case ver.Inexpressible(reason):
            return Judged(record, Status.INEXPRESSIBLE, reason=reason)
        case ver.Unsupported(reason):
            declared = next((u for u in (waivers.unsupported if waivers else ()) if u.covers(record.case, facts)), None)
            if declared is None:
                return Judged(record, Status.FAILED, reason=f"unsupported, and not declared so: {reason}")
            return Judged(record, Status.UNSUPPORTED, reason=declared.because)
        case (
            ver.AcceptedInvalid()
            | ver.Differed()
            | ver.WrongShape()
            | ver.WrongDtype()
            | ver.RefusedValid()
            | ver.Died()
            | ver.TimedOut()
            | ver.Unstable()
            | ver.Broke()
        ):
            waiver = _waiver(record, facts, waivers, version)
            if waiver is not None:
                return Judged(record, Status.WAIVED, waiver, waiver.because)
            answered = record.verdict
            lenient = isinstance(answered, ver.AcceptedInvalid) and not (strict and answered.stated)
            return Judged(record, Status.REPORTED if lenient else Status.FAILED)
        case _:
            assert_never(record.verdict)


def _waiver(record: Record, facts: Mapping[str, str], waivers: WaiverFile | None, version: str) -> Waiver | None:
    active = _active(waivers, record.dialect, version)
    return next((waiver for waiver in active if waiver.waives(record, facts)), None)


def _active(waivers: WaiverFile | None, dialect: str, version: str) -> list[Waiver]:
    return [waiver for waiver in (waivers.waivers if waivers else ()) if waiver.active(dialect, version)]


def _check_waivers(
    assessment: Assessment,
    active: Sequence[Waiver],
    known: Mapping[str, Mapping[str, str]],
    facts: Callable[[str], Mapping[str, str] | None],
    *,
    own: bool,
) -> None:
    ran = {judged.record.case: judged for judged in assessment.judged}
    for waiver in active:
        example = facts(waiver.example)
        if own if example is None else not waiver.covers(waiver.example, example):
            assessment.void.append(waiver)
            continue
        covered = [j for j in assessment.judged if waiver.covers(j.record.case, known[j.record.case])]
        waived = sum(j.waiver is waiver for j in covered)
        agreeing = tuple(j.record.case for j in covered if j.status is Status.PASSED)
        # The example is the case that shows the deviation; the others of a part of the corpus prove nothing.
        # A refusal that a reading explains is no deviation by itself, whatever its words are.
        # Of a dialect that cannot say the example nothing is known.
        shown = ran.get(waiver.example)
        if shown and shown.status is not Status.INEXPRESSIBLE and not _shows(shown, waiver):
            assessment.stale.append(waiver)
        elif agreeing:
            assessment.wide.append(WaiverUse(waiver, waived, agreeing))


def _harmed(run: Run, active: Sequence[Waiver], known: Mapping[str, Mapping[str, str]]) -> Iterator[Record]:
    """Yield what an earlier case had harmed, where no waiver says which, or that this one dies by chance."""
    if any(waiver.harms and any(waiver.covers(case, known[case]) for case in known) for waiver in active):
        return
    deaths = [waiver for waiver in active if waiver.verdict["kind"] == "died"]
    for record in run.records:
        if record.harmed and not any(waiver.covers(record.case, known[record.case]) for waiver in deaths):
            yield record


def _shows(example: Judged, waiver: Waiver) -> bool:
    return example.waiver is waiver and not isinstance(example.record.verdict, ver.Disputed)


def _incomplete(run: Run, digest: str | None) -> list[str]:
    """Return why the records are not what their header promises."""
    reasons = []
    if len(run.records) != run.header.cases:
        reasons.append(f"{run.header.cases} cases must have a record (got {len(run.records)}); resume the run")
    if digest is not None and run.header.corpus != digest:
        reasons.append(f"the records must be of this corpus, {digest} (got {run.header.corpus}); run it again")
    return reasons


def _reasons(assessment: Assessment) -> list[str]:
    failed = assessment.counts[Status.FAILED]
    own = [f"{failed} {'case' if failed == 1 else 'cases'} failed without a waiver"] if failed else []
    return [*own, *told_by_no_case(assessment)]


def told_by_no_case(assessment: Assessment) -> list[str]:
    """Return why the gate is red, in sentences, beyond the cases that failed."""
    reasons = list(assessment.incomplete)
    reasons += [
        f"waiver {w.name!r} is stale: its example {w.example!r} ran and does not deviate as it says; remove it"
        for w in assessment.stale
    ]
    reasons += [
        f"waiver {w.name!r} is void: its example {w.example!r} is no case that it covers; correct it"
        for w in assessment.void
    ]
    if assessment.harmed:
        some = assessment.harmed[0]
        reasons.append(
            f"a process died in {len(assessment.harmed)} cases that do not die alone, such as {some.case} "
            f"({some.harmed}): some earlier case has harmed it, and no waiver says which"
        )
    if not assessment.counts[Status.PASSED]:
        reasons.append("not one case passed, so nothing was shown")
    return reasons
