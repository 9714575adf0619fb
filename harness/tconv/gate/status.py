"""The status of a record, and the gate's ruling on its answer by pins and by the other cases of the run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from tconv.cases.patterns import path_of
from tconv.dialects.readings import Combination
from tconv.records.failure import Failure, failure
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tconv.diagnosis import Diagnosis
    from tconv.gate.waivers import Declaration, Waiver
    from tconv.records.record import Record


class Status(StrEnum):
    """The status of a record with the waivers."""

    PASSED = "passed"
    DISPUTED = "disputed"
    INCONCLUSIVE = "inconclusive"
    WAIVED = "waived"
    TWIN_FAILED = "twin-failed"
    REPORTED = "reported"
    UNSUPPORTED = "unsupported"
    NOT_APPLICABLE = "not-applicable"
    UNDECLARED = "undeclared"
    FAILED = "failed"


FAILING = (Status.FAILED, Status.UNDECLARED)
"""The statuses that make the gate red: deviations without a waiver, and unsupported cases without a declaration."""
AGREEING = (Status.PASSED, Status.DISPUTED)
"""The statuses of results that a reading of the text allows."""


@dataclass(frozen=True, slots=True)
class MixedReadings:
    """In other cases of the run, the backend answers the same question differently.

    Attributes:
        readings: the disputed readings that it follows together in this case; empty for the text's first ones.
        question: the question of `rules`.
        elsewhere: the answer in other cases.
    """

    readings: tuple[str, ...]
    question: str
    elsewhere: str
    kind: Literal["mixed-readings"] = "mixed-readings"

    @property
    def words(self) -> str:
        """The words by which two of these are the same."""
        return str(Combination(self.readings))


@dataclass(frozen=True, slots=True)
class ReadingChanged:
    """The backend follows an allowed reading, but not the pinned one.

    Attributes:
        question: the question with another answer.
        was: the pinned reading.
        now: the reading that gives this answer.
        choices: every reading that gives it; a text joins readings that are followed together. Empty for the primary
            one.
        rule: how the result was compared.
    """

    question: str
    was: str
    now: str
    choices: tuple[str, ...]
    rule: ver.Rule
    kind: Literal["reading-changed"] = "reading-changed"

    @property
    def words(self) -> str:
        """The words by which two of these are the same."""
        return f"{self.question} {self.was} {self.now}"


Ruling = ver.Verdict | MixedReadings | ReadingChanged
"""The gate's ruling on an answer: the verdict of its record, unless a pin or the other cases change it.

A refusal that no reading explains becomes `RefusedValid`, and `Disputed` may lose readings. A waived record keeps its
ruling.
"""
SEVERITY = (
    *(
        "crashed",
        "timed-out",
        "unstable",
        "differed",
        "reading-changed",
        "mixed-readings",
        "wrong-shape",
        "wrong-dtype",
    ),
    *("imprecise", "backend-error", "refused-valid", "accepted-invalid", "unsupported", "inconclusive"),
)
"""The kinds of rulings that a reader may have to act on, the most urgent first. Causes are listed in this order."""
RULINGS: dict[str, type[Ruling]] = ver.KINDS | {"mixed-readings": MixedReadings, "reading-changed": ReadingChanged}
"""Every ruling by its word in reports and waivers."""


@dataclass(frozen=True, slots=True)
class RecordStatus:
    """A record with its status.

    Attributes:
        record: the record, as it was read.
        status: its status.
        ruling: the gate's ruling on its answer.
        why: the diagnosis of its output, with what other cases of the run show.
        waiver: the waiver that covers it.
        declaration: the declaration that it is unsupported.
        by_words: whether it fails only because others fail with the same words. Once those are waived, it is disputed.
    """

    record: Record
    status: Status
    ruling: Ruling
    why: Diagnosis
    waiver: Waiver | None = None
    declaration: Declaration | None = None
    by_words: bool = False

    @property
    def may_vary(self) -> bool:
        """Whether its answer may depend on the calls before it."""
        refused = self.record.alone is None and isinstance(self.ruling, ver.RefusedValid)
        return self.record.may_vary or refused

    @property
    def failure(self) -> Failure | None:
        """Its features that are compared with other failures; None if it is not a failure."""
        if isinstance(self.ruling, MixedReadings | ReadingChanged):
            return Failure(self.ruling.kind, (), self.ruling.words)
        return failure(self.record, self.ruling, self.why.explained)


_INVALID, _SWEEP = "invalid", "in"


GroupKey = tuple[object, ...]
"""Identifies a group of failures with one cause, also in another run."""


def sweep_of(group: GroupKey) -> str:
    """Return the sweep of a group, if its failures have only that in common; empty if they have more."""
    *_, mark, sweep = ("", *group)
    return str(sweep) if mark == _SWEEP else ""


def mark_invalid(group: GroupKey, *, invalid: bool) -> GroupKey:
    """Return the key of a group, with a mark in second place if its calls are invalid."""
    return (group[0], _INVALID, *group[1:]) if invalid else group


def find_group(member: RecordStatus, explained: Combination | None, *, invalid: bool = False) -> GroupKey:
    """Return the group of a failure: by its explanation; without one by its words; without these by its sweep.

    Args:
        member: the failure.
        explained: the explanation.
        invalid: whether the call is invalid. Invalid and valid calls are never in one group.
    """
    if explained:
        return mark_invalid(("explained", explained), invalid=invalid)
    shown = member.failure
    if shown is not None and shown.words:
        return mark_invalid((shown.kind, shown.words), invalid=invalid)
    return mark_invalid((member.ruling.kind, _SWEEP, path_of(member.record.case)), invalid=invalid)


Rank = tuple[bool, bool, bool, bool, tuple[int, int, str]]
"""How well a record represents a cause; the record with the smallest rank is the example."""


def choose_example(members: Iterable[RecordStatus], group: GroupKey) -> RecordStatus:
    """Return the best example of a cause.

    It prefers, in this order,

    - a record that fails alone: mixed readings show only next to other cases.
    - a record without another explanation.
    - a record outside the topic of invalid calls, so that the reader does not take the call for invalid.
    - a record without empty inputs, which may have a reason of their own.
    - the smallest record.

    Args:
        members: the records of the cause; not empty.
        group: the group of the cause; it has the name of its explanation, if any.
    """
    return min(members, key=lambda member: rank(member, group))


def rank(member: RecordStatus, group: GroupKey) -> Rank:
    """Return how well a record represents a cause."""
    record = member.record
    explained_too = not set(group).issuperset(member.why.explained)
    empty = record.call is not None and any(0 in shape for _, shape, _ in record.call.inputs)
    of_others = isinstance(member.ruling, MixedReadings)
    return of_others, explained_too, record.case.startswith(f"{_INVALID}/"), empty, record.size
