"""Case files for pytest: a file with an item for each case, which reports the case's status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tconv.gate.status import FAILING, Status
from tconv.reports.commands import reproduce_in
from tconv.reports.phrases import explanation, phrase, reason, tolerance
from tconv.shown_texts import one_line
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.gate.status import RecordStatus
    from tconv.records.headers import RunHeader

_MOST_LINES = 20


class CasesElsewhere(pytest.File):
    """The ini file, as the parent of case files outside of its folder.

    Args:
        folder: the folder that names of files are relative to.
        files: the cases of each file.
        kwargs: pytest's arguments.
    """

    def __init__(self, *, folder: Path, files: Mapping[Path, Sequence[Case]], **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(**kwargs)
        self._folder, self._files = folder, files

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the case files."""
        for path, cases in self._files.items():
            yield CaseFile.from_parent(self, path=path, name=path.relative_to(self._folder).as_posix(), cases=cases)


class CaseFile(pytest.File):
    """A case file.

    Args:
        cases: its cases.
        kwargs: pytest's arguments.
    """

    def __init__(self, *, cases: Sequence[Case], **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(**kwargs)
        self._cases = cases

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its cases, named by the end of their ids."""
        for case in self._cases:
            path, bracket, labels = case.id.partition("[")
            yield CaseItem.from_parent(self, name=f"{path.rpartition('/')[2]}{bracket}{labels}", case=case)


class CaseItem(pytest.Item):
    """A case.

    Args:
        case: the case.
        kwargs: pytest's arguments.

    Attributes:
        case: the case.
    """

    def __init__(self, *, case: Case, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(**kwargs)
        self.case = case
        self._failure = "the case was not judged: no run asked the runtime for this item"

    def judge(self, member: RecordStatus, header: RunHeader) -> None:
        """Take over the status of the case, before the item is run.

        Args:
            member: the record of the case, with its status.
            header: the header of the run.
        """
        match member.status:
            case Status.WAIVED | Status.FAILED | Status.UNDECLARED:
                self._failure = "\n".join(_explained(member, header))
                if member.status is Status.WAIVED:
                    self.add_marker(pytest.mark.xfail(reason=reason(member)))
            case Status.UNSUPPORTED | Status.NOT_APPLICABLE | Status.INCONCLUSIVE | Status.TWIN_FAILED:
                self.add_marker(pytest.mark.skip(reason=reason(member)))
            case _:
                self._failure = ""
                self.add_report_section("call", "tconv", f"{member.status}: {phrase(member.ruling)}")

    def runtest(self) -> None:
        """Fail if the case failed."""
        if self._failure:
            pytest.fail(self._failure, pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the case's id."""
        return self.path, 0, self.case.id


def _explained(member: RecordStatus, header: RunHeader) -> Iterator[str]:
    """Yield the lines of a failure; the first is a summary."""
    record = member.record
    failed = reason(member) if member.status in FAILING else ""
    yield f"{member.ruling.kind}: {failed or phrase(member.ruling)}"
    yield _line("case", record.case)
    yield _line("backend", f"{record.backend}, speaking {record.dialect}")
    if record.call is not None:
        words = ", ".join(f"{name}={value!r}" for name, value in record.call.attributes.items())
        inputs = ", ".join(f"{name} {dtype} {shape}" for name, shape, dtype in record.call.inputs)
        yield _line("call", words or "no attribute")
        yield _line("inputs", f"{inputs}, in {record.call.data_format} and {record.call.filter_format}")
    if isinstance(record.verdict, ver.Crashed):
        for line in record.verdict.stderr.splitlines()[-_MOST_LINES:]:
            yield _line("printed", one_line(line))
    if why := explanation(record, member.why):
        yield _line("explained", why)
    if derived := tolerance(record):
        yield _line("tolerance", derived)
    yield _line("reproduce", reproduce_in(header, member))


def _line(name: str, text: str) -> str:
    return f"  {name:<10} {text}"
