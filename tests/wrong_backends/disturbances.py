"""Backends that disturb others: files, processes, connections and folders that are not their own."""

from __future__ import annotations

import ctypes
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tconv.backends import Outcome, Produced, Refused
from tconv.execution.journal import Journal
from wrong_backends.ends import Hangs, write_into_pipes
from wrong_backends.right import FOREVER, Array, Right, Troubled, troubled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call


class ClosesItsJournal(Troubled):
    """It closes what is not its own."""

    def end(self) -> None:
        for path in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if int(path.name) > 2 and str(path.readlink()).startswith("pipe:"):
                    os.close(int(path.name))


class UnblocksItsPipes(Troubled):
    """It makes all pipes non-blocking, and fills them: who writes next must wait until they are read."""

    def end(self) -> None:
        for path in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if int(path.name) > 2 and str(path.readlink()).startswith("pipe:"):
                    os.set_blocking(int(path.name), False)
        for _ in range(1000):
            write_into_pipes(b"garbage" * 1000 + b"\n")


class LosesItsRecord(Troubled):
    """What it does to memory lets its worker leave out records from then on."""

    loses = False

    def __init__(self) -> None:
        write = Journal.write

        def without_records(journal: Journal, word: str, text: str = "") -> None:
            if word != "record" or not self.loses:
                write(journal, word, text)

        Journal.write = without_records  # type: ignore[method-assign] # that is what is wrong

    def end(self) -> None:
        self.loses = True


class LeavesChild(Troubled):
    """A child that outlives it and holds all that it had open."""

    def end(self) -> None:
        if os.fork() == 0:
            time.sleep(FOREVER)
        os.abort()


class LeavesSession(Troubled):
    """A child in a session of its own, which no signal to its group reaches."""

    def end(self) -> None:
        if os.fork() == 0:
            os.setsid()
            time.sleep(FOREVER)
        os.abort()


class HangsWithSession(Hangs):
    """It leaves a child in a session of its own, and hears nothing itself."""

    def end(self) -> None:
        if os.fork() == 0:
            os.setsid()
            time.sleep(FOREVER)
        Path("hangs").touch()
        super().end()


class Reaches(Troubled):
    """Tries to leave its confinement: a file of others, the next worker's log, the network. It reports the results."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if not troubled(call):
            return super().run(call, arrays)
        came = []
        log = Path("/proc/self/fd/1").readlink().with_name("worker-9.log")
        for what in (
            lambda: Path("outside").touch(),
            lambda: log.symlink_to("outside"),
            lambda: socket.create_connection(("127.0.0.1", 9), 5),
        ):
            try:
                what()
            except OSError as error:
                came.append(error.strerror)
        return Refused(", ".join(map(str, came)))


class WritesIntoOperands(Right):
    """Native code uses the memory of its inputs for what it likes, after it has answered."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        outcome = super().run(call, arrays)
        for array in arrays.values():
            ctypes.memset(array.ctypes.data, 0, array.nbytes)
        return outcome


class ChangesItsCall(Right):
    """It writes into the call that it was given, and has no valid answer."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        outcome = super().run(call, arrays)
        call.attributes.clear()  # type: ignore[attr-defined] # that is what is wrong
        call.attributes["strides"] = {"no": "strides"}  # type: ignore[index]
        return Produced(arrays["x"].ravel()[:1].copy()) if isinstance(outcome, Produced) else outcome


class ChildReturns(Troubled):
    """A process that it starts goes on as if it were the worker."""

    def end(self) -> None:
        os.fork()


class WritesIntoPipes(Troubled):
    """It writes into descriptors that are not its own, and lives on."""

    def end(self) -> None:
        write_into_pipes(b"garbage\n\xff no end")
