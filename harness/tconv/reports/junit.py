"""JUnit XML, for continuous integration systems."""

from __future__ import annotations

import io
import re
import shlex
from itertools import chain
from typing import TYPE_CHECKING

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from tconv.gate.status import FAILING, MixedReadings, Status
from tconv.reports import atomic_write
from tconv.reports.commands import reproduce_in
from tconv.reports.phrases import explanation, headline, phrase, reason

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.reports.report import Report, RunReport

# XML 1.0 allows no control characters except these, not even escaped; a runtime's message may have any.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(report: Report, path: Path) -> None:
    """Write a suite for each run. Waived, unsupported and not applicable cases are skipped, with the reason.

    If cases became worse since a baseline, a test case for the gate fails.

    Raises:
        FileError: the file cannot be written.
    """
    atomic_write.write(path, text(report))


def text(report: Report) -> str:
    """Return the XML that `write` writes."""
    xml = JUnitXml("tconv")
    for run in report.runs:
        xml.add_testsuite(_suite(run))
    stream = io.BytesIO()
    xml.write(stream, pretty=True)
    return stream.getvalue().decode()


def _suite(run: RunReport) -> TestSuite:
    assessment = run.assessment
    header = assessment.run.header
    suite = TestSuite(_clean(f"{header.backend.title} {header.dialect}"))
    for name, value in (header.platform | header.backend.machine | header.backend.environment).items():
        suite.add_property(_clean(name), _clean(value))
    for note in run.notes:
        suite.add_property(note.name, _clean(note.text))
    for noted in run.record_notes:
        suite.add_property(
            _clean(noted.name), _clean(f"{noted.count}: {noted.meaning}" if noted.meaning else f"{noted.count}")
        )
    # If a cause has only one case, or its answers vary, its line repeats what the failure says.
    causes = chain.from_iterable(run.causes.get(status, ()) for status in FAILING)
    shared_causes = [cause for cause in causes if cause.count > 1 and not cause.varies]
    lines = {member.record.case: cause.what for cause in shared_causes for member in cause.members}
    suite.add_testcases([_case(member, assessment, lines) for member in assessment.statuses])
    suite.add_testcases([_gate(why) for why in run.red_beyond_failures])
    return suite


def _case(member: RecordStatus, assessment: Assessment, causes_of: Mapping[str, str]) -> TestCase:
    record = member.record
    path, _, labels = _clean(record.case).partition("[")
    case = TestCase(
        f"{path.rpartition('/')[2]}{'[' + labels if labels else ''}", path.replace("/", "."), record.seconds
    )
    match member.status:
        case Status.PASSED | Status.DISPUTED | Status.REPORTED:
            case.system_out = _clean(f"{member.status}: {phrase(member.ruling)}")
        case Status.FAILED | Status.UNDECLARED:
            undeclared = member.status is Status.UNDECLARED
            why = _clean(explanation(record, member.why) or ("" if undeclared else reason(member)))
            what = _clean(headline(member.ruling))
            failure = Failure(what + (f"; {why}" if why else ""), member.status if undeclared else member.ruling.kind)
            cause = causes_of.get(record.case, "")
            lines = [_to_see_it(member, assessment), *([f"cause: {cause}"] if cause else [])]
            failure.text = _clean("\n".join(lines))
            case.result = [failure]
        case _:
            case.result = [Skipped(_clean(f"{member.status}: {reason(member)}"))]
    return case


def _to_see_it(member: RecordStatus, assessment: Assessment) -> str:
    """Return the command that shows a failure; for mixed readings the report, because the case alone is no failure."""
    header, ruling = assessment.run.header, member.ruling
    if not isinstance(ruling, MixedReadings):
        return reproduce_in(header, member)
    report = f"tconv report {assessment.run.argument}" + (f" --cases {shlex.quote(header.path)}" if header.path else "")
    answers_shown = next((answers.answers for answers in assessment.mixed if answers.question == ruling.question), ())
    others = [answer.example.id for answer in answers_shown if answer.answer == ruling.elsewhere]
    such_as = f", such as {others[0]}" if others else ""
    return f"{report}\nalone this case is no failure: it contradicts other cases of the run{such_as}"


def _gate(why: str) -> TestCase:
    """Return a failing test case for a reason that no single case shows, such as a stale waiver."""
    case = TestCase(_clean(why), "gate", 0.0)
    case.result = [Failure(_clean(why), "gate")]
    return case


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
