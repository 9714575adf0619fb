"""What a test must not inherit from whoever started it."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(autouse=True)
def _no_width_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take COLUMNS away, which tox sets: tests read what goes into a pipe."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True, scope="session")
def _interrupts_are_heard() -> None:
    """Hear SIGINT again, which a shell ignores in what it starts in the background, and whose children inherit that."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
