"""A run and its workers are killed, interrupted and stopped at any moment, its files go meanwhile, and it is resumed."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from faults.place import COUNT, DOCUMENTED, RUN, Place
from left_behind import having
from strategies import examples

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    Meanwhile = Callable[[Place, subprocess.Popen[bytes]], object]

SLOW = (*RUN[:-2], "2", "--timeout", "2", "--backend", "wrong_backends:Slow")
MOMENTS = st.floats(0.03, 3.0)


def hear_interrupts() -> None:
    """A shell ignores Ctrl-C in what it starts in the background, and its children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class KilledAndResumed(RuleBasedStateMachine):
    """One run in one folder: it is begun, killed, interrupted and resumed until it is whole.

    Each step leaves no process. At the end the records are those of a run that was never disturbed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.place = Place()
        self.begun = False

    def start(self) -> subprocess.Popen[bytes]:
        resume = ("--resume",) if self.begun else ()
        self.begun = True
        return self.place.start(*SLOW, *resume, preexec_fn=hear_interrupts)

    @rule(after=MOMENTS)
    def kill(self, after: float) -> None:
        """The run is killed, and its workers end by themselves."""
        process = self.start()
        time.sleep(after)
        process.kill()
        self.place.check(process.wait(), killed=True)

    @rule(
        after=MOMENTS, number=st.sampled_from((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)), times=st.integers(1, 2)
    )
    def interrupt(self, after: float, number: signal.Signals, times: int) -> None:
        """The run ends in words and with the signal's exit code, also if the signal comes twice."""
        process = self.start()
        time.sleep(after)
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.05)
        # Before tconv's first line the signal ends Python itself.
        self.place.check(self.place.end(process), {128 + number, 0, -number} if after < 1 else {128 + number, 0})

    @precondition(lambda self: self.begun)
    @rule()
    def resume(self) -> None:
        self.place.check(self.place.end(self.start()), {0}, killed=True)
        assert len(self.place.verdicts()) == COUNT

    def teardown(self) -> None:
        """Resume the run a last time."""
        with self.place:
            self.place.check(self.place.end(self.start()), {0}, killed=True)
            kinds = self.place.verdicts()
            assert len(kinds) == COUNT
            assert set(kinds.values()) <= {"agreed", "not-applicable"}


def test_a_run_is_killed_and_resumed() -> None:
    run_state_machine_as_test(KilledAndResumed, settings=settings(examples(10), stateful_step_count=4))


def workers(place: Place, run: int) -> list[int]:
    """Return the processes of workers: what the run's first child, from which they are forked, has forked."""
    found = []
    for process in having(place.mark):
        with suppress(OSError):
            words = Path(f"/proc/{process}/cmdline").read_bytes()
            parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
            if run not in {process, parent} and b"forkserver" not in words:
                found.append(process)
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
@pytest.mark.parametrize("records", [1, 6, 12, 18])
def test_a_worker_is_killed(place: Place, number: signal.Signals, records: int) -> None:
    """Every case has a record. The case at which the worker is killed is asked again, and its answer is in the record.

    The kill comes after the worker's first call. A process that ends at its first call is not repeated.
    """
    process = place.start(*RUN, "wrong_backends:Slow")
    while process.poll() is None and len(place.records()) < records:
        time.sleep(0.01)
    for victim in workers(place, process.pid)[:1]:
        with suppress(ProcessLookupError):
            os.kill(victim, number)
    place.check(place.end(process), {0, 1})
    assert len(place.verdicts()) == COUNT
    ended = [of for of in place.records() if of["verdict"]["kind"] not in {"agreed", "not-applicable"}]
    # Between two calls a worker may be killed too: then no case is concerned.
    assert len(ended) <= 1
    for record in ended:
        assert (record["verdict"]["kind"], record["alone"]) == ("crashed", {"kind": "agreed", "same": False})


def _gone(place: Place, name: str) -> None:
    """Remove a folder without what the test itself needs."""
    for path in (place.folder / name).iterdir():
        if path.name not in {"stdout", "stderr", "outside", "tmp"}:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    if name not in {".", "tmp"}:
        (place.folder / name).rmdir()


def _replaced(place: Place) -> None:
    (place.folder / "reports").rename(place.folder / "moved")
    (place.folder / "reports").mkdir()


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _send(*numbers: signal.Signals) -> Meanwhile:
    return lambda _, process: [process.send_signal(number) for number in numbers]


WAYS: dict[str, Meanwhile] = {
    "the output goes": lambda place, _: _gone(place, "reports"),
    "the output is another": lambda place, _: _replaced(place),
    "the records go": lambda place, _: [path.unlink() for path in (place.folder / "reports").glob("*.jsonl")],
    "the lock goes": lambda place, _: [path.unlink() for path in (place.folder / "reports").glob(".*.lock")],
    "temporary files go": lambda place, _: _gone(place, "tmp"),
    "what is in the temporary folder goes": lambda place, _: [
        shutil.rmtree(path, ignore_errors=True) for path in place.temporary.iterdir()
    ],
    "case files go": lambda place, _: (place.folder / "cases.yaml").unlink(),
    "case files change": lambda place, _: (place.folder / "cases.yaml").write_text("format: 1\n"),
    "the working directory goes": lambda place, _: _gone(place, "."),
    "the output may not be written": lambda place, _: (place.folder / "reports").chmod(0o500),
    "SIGPIPE": _send(signal.SIGPIPE),
    "SIGUSR1": _send(signal.SIGUSR1),
    "SIGQUIT": _send(signal.SIGQUIT),
    "SIGHUP twice": _send(signal.SIGHUP, signal.SIGHUP),
    "SIGTERM and SIGINT": _send(signal.SIGTERM, signal.SIGINT),
    "SIGWINCH": _send(signal.SIGWINCH),
    "SIGCHLD": _send(signal.SIGCHLD),
    "SIGALRM": _send(signal.SIGALRM),
    "all children are killed": lambda place, process: [_kill(p) for p in having(place.mark) if p != process.pid],
}
DEADLY = {"SIGUSR1": -signal.SIGUSR1, "SIGQUIT": -signal.SIGQUIT, "SIGALRM": -signal.SIGALRM}
"""Signals that end a process, and for which tconv has no words."""


@pytest.mark.parametrize("after", [0.25, 0.6, 1.0, 1.8])
@pytest.mark.parametrize("fault", WAYS)
def test_what_happens_meanwhile(place: Place, fault: str, after: float) -> None:
    """A folder or file of the run goes or changes, or a signal comes: the run ends in words."""
    process = place.start(*SLOW)
    time.sleep(after)
    with suppress(FileNotFoundError):
        WAYS[fault](place, process)
    code = place.end(process)
    assert code in DOCUMENTED | ({DEADLY[fault]} if fault in DEADLY else set()), place.printed()[-300:]
    place.check(code, killed=fault in DEADLY or "go" in fault or "all children" in fault)


@pytest.mark.parametrize("alone", [True, False], ids=["the run alone", "all processes"])
def test_stopped_for_a_while(place: Place, *, alone: bool) -> None:
    """Processes are stopped for longer than a case may take, and go on: no verdict comes from that."""
    process = place.start(*SLOW)
    time.sleep(1)
    targets = [process.pid] if alone else [process.pid, *having(place.mark)]
    for number in (signal.SIGTSTP if alone else signal.SIGSTOP, signal.SIGCONT):
        for target in targets:
            with suppress(ProcessLookupError):
                os.kill(target, number)
        time.sleep(3)
    place.check(place.end(process), {0})
    assert len(place.verdicts()) == COUNT
    assert "timed-out" not in place.verdicts().values()
