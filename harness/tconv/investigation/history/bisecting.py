"""The release in which the verdict of a case changed, found in log steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.errors import BackendMissing
from tconv.records.failure import failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from packaging.version import Version

    from tconv.records.record import Record


@dataclass(frozen=True, slots=True)
class Change:
    """Where a verdict changed.

    Attributes:
        before: the last release that does as the oldest, and its record.
        after: the next one that was asked, and its record; the newest where it does as the oldest.
        asked: how many releases were asked.
        left_out: releases that could not be asked, with the reason.
    """

    before: tuple[Version, Record]
    after: tuple[Version, Record]
    asked: int
    left_out: tuple[tuple[Version, str], ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the oldest and the newest differ at all."""
        return not alike(self.before[1], self.after[1])


def bisected(versions: Sequence[Version], ask: Callable[[Version], Record]) -> Change:
    """Find a release that does otherwise with a case than the one before, which does as the oldest, in log steps.

    Where the verdict changed more than once, one of the changes is found. A release that cannot be asked is passed
    over.

    Args:
        versions: two or more releases, the oldest first.
        ask: returns the record of the case on a release.

    Raises:
        BackendMissing: fewer than two of the releases can be asked.
    """
    remaining = list(versions)
    answers: dict[Version, Record] = {}
    left_out: list[tuple[Version, str]] = []

    def asked(place: int) -> Record | None:
        """Ask a release; one that cannot be asked is no longer among the remaining."""
        version = remaining[place]
        try:
            answers[version] = ask(version)
        except BackendMissing as error:
            left_out.append((version, str(error)))
            del remaining[place]
        return answers.get(version)

    # Each of these loops ends with a release that answers, or with one release left.
    while len(remaining) > 1 and asked(0) is None:
        pass
    while len(remaining) > 1 and asked(len(remaining) - 1) is None:
        pass
    if len(remaining) < 2:  # noqa: PLR2004 - a change is between two
        reasons = "; ".join(f"{version}: {reason}" for version, reason in left_out)
        raise BackendMissing(f"two releases must be there to be compared (got {len(remaining)}; {reasons})")
    oldest, low, high = answers[remaining[0]], 0, len(remaining) - 1
    while high - low > 1 and not alike(oldest, answers[remaining[high]]):
        middle = (low + high) // 2
        record = asked(middle)
        if record is None:
            high -= 1
        elif alike(oldest, record):
            low = middle
        else:
            high = middle
    before, after = remaining[low], remaining[high]
    return Change((before, answers[before]), (after, answers[after]), len(answers), tuple(left_out))


def alike(record: Record, other: Record) -> bool:
    """Return whether two records of a case are alike: both without a failure, or with failures that are alike."""
    first, second = failure(record), failure(other)
    return first is second if first is None or second is None else first.alike(second)
