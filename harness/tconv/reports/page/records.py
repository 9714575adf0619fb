"""The records as data for the page's script, which reads them in records.js."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tconv.cases.patterns import facts_of
from tconv.dialects import DIALECTS
from tconv.dialects.readings import Together
from tconv.errors import shortened
from tconv.reports.page import figures, overview
from tconv.reports.page.case_facts import CaseFacts
from tconv.reports.phrases import explanation, phrase
from tconv.reports.statuses import STATUSES
from tconv.verdict.kinds import KINDS, Agreed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import Judged
    from tconv.reports.page.overview import Overview

_LONGEST = 200
"""Characters of a phrase in the table."""
_STATUSES = list(STATUSES)
_KINDS = list(KINDS)


def records_data(runs: Sequence[Overview], find: Callable[[str], Case | None]) -> dict[str, Any]:
    """Return the runs, the records as short arrays, and lists of what several records share, by index.

    Args:
        runs: the runs.
        find: returns a case by its id; None where the corpus has no such case.
    """
    case_facts = CaseFacts(find)
    waiver_numbers: dict[tuple[int, str], int] = {}
    waivers: list[dict[str, str]] = []
    facts_numbers: dict[tuple[tuple[str, str], ...], int] = {}
    records: list[list[Any]] = []
    for number, run in enumerate(runs):
        for judged in run.assessment.judged:
            waiver = None
            if judged.waiver is not None:
                waiver = waiver_numbers.setdefault((number, judged.waiver.name), len(waivers))
                if waiver == len(waivers):
                    waivers.append(overview.waiver_facts(judged.waiver))
            facts = _facts_beside_labels(judged.record.case, run.assessment)
            facts_number = facts_numbers.setdefault(facts, len(facts_numbers))
            detail = _detail(judged, waiver) | case_facts.of(judged.record, run.assessment.run.dialect)
            records.append([*_record(number, judged), detail, facts_number])
    return {
        "statuses": [[status.value, look.symbol] for status, look in STATUSES.items()],
        "kinds": _KINDS,
        "runs": [_run(run) for run in runs],
        "waivers": waivers,
        "facts": [dict(facts) for facts in facts_numbers],
        "readings": _readings(runs),
        "geometries": case_facts.geometries,
        "rows": records,
    }


def _facts_beside_labels(case_id: str, assessment: Assessment) -> tuple[tuple[str, str], ...]:
    """Return the facts of a case that are not labels of its id; many cases of a sweep share them."""
    labels = facts_of(case_id)
    return tuple((key, value) for key, value in assessment.facts.get(case_id, {}).items() if key not in labels)


def _run(run: Overview) -> dict[str, str | list[str]]:
    header = run.assessment.run.header
    return {
        "key": run.key,
        "name": run.name,
        "backend": header.backend.spec or header.backend.name,
        "options": list(header.backend.chosen),
        "dialect": header.dialect,
        "cases": header.path,
    }


def _readings(runs: Sequence[Overview]) -> dict[str, dict[str, list[str]]]:
    """Return, by dialect and name, what each reading that is followed says, and its citation."""
    followed = {
        (judged.record.dialect, name)
        for run in runs
        for judged in run.assessment.judged
        for together in figures.readings(judged.record.verdict)
        for name in Together.parse(together).names
    }
    readings: dict[str, dict[str, list[str]]] = {}
    for dialect_name in sorted({dialect_name for dialect_name, _ in followed} & DIALECTS.keys()):
        for reading in DIALECTS[dialect_name].disputed:
            if (dialect_name, reading.name) in followed:
                readings.setdefault(dialect_name, {})[reading.name] = [reading.says, reading.cites]
    return readings


def _record(run: int, judged: Judged) -> list[Any]:
    record = judged.record
    text = _shortened(phrase(record.verdict))
    return [
        run,
        record.case,
        _STATUSES.index(judged.status),
        _KINDS.index(record.verdict.kind),
        text if judged.waiver is None else f"{judged.waiver.name}: {text}",
        round(record.seconds, 6) if math.isfinite(record.seconds) else None,
    ]


def _shortened(text: str) -> str:
    """Return a phrase in one line that is not too long; the panel has all of it."""
    return shortened(" ".join(text.split()), _LONGEST)


def _detail(judged: Judged, waiver: int | None) -> dict[str, Any]:
    """Return what the page's panel shows of a record, without the keys that are empty."""
    record = judged.record
    call = record.call
    if isinstance(record.verdict, Agreed) and not record.verdict.notes and call is None and not record.harmed:
        return {}
    detail = {
        "figures": figures.figures(record.verdict, call.data_format if call else ""),
        "readings": figures.readings(record.verdict),
        "prose": figures.prose(record.verdict),
        "reason": "" if judged.waiver else judged.reason,
        "tolerance": record.tolerance,
        "why": explanation(record),
        "harmed": record.harmed and f"{record.harmed}, after other cases and not alone",
        "artifact": record.artifact,
        "call": call
        and {
            "attributes": [(name, figures.text(value)) for name, value in call.attributes.items()],
            "inputs": [(name, figures.integers(shape), dtype) for name, shape, dtype in call.inputs],
            "layouts": [call.data_format, call.filter_format],
        },
    }
    present = {key: value for key, value in detail.items() if value}
    return present if waiver is None else present | {"waiver": waiver}
