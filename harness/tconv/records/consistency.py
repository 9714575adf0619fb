"""Whether a record can be of the run that its file's header describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.dialects import DIALECTS
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.readings import Together
from tconv.nearest_word import nearest
from tconv.shown_texts import shown
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Container

    from tconv.records.headers import RunHeader
    from tconv.records.record import Record


def inconsistency(record: Record, header: RunHeader, cases: Container[str] | None) -> str | None:
    """Return what a record must be and is not; None where nothing is wrong.

    Args:
        record: the record.
        header: the header of its file.
        cases: the ids of all cases of the run; None where they are not known.
    """
    if not record.case:
        return "a record must name its case (got an empty text)"
    if record.dialect != header.dialect:
        return f"a record must be of the header's dialect, {header.dialect} (got {shown(record.dialect)})"
    if record.backend != header.backend.name:
        return f"a record must be of the header's backend, {header.backend.name} (got {shown(record.backend)})"
    if cases is not None and record.case not in cases:
        must = f"a record must be of a case that the header selects from the corpus (got {shown(record.case, 200)})"
        return f"{must}; run it again, where the tiers were chosen anew since"
    return _of_readings(record)


def _of_readings(record: Record) -> str | None:
    """Return what is wrong with the readings that a verdict names: they decide that it is no failure."""
    verdict, dialect = record.verdict, DIALECTS.get(record.dialect)
    if not isinstance(verdict, ver.Disputed | ver.Mistrusted) or dialect is None:
        return None
    if isinstance(verdict, ver.Disputed) and not verdict.readings:
        return "a disputed verdict must name a reading (got none)"
    names = {reading.name for reading in dialect.disputed}
    refusals = {f"{constraint}-refused" for constraint in CONSTRAINTS}
    alike = verdict.alike if isinstance(verdict, ver.Disputed) else ()
    for reading in (*verdict.readings, *alike):
        if not names.union(refusals).issuperset(Together.parse(reading).names):
            return f"a reading must be one that {dialect} disputes (got {shown(reading)}){nearest(reading, names)}"
    return None
