"""What the gate says of a record: a status, and what pins and the other cases of the run say of the answer."""

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
    """What a record comes to with the waivers."""

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
"""The statuses of cases that make the gate red: deviations without a waiver, and what is unsupported without notice."""
AGREEING = (Status.PASSED, Status.DISPUTED)
"""The statuses of cases that do what a reading of the text says."""


@dataclass(frozen=True, slots=True)
class MixedReadings:
    """The backend answers a question here differently than in the other cases of the run.

    Attributes:
        readings: the disputed readings that it follows together here; none for the text's first ones.
        question: the question of `rules` that it answers differently in other cases.
        elsewhere: the answer that it gives there.
    """

    readings: tuple[str, ...]
    question: str
    elsewhere: str
    kind: Literal["mixed-readings"] = "mixed-readings"

    @property
    def words(self) -> str:
        """What two of them that are alike have in common."""
        return str(Combination(self.readings))


@dataclass(frozen=True, slots=True)
class ReadingChanged:
    """The backend follows another allowed reading than the pinned one.

    Attributes:
        question: the question that is answered differently.
        was: the pinned reading.
        now: the reading that gives this answer.
        choices: every reading that gives it, those that are followed together in one text; none for the primary one.
        rule: how it was compared.
    """

    question: str
    was: str
    now: str
    choices: tuple[str, ...]
    rule: ver.Rule
    kind: Literal["reading-changed"] = "reading-changed"

    @property
    def words(self) -> str:
        """What two of them that are alike have in common."""
        return f"{self.question} {self.was} {self.now}"


Ruling = ver.Verdict | MixedReadings | ReadingChanged
"""What the gate makes of an answer: the verdict of its record, if a pin and the other cases say nothing else.

They may say that no reading explains a refusal, which is `RefusedValid` then, or leave fewer readings of `Disputed`. It
stands beside the status, as a verdict does: a record that is waived keeps what is waived of it.
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
"""The kinds of ruling that a reader may have to act on, the most urgent first: so causes are listed."""
RULINGS: dict[str, type[Ruling]] = ver.KINDS | {"mixed-readings": MixedReadings, "reading-changed": ReadingChanged}
"""Every ruling by the word that stands for it in reports and waivers."""


@dataclass(frozen=True, slots=True)
class RecordStatus:
    """A record with what the gate says of it.

    Attributes:
        record: the record, as it was read.
        status: its status.
        ruling: what the gate makes of its answer.
        why: why its output is wrong, as far as the run tells.
        waiver: the waiver that covers it.
        declaration: the declaration that it is unsupported.
        by_words: whether it fails only because others fail with the same words: it does not once those are waived.
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
        """Whether its answer may depend on the calls before it, for all that is known."""
        refused = self.record.alone is None and isinstance(self.ruling, ver.RefusedValid)
        return self.record.may_vary or refused

    @property
    def failure(self) -> Failure | None:
        """What is compared of it with other failures; None if it is none."""
        if isinstance(self.ruling, MixedReadings | ReadingChanged):
            return Failure(self.ruling.kind, (), self.ruling.words)
        return failure(self.record, self.ruling, self.why.explained)


_INVALID, _SWEEP = "invalid", "in"


GroupKey = tuple[object, ...]
"""What makes records those of one cause, also in another run."""


def is_of_invalid(group: GroupKey) -> bool:
    """Return whether a key of failures, as `find_group` returns it, is of invalid calls."""
    return len(group) > 2 and group[1] == _INVALID  # noqa: PLR2004 - what fails, that mark, and what is in common


def sweep_of(group: GroupKey) -> str:
    """Return the sweep that a key of failures is of; empty if they have more in common."""
    *_, mark, sweep = ("", *group)
    return str(sweep) if mark == _SWEEP else ""


def mark_invalid(group: GroupKey, *, invalid: bool) -> GroupKey:
    """Return the key of failures, with a mark behind what fails if they are of invalid calls."""
    return (group[0], _INVALID, *group[1:]) if invalid else group


def find_group(member: RecordStatus, explained: Combination | None, *, invalid: bool = False) -> GroupKey:
    """Return what a failure has in common with others: its explanation, else its words, else its sweep.

    Args:
        member: the failure.
        explained: the explanation.
        invalid: whether the call is invalid. What a runtime does with invalid calls says nothing of valid ones.
    """
    if explained:
        return mark_invalid(("explained", explained), invalid=invalid)
    shown = member.failure
    if shown is not None and shown.words:
        return mark_invalid((shown.kind, shown.words), invalid=invalid)
    return mark_invalid((member.ruling.kind, _SWEEP, path_of(member.record.case)), invalid=invalid)


Rank = tuple[bool, bool, bool, bool, tuple[int, int, str]]
"""How well a record stands for a cause; the smallest is its example."""


def choose_example(members: Iterable[RecordStatus], group: GroupKey) -> RecordStatus:
    """Return the smallest member of a cause, if there is one among those that no reader takes for something else.

    Such a member is wrong alone too: mixed readings are shown by other cases only, and the command for it would say
    that nothing is wrong. It has no other explanation than the cause; else, as the next best, it is not under the topic
    of invalid calls: there a wrong value reads as if the call were invalid in this dialect too; and it has no input
    without elements, which may have reasons of its own.

    Args:
        members: the records of the cause; not empty.
        group: what makes records those of the cause; it has the name of its explanation, if any.
    """
    return min(members, key=lambda member: rank(member, group))


def rank(member: RecordStatus, group: GroupKey) -> Rank:
    """Return how well a record stands for a cause."""
    record = member.record
    explained_too = not set(group).issuperset(member.why.explained)
    empty = record.call is not None and any(0 in shape for _, shape, _ in record.call.inputs)
    of_others = isinstance(member.ruling, MixedReadings)
    return of_others, explained_too, record.case.startswith(f"{_INVALID}/"), empty, record.size
