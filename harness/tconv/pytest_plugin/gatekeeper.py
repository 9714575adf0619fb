"""The active plugin: one run of all selected cases, which the gate judges."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tconv import __version__
from tconv.backends import refuse_unknown
from tconv.backends.machine import cores
from tconv.cases.patterns import path_of
from tconv.corpus import Corpus
from tconv.corpus.corpus import TIERS_TO_FULL
from tconv.corpus.file_reading import make_stem
from tconv.corpus.lint import refuse_contradicted
from tconv.datafiles import data_folder
from tconv.dialects import find_dialect
from tconv.errors import TconvError, UsageError
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.gate.assessment import assess_with_corpus
from tconv.gate.waivers import choose_waivers
from tconv.nearest_word import nearest
from tconv.pytest_plugin.items import CaseFile, CaseItem, CasesElsewhere
from tconv.records.headers import RunHeader
from tconv.records.record_file import Run
from tconv.reports.report import make_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.corpus import Tier
    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.reports.report import RunReport

_GATE = "tconv::gate"
"""The test report that fails if the gate is red for a reason other than a failed case."""
_LEAST_SECONDS = 0.05


def _root(base: Path, path: str) -> Path:
    root = (base / path).resolve()
    if not root.exists():
        raise UsageError(f"must be a case file or a folder of them (got nothing at {str(root)!r})")
    return root


def _backend(spec: str) -> str:
    """Return the name of a backend, if it is known. The run shows whether it starts."""
    refuse_unknown(spec)
    return spec


def _tier(name: str) -> Tier:
    # pytest cannot hold an item for each of a million cases.
    for tier in TIERS_TO_FULL:
        if tier == name:
            return tier
    raise UsageError(f"must be one of {', '.join(TIERS_TO_FULL)} (got {name!r}){nearest(name, TIERS_TO_FULL)}")


def _waivers(base: Path, backend: str, name: str) -> str | None:
    option = None if not name else name if name == "none" else str(base / name)
    # A bad waiver file is reported before the run, not after it.
    choose_waivers(option, backend)
    return option


def _timeout(seconds: float) -> float:
    if not _LEAST_SECONDS <= seconds < math.inf:
        raise UsageError(f"must be seconds, at least {_LEAST_SECONDS} (got {seconds:g})")
    return seconds


def take_part(config: pytest.Config) -> None:
    """Register the plugin.

    Raises:
        pytest.UsageError: a setting is wrong, or pytest-xdist would distribute the items.
    """
    if config.getoption("tx", None):
        raise pytest.UsageError("-n must not be given with tconv_cases: one run asks the runtime, on all processors")
    config.pluginmanager.register(Gatekeeper(config), "tconv-gatekeeper")


class Gatekeeper:
    """Collects the cases, runs the selected ones, and reports the gate's result by the items and the session.

    Args:
        config: pytest's configuration, with the settings of the ini file.

    Raises:
        pytest.UsageError: a setting is wrong; the message names the file and the setting.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._base = (config.inipath or config.rootpath / "-o").parent.resolve()
        self._root: Path = self._setting("tconv_cases", partial(_root, self._base))
        self._backend: str = self._setting("tconv_backend", _backend)
        self._dialect: Dialect | None = self._setting(
            "tconv_dialect", lambda name: find_dialect(name) if name else None
        )
        self._tier: Tier = self._setting("tconv_tier", _tier)
        self._waivers: str | None = self._setting("tconv_waivers", partial(_waivers, self._base, self._backend))
        self._strict: bool = self._setting("tconv_strict", bool)
        self._timeout: float = self._setting("tconv_timeout", _timeout)
        self._files: dict[Path, list[Case]] = {}
        self._cases: dict[str, Case] = {}
        self._assessment: Assessment | None = None
        self._report: RunReport | None = None

    def _setting(self, name: str, made_of: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - each of its own type
        try:
            return made_of(self._config.getini(name))
        except (TconvError, pytest.UsageError, TypeError, ValueError) as error:
            raise pytest.UsageError(f"{self._config.inipath or '-o'}: {name}: {error}") from None

    def pytest_report_header(self) -> str:
        """Report the backend and the tier."""
        return f"tconv: {self._backend}, {self._tier} tier"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Read the case files and make the cases of the tier.

        Raises:
            pytest.UsageError: something in a file is wrong.
        """
        try:
            self._corpus = Corpus.load(self._root)
            refuse_contradicted(self._corpus)
            self._cases = {case.id: case for case in self._corpus.cases(self._tier)}
        except TconvError as error:
            raise pytest.UsageError(str(error)) from None
        self._files = {file.document.path: [] for file in self._corpus.files}
        files = {make_stem(path, self._corpus.folder): cases for path, cases in self._files.items()}
        for case in self._cases.values():
            files[path_of(case.id).rpartition("/")[0]].append(case)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect case files in the ini file's folder; those elsewhere through the ini file."""
        elsewhere = not self._root.is_relative_to(self._base)
        if file_path == self._config.inipath and elsewhere:
            folder, files = self._corpus.folder, self._files
            return CasesElsewhere.from_parent(parent, path=file_path, folder=folder, files=files)
        if (path := file_path.resolve()) in self._files and not elsewhere:
            return CaseFile.from_parent(parent, path=file_path, cases=self._files[path])
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Before the first case is reported, run all selected cases.

        Raises:
            pytest.UsageError: the backend is not there, or was lost.
        """
        if self._assessment is not None or not isinstance(item, CaseItem):
            return
        # pytest may have several items of one case, as with --keep-duplicates.
        items = [selected for selected in item.session.items if isinstance(selected, CaseItem)]
        try:
            self._assessment = self._assessed(list({selected.case.id: selected.case for selected in items}.values()))
        except TconvError as error:
            raise pytest.UsageError(str(error)) from None
        members = {member.record.case: member for member in self._assessment.statuses}
        for selected in items:
            selected.judge(members[selected.case.id], self._assessment.run.header)

    def _assessed(self, cases: list[Case]) -> Assessment:
        with Pool(Asking(self._backend, self._dialect, timeout=self._timeout), cores()) as pool:
            records = pool.records(cases)
            ships = self._root == data_folder("cases").resolve()
            header = RunHeader(
                tconv=__version__,
                backend=pool.backend,
                dialect=pool.dialect.name,
                tier=self._tier,
                patterns=() if len(cases) == len(self._cases) else tuple(records),
                corpus=self._corpus.digest,
                path="" if ships else str(self._root),
                cases=len(records),
                timeout=self._timeout,
                started="",
            )
        run = Run(self._root, header, [records[case.id] for case in cases])
        waivers = choose_waivers(self._waivers, pool.backend.name)
        own = ships or self._waivers is not None
        return assess_with_corpus(run, waivers, self._corpus, strict=self._strict, own=own, find=self._find)

    def _find(self, case_id: str) -> Case | None:
        return self._cases.get(case_id) or self._corpus.find(case_id)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report a reason other than a failed case as a failed test, so that every report of pytest has it."""
        if self._assessment is None:
            return
        self._report = make_report([self._assessment]).runs[0]
        if reasons := self._report.red_beyond_failures:
            report = pytest.TestReport(_GATE, ("tconv", None, _GATE), {}, "failed", "\n".join(reasons), "call")
            self._config.hook.pytest_runtest_logreport(report=report)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Count the gate's failure, but show no letter for it in the progress line."""
        return ("failed", "", "") if report.nodeid == _GATE else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report the number of cases of each status, and why the gate is red."""
        if self._report is None:
            return
        assessment = self._report.assessment
        header, counts = assessment.run.header, assessment.counts
        terminalreporter.write_sep("=", "tconv")
        totals = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
        terminalreporter.write_line(f"{header.backend.title}, {header.dialect}: {totals}")
        for note in self._report.notes:
            if not note.is_minor:
                terminalreporter.write_line(f"note: {note.text}")
        for reason in self._report.red:
            terminalreporter.write_line(f"red: {reason}", red=True)
