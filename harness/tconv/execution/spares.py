"""Spare workers: started before others die, so that none waits while a backend is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.execution.process import WorkerProcess

_MOST = 4
"""How many spare workers there are at most, beyond one for each job."""


class Spares:
    """The spare workers among those of a pool; a backend that never dies has none.

    Args:
        workers: the workers of the pool, which it changes.
        begin: starts a worker.
        jobs: how many workers have cases.
    """

    def __init__(self, workers: Sequence[WorkerProcess], begin: Callable[[], WorkerProcess], jobs: int) -> None:
        self._workers = workers
        self._begin = begin
        self._most = jobs + _MOST
        self._wanted = 0

    def take(self) -> WorkerProcess | None:
        """Return a spare worker for cases, if possible one that has loaded its backend; None where there is none."""
        spares = sorted(self._all(), key=lambda spare: not spare.introduced)
        if not spares:
            return None
        spares[0].spare = False
        return spares[0]

    def miss(self) -> None:
        """Note that a worker has died: a spare is wanted the first time, and one more each time that none is ready."""
        ready = any(spare.introduced for spare in self._all())
        self._wanted = min(self._wanted + (not ready), self._most)

    def start(self) -> None:
        """Start the spare workers that are wanted and missing."""
        for _ in range(self._wanted - len(self._all())):
            self._begin().spare = True

    def _all(self) -> list[WorkerProcess]:
        return [worker for worker in self._workers if worker.spare]
