"""Which records of a run an entry of a waiver file covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.columns import columns, parts_of
from tconv.cases.patterns import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.gate.scope import Scope
    from tconv.gate.status import RecordStatus


def covering(
    members: Sequence[RecordStatus], entries: Sequence[Scope], facts: Mapping[str, Mapping[str, str]]
) -> Callable[[Scope], list[RecordStatus]]:
    """Return what says which records an entry covers, in the order of the run.

    Each entry asks all records, so they are looked at column by column.

    Args:
        members: the records of the run with their statuses.
        entries: the entries that will be asked for.
        facts: the facts of the records' cases, by id.
    """
    names = {name for entry in entries for name in entry.fact_names}
    of_cases = columns([parts_of(facts[member.record.case]) for member in members], names)
    paths: dict[str, int] = {}
    of_path = [paths.setdefault(path_of(member.record.case), len(paths)) for member in members]

    def covered(entry: Scope) -> list[RecordStatus]:
        named = np.array([entry.is_for(path) for path in paths], dtype=bool)[of_path]
        return [members[index] for index in np.flatnonzero(named & entry.holding(of_cases, len(members))).tolist()]

    return covered
