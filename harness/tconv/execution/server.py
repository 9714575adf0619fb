"""What the process loads that workers are forked from, and no other: it leaves the terminal's process group."""

from __future__ import annotations

import os

from tconv.execution import threads

threads.limit()

import tconv.execution.worker  # noqa: E402, F401 - loaded once, and not by each worker

if hasattr(os, "setsid"):
    # It leads no group yet: it was started by its parent, in its parent's group.
    os.setsid()
