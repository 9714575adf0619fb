"""Measure the cost of a command with all processes that it starts, including those that outlive it.

Workers are forked from a process that the command does not wait for, so the system does not count their time for the
command. Here a separate process runs the command, adopts the processes that are left (on Linux), and waits for all of
them. tconv's modules are compiled once, as in an installation.

Run `python bench/processes.py FOLDER COMMAND...`: FOLDER is for compiled modules; it prints the cost as JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
_PR_SET_CHILD_SUBREAPER = 36
_USER, _SYSTEM = 11, 12
"""Positions of a process's own times in /proc/PID/stat, after its name."""


@dataclass(frozen=True)
class Cost:
    """Seconds for one command: wall time, and processor time in its own process and in all others."""

    wall: float
    own: float
    others: float

    @property
    def processor(self) -> float:
        """Processor seconds in all processes."""
        return self.own + self.others


def cost(command: Sequence[str], compiled: Path) -> Cost:
    """Run a command that judges, and return its cost.

    Args:
        command: the command.
        compiled: a folder for compiled modules.
    """
    done = subprocess.run(
        [sys.executable, __file__, str(compiled), *command],
        check=True,
        stdout=subprocess.PIPE,
        env=environment(compiled),
    )
    return Cost(**json.loads(done.stdout))


def environment(compiled: Path) -> dict[str, str]:
    """Return an environment that stores compiled modules in a folder."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return variables | {"PYTHONPYCACHEPREFIX": str(compiled)}


def _measured(command: Sequence[str]) -> Cost:
    """Run a command as a child of this process, which must not have had another; wait for all processes it leaves."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = perf_counter()
    process = subprocess.Popen(command, **QUIET)
    # It has ended then, and its times can still be read.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    wall = perf_counter() - started
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - a system file
        times = file.read().rpartition(")")[2].split()
    assert process.wait() in (0, 1), f"{' '.join(command)} must end with a verdict"
    with suppress(ChildProcessError):
        while True:
            os.wait()
    own = (int(times[_USER]) + int(times[_SYSTEM])) / os.sysconf("SC_CLK_TCK")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, own, usage.ru_utime + usage.ru_stime - own)


if __name__ == "__main__":
    print(json.dumps(asdict(_measured(sys.argv[2:]))))
