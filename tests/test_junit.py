"""The JUnit file is XML whatever a runtime says, and tells the statuses as its readers know them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from junitparser import JUnitXml

from made_records import (
    header,
    run_of,
    waiver_file,
)
from tconv.gate.assessment import assess
from tconv.records.record_file import Run
from tconv.reports import junit
from tconv.reports.report import make_report
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from pathlib import Path


ANYTHING = "".join(map(chr, [*range(0x20), 0x7F, 0x85, 0xD800, 0xFFFE, 0xFFFF, 0x1F600])) + "<&>\"']]>"


@pytest.mark.parametrize(
    "verdict",
    [
        ver.BackendError(ANYTHING),
        ver.RefusedValid(ANYTHING),
        ver.Crashed(ANYTHING, ANYTHING),
        ver.NotApplicable(ANYTHING),
    ],
    ids=lambda verdict: verdict.kind,
)
def test_any_character_can_come_from_a_runtime(verdict: ver.Verdict, tmp_path: Path) -> None:
    """Control characters have no place in XML, escaped or not; the file is valid and the rest is there."""
    backend = header().backend.model_copy(update={"name": ANYTHING, "environment": {ANYTHING: ANYTHING}})
    run = run_of({f"a/{ANYTHING}/e": verdict})
    run = Run(run.path, run.header.model_copy(update={"backend": backend}), run.records)
    path = tmp_path / "deep" / "junit.xml"
    junit.write(make_report([assess(run, waiver_file(unsupported=()), lambda _: {})]), path)
    ET.parse(path)  # noqa: S314 - ours
    cases = [case for suite in JUnitXml.fromfile(str(path)) for case in suite]
    (text,) = (str(case.result[0].message) for case in cases if case.classname != "gate")
    assert "<&>\"']]>" in text
    assert "\U0001f600" in text
