"""A runtime that models are checked on: its workers, if it is run, and the waivers and pins that ship for it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.errors import BackendMissing
from tconv.execution.pool import Pool
from tconv.porting.known import Known

if TYPE_CHECKING:
    from tconv.dialects import Dialect
    from tconv.execution.asking import Asking


class Runtime:
    """A runtime that a model is checked on.

    Args:
        asking: how to run it.
        runs: whether it is run.

    Attributes:
        title: its name, with its version if that is known.
        missing: why it is not run; empty if it is.
        known: the waivers and pins that ship for it.
    """

    def __init__(self, asking: Asking, *, runs: bool) -> None:
        self.asking, self._stack = asking, ExitStack()
        self._pools: dict[str, Pool] = {}
        name, _, version = asking.backend.partition("==")
        self.missing = "" if runs else "it was not to be run"
        self.title, self.known = " ".join(filter(None, (name, version))), Known.of(name, version)
        if runs:
            try:
                backend = self.pool(None).backend
            except BackendMissing as error:
                self.missing = str(error)
            else:
                self.title = f"{backend.name} {backend.version}"
                self.known = Known.of(backend.name, backend.version)

    def pool(self, dialect: Dialect | None) -> Pool:
        """Return the workers for a dialect.

        Raises:
            BackendMissing: the runtime is not installed.
            DialectError: the runtime does not speak the dialect.
        """
        key = dialect.name if dialect else ""
        if key not in self._pools:
            self._pools[key] = self._stack.enter_context(Pool(replace(self.asking, dialect=dialect)))
        return self._pools[key]

    def close(self) -> None:
        """Stop its workers."""
        self._stack.close()
