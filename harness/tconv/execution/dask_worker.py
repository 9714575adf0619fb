"""What a dask worker does for a run: it takes chunks of cases through a pool with a single worker process.

A runtime that dies ends the pool's process, and not the dask worker. The pool stays from chunk to chunk, because a
runtime takes long to load; every thread of the dask worker has its own.
"""

from __future__ import annotations

import asyncio
import traceback
from contextlib import contextmanager
from multiprocessing import current_process
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING

from tconv import __version__
from tconv.dialects import dialect_named
from tconv.errors import ClusterError, TconvError
from tconv.execution.cluster_messages import Introduction, Order, Reply, cases_of, differences, machine_name
from tconv.execution.pool import Pool
from tconv.execution.versions import versions
from tconv.execution.waiting import CHUNK
from tconv.execution.worker import Assignment
from tconv.records import artifacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tconv.cases.case import Case

MOST_BYTES = 2**25
"""Bytes of artifacts in a reply after which no further cases are run for it."""

_LOCK = Lock()
_idle: dict[str, list[LocalPool]] = {}
"""Pools that have nothing to do, by the run that they are for."""
_ended: set[str] = set()
"""Runs that have ended, though a chunk of theirs may still be here."""


class LocalPool:
    """A pool with a single worker process, and the folder of its artifacts.

    Attributes:
        introduction: what it judges, and with what.
    """

    def __init__(self, order: Order) -> None:
        # dask's nanny starts a dask worker as a daemon of multiprocessing, which may have no children.
        current_process().daemon = False
        self._folder = TemporaryDirectory(prefix="tconv-")
        dialect = dialect_named(order.dialect) if order.dialect else None
        assignment = Assignment(dialect=dialect, folder=self._folder.name, log="", **order.settings)
        try:
            self._pool = Pool(assignment, 1, order.timeout)
        except BaseException:
            self._folder.cleanup()
            raise
        self.introduction = Introduction(
            tconv=__version__, platform=versions(), dialect=self._pool.dialect.name, backend=self._pool.backend
        )

    def run(self, cases: Sequence[Case], ended: Callable[[], bool]) -> Reply:
        """Run cases, as many as the artifacts of one reply allow, and return their lines and artifacts."""
        lines: list[tuple[str, str]] = []
        arrays: dict[str, bytes] = {}
        # After each part the artifacts are weighed.
        for start in range(0, len(cases), part := CHUNK):
            for line in self._pool.run(cases[start : start + part]):
                if ended():
                    raise ClusterError("the run has ended")
                lines.append((line.case, line.text))
            arrays |= artifacts.moved_out(Path(self._folder.name))
            if sum(map(len, arrays.values())) > MOST_BYTES:
                break
        return Reply(lines=tuple(lines), artifacts=arrays)

    def close(self) -> None:
        """End the worker process and remove the folder."""
        self._pool.close()
        self._folder.cleanup()


async def introduce(order: bytes) -> bytes:
    """Start a pool, and return a `Reply` with its introduction; it waits in a thread, as dask's own loop must go on.

    Args:
        order: an `Order`.
    """

    def answer() -> Reply:
        wanted = Order.model_validate_json(order)
        # A run whose client was killed has not said that it ended. A run beside this one only starts its pools again.
        _close(run for run in list(_idle) if run != wanted.run)
        with _leased(wanted) as pool:
            return Reply(introduction=pool.introduction)

    return await asyncio.to_thread(_replied, answer)


def run_chunk(order: bytes, agreed: bytes, cases: bytes) -> bytes:
    """Run cases and return a `Reply`.

    Args:
        order: an `Order`.
        agreed: the `Introduction` of all workers that were there at the start; this one may have come later.
        cases: the cases.
    """

    def answer() -> Reply:
        wanted = Order.model_validate_json(order)
        with _leased(wanted) as pool:
            parties = {"the others": Introduction.model_validate_json(agreed), machine_name(): pool.introduction}
            if differing := differences(parties):
                raise ClusterError(f"every dask worker must judge alike ({'; '.join(differing)})")
            return pool.run(cases_of(cases), lambda: wanted.run in _ended)

    return _replied(answer)


async def end(run: str) -> None:
    """Close the pools of a run; one that is at work is closed at its next line."""
    _ended.add(run)
    await asyncio.to_thread(_close, [run])


def _replied(answer: Callable[[], Reply]) -> bytes:
    """Return a reply as JSON; of an error its name and its words."""
    try:
        reply = answer()
    except TconvError as error:
        reply = Reply(error=(type(error).__name__, str(error)))
    except Exception as error:  # noqa: BLE001 - an exception would be pickled, and shown without its trace
        reply = Reply(error=(type(error).__name__, traceback.format_exc()))
    return reply.model_dump_json().encode()


@contextmanager
def _leased(order: Order) -> Iterator[LocalPool]:
    """Yield a pool that no other thread uses; it is idle afterwards, or closed after an error and of an ended run."""
    if order.run in _ended:
        raise ClusterError("the run has ended")
    with _LOCK:
        idle = _idle.get(order.run)
        pool = idle.pop() if idle else None
    pool = pool or LocalPool(order)
    try:
        yield pool
    except BaseException:
        pool.close()
        raise
    with _LOCK:
        _idle.setdefault(order.run, []).append(pool)
    if order.run in _ended:
        _close([order.run])


def _close(runs: Iterable[str]) -> None:
    """Close the idle pools of runs."""
    with _LOCK:
        pools = [pool for run in runs for pool in _idle.pop(run, [])]
    for pool in pools:
        pool.close()
