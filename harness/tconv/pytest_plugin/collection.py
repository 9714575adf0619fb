"""Case files as pytest sees them: a file with an item for each case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tconv.corpus.corpus import case_files
from tconv.errors import TconvError
from tconv.gate.status import Status
from tconv.pytest_plugin import explanation
from tconv.pytest_plugin.settings import folder_of
from tconv.records.record_file import record_line
from tconv.reports.phrases import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.gate.status import Judged
    from tconv.pytest_plugin.session import Session

RECORD = "tconv_record"
VERSION = "tconv_version"
"""Properties of a report: the case's record, and the backend's version. Reports travel, from xdist's workers too."""


class Deviation(Exception):  # noqa: N818 - it is what was found, not a fault of the program
    """A case failed.

    Attributes:
        judged: what the gate says of it.
    """

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        super().__init__(judged)


class _Judging(pytest.File):
    """A file below which there are cases.

    Args:
        judging: what the items share.
        kwargs: pytest's.
    """

    def __init__(self, *, judging: Session, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(**kwargs)
        self._judging = judging


class Elsewhere(_Judging):
    """The case files that lie outside of the ini file's folder; the ini file stands for them."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield the case files, named as the ids of their cases begin.

        Raises:
            CollectError: a folder has none.
        """
        for root in self._judging.settings.elsewhere:
            try:
                files = case_files(root)
            except TconvError as error:
                raise self.CollectError(str(error)) from None
            for file in files:
                name = file.relative_to(folder_of(root)).as_posix()
                yield CaseFile.from_parent(self, path=file, name=name, judging=self._judging)


class CaseFile(_Judging):
    """A case file."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the cases of the tier, named as their ids end.

        Raises:
            CollectError: something in the file is not as it must be.
        """
        try:
            for case in self._judging.corpus(self.path).cases(self._judging.settings.tier):
                path, bracket, labels = case.id.partition("[")
                name = f"{path.rpartition('/')[2]}{bracket}{labels}"
                yield CaseItem.from_parent(self, name=name, case=case, judging=self._judging)
        except TconvError as error:
            raise self.CollectError(str(error)) from None


class CaseItem(pytest.Item):
    """A case.

    Args:
        judging: what the items share.
        case: the case.
        kwargs: pytest's.
    """

    def __init__(self, *, judging: Session, case: Case, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(**kwargs)
        self._judging = judging
        self.case = case

    def runtest(self) -> None:
        """Run the case and hold its record against the waivers.

        Raises:
            Deviation: it failed.
        """
        judged = self._judged()
        self.user_properties.append((RECORD, record_line(judged.record)))
        self.user_properties.append((VERSION, self._judging.pool.backend.version))
        self.add_report_section("call", "tconv", f"{judged.status}: {phrase(judged.record.verdict)}")
        match judged.status:
            case Status.WAIVED if not self.config.getoption("runxfail"):
                pytest.xfail(judged.reason)
            case Status.FAILED | Status.WAIVED:
                raise Deviation(judged)
            case Status.UNSUPPORTED | Status.INEXPRESSIBLE:
                pytest.skip(judged.reason)
            case _:
                pass

    def _judged(self) -> Judged:
        try:
            return self._judging.judged(self.case)
        except TconvError as error:
            # There is no backend, and so no answer to any other case either.
            self.session.shouldfail = str(error)
            raise

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ANN401
        """Return what a person needs, without a traceback through tconv."""
        match excinfo.value:
            case Deviation(judged=judged):
                settings = self._judging.settings
                return "\n".join(explanation.of(judged, settings.backend, settings.root_of(self.path) or self.path))
            case TconvError() | pytest.xfail.Exception():
                return str(excinfo.value)
            case _:
                return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the case's id."""
        return self.path, None, self.case.id
