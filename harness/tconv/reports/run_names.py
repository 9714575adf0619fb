"""The names of runs in a report: runs of the same backend, options and dialect also have the names of their files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.gate.assessment import Assessment


def run_names(assessments: Sequence[Assessment]) -> list[str]:
    """Return a name for each run: backend with version and options, dialect, and the file if these are not unique."""
    runs = [assessment.run for assessment in assessments]
    names = [f"{run.header.backend.title}, {run.header.dialect}" for run in runs]
    files = [(name, run.path.name) for name, run in zip(names, runs, strict=True)]
    same, same_file = Counter(names), Counter(files)
    return [
        name if same[name] == 1 else f"{name} ({run.path.name if same_file[name, run.path.name] == 1 else run.path})"
        for name, run in zip(names, runs, strict=True)
    ]
