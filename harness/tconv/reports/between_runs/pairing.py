"""Choose the old run for the comparison with a new run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.errors import UsageError
from tconv.reports.between_runs.comparing import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.records.headers import RunHeader
    from tconv.reports.report import RunReport


def compare_pairs(old: Sequence[RunReport], new: Sequence[RunReport]) -> list[Comparison]:
    """Compare each new run with the old run of the same backend and dialect; their versions may differ.

    If there are several, the newest is taken, if possible one with the same options and the same cases.

    Raises:
        UsageError: a new run has no such old run, or one of several new runs is missing.
    """
    pairs = []
    for after in new:
        alike = [before for before in old if _key(before) == _key(after)]
        if not alike:
            raise _none(*_key(after))
        pairs.append(compare(_newest(alike, after.assessment.run.header), after, len(alike)))
    keys = {_key(after) for after in new}
    if len(new) > 1 and (without := [_key(before) for before in old if _key(before) not in keys]):
        name, dialect = without[0]
        raise UsageError(f"the new runs must have one of {name} in {dialect}, as the baseline has (got none)")
    return pairs


def refuse_unpaired(old: Sequence[Assessment], backends: Sequence[str], dialect: Dialect | None) -> None:
    """Refuse a baseline without a run of a backend that will be run: the run itself may take an hour.

    Args:
        old: the runs of the baseline.
        backends: the backends to run, as the command line names them.
        dialect: the dialect to ask them in; None means their own, which only they know.

    Raises:
        UsageError: a backend has no old run in this dialect, or in any dialect if it is None.
    """
    for backend in backends:
        # Only the backend itself knows the name of a user's own backend.
        if ":" not in backend and not any(
            backend in {before.run.header.backend.spec, before.run.header.backend.name}
            and dialect in {None, before.run.dialect}
            for before in old
        ):
            raise _none(backend, dialect.name if dialect else "its dialect")


def _newest(alike: Sequence[RunReport], header: RunHeader) -> RunReport:
    """Return the newest of the runs that are most similar to a new one: by options, and by the cases asked."""

    def likeness(before: RunReport) -> tuple[bool | str, ...]:
        was = before.assessment.run.header
        return (
            was.backend.options == header.backend.options,
            # A folder may have runs of tconv's own cases and of others, which have no case in common.
            bool(was.path) == bool(header.path),
            was.corpus == header.corpus or was.path == header.path,
            # A run of a pattern lacks most cases.
            was.patterns in {(), header.patterns},
            was.started,
        )

    return max(alike, key=likeness)


def _none(backend: str, dialect: str) -> UsageError:
    return UsageError(f"the baseline must have a run of {backend} in {dialect} (got none)")


def _key(run: RunReport) -> tuple[str, str]:
    header = run.assessment.run.header
    return header.backend.name, header.dialect
