"""What tests share, and what a test must not inherit from whoever started it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from left_behind import having
from strategies import TODAY
from tconv.cli import main
from tconv.corpus import Corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from small_corpus import Command
    from tconv.cases.case import Case

settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A fifth of hypothesis' own 100 examples. Tests that say how many they want take a fifth too: `strategies.examples`.
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=20)
settings.load_profile("thorough")
# As the command does: most objects that are made stay.
gc.set_threshold(50_000)


TELLING = (
    "porting/asked",
    "padding/*/*-by-hand",
    "padding/auto-pad/totals[strides=4x2,kernel=1x2,dilations=1]",
    "empty/spatial",
)


def pytest_report_header() -> str:
    """Name the day, which chooses the part of some sets that the profile `quick` tests; see `strategies.part`."""
    return f"parts of the profile quick: those of day {TODAY} ({TODAY % 2 + 1} of 2, {TODAY % 3 + 1} of 3)"


@pytest.fixture
def mark() -> Iterator[str]:
    """Return a word for the environment of a command, and end whatever still has it afterwards."""
    word = uuid4().hex
    yield word
    for process in having(word):
        os.kill(process, signal.SIGKILL)


@pytest.fixture(autouse=True)
def _no_terminal_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what tox and users set: tests read what goes into a pipe, without colours."""
    for name in ("COLUMNS", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


_IGNORED_BY_PYTHON = {getattr(signal, name, None) for name in ("SIGPIPE", "SIGXFSZ")}


@pytest.fixture(autouse=True, scope="session")
def _signals_are_heard() -> None:
    """Let no child of the tests inherit that a signal is ignored.

    `nohup` ignores SIGHUP, and a shell SIGINT in what it starts in the background. A child has the default action again
    if there is a handler here. One that does nothing keeps what `nohup` promises: the tests go on.
    """
    for number in signal.valid_signals() - _IGNORED_BY_PYTHON:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return Corpus.load()


@pytest.fixture(autouse=True, scope="session")
def _one_own_corpus() -> Iterator[None]:
    """Read tconv's own corpus once in a process of tests, and not again for each command in this process."""
    load = Corpus.load
    own = cache(load)

    def shared(path: Path | None = None, folder: Path | None = None) -> Corpus:
        return own() if path is folder is None else load(path, folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Corpus, "load", shared)
        yield


@pytest.fixture(scope="session")
def gate_cases(corpus: Corpus) -> tuple[Case, ...]:
    return tuple(corpus.cases("gate"))


@pytest.fixture(scope="session")
def smoke_cases(corpus: Corpus) -> tuple[Case, ...]:
    return tuple(corpus.cases("smoke"))


@pytest.fixture(scope="session")
def telling(corpus: Corpus) -> list[Case]:
    """Return cases that ask every question."""
    return list(corpus.cases("gate", TELLING))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Return what runs the command in the test's folder, in this process."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["tconv", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return subprocess.CompletedProcess(arguments, ended.value.code, *capfd.readouterr())

    return run
