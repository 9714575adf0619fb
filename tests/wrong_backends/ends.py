"""Backends whose process ends, or that never answer."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends import BackendInfo, Crashed, Outcome, Produced
from tconv.execution import worker
from tconv.execution.journal import Journal
from wrong_backends.misread import BiasDoubled
from wrong_backends.right import FOREVER, LOG, TROUBLE, Array, Right, Troubled, log, troubled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call


class Aborts(Troubled):
    """As a failed assertion of C does."""

    def end(self) -> None:
        sys.stderr.write("assertion failed: stride < 7\n")
        sys.stderr.flush()
        os.abort()


class AbortsAndDoublesBias(Aborts, BiasDoubled):
    """It dies of some calls, and answers the others with the bias twice."""


class Panics(Troubled):
    """As a runtime in Rust does: the reason first, below it a backtrace that is longer than what is kept."""

    def end(self) -> None:
        sys.stderr.write(f"thread 'worker-{os.getpid()}' panicked at /build/{os.getpid()}/src/deconv.rs:41:9:\n")
        sys.stderr.write("attempt to subtract with overflow\nstack backtrace:\n")
        sys.stderr.writelines(f"  {frame}: {id(object()):#x} - tract_core::ops::cnn::deconv\n" for frame in range(200))
        sys.stderr.flush()
        os.abort()


class DiesOfTheSecondCall(Troubled):
    """The first call of a case that it cannot stand is answered, the second ends the process."""

    calls = 0

    def end(self) -> None:
        self.calls += 1
        if self.calls % 2 == 0:
            os.abort()


class Exits(Troubled):
    """As a library does that ends the process for its caller."""

    def end(self) -> None:
        os._exit(3)


class ExitsWell(Troubled):
    """As if all was done."""

    def end(self) -> None:
        os._exit(0)


class ExitsPolitely(Troubled):
    """With an exception that is no error."""

    def end(self) -> None:
        sys.exit(5)


class SaysThatItDied(Troubled):
    """A process of its own dies, as a child of `exec:` does, and the worker lives on."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if not troubled(call):
            return super().run(call, arrays)
        log(call)
        return Crashed("SIGSEGV", "")


class ExitsInWords(Troubled):
    """With an exception that says why, behind what it printed."""

    def end(self) -> None:
        print("the licence has ended", file=sys.stderr)  # noqa: T201 - as a backend in Python may do
        sys.exit("no licence")


class IsKilled(Troubled):
    """As when memory runs out."""

    def end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def write_into_pipes(data: bytes) -> None:
    """Write into each pipe of this process that takes it."""
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if int(path.name) > 2 and str(path.readlink()).startswith("pipe:"):
                os.write(int(path.name), data)


class DiesAfterwards(Troubled):
    """The answer is right; what it leaves behind ends the process before the worker goes on."""

    def end(self) -> None:
        def die(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        write = Journal.write

        def dies_at_the_end(journal: Journal, word: str, text: str = "") -> None:
            die() if word == "done" else write(journal, word, text)

        Journal.begin, Journal.write = die, dies_at_the_end  # type: ignore[method-assign] # that is what is wrong


class PreparationDies(Right):
    """The process is killed, for want of memory say, while the worker makes what the backend would be asked."""

    def __init__(self) -> None:
        ask = worker.Evaluator.ask

        def dies(self: Any, problem: Any) -> Any:  # noqa: ANN401 - the worker's own types
            if TROUBLE in (problem.case.attributes.strides or ()):
                os.kill(os.getpid(), signal.SIGKILL)
            return ask(self, problem)

        worker.Evaluator.ask = dies  # type: ignore[method-assign] # that is what is wrong


class DiesOfTheCaseBefore(Troubled):
    """What a case harms, another one dies of: the next that is asked about."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if getattr(self, "harmed", False):
            os.kill(os.getpid(), signal.SIGSEGV)
        self.harmed = troubled(call)
        return Right.run(self, call, arrays)


class HarmsAsItErrs(Right):
    """Strides of 7, or of 5, give wrong values, and harm the process: it dies of the next call."""

    harmed = False

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if self.harmed:
            os.kill(os.getpid(), signal.SIGSEGV)
        self.harmed = not {5, TROUBLE}.isdisjoint(call.attributes.get("strides", ()))  # type: ignore[arg-type]
        outcome = super().run(call, arrays)
        return Produced(outcome.array + 1) if self.harmed else outcome  # type: ignore[union-attr] # it is valid


class DiesUnasked(Right):
    """The process ends when it is given cases, before it is asked about one; with a log, it does so once."""

    def __init__(self) -> None:
        path = os.environ.get(LOG)
        if path is None or not Path(path).exists():
            Journal.begin = self.end  # type: ignore[method-assign] # that is what is wrong

    def end(self, *_: object) -> None:
        if path := os.environ.get(LOG):
            Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)


class Hangs(Troubled):
    """No answer, and no ear for signals."""

    def end(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(FOREVER)


class HangsOfTheCaseBefore(Troubled):
    """A case that it cannot stand is answered, and leaves a lock behind: the next call waits for it."""

    locked = False

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if self.locked:
            time.sleep(FOREVER)
        self.locked = troubled(call)
        return Right.run(self, call, arrays)


class DiesAndHangs(Troubled):
    """By the size of the data: now one, now the other."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        size = arrays["x"].shape[-1]
        if troubled(call) and size % 2 == 0:
            log(call)
            if size % 8 == 0:
                time.sleep(FOREVER)
            os.kill(os.getpid(), signal.SIGKILL)
        return Right.run(self, call, arrays)


class DiesOnHalf(Right):
    """An instruction that this processor does not have, for float16 alone."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if arrays["x"].dtype == np.float16:
            os.kill(os.getpid(), signal.SIGILL)
        return super().run(call, arrays)


class DiesInProbes(Right):
    """An instruction that this processor does not have, for float16 and as many channels as a probe has alone."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if arrays["x"].dtype == np.float16 and arrays["x"].shape[1] >= _CHANNELS_OF_PROBES:
            log(call)
            self.end()
        return super().run(call, arrays)

    def end(self) -> None:
        os.kill(os.getpid(), signal.SIGILL)


class HangsInProbes(DiesInProbes):
    """The same calls wait for ever."""

    def end(self) -> None:
        time.sleep(FOREVER)


_CHANNELS_OF_PROBES = 32


class FailsToStart(Right):
    """There is no licence."""

    def __init__(self) -> None:
        raise RuntimeError("no licence\nsee the manual")


class DiesAtStart(Right):
    """The process ends."""

    def __init__(self) -> None:
        sys.stderr.write("cannot allocate\n")
        sys.stderr.flush()
        os._exit(9)


class DiesForGood(Troubled):
    """The first process dies of a case, and no other one starts."""

    def __init__(self) -> None:
        self._mark = Path(f"{os.environ[LOG]}.mark")
        if self._mark.exists():
            raise RuntimeError("licence server is down")

    def end(self) -> None:
        self._mark.touch()
        os.kill(os.getpid(), signal.SIGSEGV)


class IsAnother(Troubled):
    """The first process dies of a case, and another version says that it is the backend."""

    def info(self) -> BackendInfo:
        with Path(os.environ[LOG]).open("a+b") as file:
            file.write(b"x")
            return replace(super().info(), version=str(file.tell()))

    def end(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)


class StopsItsParent(Troubled):
    """It stops the process above, and goes on or dies."""

    def end(self) -> None:
        os.kill(os.getppid(), signal.SIGSTOP)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        outcome = super().run(call, arrays)
        if troubled(call) and arrays["x"].shape[-1] == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        return outcome


class EmptiesItsModules(Troubled):
    """What is not imported already cannot be imported any more."""

    def end(self) -> None:
        sys.modules.clear()
        sys.path.clear()
