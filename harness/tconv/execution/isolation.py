"""Whether a runtime's process is confined, and the confinement of a worker's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tconv.backends.confinement import WORDS, confine
from tconv.backends.parent_death import end_with_parent
from tconv.errors import BackendMissing
from tconv.execution.worker_files import temporary_folder
from tconv.records import artifacts

if TYPE_CHECKING:
    from tconv.execution.worker import Assignment

VARIABLE = "TCONV_ISOLATE"
"""The environment variable with yes or no, for commands that have no option for it."""


def wanted() -> bool | None:
    """Return whether runtimes must be confined, as the environment says it; None where it says nothing."""
    return {"yes": True, "1": True, "true": True, "no": False, "0": False, "false": False}.get(
        os.environ.get(VARIABLE, "").lower()
    )


def isolated(assignment: Assignment) -> dict[str, str]:
    """Confine this worker where that is asked for, and return what a header says of it.

    The worker of a child process is not confined: the child is, by whoever starts it.

    Raises:
        BackendMissing: the system does not let it.
    """
    if not assignment.isolate or assignment.backend.startswith("exec:"):
        return {}
    folders = [temporary_folder(assignment.log)]
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
