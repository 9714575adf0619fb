"""The plugin once it takes part: one worker a pytest process, and the gate when all of them are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tconv import __version__
from tconv.corpus import Corpus
from tconv.corpus.corpus import SUFFIXES
from tconv.datafiles import data_folder
from tconv.errors import FileError, TconvError
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from tconv.gate import assess, judged, told_by_no_case
from tconv.pytest_plugin import settings as ini
from tconv.pytest_plugin.collection import RECORD, VERSION, CaseFile, CaseItem, Elsewhere
from tconv.records import RECORD as RECORD_ADAPTER
from tconv.records import BackendHeader, Run, RunHeader

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from tconv.case import Case
    from tconv.gate import Assessment, Judged
    from tconv.pytest_plugin.settings import Settings
    from tconv.records import Record
    from tconv.waivers import WaiverFile

_GATE = "tconv::gate"
"""The report that fails for what no case tells."""


def take_part(config: pytest.Config) -> None:
    """Register the plugin proper, with what the ini file asks.

    Raises:
        pytest.UsageError: the ini file or the waiver file is not as it must be.
    """
    try:
        config.pluginmanager.register(Gatekeeper(config, ini.read(config)), "tconv-gatekeeper")
    except TconvError as error:
        raise pytest.UsageError(str(error)) from None


class Gatekeeper:
    """Collects case files, runs cases, and judges what they come to.

    Under xdist each of its workers has one, which runs cases, and the controller has one, which judges.

    Args:
        config: pytest's.
        settings: what the ini file asks.

    Attributes:
        settings: what the ini file asks.
    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.settings = settings
        self._config = config
        self._is_worker = hasattr(config, "workerinput")
        self._pool: Pool | None = None
        self._waivers: dict[str, WaiverFile | None] = {}
        self._corpora: dict[Path, Corpus] = {}
        self._stems: dict[str, Path] = {}
        self._records: dict[str, Record] = {}
        self._version = ""
        self._assessment: Assessment | None = None

    @property
    def pool(self) -> Pool:
        """The worker; it starts when it is first asked for.

        Raises:
            BackendMissing: the backend is not there or does not start.
            UsageError: it does not speak the dialect.
        """
        if self._pool is None:
            assignment = Assignment(self.settings.backend, self.settings.dialect, None, "")
            self._pool = Pool(assignment, 1, self.settings.timeout)
        return self._pool

    def corpus(self, path: Path) -> Corpus:
        """Return the cases of one file, their ids as those of its root.

        Raises:
            FileError: something in the file is not as it must be, or another file's cases have the same ids.
        """
        file = path.resolve()
        if file not in self._corpora:
            folder = ini.folder_of(self.settings.root_of(file) or file)
            stem = file.relative_to(folder).with_suffix("").as_posix()
            if (other := self._stems.setdefault(stem, file)) != file:
                raise FileError(file, f"a case file must have a name of its own in tconv_cases (got that of {other})")
            self._corpora[file] = Corpus.load(file, folder)
        return self._corpora[file]

    def judged(self, case: Case) -> Judged:
        """Run a case and return what the gate says of it.

        Raises:
            BackendMissing: the backend is not there or does not start.
        """
        (line,) = self.pool.run([case])
        record = RECORD_ADAPTER.validate_json(line.text)
        backend = self.pool.backend
        waivers = self._waivers_for(backend.name)
        return judged(record, case.facts, waivers, backend.version, strict=self.settings.strict)

    def _waivers_for(self, backend: str) -> WaiverFile | None:
        if backend not in self._waivers:
            # A backend that is no installed one is known by the name that it gives itself.
            asked = self.settings.backend
            self._waivers[backend] = self.settings.waiver_file(backend if ":" in asked else asked)
        return self._waivers[backend]

    def _facts(self, case_id: str) -> Mapping[str, str] | None:
        """Return the facts of the case of that id, or None where there is none."""
        stem = case_id.partition("[")[0].rpartition("/")[0]
        for root in self.settings.roots:
            for suffix in SUFFIXES:
                file = ini.folder_of(root) / f"{stem}{suffix}"
                if file.is_file() and file.is_relative_to(root):
                    return self.corpus(file).facts(case_id)
        return None

    def pytest_report_header(self) -> str:
        """Say what is judged."""
        return f"tconv: {self.settings.backend}, {self.settings.tier} tier"

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take case files below the roots; take the ini file for those that are elsewhere."""
        if file_path.suffix in SUFFIXES and self.settings.root_of(file_path):
            return CaseFile.from_parent(parent, path=file_path, gatekeeper=self)
        if file_path == self._config.inipath and self.settings.elsewhere:
            return Elsewhere.from_parent(parent, path=file_path, gatekeeper=self)
        return None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let a skipped case stand in its file, not where the plugin skips it."""
        report = yield
        if isinstance(item, CaseItem) and isinstance(report.longrepr, tuple):
            report.longrepr = (str(item.path), 1, report.longrepr[2])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a case's record."""
        told = dict(report.user_properties)
        if not self._is_worker and RECORD in told and report.when == "call":
            record = RECORD_ADAPTER.validate_json(str(told[RECORD]))
            self._records[record.case] = record
            self._version = str(told[VERSION])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End the worker; judge what all cases came to, unless the run was broken off."""
        if self._pool is not None:
            self._pool.close()
        if not self._records or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        if session.shouldstop or session.shouldfail:
            return
        try:
            self._assessment = self._assessed()
            reasons = told_by_no_case(self._assessment)
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
            tier=self.settings.tier,
            corpus="",
            cases=len(records),
            timeout=self.settings.timeout,
            started="",
        )
        waivers = self._waivers_for(header.backend.name)
        if waivers is not None:
            # Some cases may have been deselected: a waiver of those has nothing to answer for.
            facts = {record.case: self._facts(record.case) or {} for record in records}
            met = [one for one in waivers.waivers if any(one.covers(*pair) for pair in facts.items())]
            waivers = waivers.model_copy(update={"waivers": met})
        run = Run(self.settings.base, header, records)
        ships = data_folder("cases").resolve() in self.settings.roots
        own = ships or self.settings.waivers is not None
        return assess(run, waivers, self._facts, strict=self.settings.strict, own=own)

    def _fail(self, session: pytest.Session, reasons: list[str]) -> None:
        """Report a failure of no case, so that every report of pytest's has it."""
        report = pytest.TestReport(_GATE, ("tconv", None, _GATE), {}, "failed", "\n".join(reasons), "call")
        self._config.hook.pytest_runtest_logreport(report=report)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Count the gate's failure; the line of progress is complete without it."""
        return ("failed", "", "") if report.nodeid == _GATE else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the cases came to."""
        if self._assessment is None:
            return
        header, counts = self._assessment.run.header, self._assessment.counts
        terminalreporter.write_sep("=", "tconv")
        told = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
        terminalreporter.write_line(f"{header.backend.name} {header.backend.version}, {header.dialect}: {told}")
        for reason in self._assessment.red:
            terminalreporter.write_line(f"red: {reason}", red=True)
