"""`exec:COMMAND`: any child process that speaks the runner protocol, version 1.

Each line of its standard input and output is a JSON object in UTF-8; its standard error goes to a file. The child is
started without a shell, in the worker's process group, so that the pool ends it with the worker. Its output is not
trusted: if it is not the expected reply, the outcome is `backend-error`, and a new child is started.
"""

from __future__ import annotations

import json
import shlex
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tconv.backends.exec_child import ChildStarter, ExecChild, Unusable
from tconv.backends.exec_files import ExecFiles
from tconv.backends.info import BackendInfo
from tconv.backends.outcome import BackendError, Produced, Refused, Unsupported
from tconv.backends.process_end import main_reason
from tconv.cases.context import Grid, Quantisation
from tconv.dialects import DIALECTS
from tconv.errors import BackendMissing, OptionError
from tconv.nearest_word import nearest
from tconv.shown_texts import one_line, shortened, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.vocabulary import Array

_PROTOCOL = 1
HELLO_SECONDS = 60.0
"""The default limit for a child's hello."""
SHORTEST_HELLO = 10.0
"""The smallest limit for a hello, even if that of a case is shorter: the child may load a runtime."""
_CLOSED_SECONDS = 1.0
"""The wait for the output of a child that has closed its input."""
_SHOWN = 200
"""Characters of a child's output in a message."""


def _why(error: Exception, printed: str) -> str:
    """Return why a child did not say hello.

    Args:
        error: the error instead of the hello.
        printed: the child's standard error.
    """
    reason = one_line(main_reason(printed))
    if not isinstance(error, Unusable):
        return reason or "it ended"
    return f"{error}; it printed: {reason}" if reason else str(error)


def _quantisation(grids: Mapping[str, Any]) -> Quantisation:
    """Return the scales and zero points that a child declares, as a case file declares those of a model."""
    try:
        made = {role: Grid(tuple(grid["scale"]), grid.get("zero_point")) for role, grid in grids.items()}
        return Quantisation(**made)
    except (TypeError, KeyError, AttributeError):
        must = 'must declare quantisation as {"x": {"scale": [0.5], "zero_point": 3}}, of x, w and y'
        raise Unusable(f"{must} (got {json.dumps(grids)[:_SHOWN]})") from None


class Exec:
    """A child process behind the runner protocol.

    Args:
        command: a command line. It is split as by a POSIX shell, but runs without a shell.
        options: options by name; they are in our hello, and the child has to confirm them.
        timeout: the limit for its hello, in seconds.
        isolate: whether the child must be confined; None: it is, if the system can.

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
        self._files: ExecFiles | None = None
        # Every id is new, so a late reply is not taken for the expected one.
        self._ids = map("case-{}".format, count(1))
        self._child: ExecChild | None
        self._child, self._info = self._started()

    def info(self) -> BackendInfo:
        """Return the content of the runner's hello."""
        return self._info

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Send a call to the child, or to a new one if there is none, and return its reply or its end."""
        try:
            self._child = child = self._child or self._started()[0]
        except BackendMissing as error:
            return BackendError(str(error))
        try:
            return self._reply(child, call, arrays)
        except Unusable as error:
            outcome: Outcome = BackendError(str(error))
        except (BrokenPipeError, EOFError):
            outcome = child.died()
        self._child = None
        child.end()
        return outcome

    def _started(self) -> tuple[ExecChild, BackendInfo]:
        """Start a child and exchange hellos."""
        child = ExecChild(self._starter)
        try:
            return child, self._info_of(child, self._hello(child))
        except BaseException:
            child.end()
            self._starter.clear()
            raise

    def _hello(self, child: ExecChild) -> dict[str, Any]:
        asked = {"options": self._options} if self._options else {}
        seconds = self._hello_seconds
        try:
            try:
                child.send({"hello": {"protocol": _PROTOCOL} | asked})
            except BrokenPipeError:
                # It may have printed why it ended.
                seconds = _CLOSED_SECONDS
            return child.receive(seconds)
        except (EOFError, Unusable) as error:
            # Read after its end, when all of its output is there.
            printed = child.last_words
            message = f"backend {self._command[0]!r} must say hello (got: {_why(error, printed)})"
            raise BackendMissing(message + self._starter.hint(printed)) from None

    def _info_of(self, child: ExecChild, hello: dict[str, Any]) -> BackendInfo:
        if self._options and hello.get("options") != self._options:
            raise OptionError(self._unconfirmed(hello))
        fields = [hello.get(key) for key in ("name", "version", "dialect")]
        if not all(isinstance(field, str) and field for field in fields):
            must = f"backend {self._command[0]!r} must say name, version and dialect in its hello"
            got = json.dumps(hello)[:_SHOWN]
            raise BackendMissing(f"{must} (got {got}); the protocol is in docs/reference/runner-protocol.md")
        if not child.can_be_ended:
            raise BackendMissing(
                f"backend {self._command[0]!r} must be a process that tconv may end (got one with another user's"
                " rights, as sudo or a set-uid file gives them); run tconv as that user"
            )
        name, version, dialect_name = (str(field) for field in fields)
        if dialect_name not in DIALECTS:
            must = f"backend {self._command[0]!r} must say one of these dialects in its hello: {', '.join(DIALECTS)}"
            raise BackendMissing(f"{must} (got {shown(dialect_name)}){nearest(dialect_name[:_SHOWN], DIALECTS)}")
        environment = {"command": shlex.join(self._command), "isolated": self._starter.isolated}
        return BackendInfo(name, version, (dialect_name,), environment, contexts=hello.get("contexts") is True)

    def _unconfirmed(self, hello: dict[str, Any]) -> str:
        """Return the message for a hello that does not confirm the options."""
        must = f"{self._command[0]!r} must confirm {json.dumps(self._options)}"
        if hello.get("refused") is None and hello.get("options") is None:
            return f"{must} (got: a hello without options); leave --option out if the runner has none"
        got = hello.get("refused") or f"options {json.dumps(hello.get('options'))}"
        return f"{must} (got: {shortened(one_line(str(got)), _SHOWN)})"

    def _reply(self, child: ExecChild, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        if self._files is not None:
            self._files.remove()
        self._files = files = ExecFiles(self._starter.folder)
        request = {"id": next(self._ids), "output": str(files.output)} | files.written(call, arrays)
        child.send({"run": request})
        reply = child.receive(None)
        if reply.get("id") != request["id"]:
            raise Unusable(f"must answer for {request['id']!r} (got {json.dumps(reply)[:_SHOWN]})")
        match reply:
            case {"ok": True, "quantisation": dict(grids)}:
                return Produced(files.loaded(call), quantisation=_quantisation(grids))
            case {"ok": True}:
                return Produced(files.loaded(call))
            case {"refused": str(message)}:
                return Refused(message)
            case {"backend-error": str(message)}:
                return BackendError(message)
            case {"unsupported": str(reason)}:
                return Unsupported(reason)
            case _:
                raise Unusable(
                    f"must answer ok, refused, unsupported or backend-error (got {json.dumps(reply)[:_SHOWN]})"
                )
