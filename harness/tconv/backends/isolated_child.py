"""The child of `exec:`, confined where that is possible, and told where it is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from shutil import rmtree
from typing import IO, TYPE_CHECKING

from tconv.backends import confinement
from tconv.backends.parent_death import end_with_parent
from tconv.errors import BackendMissing
from tconv.shown_texts import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LONGEST_REASON = 500
NOT_WANTED = "no: --no-isolate"
_FORBIDDEN = re.compile(
    r"permission|not permitted|denied|read-only|\b(?:EACCES|EPERM|EROFS|ENETUNREACH|EAI_AGAIN)\b"
    r"|network|unreachable|connect|name resolution|getaddrinfo|could not resolve|\bsocket",
    re.IGNORECASE,
)
"""Words of a process that was not let do something."""


class ChildStarter:
    """Starts a command again and again.

    Args:
        command: its words.
        isolate: whether it must be confined; None for where that is possible.

    Attributes:
        folder: what a confined child may write to, a new one for each; None where it is not confined.
        isolated: how it is confined, or why it is not, in the words of a header.
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
            BackendMissing: it cannot be started, or not confined where it must be.
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
        """Return what a message adds where a child that printed this may have failed because it is confined."""
        if self.folder is None or not _FORBIDDEN.search(printed):
            return ""
        return f"; it is isolated ({confinement.WORDS}): perhaps it needs --no-isolate"

    def clear(self) -> None:
        """Remove the folder of the last child."""
        if self.folder is not None:
            rmtree(self.folder, ignore_errors=True)
            self.folder = None

    def _confined(self, errors: IO[bytes]) -> subprocess.Popen[bytes] | None:
        """Start the command confined; return None where that is impossible, and need not be."""
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
            # It ends as the command begins.
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
                f"--isolate must be possible (got: {reason}); allow user namespaces, or leave it out, and"
                f" {self._command[0]!r} has all rights of yours"
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
            preexec_fn=end_with_parent,  # noqa: PLW1509 - it only asks the kernel something
        )
