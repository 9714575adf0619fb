"""Case files as pytest sees them: a file with an item for each case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tconv.corpus.file_reading import case_files
from tconv.errors import TconvError
from tconv.gate.status import Status
from tconv.pytest_plugin import explanation
from tconv.pytest_plugin.settings import folder_of
from tconv.records.record import record_line
from tconv.reports.phrases import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.gate.status import RecordStatus
    from tconv.pytest_plugin.session import Session

RECORD = "tconv_record"
VERSION = "tconv_version"
"""Properties of a report: the case's record, and the backend's version. xdist sends reports to its controller."""
SESSION: pytest.StashKey[Session] = pytest.StashKey()
"""Where pytest's configuration stores what all items share."""


class FailedCase(Exception):  # noqa: N818 - a result, not a fault of the program
    """A case failed.

    Attributes:
        member: its record, with the status that the gate gives it.
    """

    def __init__(self, member: RecordStatus) -> None:
        self.member = member
        super().__init__(member)


class Elsewhere(pytest.File):
    """The ini file, as the parent of the case files outside of its folder."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the case files, named as the ids of their cases begin.

        Raises:
            CollectError: a folder has none.
        """
        for root in self.config.stash[SESSION].settings.elsewhere:
            try:
                files = case_files(root)
            except TconvError as error:
                raise self.CollectError(str(error)) from None
            for file in files:
                name = file.relative_to(folder_of(root)).as_posix()
                yield CaseFile.from_parent(self, path=file, name=name)


class CaseFile(pytest.File):
    """A case file."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the cases of the tier, named as their ids end.

        Raises:
            CollectError: something in the file is not as it must be.
        """
        shared = self.config.stash[SESSION]
        try:
            for case in shared.corpus(self.path).cases(shared.settings.tier):
                path, bracket, labels = case.id.partition("[")
                name = f"{path.rpartition('/')[2]}{bracket}{labels}"
                yield CaseItem.from_parent(self, name=name, case=case)
        except TconvError as error:
            raise self.CollectError(str(error)) from None


class CaseItem(pytest.Item):
    """A case.

    Args:
        case: the case.
        kwargs: pytest's.
    """

    def __init__(self, *, case: Case, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(**kwargs)
        self.case = case
        self._shared = self.config.stash[SESSION]

    def runtest(self) -> None:
        """Run the case and judge its record with the waivers.

        Raises:
            FailedCase: it failed.
        """
        member = self._run()
        self.user_properties.append((RECORD, record_line(member.record)))
        self.user_properties.append((VERSION, self._shared.pool.backend.version))
        self.add_report_section("call", "tconv", f"{member.status}: {phrase(member.record.verdict)}")
        match member.status:
            case Status.WAIVED if not self.config.getoption("runxfail"):
                pytest.xfail(member.reason)
            case Status.FAILED | Status.WAIVED:
                raise FailedCase(member)
            case Status.UNSUPPORTED | Status.INEXPRESSIBLE | Status.MISTRUSTED:
                pytest.skip(member.reason)
            case _:
                pass

    def _run(self) -> RecordStatus:
        try:
            return self._shared.run(self.case)
        except TconvError:
            # The failure of this case says why.
            self.session.shouldfail = "there is no backend, so no other case is run"
            raise

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ANN401
        """Return the explanation of a failure, without a traceback through tconv."""
        match excinfo.value:
            case FailedCase(member=member):
                settings = self._shared.settings
                return "\n".join(explanation.of(member, settings.backend, settings.root_of(self.path) or self.path))
            case TconvError() | pytest.xfail.Exception():
                return str(excinfo.value)
            case _:
                return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the case's id."""
        return self.path, None, self.case.id
