"""Backends that disturb others: files, processes, connections and folders that are not their own."""

from __future__ import annotations

import ctypes
import os
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tconv.backends import Outcome, Produced, Refused
from wrong_backends.ends import Hangs
from wrong_backends.right import FOREVER, Array, Right, Troubled, troubled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.call import Call


class RemovesRecords(Troubled):
    """It removes the file of its worker's records, as something that tidies up a folder might."""

    def end(self) -> None:
        """Remove it."""
        records = Path(tempfile.gettempdir()).with_suffix(".records")
        records.unlink(missing_ok=True)


class ReplacesRecords(Troubled):
    """It puts a file of its own in the place of its worker's records."""

    def end(self) -> None:
        """Replace it."""
        records = Path(tempfile.gettempdir()).with_suffix(".records")
        records.unlink(missing_ok=True)
        records.write_bytes(b'0 {"case":"another"}\nx\n\xff 1 {}\n')


class LeavesChild(Troubled):
    """A child that outlives it and holds all that it had open."""

    def end(self) -> None:
        """Fork, and die."""
        if os.fork() == 0:
            time.sleep(FOREVER)
        os.abort()


class LeavesSession(Troubled):
    """A child in a session of its own, which no signal to its group reaches."""

    def end(self) -> None:
        """Fork, and die."""
        if os.fork() == 0:
            os.setsid()
            time.sleep(FOREVER)
        os.abort()


class HangsWithSession(Hangs):
    """It leaves a child in a session of its own, and hears nothing itself."""

    def end(self) -> None:
        """Fork, say that it hangs, and sleep on."""
        if os.fork() == 0:
            os.setsid()
            time.sleep(FOREVER)
        Path("hangs").touch()
        super().end()


class Reaches(Troubled):
    """Where it is not confined: a file of others, the next worker's log, the network. It tells what came of it."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Compute, or try both."""
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
        """Answer, and clear the operands."""
        outcome = super().run(call, arrays)
        for array in arrays.values():
            ctypes.memset(array.ctypes.data, 0, array.nbytes)
        return outcome


class ChangesItsCall(Right):
    """It writes into the call that it was given, and has no valid answer."""

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Answer with one element, and make another call of the call."""
        outcome = super().run(call, arrays)
        call.attributes.clear()  # type: ignore[attr-defined] # that is what is wrong
        call.attributes["strides"] = {"no": "strides"}  # type: ignore[index]
        return Produced(arrays["x"].ravel()[:1].copy()) if isinstance(outcome, Produced) else outcome


class ChildReturns(Troubled):
    """A process that it starts goes on as if it were the worker."""

    def end(self) -> None:
        """Fork, and return twice."""
        os.fork()


class WritesIntoConnections(Troubled):
    """It writes into descriptors that are not its own, and lives on."""

    def end(self) -> None:
        """Write into each socket."""
        for path in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if str(path.readlink()).startswith("socket:"):
                    os.write(int(path.name), b"garbage\n")
