"""What the process loads that workers are forked from, and no other: it leaves the terminal's process group."""

from __future__ import annotations

import os

# Before numpy is loaded: there is a worker for each processor, and its products are small. The workers have the
# environment of their parent again, so that a runtime of theirs has as many threads as the user wants.
for _library in ("OPENBLAS", "MKL", "OMP"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import tconv.execution.worker  # noqa: E402, F401 - loaded once, and not by each worker

if hasattr(os, "setsid"):
    # It leads no group yet: it was started by its parent, in its parent's group.
    os.setsid()
