"""What the process loads that workers are forked from; it leaves the terminal's process group first, as they do."""

from __future__ import annotations

import os

import tconv.execution.worker  # noqa: F401 - loaded once, and not by each worker

if hasattr(os, "setsid"):
    # It leads no group yet: it was started by its parent, in its parent's group.
    os.setsid()
