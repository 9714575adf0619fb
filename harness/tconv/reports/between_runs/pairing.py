"""Which old run a new run is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.errors import UsageError
from tconv.reports.between_runs.comparing import Comparison, compared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.records.headers import RunHeader


def paired(old: Sequence[Assessment], new: Sequence[Assessment]) -> list[Comparison]:
    """Return the comparison of each new run with the old run of the same backend and dialect, whatever their versions.

    If several old runs are of these, the one with the same options counts, of the same cases, or else of cases at the
    same path.

    Raises:
        UsageError: a new run has no such old run, or several; or one of several new runs is missing.
    """
    pairs = []
    for after in new:
        header = after.run.header
        alike = [before for before in old if _key(before) == _key(after)]
        before = _narrowed(alike, header.backend.options, header.corpus, header.path)
        if len(before) != 1:
            raise _not_one(header.backend.name, header.dialect, before)
        pairs.append(compared(before[0], after))
    keys = {_key(after) for after in new}
    if len(new) > 1 and (without := [_key(before) for before in old if _key(before) not in keys]):
        name, dialect = without[0]
        raise UsageError(f"the new runs must have one of {name} in {dialect}, as the baseline has (got none)")
    return pairs


def refuse_unpaired(
    old: Sequence[Assessment],
    backends: Sequence[str],
    dialect: Dialect | None,
    options: Mapping[str, str],
    corpus: str,
    path: str,
    *,
    named: bool,
) -> None:
    """Refuse old runs of which `paired` could not choose one, before a run that may take an hour.

    Args:
        old: the runs of the baseline.
        backends: who will be run, as the command line names them.
        dialect: the dialect that they will be asked in; None for their own, which only they know.
        options: the options of all of them.
        corpus: the digest of the cases.
        path: the value of --cases; empty for tconv's own.
        named: whether each of the backends must be there.

    Raises:
        UsageError: a backend has no old run, or several, in whatever dialect it will be asked.
    """
    for backend in backends:
        by_dialect: dict[str, list[Assessment]] = {}
        for before in old:
            header = before.run.header
            if backend in {header.backend.spec, header.backend.name} and dialect in {None, before.run.dialect}:
                by_dialect.setdefault(header.dialect, []).append(before)
        choices = [_narrowed(alike, options, corpus, path) for alike in by_dialect.values()]
        if choices and all(len(choice) > 1 for choice in choices):
            raise _not_one(backend, choices[0][0].run.header.dialect, choices[0])
        # Only the backend itself says how one of your own is called.
        if not choices and named and ":" not in backend:
            raise _not_one(backend, dialect.name if dialect else "its dialect", ())


def _narrowed(alike: list[Assessment], options: Mapping[str, str], corpus: str, path: str) -> list[Assessment]:
    """Return those of several runs that are most like a new one: by its options, then by its cases."""
    conditions: tuple[Callable[[RunHeader], bool], ...] = (
        lambda header: header.backend.options == options,
        # A folder may have runs of tconv's own cases and of others, which have no case in common.
        lambda header: bool(header.path) == bool(path),
        lambda header: header.corpus == corpus,
        lambda header: header.path == path,
    )
    for holds in conditions:
        alike = [before for before in alike if holds(before.run.header)] or alike
    return alike


def _not_one(backend: str, dialect: str, runs: Sequence[Assessment]) -> UsageError:
    files = f": {', '.join(str(run.run.path) for run in runs)}; name one of them" if runs else ""
    return UsageError(f"the baseline must have one run of {backend} in {dialect} (got {len(runs) or 'none'}{files})")


def _key(assessment: Assessment) -> tuple[str, str]:
    return assessment.run.header.backend.name, assessment.run.header.dialect
