"""Why the gate is red, as values; reports write the sentences."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tconv.gate.status import Status
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.gate.waivers import Pin, Waiver
    from tconv.records.record_file import Run

_REAL = re.compile(r"(?<=[\[,]data=)(normal|wide|wide-full|all-bits)(?=[\],])")


class CasesFailed(NamedTuple):
    """Cases failed without a waiver."""

    cases: int


class CasesUndeclared(NamedTuple):
    """Cases are unsupported, and not declared so."""

    cases: int


class RecordsMissing(NamedTuple):
    """The run has fewer records than cases."""

    cases: int
    records: int


class ShardsMissing(NamedTuple):
    """Some of the shards of a run are not there."""

    of: int
    missing: tuple[int, ...]


class OtherCorpus(NamedTuple):
    """The records are of another corpus than that by which they are judged.

    Attributes:
        digest: that of the corpus.
        recorded: that of the corpus of the records.
        path: where the cases of the records are; empty for tconv's own.
    """

    digest: str
    recorded: str
    path: str


class WaiverStale(NamedTuple):
    """A waiver's example ran, and does not deviate as the waiver says."""

    waiver: Waiver
    example: RecordStatus


class WaiverInvalid(NamedTuple):
    """A waiver's example is no case that it covers, or no case of the corpus."""

    waiver: Waiver
    is_case: bool


class PinStale(NamedTuple):
    """No case of a run of all cases needs a pin."""

    pin: Pin


class ZerosPass(NamedTuple):
    """Zeros would pass in cases of an element type, and nothing shows that their values are computed.

    Attributes:
        cases: how many they are.
        dtype: their element type.
        twin: the first of the same cases on integers that does not agree exactly; empty if there are none, and no case
            of the type agrees exactly.
    """

    cases: int
    dtype: str
    twin: str = ""


class NothingShown(NamedTuple):
    """No case was judged; or all of a tier was, and no output was computed that could be compared with the text."""

    is_judged: bool


OfRecords = RecordsMissing | ShardsMissing | OtherCorpus
"""The reasons that the records give themselves."""
Reason = CasesFailed | CasesUndeclared | OfRecords | WaiverStale | WaiverInvalid | PinStale | ZerosPass | NothingShown


def find_reasons(assessment: Assessment) -> Iterator[Reason]:
    """Yield why the gate is red."""
    if failed := assessment.counts[Status.FAILED]:
        yield CasesFailed(failed)
    if undeclared := assessment.counts[Status.UNDECLARED]:
        yield CasesUndeclared(undeclared)
    yield from assessment.incomplete
    uses = assessment.waivers.uses
    yield from (WaiverStale(use.waiver, use.example) for use in uses if use.state == "stale" and use.example)
    yield from (WaiverInvalid(use.waiver, is_case=True) for use in uses if use.state == "invalid")
    yield from (WaiverInvalid(use.waiver, is_case=False) for use in uses if use.state == "unknown")
    yield from map(PinStale, assessment.pins.stale)
    # What only other cases can show is for those who have all shards.
    if assessment.run.header.shard:
        return
    if assessment.counts[Status.INCONCLUSIVE]:
        yield from _find_untrusted(assessment.statuses, assessment.facts)
    # Who chooses cases by a pattern may choose those that must be refused. A failure is reason enough.
    if not assessment.judged:
        yield NothingShown(is_judged=False)
    elif not (assessment.computes or assessment.run.header.patterns or failed or undeclared):
        yield NothingShown(is_judged=True)


def find_incomplete(run: Run, digest: str | None) -> Iterator[OfRecords]:
    """Yield why the records are not what their header promises."""
    if len(run.records) != run.header.cases:
        yield RecordsMissing(run.header.cases, len(run.records))
    if digest is not None and run.header.corpus != digest:
        yield OtherCorpus(digest, run.header.corpus, run.header.path)


def _find_untrusted(members: Sequence[RecordStatus], facts: Mapping[str, Mapping[str, str]]) -> Iterator[Reason]:
    """Yield why inconclusive values are red, a reason for each type, if nothing shows that they are computed.

    The same call on integers must agree exactly where the run has it: sums of few products show nothing of sums of
    many. Where the run has no such case, another case of the type must.

    Args:
        members: the records with their statuses.
        facts: the facts of their cases, by id.
    """

    def dtype_of(case: str) -> str:
        return facts.get(case, {}).get("dtype", "an unknown type")

    verdicts = {member.record.case: member.record.verdict for member in members}
    exact = {case for case, verdict in verdicts.items() if isinstance(verdict, ver.Allowed) and verdict.rule == "exact"}
    types = set(map(dtype_of, exact))
    inconclusive = [member.record.case for member in members if member.status is Status.INCONCLUSIVE]
    alone = [case for case in inconclusive if _find_integer_twin(case) not in verdicts]
    for dtype, count in Counter(map(dtype_of, alone)).items():
        if dtype not in types:
            yield ZerosPass(count, dtype)
    beside = [case for case in inconclusive if _find_integer_twin(case) in verdicts.keys() - exact]
    for dtype, count in Counter(map(dtype_of, beside)).items():
        yield ZerosPass(count, dtype, str(_find_integer_twin(next(case for case in beside if dtype_of(case) == dtype))))


def _find_integer_twin(case: str) -> str | None:
    """Return the id of the same case on integers; None where the id does not say what its data are."""
    twin, count = _REAL.subn("integers", case)
    return twin if count else None
