"""The JUnit file is XML whatever a runtime says, and tells the statuses as its readers know them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from junitparser import JUnitXml

from made_records import (
    AGREED,
    CASES,
    facts,
    header,
    run_of,
    waiver,
    waiver_file,
)
from tconv.errors import FileError
from tconv.gate.assessment import Assessment, assess
from tconv.records.record_file import Run
from tconv.reports import junit
from tconv.reports.report import make_report
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from pathlib import Path

    from junitparser import TestCase as Parsed


ANYTHING = "".join(map(chr, [*range(0x20), 0x7F, 0x85, 0xD800, 0xFFFE, 0xFFFF, 0x1F600])) + "<&>\"']]>"


def read_back(assessments: list[Assessment], folder: Path) -> dict[str, Parsed]:
    """Write a file, read it with the standard library and with junitparser, and return its cases by name."""
    path = folder / "deep" / "junit.xml"
    junit.write(make_report(assessments), path)
    names = [f"{case.get('classname')}/{case.get('name')}" for case in ET.parse(path).iter("testcase")]  # noqa: S314 - ours
    parsed = [(f"{case.classname}/{case.name}", case) for suite in JUnitXml.fromfile(str(path)) for case in suite]
    assert names == [name for name, _ in parsed]
    return dict(parsed)


def test_what_no_case_tells_is_a_failing_case_of_its_own(tmp_path: Path) -> None:
    """A stale waiver must turn a dashboard red that reads nothing but this file."""
    cases = read_back([assess(run_of({CASES[0]: AGREED}), waiver_file(waiver()), facts)], tmp_path)
    (gate,) = (case for name, case in cases.items() if name.startswith("gate/"))
    assert gate.is_failure
    assert gate.name == "waiver 'known' is stale: its example 'a/b/c[s=1]' ran and agrees now; remove it"


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
    cases = read_back([assess(run, waiver_file(unsupported=()), lambda _: {})], tmp_path)
    (text,) = (str(case.result[0].message) for name, case in cases.items() if not name.startswith("gate/"))
    assert "<&>\"']]>" in text
    assert "\U0001f600" in text


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "junit.xml"):
        with pytest.raises(FileError) as caught:
            junit.write(make_report([]), path)
        assert str(caught.value).startswith(f"{path}: must be a file that can be written (")
