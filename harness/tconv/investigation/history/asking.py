"""Releases of a runtime, each asked through its runner: the records of a selection, and of one case."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from tconv.errors import BackendMissing
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.execution.run import RunSettings, run
from tconv.gate.entries import make_failure_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.selection import Selection
    from tconv.investigation.history.environments import Environments
    from tconv.investigation.history.interpreters import Interpreter
    from tconv.investigation.history.runtimes import Runtime
    from tconv.records.headers import BackendHeader, RunHeader
    from tconv.records.record import Record


@dataclass(frozen=True, slots=True)
class Fleet:
    """The releases of a runtime that can be asked here.

    Attributes:
        runtime: the runtime.
        dialect: the dialect in which all are asked.
        environments: where they are installed.
        pythons: for each release the Python that it is installed in.
        jobs: worker processes.
        timeout: seconds that a case may take.
    """

    runtime: Runtime
    dialect: Dialect
    environments: Environments
    pythons: Mapping[Version, Interpreter]
    jobs: int
    timeout: float

    def recorded(
        self,
        version: Version,
        selection: Selection,
        output: Path,
        progress: Callable[[int, int, Record | None], None],
        *,
        resume: bool,
    ) -> Path:
        """Run a selection on a release, ask its failures again as any run does, and return its record file.

        Raises:
            BackendMissing: the release cannot be installed or does not start.
        """
        asking = self._asking(version)

        def fails(header: RunHeader) -> Callable[[Case, Record], bool]:
            _check(version, header.backend)
            return make_failure_test(None, header)

        settings = RunSettings(asking, output, self.jobs, resume=resume, fails=fails)
        with _of(version):
            return run(selection, settings, progress).path

    def record(self, version: Version, case: Case) -> Record:
        """Run a case on a release, and return its record.

        Raises:
            BackendMissing: the release cannot be installed or does not start.
        """
        with _of(version), Pool(self._asking(version)) as pool:
            _check(version, pool.backend)
            return pool.record(case)

    def _asking(self, version: Version) -> Asking:
        command = self.environments.command(self.runtime, version, self.pythons[version], self.dialect.name)
        return Asking(f"exec:{command}", self.dialect, timeout=self.timeout)


@contextmanager
def _of(version: Version) -> Iterator[None]:
    """Add what can be done to the message of a release that is installed and does not start."""
    try:
        yield
    except BackendMissing as error:
        raise BackendMissing(
            f"{error}; where the environment of {version} is broken, make it anew with --rebuild"
        ) from error


def _check(version: Version, backend: BackendHeader) -> None:
    """Raise where the environment of a release has another one."""
    try:
        same = Version(backend.version).public == version.public
    except InvalidVersion:
        same = False
    if not same:
        raise BackendMissing(f"the environment must have {version} (got {backend.version})")
