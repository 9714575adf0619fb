"""What all items of a pytest session share: the settings, one worker, the cases of each file, the waivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.cases.patterns import path_of
from tconv.corpus import Corpus
from tconv.corpus.file_reading import files_of, stem
from tconv.corpus.literals import refuse_contradicted
from tconv.errors import FileError
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from tconv.gate.status import status_of
from tconv.gate.waivers_of_run import active_entries
from tconv.pytest_plugin import settings as ini

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.gate.status import RecordStatus
    from tconv.gate.waivers import WaiverFile
    from tconv.pytest_plugin.settings import Settings


class Session:
    """Runs and judges cases for the items of one process.

    Args:
        settings: the settings of the ini file.

    Attributes:
        settings: the same.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._pool: Pool | None = None
        self._waiver_files: dict[str, WaiverFile | None] = {}
        self._corpora: dict[Path, Corpus] = {}
        self._stems: dict[str, Path] = {}

    def close(self) -> None:
        """End the worker, if it was started."""
        if self._pool is not None:
            self._pool.close()

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
        """Return the corpus of one file, whose cases have the ids that they have in the file's root.

        Raises:
            FileError: something in the file is not as it must be, or another file's cases have the same ids.
        """
        file = path.resolve()
        if file not in self._corpora:
            folder = ini.folder_of(self.settings.root_of(file) or file)
            if (other := self._stems.setdefault(stem(file, folder), file)) != file:
                raise FileError(file, f"a case file must have a name of its own in tconv_cases (got that of {other})")
            corpus = Corpus.load(file, folder)
            refuse_contradicted(corpus)
            self._corpora[file] = corpus
        return self._corpora[file]

    def run(self, case: Case) -> RecordStatus:
        """Run a case and return its record with its status.

        Raises:
            BackendMissing: the backend is not there or does not start.
        """
        record, backend = self.pool.record(case), self.pool.backend
        active = active_entries(self.waivers(backend.name), record.dialect, backend)
        return status_of(record, case.facts, active, strict=self.settings.strict)

    def waivers(self, backend: str) -> WaiverFile | None:
        """Return the waivers for the backend of that name; None where there are none."""
        if backend not in self._waiver_files:
            # A backend that is not installed has the name that it gives itself, not its spec.
            spec = self.settings.backend
            self._waiver_files[backend] = self.settings.waiver_file(backend if ":" in spec else spec)
        return self._waiver_files[backend]

    def facts(self, case_id: str) -> Mapping[str, str] | None:
        """Return the facts of the case of that id, or None where there is none."""
        case = self.find(case_id)
        return None if case is None else case.facts

    def find(self, case_id: str) -> Case | None:
        """Return the case of that id, or None where there is none."""
        before = path_of(case_id).rpartition("/")[0]
        for root in self.settings.roots:
            for file in files_of(before, ini.folder_of(root)):
                if file.is_relative_to(root):
                    return self.corpus(file).find(case_id)
        return None
