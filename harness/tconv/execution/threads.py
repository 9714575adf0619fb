"""Numpy's threads in a worker: one, as there is a worker for each processor, and its products are small.

Numpy's libraries read the number when they are loaded. So the variables are set before that, in the process that
workers are forked from, or in the environment with which a worker is spawned. A worker then has the environment of its
parent again, so that a runtime of its own has as many threads as the user wants.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ONE = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
_CHANGING = Lock()
"""Held while the environment has the limit for a moment: a dask worker starts processes from several threads."""


def limit() -> None:
    """Limit numpy's threads in this process, which has not loaded it yet."""
    os.environ.update(_ONE)


@contextmanager
def limited() -> Iterator[None]:
    """Limit numpy's threads in processes that are started meanwhile; this process has loaded it already."""
    with _CHANGING:
        before = {name: os.environ.get(name) for name in _ONE}
        limit()
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def environment() -> dict[str, str]:
    """Return the environment of this process, without a limit that another thread has set for a moment."""
    with _CHANGING:
        return dict(os.environ)
