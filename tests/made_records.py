"""Records, runs and waivers made by hand, for tests of their readers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tconv.cases.patterns import facts_of
from tconv.dialects.readings import Combination
from tconv.gate.entries import ActiveEntries
from tconv.gate.status import MixedReadings, ReadingChanged, Ruling
from tconv.gate.waivers import WaiverFile
from tconv.records.headers import BackendHeader, RunHeader
from tconv.records.record import Record
from tconv.records.record_file import Run
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.gate.assessment import Assessment

DIALECT = "onnx/ConvTranspose-22"
AGREED = ver.Agreed("exact")
DIFFERED = ver.Differed("exact", 2, 8, (0, 0, 3), 3.0, 4.0)
EVERY_VERDICT: tuple[ver.Verdict, ...] = (
    AGREED,
    ver.Agreed("bound", ("reduced-precision",)),
    ver.Disputed(("odd-total-at-the-end",), "exact"),
    ver.Disputed(("negative-same-shrunk", "pads-length-refused"), "refusal", message="no"),
    ver.Inconclusive(4, 8, (), ("reduced-precision",)),
    DIFFERED,
    ver.Imprecise("bound", 2, 8, (0, 0, 3), 3.0, 4.0, 2.5),
    ver.Differed("bound", 1, 8, (0,), float("nan"), float("inf"), 2.5),
    ver.WrongShape((1, 2, 3), (1, 2)),
    ver.WrongShape((1, 2, 3), ()),
    ver.WrongDtype("f32", "f64"),
    ver.RefusedValid("no"),
    ver.AcceptedInvalid("pads-length"),
    ver.AcceptedInvalid("channels-divisible", stated=False),
    ver.Unsupported("later"),
    ver.NotApplicable("there is no such attribute"),
    ver.Crashed("SIGSEGV", "ouch"),
    ver.TimedOut(60.0),
    ver.Unstable("twice is not once"),
    ver.BackendError("RuntimeError: oh"),
)
EVERY_RULING: tuple[Ruling, ...] = (
    *EVERY_VERDICT,
    MixedReadings(("negative-same-shrunk",), "negative_same", "append"),
    ReadingChanged("negative_same", "primary", "negative-same-shrunk", ("negative-same-shrunk",), "exact"),
)
CASES = ("a/b/c[s=1]", "a/b/c[s=2]", "a/b/c[s=3]", "a/d/e")
"""What `facts` knows."""


def facts(case_id: str) -> Mapping[str, str] | None:
    return facts_of(case_id) if case_id in CASES else None


def header(
    version: str = "1.2.0", name: str = "acme", cases: int = 1, machine: Mapping[str, str] | None = None
) -> RunHeader:
    backend = BackendHeader(
        name=name,
        version=version,
        environment={"threads": "1"},
        machine=dict(machine or {}),
    )
    return RunHeader(
        tconv="0.1.0",
        backend=backend,
        dialect=DIALECT,
        tier="gate",
        corpus="sha256:0",
        cases=cases,
        timeout=60.0,
        platform={"machine": "x86_64"},
        started="2026-11-20T00:00:00+00:00",
    )


def run_of(verdicts: Mapping[str, Ruling], version: str = "1.2.0", machine: Mapping[str, str] | None = None) -> Run:
    """Return a run that came to these verdicts, or to verdicts of which the gate may make these rulings."""
    records = [Record(case, "acme", DIALECT, _verdict_of(ruling), 0.25) for case, ruling in verdicts.items()]
    return Run(Path("out/acme.jsonl"), header(version, cases=len(records), machine=machine), records)


def with_records(run: Run, *records: Record) -> Run:
    """Return the run with other records of some of its cases."""
    new = {record.case: record for record in records}
    return replace(run, records=[new.get(record.case, record) for record in run.records])


def _verdict_of(ruling: Ruling) -> ver.Verdict:
    match ruling:
        case MixedReadings(readings):
            return ver.Disputed(readings, "exact") if readings else AGREED
        case ReadingChanged(choices=choices, rule=rule):
            return ver.Disputed(choices, rule) if choices else ver.Agreed(rule)
        case _:
            return ruling


def ruled(assessment: Assessment, rulings: Mapping[str, Ruling]) -> Assessment:
    """Return what the gate says of a run if pins, or the other cases of the run, say this of its answers."""
    active = ActiveEntries(strict=assessment.strict)
    members = tuple(
        active.assign_status(member.record, {}, rulings[member.record.case])
        if isinstance(rulings.get(member.record.case), MixedReadings | ReadingChanged)
        else member
        for member in assessment.statuses
    )
    return replace(assessment, statuses=members)


def waiver(**settings: Any) -> dict[str, Any]:  # noqa: ANN401 - of each key's type
    """Return a waiver of all differing values in a/b/c, with some keys changed."""
    return {
        "name": "known",
        "dialects": [DIALECT],
        "cases": "a/b/c",
        "verdict": {"kind": "differed"},
        "versions": ">=1",
        "clause": "doc",
        "because": "it rounds up",
        "example": "a/b/c[s=1]",
        "date": "2026-11-20",
    } | settings


def waiver_file(*waivers: dict[str, Any], unsupported: tuple[dict[str, Any], ...] = ()) -> WaiverFile:
    content = {"format": 1, "backend": "acme", "waivers": list(waivers), "unsupported": list(unsupported)}
    return WaiverFile.model_validate(content)


def named(*texts: str) -> tuple[Combination, ...]:
    """Return a diagnosis: each text names a misreading, or several that are made together."""
    return tuple(map(Combination.parse, texts))
