"""The child of `exec:`: its start, confined if the system can, its messages, and its end.

A message is a line of JSON, to its standard input or from its standard output.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
from contextlib import suppress
from shutil import rmtree
from typing import IO, TYPE_CHECKING, Any

from tconv.backends import confinement
from tconv.backends.orphans import end_children, end_with_parent
from tconv.backends.outcome import Crashed
from tconv.backends.process_end import ending, last_words
from tconv.errors import BackendMissing
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST_LINE = 2**20
_SHOWN = 200
"""Bytes of a line in a message."""
_ENDING_SECONDS = 1.0
"""The limit for a child to end after it has closed its output."""
_LONGEST_REASON = 500
NOT_WANTED = "no: --no-isolate"
_FORBIDDEN = re.compile(
    r"permission|not permitted|denied|read-only|\b(?:EACCES|EPERM|EROFS|ENETUNREACH|EAI_AGAIN)\b"
    r"|network|unreachable|connect|name resolution|getaddrinfo|could not resolve|\bsocket",
    re.IGNORECASE,
)
"""Words of a process that is not allowed to do something."""


class Unusable(Exception):  # noqa: N818 - the caller turns it into an outcome
    """The child wrote something that is not in the protocol."""


def _beginning(line: bytes) -> str:
    """Return the beginning of a child's line for a message, as text without control characters."""
    return repr(line[:_SHOWN].decode("utf-8", "replace"))


class ExecChild:
    """A process that answers messages.

    Args:
        starter: starts it.

    Raises:
        BackendMissing: it cannot be started, or must be confined and cannot.
    """

    def __init__(self, starter: ChildStarter) -> None:
        # A file without a path, which a child cannot replace, and in mode "a", as its position and ours differ.
        self._errors = tempfile.TemporaryFile("a+b", buffering=0)  # noqa: SIM115 - as long as the child
        try:
            self._process = starter.start(self._errors)
        except BaseException:
            self._errors.close()
            raise
        self._buffer = b""
        self._printed = 0

    def send(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            BrokenPipeError: the child has closed its input.
        """
        # If it ends, its output since this message is the reason.
        self._printed = os.fstat(self._errors.fileno()).st_size
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def receive(self, seconds: float | None) -> dict[str, Any]:
        """Return the next message; without `seconds`, only the pool's deadline ends the wait.

        Raises:
            Unusable: the line is no JSON object, or is late.
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
        """The end of its standard error since the last message; if there is nothing, that before it."""
        return last_words(self._errors, self._printed) or last_words(self._errors)

    @property
    def code(self) -> int:
        """The exit code of a child that closed its output; 0 if it still runs."""
        try:
            return self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return 0

    @property
    def can_be_ended(self) -> bool:
        """Whether tconv may end it; true also if it has ended, which its first call shows."""
        try:
            self._process.send_signal(0)
        except PermissionError:
            return False
        return True

    def died(self) -> Crashed:
        """Return how it ended; its remaining processes are killed first, so that all output is there."""
        code = self.code
        self._kill()
        return Crashed(ending(code), self.last_words)

    def end(self) -> None:
        """End it, and processes that it has left in other sessions."""
        self._kill()
        self._errors.close()

    def _kill(self) -> None:
        # We may not kill it if it has another user's rights; it may end as its input ends.
        with suppress(PermissionError):
            self._process.kill()
            self._process.wait()
        end_children()
        for pipe in (self._process.stdin, self._process.stdout):
            # Closing flushes the buffer, which fails if the child has ended.
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


class ChildStarter:
    """Starts a command, as often as needed.

    Args:
        command: its words.
        isolate: whether it must be confined; None: it is, if the system can.

    Attributes:
        folder: the writable folder of a confined child, a new one for each child; None if it is not confined.
        isolated: the entry of a header: how it is confined, or why not.
    """

    def __init__(self, command: Sequence[str], isolate: bool | None) -> None:  # noqa: FBT001 - a value that is passed on
        self._command = list(command)
        self._isolate = isolate
        self._wanted = isolate is not False
        self.folder: str | None = None
        self.isolated = confinement.WORDS if self._wanted else NOT_WANTED

    def start(self, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start the command; its standard error goes to a file.

        Raises:
            BackendMissing: it cannot be started, or must be confined and cannot.
        """
        self.clear()
        try:
            child = self._confined(errors) if self._wanted else None
            return child or self._popen(self._command, errors, os.environ)
        except (OSError, ValueError) as error:
            self.clear()
            reason = getattr(error, "strerror", None) or error
            must = f"backend must start (got {self._command[0]!r}: {reason})"
            raise BackendMissing(f"{must}; exec: takes a program on PATH or its path, and its arguments") from None

    def hint(self, printed: str) -> str:
        """Return a hint for a message, if a child with this output may have failed because it is confined."""
        if self.folder is None or not _FORBIDDEN.search(printed):
            return ""
        return f"; it is isolated ({confinement.WORDS}): perhaps it needs --no-isolate"

    def clear(self) -> None:
        """Remove the folder of the last child."""
        if self.folder is not None:
            rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def _confined(self, errors: IO[bytes]) -> subprocess.Popen[bytes] | None:
        """Start the command confined; return None if that is impossible and not required."""
        if sys.platform != "linux":
            self._not_confined(f"the system is {sys.platform}")
            return None
        self.folder = tempfile.mkdtemp(prefix="tconv-exec-")
        reading, writing = os.pipe()
        prefix = [sys.executable, "-I", "-S", confinement.__file__, str(writing), self.folder]
        try:
            environment = os.environ | {"TMPDIR": self.folder}
            child = self._popen([*prefix, *self._command], errors, environment, pass_fds=(writing,))
        finally:
            os.close(writing)
            # This pipe closes when the command begins.
            with os.fdopen(reading, "rb") as file:
                message = file.read(_LONGEST_REASON)
        if not message:
            return child
        child.communicate()
        reason = one_line(message[1:].decode("utf-8", "replace"))
        if message[:1] == confinement.NOT_STARTED:
            raise OSError(0, reason)
        self._not_confined(reason)
        return None

    def _not_confined(self, reason: str) -> None:
        self.clear()
        if self._isolate:
            raise BackendMissing(
                f"--isolate must be possible (got: {reason}); allow user namespaces, or leave it out: then"
                f" {self._command[0]!r} has all of your rights"
            )
        self._wanted, self.isolated = False, f"no: {reason}"

    def _popen(
        self, command: Sequence[str], errors: IO[bytes], environment: Mapping[str, str], pass_fds: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the command is the user's own, and there is no shell
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            pass_fds=pass_fds,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - it only calls the kernel
        )
