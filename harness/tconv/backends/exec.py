"""`exec:COMMAND`: any child process that speaks the runner protocol, version 1.

One JSON object a line, UTF-8, on its standard input and output; its standard error goes to a file. The child is
started without a shell and lives in the worker's process group, so that the pool ends it with the worker. Its output is
not trusted: anything but the awaited reply is `broke`, and the child is started anew.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tconv.backends import BackendInfo
from tconv.backends.isolated_child import ChildStarter
from tconv.backends.onnx_model import serialized
from tconv.backends.orphans import end_children
from tconv.backends.outcome import Broke, Died, Produced, Refused, Unsupported
from tconv.backends.process_end import ending, last_words, own_file
from tconv.dialects import DIALECTS
from tconv.errors import BackendMissing, OptionError, one_line
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_PROTOCOL = 1
_LONGEST_LINE = 2**20
_LARGEST_OUTPUT = 2**30
HELLO_SECONDS = 60.0
"""How long a child may take for its hello, where nobody says otherwise."""
SHORTEST_HELLO = 10.0
"""However short a case's time is: a hello may have to load a runtime."""
_ENDING_SECONDS = 1.0
"""How long a child may take to end after it has closed its output."""
_TRIES = 3
"""So many children that a signal ends before they say hello, and the backend does not start."""


class _Unusable(Exception):  # noqa: N818 - not a fault of ours: the caller turns it into an outcome
    """The child wrote something that the protocol does not have."""


class _Killed(BackendMissing):
    """A signal ended the child before it said hello."""


class Exec:
    """A child process behind the runner protocol.

    Args:
        command: a command line, split as a POSIX shell splits it and never given to one.
        options: what the hello asks for, by name; the child has to confirm it.
        timeout: seconds that its hello may take.
        isolate: whether the child must be confined; None for where that is possible.

    Raises:
        BackendMissing: the command cannot be started, or does not say hello.
        OptionError: the child refuses the options, or does not confirm them.
    """

    def __init__(
        self,
        command: str,
        options: Mapping[str, str] = MappingProxyType({}),
        timeout: float = HELLO_SECONDS,
        isolate: bool | None = None,  # noqa: FBT001 - a value that is passed on
    ) -> None:
        self._options = dict(options)
        self._hello_seconds = max(timeout, SHORTEST_HELLO)
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise BackendMissing(f"backend 'exec:' must be a command line (got {command!r}: {error})") from None
        if not self._command:
            raise BackendMissing("backend 'exec:' must name a command, as in exec:'python runner.py'")
        self._starter = ChildStarter(self._command, isolate)
        # Below a folder of the pool's, which outlives a worker that is killed. The folders are new ones for each case,
        # and the file for standard error has no path: what a child puts in their place harms no later case. What we
        # write lies beside the folder that a confined child may write to: no link of it can lead us elsewhere.
        self._files: Path | None = None
        self._answers: Path | None = None
        self._errors: IO[bytes] | None = None
        self._count = 0
        self._printed = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        try:
            self._info = self._start()
        except (BackendMissing, OptionError):
            self._close_errors()
            raise

    def info(self) -> BackendInfo:
        """Return what the runner's hello contains."""
        return self._info

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Send one call and return the child's reply."""
        try:
            if self._child is None:
                self._start()
            return self._reply(call, arrays)
        except (_Unusable, BackendMissing) as error:
            self._end()
            return Broke(str(error))
        except (BrokenPipeError, EOFError):
            return self._death()

    def _start(self) -> BackendInfo:
        """Start the child and exchange hellos; a child that something ends meanwhile is started again."""
        for _ in range(_TRIES - 1):
            with suppress(_Killed):
                return self._start_once()
        return self._start_once()

    def _start_once(self) -> BackendInfo:
        self._close_errors()
        # Appended to: the child's place in it is not ours.
        self._errors = tempfile.TemporaryFile("a+b", buffering=0)  # noqa: SIM115 - as long as the child
        self._child = self._starter.start(self._errors)
        self._buffer = b""
        try:
            asked = {"options": self._options} if self._options else {}
            self._send({"hello": {"protocol": _PROTOCOL} | asked})
            hello = self._receive(self._hello_seconds)
        except (BrokenPipeError, EOFError, _Unusable) as error:
            reason = last_words(self._errors).rpartition("\n")[2] or str(error) or "it ended"
            killed = not isinstance(error, _Unusable) and self._code() < 0
            self._end()
            message = f"backend {self._command[0]!r} must say hello (got: {one_line(reason)}){self._starter.hint}"
            raise (_Killed if killed else BackendMissing)(message) from None
        if self._options and hello.get("options") != self._options:
            self._end()
            got = hello.get("refused") or f"options {json.dumps(hello.get('options'))}"
            raise OptionError(
                f"{self._command[0]!r} must confirm {json.dumps(self._options)} (got: {one_line(str(got))})"
            )
        return self._backend_info(hello)

    def _backend_info(self, hello: dict[str, Any]) -> BackendInfo:
        fields = [hello.get(key) for key in ("name", "version", "dialect")]
        if not all(isinstance(field, str) and field for field in fields):
            self._end()
            raise BackendMissing(f"a hello must have name, version and dialect (got {json.dumps(hello)[:200]})")
        self._refuse_where_it_cannot_be_ended()
        name, version, dialect_name = (str(field) for field in fields)
        if dialect_name not in DIALECTS:
            self._end()
            raise BackendMissing(f"a hello's dialect must be one of {', '.join(DIALECTS)} (got {dialect_name!r})")
        environment = {"command": shlex.join(self._command), "isolated": self._starter.isolated}
        return BackendInfo(name, version, (dialect_name,), environment)

    def _refuse_where_it_cannot_be_ended(self) -> None:
        assert self._child is not None  # noqa: S101 - it has said hello
        try:
            os.kill(self._child.pid, 0)
        except PermissionError:
            self._end()
            raise BackendMissing(
                f"backend {self._command[0]!r} must be a process that tconv may end (got one with another user's"
                " rights, as sudo or a set-uid file gives them); run tconv as that user"
            ) from None
        except ProcessLookupError:
            # It has ended since, which its first call tells.
            return

    def _reply(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        self._clear()
        self._files = Path(tempfile.mkdtemp(prefix="tconv-exec-"))
        self._answers = Path(tempfile.mkdtemp(prefix="tconv-exec-", dir=self._starter.folder))
        output = self._answers / "output_0.npy"
        request = {"id": self._next_id(), "output": str(output)} | self._written(call, arrays)
        self._printed = os.fstat(self._errors.fileno()).st_size if self._errors else 0
        self._send({"run": request})
        reply = self._receive(None)
        if reply.get("id") != request["id"]:
            raise _Unusable(f"must answer for {request['id']!r} (got {json.dumps(reply)[:200]})")
        match reply:
            case {"ok": True}:
                return Produced(_loaded(output, call))
            case {"refused": str(message)}:
                return Refused(message)
            case {"broke": str(message)}:
                return Broke(message)
            case {"unsupported": str(reason)}:
                return Unsupported(reason)
            case _:
                raise _Unusable(f"must answer ok, refused, unsupported or broke (got {json.dumps(reply)[:200]})")

    def _next_id(self) -> str:
        """Return an id that no earlier request had, so that a late reply is not mistaken for the awaited one."""
        self._count += 1
        return f"case-{self._count}"

    def _written(self, call: Call, arrays: Mapping[str, Array]) -> dict[str, Any]:
        """Write the call's model or arrays to files; return the request's keys for them."""
        if call.dialect.opset is not None:
            model = self._file("model.onnx")
            with model.open("xb") as file:
                file.write(serialized(call, arrays))
            feeds = call.feeds(arrays).values()
            return {"model": str(model), "inputs": [self._saved(f"input_{i}", array) for i, array in enumerate(feeds)]}
        return {
            "dialect": call.dialect.name,
            "attributes": dict(call.attributes),
            # Arrays come in these layouts also where the dialect has no attribute that says so.
            "data_format": call.data_format,
            "filter_format": call.filter_format,
            "groups": call.groups,
            "dtype": call.dtype,
            "inputs": {name: self._saved(name, array) for name, array in call.operands(arrays).items()},
            "constants": [tensor.name for tensor in call.inputs if tensor.constant],
            "shapes": call.shapes,
        }

    def _saved(self, name: str, array: Array) -> str:
        path = self._file(f"{name}.npy")
        bits = array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array
        # In Fortran's order every child would need a second way to read it.
        with path.open("xb") as file:
            np.save(file, np.asarray(bits, order="C"), allow_pickle=False)
        return str(path)

    def _file(self, name: str) -> Path:
        """Return the path of a file for the child to read; it is opened only where nothing is there, be it a link."""
        assert self._files is not None  # noqa: S101 - the caller makes it
        return self._files / name

    def _clear(self) -> None:
        """Remove the folders of the last case, whatever has become of them; no link in them is followed."""
        for folder in (self._files, self._answers):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        self._files = self._answers = None

    def _send(self, message: dict[str, Any]) -> None:
        assert self._child is not None  # noqa: S101 - the callers start it
        assert self._child.stdin is not None  # noqa: S101 - it is a pipe
        self._child.stdin.write(json.dumps(message).encode() + b"\n")
        self._child.stdin.flush()

    def _receive(self, seconds: float | None) -> dict[str, Any]:
        """Return the next line's object; without `seconds`, only the pool's deadline ends the wait."""
        assert self._child is not None  # noqa: S101
        assert self._child.stdout is not None  # noqa: S101
        descriptor = self._child.stdout.fileno()
        while b"\n" not in self._buffer:
            if len(self._buffer) > _LONGEST_LINE:
                raise _Unusable(f"a line must have at most {_LONGEST_LINE} bytes (got more)")
            if not select.select([descriptor], [], [], seconds)[0]:
                raise _Unusable(f"must answer within {seconds:g} s (got nothing)")
            chunk = self._child.stdout.read1(65536)  # type: ignore[attr-defined]  # a buffered reader has it
            if not chunk:
                if self._buffer:
                    raise _Unusable(f"a line must end with a newline (got {self._buffer[:200]!r} and the end)")
                raise EOFError
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            raise _Unusable(f"a line must be a JSON object (got {line[:200]!r})") from None
        if not isinstance(message, dict):
            raise _Unusable(f"a line must be a JSON object (got {line[:200]!r})")
        return message

    def _close_errors(self) -> None:
        if self._errors is not None:
            self._errors.close()

    def _death(self) -> Died:
        """Return how the child ended; the next call starts another."""
        assert self._child is not None  # noqa: S101
        code = self._code()
        self._end()
        # What it printed for earlier calls is no reason, unless it printed nothing since.
        return Died(ending(code), last_words(self._errors, self._printed) or last_words(self._errors))

    def _code(self) -> int:
        """Return how a child ended that closed its output; 0 where it lives on."""
        assert self._child is not None  # noqa: S101
        try:
            return self._child.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return 0

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        # With another user's rights it is not ours to end: its input ends, and it may do so itself.
        with suppress(PermissionError):
            child.kill()
            child.wait()
        # What it has left behind in sessions of its own.
        end_children()
        for pipe in (child.stdin, child.stdout):
            # Closing sends what is left in the buffer, which fails where the child has ended.
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _loaded(path: Path, call: Call) -> Array:
    """Read the output that the child had to write."""
    try:
        with own_file(path) as file:
            size = os.fstat(file.fileno()).st_size
    except OSError:
        raise _Unusable("ok must come with an output file (got none)") from None
    if size > _LARGEST_OUTPUT:
        raise _Unusable(f"an output file must have at most {_LARGEST_OUTPUT} bytes (got {size})")
    try:
        # Mapped: numpy compares the sizes of header and file before it takes any memory.
        array: Array = np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, OSError, OverflowError, MemoryError) as error:
        raise _Unusable(f"an output file must be a .npy array (got: {error})") from None
    bits = call.dtype is DType.BF16 and array.dtype == np.uint16
    return array.view(ml_dtypes.bfloat16) if bits else array
