"""The plugin where it takes part: a worker for each pytest process, and the gate when all cases are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tconv import __version__
from tconv.corpus.file_reading import SUFFIXES
from tconv.datafiles import data_folder
from tconv.errors import TconvError
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.pytest_plugin import settings as ini
from tconv.pytest_plugin.collection import RECORD, SESSION, VERSION, CaseFile, CaseItem, Elsewhere
from tconv.pytest_plugin.session import Session
from tconv.records.headers import BackendHeader, RunHeader
from tconv.records.record import record_of
from tconv.records.record_file import Run
from tconv.reports.phrases import headline
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from tconv.gate.assessment import Assessment
    from tconv.pytest_plugin.settings import Settings
    from tconv.records.record import Record

_GATE = "tconv::gate"
"""The report that fails where the gate is red for a reason that is not a case's."""


def take_part(config: pytest.Config) -> None:
    """Register the plugin proper, with the settings of the ini file.

    Raises:
        pytest.UsageError: the ini file or the waiver file is not as it must be.
    """
    try:
        config.pluginmanager.register(Gatekeeper(config, ini.read(config)), "tconv-gatekeeper")
    except TconvError as error:
        raise pytest.UsageError(str(error)) from None


class Gatekeeper:
    """Collects case files, runs cases, and passes their records through the gate.

    Under xdist there is one in each worker, which runs cases, and one in the controller, which judges.

    Args:
        config: pytest's.
        settings: the settings of the ini file.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._session = config.stash[SESSION] = Session(settings)
        self._settings = settings
        self._config = config
        self._is_worker = hasattr(config, "workerinput")
        self._records: dict[str, Record] = {}
        self._version = ""
        self._assessment: Assessment | None = None

    def pytest_report_header(self) -> str:
        """Report what is judged."""
        return f"tconv: {self._settings.backend}, {self._settings.tier} tier"

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect case files below the roots, and through the ini file those that are elsewhere."""
        if file_path.suffix in SUFFIXES and self._settings.root_of(file_path):
            return CaseFile.from_parent(parent, path=file_path)
        if file_path == self._config.inipath and self._settings.elsewhere:
            return Elsewhere.from_parent(parent, path=file_path)
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Locate a skipped case in its file, not in the line of the plugin that skips it."""
        report = yield
        if isinstance(item, CaseItem) and isinstance(report.longrepr, tuple):
            report.longrepr = (str(item.path), 1, report.longrepr[2])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store a case's record."""
        properties = dict(report.user_properties)
        if not self._is_worker and RECORD in properties and report.when == "call":
            record = record_of(str(properties[RECORD]))
            self._records[record.case] = record
            self._version = str(properties[VERSION])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End the worker; judge the records of all cases, unless the run was broken off."""
        self._session.close()
        if not self._records or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        if session.shouldstop or session.shouldfail:
            return
        try:
            self._assessment = self._assessed()
            reasons = [*self._settled_failures(self._assessment), *self._assessment.other_reasons]
        except TconvError as error:
            reasons = [str(error)]
        if reasons:
            self._fail(session, reasons)

    def _assessed(self) -> Assessment:
        records = sorted(self._records.values(), key=lambda record: record.case)
        header = RunHeader(
            tconv=__version__,
            backend=BackendHeader(name=records[0].backend, version=self._version),
            dialect=records[0].dialect,
            tier=self._settings.tier,
            corpus="",
            cases=len(records),
            timeout=self._settings.timeout,
            started="",
        )
        waivers = self._session.waivers(header.backend.name)
        if waivers is not None:
            # Cases may have been deselected, and a waiver that covers none of the others must not be stale or void.
            facts = {record.case: self._session.facts(record.case) or {} for record in records}
            covering = [waiver for waiver in waivers.waivers if any(waiver.covers(*pair) for pair in facts.items())]
            waivers = waivers.model_copy(update={"waivers": covering})
        run = Run(self._settings.base, header, records)
        ships = data_folder("cases").resolve() in self._settings.roots
        own = ships or self._settings.waivers is not None
        session = self._session
        return assess(run, waivers, session.facts, strict=self._settings.strict, own=own, find=session.find)

    def _settled_failures(self, assessment: Assessment) -> Iterator[str]:
        """Yield what fails by what other cases show; the item of such a case passed, by its own answer alone."""
        for member in assessment.statuses:
            case = member.record.case
            if member.status is Status.FAILED and isinstance(self._records[case].verdict, ver.Disputed):
                yield f"{case}: {headline(member.record.verdict)}"

    def _fail(self, session: pytest.Session, reasons: list[str]) -> None:
        """Report a failure that is no case's, in the way of a test, so that every report of pytest's has it."""
        report = pytest.TestReport(_GATE, ("tconv", None, _GATE), {}, "failed", "\n".join(reasons), "call")
        self._config.hook.pytest_runtest_logreport(report=report)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Count the gate's failure, but show no letter for it in the line of progress."""
        return ("failed", "", "") if report.nodeid == _GATE else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report how many cases have which status, and why the gate is red."""
        if self._assessment is None:
            return
        header, counts = self._assessment.run.header, self._assessment.counts
        terminalreporter.write_sep("=", "tconv")
        totals = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
        terminalreporter.write_line(f"{header.backend.title}, {header.dialect}: {totals}")
        for reason in self._assessment.red:
            terminalreporter.write_line(f"red: {reason}", red=True)
