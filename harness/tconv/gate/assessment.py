"""The gate: what records and waivers come to, and whether that is green."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tconv.comparison import answers
from tconv.corpus import Corpus
from tconv.gate.status import Status, judged
from tconv.gate.waivers import active_waivers, chosen
from tconv.records.record_file import read
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.comparison.answers import Answers
    from tconv.gate.status import Judged
    from tconv.gate.waivers import Waiver, WaiverFile
    from tconv.records.record_file import Record, Run

    Facts = Callable[[str], Mapping[str, str] | None]


@dataclass(frozen=True, slots=True)
class WaiverUse:
    """How a waiver fared.

    Attributes:
        waiver: the waiver.
        state: void where its example is no case of its own; stale where the example ran and does not deviate; wide
            where it also covers cases that agree.
        waived: how many records it waives.
        agreeing: those of its cases that agree.
    """

    waiver: Waiver
    state: Literal["void", "stale", "wide", "fitting"]
    waived: int = 0
    agreeing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assessment:
    """A run through the gate.

    Attributes:
        run: the records.
        judged: every record with its status, in the order of ids.
        facts: the facts of the cases that the corpus has, by id.
        uses: how the waivers of this dialect and version fared.
        harmed: cases in which a process died that an earlier one had harmed, where no waiver knows of one that does.
        incomplete: why the records are not all that there should be.
        mixed: questions to which the backend gives no single answer, where they were asked for.
    """

    run: Run
    judged: tuple[Judged, ...]
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    uses: tuple[WaiverUse, ...] = ()
    harmed: tuple[Record, ...] = ()
    incomplete: tuple[str, ...] = ()
    mixed: tuple[Answers, ...] = ()

    @property
    def stale(self) -> list[Waiver]:
        """The waivers whose example ran and does not deviate any more."""
        return [use.waiver for use in self.uses if use.state == "stale"]

    @property
    def void(self) -> list[Waiver]:
        """The waivers whose example is no case of theirs."""
        return [use.waiver for use in self.uses if use.state == "void"]

    @property
    def wide(self) -> list[WaiverUse]:
        """The waivers that also cover cases that agree."""
        return [use for use in self.uses if use.state == "wide"]

    @property
    def waived(self) -> frozenset[str]:
        """The ids of what is waived."""
        return _waived(self.judged)

    @cached_property
    def counts(self) -> Counter[Status]:
        """The number of records of each status."""
        return Counter(member.status for member in self.judged)

    @cached_property
    def red(self) -> list[str]:
        """Why the gate is red, in sentences; none where it is green."""
        failed = self.counts[Status.FAILED]
        own = [f"{failed} {'case' if failed == 1 else 'cases'} failed without a waiver"] if failed else []
        return [*own, *self.faults]

    @cached_property
    def faults(self) -> list[str]:
        """Why the gate is red, in sentences, beyond the cases that failed."""
        reasons = list(self.incomplete)
        reasons += [
            f"waiver {w.name!r} is stale: its example {w.example!r} ran and does not deviate as it says; remove it"
            for w in self.stale
        ]
        reasons += [
            f"waiver {w.name!r} is void: its example {w.example!r} is no case that it covers; correct it"
            for w in self.void
        ]
        if self.harmed:
            some = self.harmed[0]
            reasons.append(
                f"a process died in {len(self.harmed)} cases that do not die alone, such as {some.case} "
                f"({some.harmed}): some earlier case has harmed it, and no waiver says which"
            )
        if not self.counts[Status.PASSED]:
            reasons.append("not one case passed, so nothing was shown")
        return reasons


def assess(
    run: Run,
    waivers: WaiverFile | None,
    facts: Facts,
    *,
    strict: bool = False,
    own: bool = True,
    digest: str | None = None,
    find: Callable[[str], Case | None] | None = None,
) -> Assessment:
    """Return what a run comes to.

    Args:
        run: header and records.
        waivers: the backend's known deviations; None for none.
        facts: a case's facts by its id; None where the corpus has no such case.
        strict: whether accepting an invalid model is a failure.
        own: whether the waivers speak of this corpus; else an example that it does not have is no fault of theirs.
        digest: the corpus that the facts are of; None where that is not known.
        find: a case by its id, to look for questions that are not answered alike; None where nobody asks for them.
    """
    version = run.header.backend.version
    known = {record.case: facts(record.case) or {} for record in run.records}
    members = tuple(judged(record, known[record.case], waivers, version, strict=strict) for record in run.records)
    active = active_waivers(waivers, run.header.dialect, version)
    return Assessment(
        run,
        members,
        known,
        tuple(_uses(members, active, known, facts, own=own)),
        tuple(_harmed(run, active, known)),
        tuple(_incomplete(run, digest)),
        () if find is None else tuple(answers.mixed(run, find, _waived(members))),
    )


def assessed(run: Run, waivers: WaiverFile | None, corpus: Corpus, *, strict: bool, own: bool) -> Assessment:
    """Return what a run comes to, as all commands judge it: with the questions that are not answered alike.

    Args:
        run: the records.
        waivers: the backend's known deviations.
        corpus: what the records' ids are of.
        strict: whether accepting an invalid model is a failure.
        own: whether the waivers speak of this corpus.
    """
    return assess(run, waivers, corpus.facts, strict=strict, own=own, digest=corpus.digest, find=corpus.find)


def assessed_files(
    records: Sequence[Path], cases: Path | None, waivers: str | None, *, strict: bool = False
) -> tuple[list[Assessment], Corpus]:
    """Return what record files come to, each with the waivers of its backend, and the corpus that they are of.

    Args:
        records: the files.
        cases: what --cases named; None for tconv's own corpus.
        waivers: what --waivers named.
        strict: whether accepting an invalid model is a failure.
    """
    corpus = Corpus.load(cases)
    own = cases is None or waivers is not None
    return [
        assessed(run, chosen(waivers, run.header.backend.name), corpus, strict=strict, own=own)
        for run in map(read, records)
    ], corpus


def _waived(members: Sequence[Judged]) -> frozenset[str]:
    return frozenset(member.record.case for member in members if member.waiver is not None)


def _uses(
    members: Sequence[Judged],
    active: Sequence[Waiver],
    known: Mapping[str, Mapping[str, str]],
    facts: Facts,
    *,
    own: bool,
) -> Iterator[WaiverUse]:
    ran = {member.record.case: member for member in members}
    for waiver in active:
        example = facts(waiver.example)
        if own if example is None else not waiver.covers(waiver.example, example):
            yield WaiverUse(waiver, "void")
            continue
        covered = [member for member in members if waiver.covers(member.record.case, known[member.record.case])]
        waived = sum(member.waiver is waiver for member in covered)
        agreeing = tuple(member.record.case for member in covered if member.status is Status.PASSED)
        # The example is the case that shows the deviation; the others of a part of the corpus prove nothing.
        # A refusal that a reading explains is no deviation by itself, whatever its words are.
        # Of a dialect that cannot say the example nothing is known.
        shown = ran.get(waiver.example)
        if shown and shown.status is not Status.INEXPRESSIBLE and not _shows(shown, waiver):
            yield WaiverUse(waiver, "stale", waived, agreeing)
        else:
            yield WaiverUse(waiver, "wide" if agreeing else "fitting", waived, agreeing)


def _shows(example: Judged, waiver: Waiver) -> bool:
    return example.waiver is waiver and not isinstance(example.record.verdict, ver.Disputed)


def _harmed(run: Run, active: Sequence[Waiver], known: Mapping[str, Mapping[str, str]]) -> Iterator[Record]:
    """Yield what an earlier case had harmed, where no waiver says which, or that this one dies by chance."""
    if any(waiver.harms and any(waiver.covers(case, known[case]) for case in known) for waiver in active):
        return
    deaths = [waiver for waiver in active if waiver.verdict["kind"] == "died"]
    for record in run.records:
        if record.harmed and not any(waiver.covers(record.case, known[record.case]) for waiver in deaths):
            yield record


def _incomplete(run: Run, digest: str | None) -> Iterator[str]:
    """Yield why the records are not what their header promises."""
    if len(run.records) != run.header.cases:
        yield f"{run.header.cases} cases must have a record (got {len(run.records)}); resume the run"
    if digest is not None and run.header.corpus != digest:
        yield f"the records must be of this corpus, {digest} (got {run.header.corpus}); run it again"
