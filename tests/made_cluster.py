"""Clusters of processes for tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from small_corpus import environment

if TYPE_CHECKING:
    from collections.abc import Iterator


class Processes:
    """A scheduler and dask workers as processes.

    Attributes:
        address: the scheduler's.
        scheduler: its process.
        workers: the workers' processes; with a nanny, the nanny's.
    """

    def __init__(self, folder: Path, **more: str) -> None:
        self._folder, self._more = folder, more
        self._file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._started("scheduler", "--host", "127.0.0.1", "--port", "0")
        while not self._file.exists() or not self._file.read_text(encoding="utf-8"):
            assert self.scheduler.poll() is None, self.log("scheduler")
            sleep(0.05)
        self.address: str = json.loads(self._file.read_text(encoding="utf-8"))["address"]

    def worker(self, *options: str, **more: str) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        self.workers.append(self._started("worker", "--nthreads", "1", "--nworkers", "1", *options, **more))
        return self.workers[-1]

    def _started(self, what: str, *options: str, **more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self._file), "--no-dashboard", *options]
        with (self._folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=environment(TMPDIR=str(self._folder), **self._more, **more),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def await_workers(self) -> None:
        """Wait until the scheduler knows all workers that were started."""
        while self.log("scheduler").count("Register worker") < len(self.workers):
            sleep(0.05)

    def log(self, what: str) -> str:
        """Return what the scheduler or the workers have printed."""
        return (self._folder / f"{what}.log").read_text(encoding="utf-8")

    def close(self) -> None:
        """End all of them, the scheduler last."""
        for process in (*self.workers, self.scheduler):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                # A dask worker whose peers end at the same time may wait for them for ever.
                process.kill()
                process.wait()


@contextmanager
def processes(folder: Path, workers: int = 2, *options: str, **more: str) -> Iterator[Processes]:
    """Start a cluster and yield it; end it afterwards."""
    folder.mkdir(exist_ok=True)
    cluster = Processes(folder, **more)
    try:
        for _ in range(workers):
            cluster.worker(*options)
        cluster.await_workers()
        yield cluster
    finally:
        cluster.close()


def pools_below(folder: Path) -> list[int]:
    """Return the workers of pools whose logs are below a folder."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                log = (process / "fd" / "1").readlink()
            except OSError:
                # It has ended since, or is another user's.
                continue
            if log.is_relative_to(folder) and re.fullmatch(r"worker-\d+\.log", log.name):
                found.append(int(process.name))
    return found


def are_there(folder: Path, count: int) -> bool:
    """Return whether so many workers of pools are below a folder within a while: one that died may be replaced."""
    for _ in range(500):
        if len(pools_below(folder)) >= count:
            return True
        sleep(0.02)
    return False


def none_is_left(folder: Path) -> bool:
    """Return whether all workers of pools below a folder end within a while."""
    for _ in range(500):
        if not pools_below(folder):
            return True
        sleep(0.02)
    return False
