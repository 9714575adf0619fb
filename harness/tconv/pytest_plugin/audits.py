"""ONNX models as files of tests: each has one item, the audit of the model on the backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tconv.errors import TconvError
from tconv.execution.asking import Asking
from tconv.porting.audit import audit
from tconv.porting.runtime import Runtime
from tconv.reports import auditing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


class Auditor:
    """Collects the models that the settings name, if pytest visits them, and audits those that are selected.

    Args:
        config: pytest's, with the settings of the ini file.

    Raises:
        pytest.UsageError: a setting names no model, or a file that cannot be read.
    """

    def __init__(self, config: pytest.Config) -> None:
        base = (config.inipath or config.rootpath / "-o").parent.resolve()
        names, accept = config.getini("tconv_audit"), config.getini("tconv_accept")
        self._models = {path for name in names for path in base.glob(name)}
        if not self._models:
            raise pytest.UsageError(
                f"{config.inipath or '-o'}: tconv_audit: must name models (got {' '.join(names)!r})"
            )
        try:
            self._accepted: Collection[str] = auditing.read_accepted(base / accept) if accept else ()
        except TconvError as error:
            raise pytest.UsageError(str(error)) from None
        self._backend, self._timeout = config.getini("tconv_backend"), config.getini("tconv_timeout")
        self._runtime: Runtime | None = None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a model."""
        if file_path.resolve() not in self._models:
            return None
        file: ModelFile = ModelFile.from_parent(parent, path=file_path)
        file.auditor = self
        return file

    def why_not(self, path: Path) -> str:
        """Return why a model is not safe; empty if it is, or if what is found is accepted or to be looked at."""
        self._runtime = self._runtime or Runtime(Asking(self._backend, timeout=self._timeout), runs=True)
        found = audit(path, {}, [self._runtime])
        summary = auditing.summarise([found], self._runtime, self._accepted)
        if summary.answer in {"safe", "to look at"}:
            return ""
        return "\n".join([*auditing.first_lines([summary]), *auditing.lines(found)])

    def pytest_sessionfinish(self) -> None:
        """End the workers."""
        if self._runtime is not None:
            self._runtime.close()


class ModelFile(pytest.File):
    """A model.

    Attributes:
        auditor: audits it.
    """

    auditor: Auditor

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the only item."""
        item: ModelItem = ModelItem.from_parent(self, name="audit")
        item.auditor = self.auditor
        yield item


class ModelItem(pytest.Item):
    """The audit of a model.

    Attributes:
        auditor: audits it.
    """

    auditor: Auditor

    def runtest(self) -> None:
        """Fail if the model is unsafe, or nothing is known."""
        try:
            why = self.auditor.why_not(self.path)
        except TconvError as error:
            why = str(error)
        if why:
            pytest.fail(why, pytrace=False)
