"""A worker that dies is succeeded by a copy of itself, made before it was asked anything: nothing is loaded anew.

The copy is a fork, which is as good as another process only where the backend has made nothing that both would share:
no thread, no child, no connection, no device. Where there is one, or the system does not tell, a new worker is started
instead.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tconv.backends.orphans import children
from tconv.backends.parent_death import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable

_SHARED = ("socket:", "pipe:", "anon_inode:", "/dev/", "/memfd:")


def shared() -> Counter[str] | None:
    """Return what a fork of this process would share with it, or would not have; None where it has threads.

    None too where the system does not tell. Each is counted: two event queues have the same name.
    """
    targets: list[str] = []
    try:
        if len([*Path("/proc/self/task").iterdir()]) != 1:
            return None
        for path in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):
                targets.append(str(path.readlink()))
        own = map(str, children())
    except OSError:
        return None
    return Counter([*own, *(target for target in targets if target.startswith(_SHARED))])


def succeed(tell: Callable[[int], None]) -> None:
    """Fork; return in the copy, and in a new copy each time that one ends. This process itself does not return.

    Args:
        tell: called with the exit code of a copy that ended, as `Process.exitcode` has it; where it raises OSError,
            this process ends.
    """
    while copy := os.fork():
        _, status = os.waitpid(copy, 0)
        try:
            tell(os.waitstatus_to_exitcode(status))
        except OSError:
            os._exit(0)
    end_with_parent()
