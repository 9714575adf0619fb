"""Loaded by the process that workers are forked from, and by no other: it leaves the terminal's process group.

It adopts the processes that a worker leaves behind, and ends them when it ends itself: at the end of the run, also of a
run that was killed.
"""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from typing import TYPE_CHECKING

from tconv.execution import threads

threads.limit()

from tconv.backends import parent_death  # noqa: E402 - it may load numpy

# While it loads, it does not notice the end of its parent. Later it does, and must outlive the thread that started it.
parent_death.end_with_parent()

import tconv.execution.worker  # noqa: E402, F401 - loaded once, and not by each worker
from tconv.backends import orphans  # noqa: E402 - as above

if TYPE_CHECKING:
    from types import TracebackType

parent_death.outlive_parent()
orphans.adopt()
# A worker is a fork that ends by os._exit, which runs no such function.
atexit.register(orphans.end_children)
# The process waits for every child, and says so of those that it has not started.
warnings.filterwarnings("ignore", "forkserver: waitpid returned unexpected pid")

_SERVER = os.getpid()


def _printed_by_workers_alone(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Print an exception's traceback, but none of this process: whoever asks it for a worker says what failed."""
    if os.getpid() != _SERVER:
        sys.__excepthook__(kind, error, traceback)


sys.excepthook = _printed_by_workers_alone

if hasattr(os, "setsid"):
    # It leads no group yet: it was started by its parent, in its parent's group.
    os.setsid()
