"""Whether a runtime's process is confined, and the confinement of a worker's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tconv.backends.confinement import WORDS, confine
from tconv.backends.parent_death import end_with_parent
from tconv.errors import BackendMissing, UsageError
from tconv.records import artifacts

if TYPE_CHECKING:
    from tconv.execution.worker import Assignment

VARIABLE = "TCONV_ISOLATE"
"""The environment variable that says it, also for commands that have no option for it."""
_MEANINGS = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True) | dict.fromkeys(
    ("0", "false", "f", "no", "n", "off"), False
)


def required() -> bool | None:
    """Return whether runtimes must be confined, as the environment says it; None where it says nothing.

    Raises:
        UsageError: it says neither yes nor no. Taken for nothing, a wish to confine would be lost in silence.
    """
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        return None
    try:
        return _MEANINGS[text.strip().lower()]
    except KeyError:
        raise UsageError(f"environment variable {VARIABLE} must be yes or no (got {text!r})") from None


def confine_worker(assignment: Assignment, temporary: str) -> dict[str, str]:
    """Confine this worker where that is asked for, and return what a header says of it.

    The worker of a child process is not confined: the child is, by whoever starts it.

    Args:
        assignment: what it is started for.
        temporary: the folder of its temporary files.

    Raises:
        BackendMissing: the system does not let it.
    """
    if not assignment.isolate or assignment.backend.startswith("exec:"):
        return {}
    folders = [Path(temporary)]
    try:
        if assignment.folder is not None:
            # Of the output only this: a runtime must not put a link where the run writes its page.
            folders.append(Path(assignment.folder) / artifacts.FOLDER)
            folders[-1].mkdir(parents=True, exist_ok=True)
        confine(*map(str, folders))
    except OSError as error:
        reason = error.strerror or error
        raise BackendMissing(
            f"--isolate must be possible (got: {reason}); allow user namespaces, or leave it out"
        ) from None
    # The kernel may have forgotten it with the change of rights.
    end_with_parent()
    return {"isolated": WORDS}
