"""The zygote: a process that has loaded tconv but no runtime, and from which workers are forked.

A fork is as clean as a new process, and starts in a tenth of the time. The zygote reports how its workers ended, and
adopts the processes that they leave. It ends with the process that started it, and then kills all of them.

If no fork is safe (macOS), a worker is a new interpreter. `TCONV_FORK=no` asks for that on other systems.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from time import monotonic
from typing import TYPE_CHECKING

from tconv.backends import orphans
from tconv.errors import BackendMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VARIABLE = "TCONV_FORK"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
"""One thread for numpy's libraries, which read it when they are loaded: there is a worker for each processor. Later a
worker gets the environment of the command, so its runtime has as many threads as the user wants."""
_SECONDS = 5.0
"""After so long without an answer the zygote is abandoned."""
_TRIES = 3
_DESCRIPTORS = 4
LOST = 1 << 16
"""Stands for an unknown exit code; no process ends with it."""
_LONGEST_PATH = 4096
_MAIN = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from {module} import main
main(*map(int, sys.argv[2:]))
"""


class Forked:
    """A fork of the zygote.

    Args:
        zygote: the zygote.
        descriptor: a pipe: the zygote writes the number of the fork, and later how it ended.

    Attributes:
        zygote: the process number of the zygote.
        descriptor: can be read when the fork has ended.
        reason: why it could not be started; empty if it was started.
    """

    def __init__(self, zygote: _Zygote, descriptor: int) -> None:
        self.zygote: int | None = zygote.process.pid
        self._from = zygote
        self.descriptor: int | None = descriptor
        self.reason = ""
        self._said = b""
        self._lost = False

    def code(self, seconds: float = 0.0) -> int | None:
        """Return how it ended, None while it runs; `LOST` if the zygote has ended too and cannot report it."""
        words = self._words(2, seconds)
        if len(words) > 1:
            return int(words[1])
        if words and (number := -int(words[0])) > 0:
            self.reason = f"the system starts no process for it: {os.strerror(number)}"
        return LOST if self._lost else None

    def kill(self) -> None:
        """End it and its process group; if its zygote does not answer, the zygote too."""
        words = self._words(1, _SECONDS)
        # If it has ended, another process may have its number now.
        if len(words) == 1 and int(words[0]) > 0:
            _kill_group(int(words[0]))
        if not (words and self.code(_SECONDS) is not None) and not self._lost:
            _end(0.0, self._from)
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def _words(self, count: int, seconds: float) -> list[bytes]:
        """Return the words that the zygote has written; wait for so many of them, at most so many seconds."""
        ends = monotonic() + seconds
        while self.descriptor is not None and self._said.count(b"\n") < count and not self._lost:
            if not select.select([self.descriptor], [], [], max(0.0, ends - monotonic()))[0]:
                break
            data = os.read(self.descriptor, 64)
            self._said += data
            self._lost = not data
        return self._said.split(b"\n")[:-1]


class Interpreter:
    """A new interpreter, with the interface of `Forked`; it has no descriptor."""

    zygote: int | None = None
    descriptor: int | None = None
    reason = ""

    def __init__(self, descriptors: Sequence[int]) -> None:
        self._process = _started("tconv.execution.worker", descriptors)

    def code(self, seconds: float = 0.0) -> int | None:
        """Return how it ended; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def kill(self) -> None:
        """End it and its process group."""
        if self._process.returncode is None:
            _kill_group(self._process.pid)
        self.code(_SECONDS)


def _kill_group(pid: int) -> None:
    # It may not lead its group yet. The group may outlive it.
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _started(module: str, descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start an interpreter that runs the `main` of a module, with one thread of numpy, in a new session."""
    code = _MAIN.format(module=module)
    return subprocess.Popen(  # noqa: S603 - our own code, and no shell
        [sys.executable, "-P", "-c", code, json.dumps(sys.path), *map(str, descriptors)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | ONE_THREAD,
        pass_fds=descriptors,
        start_new_session=True,
    )


class _Zygote:
    """The zygote, seen from the process that started it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_SECONDS)
        with theirs:
            self.process = _started(__name__, [theirs.fileno()])

    def fork(self, commands: int, journal: int, log: int, folder: str) -> Forked:
        """Fork a worker.

        Raises:
            OSError: the zygote has ended, or does not answer.
        """
        ours, theirs = os.pipe()
        try:
            socket.send_fds(self._socket, [os.fsencode(folder)], [commands, journal, log, theirs])
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return Forked(self, ours)

    def close(self, *, seconds: float = 0.0) -> None:
        """End it. It ends its workers when its connection ends; it is killed if it still runs after `seconds`."""
        self._socket.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_SECONDS)


_zygote: _Zygote | None = None


def prepare() -> _Zygote | None:
    """Return the zygote, which is started if there is none and loads tconv meanwhile; None if no fork is safe."""
    global _zygote  # noqa: PLW0603 - one for the process
    # On macOS numpy's library must not be used before a fork.
    if not hasattr(os, "fork") or sys.platform == "darwin" or os.environ.get(VARIABLE, "") == "no":
        return None
    if _zygote is None or _zygote.owner != os.getpid():
        _zygote = _Zygote()
    return _zygote


def start(commands: int, journal: int, log: int, folder: str) -> Forked | Interpreter:
    """Start a worker with these descriptors; the caller must still close its own copies.

    Args:
        commands: the pipe that it reads.
        journal: the pipe that it writes.
        log: the file of its output.
        folder: the zygote removes it if this process is killed.

    Raises:
        BackendMissing: the system cannot start a process.
    """
    try:
        for _ in range(_TRIES):
            if (zygote := prepare()) is None:
                return Interpreter([commands, journal, log])
            with suppress(ConnectionError, TimeoutError):
                return zygote.fork(commands, journal, log, folder)
            _end(0.0, zygote)
    except OSError as error:
        raise BackendMissing(f"the system must start a process for the backend (got: {error.strerror})") from None
    raise BackendMissing("the process that workers are forked from must stay (got one that ended, or was stopped)")


def _end(seconds: float, only: _Zygote | None = None) -> None:
    """End the zygote, within so many seconds; only the given one, if one is given. The next worker gets a new one."""
    global _zygote  # noqa: PLW0603 - as above
    zygote = _zygote
    if zygote is None or zygote.owner != os.getpid() or (only is not None and zygote is not only):
        return
    _zygote = None
    zygote.close(seconds=seconds)


atexit.register(_end, _SECONDS)


def end_orphans() -> None:
    """End the zygote, and the processes that this process has adopted."""
    _end(_SECONDS)
    orphans.end_children()


def main(descriptor: int) -> None:
    """Fork workers for the process at the other end of a connection, until it ends."""
    # While this loads, it cannot notice the end of its parent. Later it can, and must outlive the starting thread.
    orphans.end_with_parent()
    import numpy.random  # noqa: F401, PLC0415 - operands need it: loaded once, and not by each worker

    from tconv.execution import worker  # noqa: PLC0415 - as above

    orphans.outlive_parent()
    orphans.adopt()
    connection = socket.socket(fileno=descriptor)
    woken, wakes = socket.socketpair()
    for end in (woken, wakes):
        end.setblocking(False)  # noqa: FBT003 - the socket's own word
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    statuses: dict[int, int] = {}
    folders: set[bytes] = set()
    while True:
        ready, _, _ = select.select([connection, woken], [], [])
        if woken in ready:
            with suppress(BlockingIOError):
                woken.recv(2**16)
            _report_ends(statuses)
        if connection in ready:
            folder, descriptors, _, _ = socket.recv_fds(connection, _LONGEST_PATH, _DESCRIPTORS)
            if not folder:
                break
            folders.add(folder)
            _fork(descriptors, statuses, worker.main)
    for pid in statuses:
        _kill_group(pid)
    orphans.end_children()
    for folder in folders:
        rmtree(folder, ignore_errors=True)
    os._exit(0)


def _report_ends(statuses: dict[int, int]) -> None:
    """Write how workers ended, each to its descriptor. Kill their groups before a new process can have their number."""
    with suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            descriptor = statuses.pop(ended.si_pid, None)
            if descriptor is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(ended.si_pid, signal.SIGKILL)
            _, status = os.waitpid(ended.si_pid, 0)
            if descriptor is not None:
                _say(descriptor, os.waitstatus_to_exitcode(status))
                os.close(descriptor)


def _say(descriptor: int, number: int) -> None:
    with suppress(OSError):
        os.write(descriptor, b"%d\n" % number)


def _fork(descriptors: Sequence[int], statuses: dict[int, int], run: Callable[[int, int, int], None]) -> None:
    *channels, status = descriptors
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - what a runtime starts has none of them
    try:
        pid = os.fork()
    except OSError as error:
        pid = -(error.errno or 1)
    if pid == 0:
        _be_worker(channels, run)
    for descriptor in channels:
        os.close(descriptor)
    _say(status, pid)
    if pid > 0:
        statuses[pid] = status
    else:
        os.close(status)


def _be_worker(channels: Sequence[int], run: Callable[[int, int, int], None]) -> None:
    """Run a worker in this fork, and end; all descriptors except its own are closed."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        orphans.end_with_parent()
        for descriptor in _open_descriptors():
            if descriptor > 2 and descriptor not in channels:  # noqa: PLR2004 - behind the standard streams
                with suppress(OSError):
                    os.close(descriptor)
        run(*channels)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            sys.stderr.write(f"{error.code}\n")
    except BaseException:  # noqa: BLE001 - as an interpreter does; a fork of the zygote must not go on as one
        traceback.print_exc()
    finally:
        os._exit(code & 0xFF)


def _open_descriptors() -> list[int]:
    with suppress(OSError):
        return [int(path.name) for path in Path("/proc/self/fd").iterdir()]
    return list(range(256))
