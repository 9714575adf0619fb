"""The child of `exec:` while it lives: messages, each a line of JSON, to its standard input and from its output."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tconv.backends.orphans import end_children
from tconv.backends.outcome import Died
from tconv.backends.process_end import ending, last_words

if TYPE_CHECKING:
    from tconv.backends.isolated_child import ChildStarter

_LONGEST_LINE = 2**20
_SHOWN = 200
"""Bytes of a line that a message shows."""
_ENDING_SECONDS = 1.0
"""How long a child may take to end after it has closed its output."""


class Unusable(Exception):  # noqa: N818 - not a fault of ours: the caller turns it into an outcome
    """The child wrote something that the protocol does not have."""


def _beginning(line: bytes) -> str:
    """Return how a message shows what a child wrote: as text, in which no character acts on a terminal."""
    return repr(line[:_SHOWN].decode("utf-8", "replace"))


class ExecChild:
    """A process that answers messages.

    Args:
        starter: starts it.

    Attributes:
        answered: whether it has answered a call.

    Raises:
        BackendMissing: it cannot be started, or not confined where it must be.
    """

    def __init__(self, starter: ChildStarter) -> None:
        # Without a path: what a child puts in the place of a file harms no later case. Appended to: the child's place
        # in it is not ours.
        self._errors = tempfile.TemporaryFile("a+b", buffering=0)  # noqa: SIM115 - as long as the child
        try:
            self._process = starter.start(self._errors)
        except BaseException:
            self._errors.close()
            raise
        self._buffer = b""
        self._printed = 0
        self.answered = False

    def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: the child has closed its input.
        """
        # What it printed for earlier messages is no reason for its end, unless it prints nothing since.
        self._printed = os.fstat(self._errors.fileno()).st_size
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def receive(self, seconds: float | None) -> dict[str, Any]:
        """Return the next message; without `seconds`, only the pool's deadline ends the wait.

        Raises:
            Unusable: it is no JSON object in a line, or does not come in time.
            EOFError: the child has closed its output.
        """
        line = self._line(seconds)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            must = f"a line must be a JSON object (got {_beginning(line)})"
            raise Unusable(f"{must}; standard output is for the protocol alone: print other lines to standard error")
        return message

    def _line(self, seconds: float | None) -> bytes:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            if len(self._buffer) > _LONGEST_LINE:
                raise Unusable(f"a line must have at most {_LONGEST_LINE} bytes (got more)")
            if not select.select([descriptor], [], [], seconds)[0]:
                raise Unusable(f"must answer within {seconds:g} s (got nothing)")
            chunk = os.read(descriptor, 65536)
            if not chunk:
                if self._buffer:
                    raise Unusable(f"a line must end with a newline (got {_beginning(self._buffer)} and the end)")
                raise EOFError
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    @property
    def last_words(self) -> str:
        """What it printed since the last message at its standard error, or else before."""
        return last_words(self._errors, self._printed) or last_words(self._errors)

    @property
    def code(self) -> int:
        """How a child ended that closed its output; 0 where it lives on."""
        try:
            return self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return 0

    @property
    def can_be_ended(self) -> bool:
        """Whether tconv may end it; one that has ended by itself counts, as its first call tells."""
        try:
            os.kill(self._process.pid, 0)
        except PermissionError:
            return False
        except ProcessLookupError:
            pass
        return True

    def died(self) -> Died:
        """Return how it ended, and end what is left of it."""
        code = self.code
        self._kill()
        died = Died(ending(code), self.last_words)
        self._errors.close()
        return died

    def end(self) -> None:
        """End it, and what it has left behind in sessions of its own."""
        self._kill()
        self._errors.close()

    def _kill(self) -> None:
        # With another user's rights it is not ours to end: its input ends, and it may do so itself.
        with suppress(PermissionError):
            self._process.kill()
            self._process.wait()
        end_children()
        for pipe in (self._process.stdin, self._process.stdout):
            # Closing sends what is left in the buffer, which fails where the child has ended.
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
