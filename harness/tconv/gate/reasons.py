"""Why the gate is red, as values; `reports/` writes the sentences."""

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
    """Cases are unsupported, and no declaration covers them."""

    cases: int


class RecordsMissing(NamedTuple):
    """The run has fewer records than cases."""

    cases: int
    records: int


class ShardsMissing(NamedTuple):
    """Some shards of a run are missing."""

    of: int
    missing: tuple[int, ...]


class OtherCorpus(NamedTuple):
    """The records were made with another corpus than the one that judges them.

    Attributes:
        digest: the digest of the corpus.
        recorded: the digest of the records' corpus.
        path: the path of the records' cases; empty for tconv's own.
    """

    digest: str
    recorded: str
    path: str


class WaiverStale(NamedTuple):
    """The example of a waiver ran, and does not deviate as the waiver says."""

    waiver: Waiver
    example: RecordStatus


class WaiverInvalid(NamedTuple):
    """The waiver does not cover its example (`is_case`), or its example is no case of the corpus."""

    waiver: Waiver
    is_case: bool


class PinStale(NamedTuple):
    """No case needs a pin, and the run has all cases."""

    pin: Pin


class ZerosPass(NamedTuple):
    """The tolerance of cases of an element type is so wide that zeros would pass, and no other case checks the values.

    Attributes:
        cases: the number of these cases.
        dtype: their element type.
        twin: the first of the same cases on integers that does not agree exactly; empty if the run has no such case,
            and no case of the type agrees exactly.
    """

    cases: int
    dtype: str
    twin: str = ""


class NothingShown(NamedTuple):
    """No case was judged; or a whole tier was judged (`is_judged`), and no output was compared with the text."""

    is_judged: bool


OfRecords = RecordsMissing | ShardsMissing | OtherCorpus
"""The reasons that need no corpus and no waivers."""
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
    # A shard lacks the other cases that the reasons below need.
    if assessment.run.header.shard:
        return
    if assessment.counts[Status.INCONCLUSIVE]:
        yield from _find_untrusted(assessment.statuses, assessment.facts)
    # A pattern may select only cases that must be refused. If a case failed, this reason is not needed.
    if not assessment.judged:
        yield NothingShown(is_judged=False)
    elif not (assessment.computes or assessment.run.header.patterns or failed or undeclared):
        yield NothingShown(is_judged=True)


def find_incomplete(run: Run, digest: str | None) -> Iterator[OfRecords]:
    """Yield why the records are not those that the header announces."""
    if len(run.records) != run.header.cases:
        yield RecordsMissing(run.header.cases, len(run.records))
    if digest is not None and run.header.corpus != digest:
        yield OtherCorpus(digest, run.header.corpus, run.header.path)


def _find_untrusted(members: Sequence[RecordStatus], facts: Mapping[str, Mapping[str, str]]) -> Iterator[Reason]:
    """Yield a reason for each type whose inconclusive values no other case checks.

    The same call on integers must agree exactly, if the run has it: short sums say nothing about long ones. If the run
    has no such case, another case of the type must agree exactly.

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
    unequal = [case for case in inconclusive if _find_integer_twin(case) in verdicts.keys() - exact]
    for dtype, count in Counter(map(dtype_of, unequal)).items():
        first = next(case for case in unequal if dtype_of(case) == dtype)
        yield ZerosPass(count, dtype, str(_find_integer_twin(first)))


def _find_integer_twin(case: str) -> str | None:
    """Return the id of the same case on integers; None if the id does not name its data."""
    twin, count = _REAL.subn("integers", case)
    return twin if count else None
