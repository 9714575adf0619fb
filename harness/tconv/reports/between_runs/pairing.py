"""Which old run a new run is compared with."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tconv.errors import UsageError
from tconv.reports.between_runs.comparing import Comparison, compared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.records.headers import RunHeader


def paired(old: Sequence[Assessment], new: Sequence[Assessment]) -> list[Comparison]:
    """Return the comparisons of runs: those of the same backend, options and dialect, whatever their versions are.

    Runs of tconv's own cases are not compared with those of others where there is a choice. Of several old runs of
    other cases the one of the new run's corpus is compared, or else the one whose cases are at the same path.

    A single old run is compared with each of the new ones, and a single new one without an old one of its kind with
    each of the old ones.

    Raises:
        UsageError: a run of one side has no run, or several, of the other side that it can be compared with.
    """
    if len(old) == 1 or (len(new) == 1 and not any(_key(before) == _key(new[0]) for before in old)):
        return [compared(before, after) for before in old for after in new]
    remaining, pairs = list(old), []
    for after in new:
        header = after.run.header
        alike = [before for before in remaining if _key(before) == _key(after)]
        before = _narrowed(alike, header.corpus, header.path)
        if len(before) != 1:
            raise _not_one(header, before)
        pairs.append(compared(before[0], after))
        remaining.remove(before[0])
    keys = {_key(after) for after in new}
    if len(new) > 1 and (without := [before for before in remaining if _key(before) not in keys]):
        must = f"the new runs must have one of {_words(without[0].run.header)}"
        raise UsageError(f"{must} (got none); name the two record files")
    return pairs


def refuse_ambiguous(
    old: Sequence[Assessment],
    backends: Sequence[str],
    dialect: Dialect | None,
    options: Mapping[str, str],
    corpus: str,
    path: str,
) -> None:
    """Refuse old runs of which `paired` could not choose one, before a run that may take an hour.

    Args:
        old: the runs of the baseline.
        backends: who will be run, as the command line names them.
        dialect: the dialect that they will be asked in; None for their own, which only they know.
        options: the options of all of them.
        corpus: the digest of the cases.
        path: the value of --cases; empty for tconv's own.

    Raises:
        UsageError: a backend has several, in whatever dialect it will be asked.
    """
    if len(old) == 1:
        return
    by_backend: dict[str, dict[tuple[object, ...], list[Assessment]]] = defaultdict(lambda: defaultdict(list))
    for before in old:
        header = before.run.header
        named = header.backend.spec or header.backend.name
        if dialect is not None and header.dialect != dialect.name:
            continue
        if named in backends and bool(header.path) == bool(path) and header.backend.options == options:
            by_backend[named][_key(before)].append(before)
    for groups in by_backend.values():
        choices = [_narrowed(group, corpus, path) for group in groups.values()]
        if all(len(choice) > 1 for choice in choices):
            raise _not_one(choices[0][0].run.header, choices[0])


def _narrowed(alike: list[Assessment], corpus: str, path: str) -> list[Assessment]:
    """Return those of several runs that are of a corpus, or else whose cases are at a path; all where none is."""
    if len(alike) > 1:
        of_corpus = [run for run in alike if run.run.header.corpus == corpus]
        return of_corpus or [run for run in alike if run.run.header.path == path] or alike
    return alike


def _not_one(header: RunHeader, runs: Sequence[Assessment]) -> UsageError:
    must = f"the old runs must have one of {_words(header)}, as the new ones have"
    files = f": {', '.join(str(run.run.path) for run in runs)}" if runs else ""
    return UsageError(f"{must} (got {len(runs)}{files}); name the two record files")


def _words(header: RunHeader) -> str:
    return f"{header.backend.name} in {header.dialect}"


def _key(assessment: Assessment) -> tuple[object, ...]:
    header = assessment.run.header
    # A folder may have runs of tconv's own cases and of others, which have no case in common.
    return header.backend.name, header.dialect, bool(header.path), *sorted(header.backend.options.items())
