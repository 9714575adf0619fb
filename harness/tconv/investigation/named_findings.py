"""What drawn cases say of the names of a fuzz run's failures: where a misreading is made, and which names they deny."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tconv.learning import JudgedCalls, denials, named_conditions
from tconv.learning.judged_calls import is_right

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.readings import Together
    from tconv.records.record import Record

_MOST_KEPT = 2000
"""Cases with right answers that are kept: a run may have no end."""


@dataclass(slots=True)
class RightAnswers:
    """The drawn cases with right answers, the first of them.

    Attributes:
        records: their records, by the case's id.
        cases: the cases, by id.
    """

    records: dict[str, Record] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)

    def keep(self, case: Case, record: Record) -> None:
        """Keep a case, where its answer is right."""
        if len(self.cases) < _MOST_KEPT and is_right(record):
            self.records[case.id], self.cases[case.id] = record, case

    def doubts(self, failed: Iterable[tuple[Case, Record]], dialect: Dialect) -> Mapping[Together, str]:
        """Return what is to be said beside a name, by the name: its condition, or that cases which agree deny it.

        Args:
            failed: the drawn cases that failed, with their records.
            dialect: the dialect of the run.
        """
        wrong = {case.id: (case, record) for case, record in failed if record.diagnosis}
        if not wrong:
            return {}
        records = [record for _, record in wrong.values()]
        find = (self.cases | {case_id: case for case_id, (case, _) in wrong.items()}).get
        known = [*self.records.values(), *records]
        denied = denials(known, records, find, dialect)
        misread = named_conditions(JudgedCalls(known, find, dialect), records)
        only_fits = {
            name: f"; {count} drawn cases that agree deny it, so it only fits these" for name, count in denied.items()
        }
        return only_fits | {name: f" where {each.condition}" for name, each in misread.items()}
