"""A place of its own for a command, and what must hold there after any fault."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from left_behind import having
from small_corpus import environment
from tconv.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

DOCUMENTED = frozenset({0, 1, 2, 3, 129, 130, 141, 143})
"""Exit codes of the documentation, without the one that says that tconv itself failed."""
GREEN, WRONG, MISSING, EITHER = {0}, {2}, {3}, {0, 2}
"""Exit codes that a command may have."""
CASES = """\
format: 1
about: What the faults are done to.
cites: [{dialect: onnx/ConvTranspose-22, clause: doc}]
base: {channels: 2, out_channels: 2, spatial: [5], kernel: [3]}
sweeps:
  - {name: plain, axes: {strides: [1, 2, 3], dilations: [1, 2], pads_begin: [0, 1], dtype: [f32, f64]}}
cases: [{name: trouble, with: {strides: 7}}]
"""
HEAD = "".join(CASES.splitlines(keepends=True)[:4])
COUNT = 25
"""The number of these cases."""
RUN = ("run", "--cases", "cases.yaml", "--tier", "full", "--waivers", "none", "-j", "1", "--backend")
IS_ROOT = os.geteuid() == 0
_HANGS = 120.0
_PROCESSOR = 20
"""Seconds of processor for a command in this process: other work of the machine is no fault."""
_LINGERING = 20.0
"""So many seconds a process may take to notice that its parent has ended, on a machine that has much else to do."""


class Place:
    """A folder with `cases.yaml`, a folder for temporary files, and a mark in the environment, all of one command."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="faults-")
        self.folder = Path(self._folder.name)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.outside = self.folder / "outside"
        self.outside.write_text("untouched")
        self.mark = uuid4().hex
        (self.folder / "cases.yaml").write_text(CASES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in having(self.mark):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._folder.cleanup()

    def environment(self, **more: str) -> dict[str, str]:
        return environment(TMPDIR=str(self.temporary), TCONV_TEST=self.mark) | more

    def start(self, *arguments: str, prefix: Sequence[str] = (), **settings: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - those of Popen
        """Start the command, below another command if one is given; what it prints goes to files in the folder."""
        with ExitStack() as files:
            settings = {"env": self.environment(), "cwd": self.folder} | settings
            for name in {"stdout", "stderr"} - settings.keys():
                settings[name] = files.enter_context((self.folder / name).open("wb"))
            return subprocess.Popen([*prefix, sys.executable, "-m", "tconv", *arguments], **settings)

    def run(self, *arguments: str, prefix: Sequence[str] = (), **settings: Any) -> int:  # noqa: ANN401 - those of Popen
        return self.end(self.start(*arguments, prefix=prefix, **settings))

    @staticmethod
    def end(process: subprocess.Popen[bytes]) -> int:
        """Wait for a command, which must not hang, and return its exit code."""
        try:
            return process.wait(_HANGS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"hung for {_HANGS:g} s") from None

    def printed(self) -> str:
        files = [self.folder / name for name in ("stdout", "stderr")]
        return b"".join(path.read_bytes() for path in files if path.exists()).decode("utf-8", "surrogateescape")

    def check(self, code: int, codes: Container[int] = DOCUMENTED, *, killed: bool = False) -> None:
        """Check what must hold after a command.

        Args:
            code: its exit code.
            codes: those that may be.
            killed: whether it was killed, so that its temporary files are for the next run to remove.
        """
        printed = self.printed()
        assert code in codes or killed, f"exit code {code}: {printed[-300:]!r}"
        self.check_text(printed)
        deadline = time.monotonic() + _LINGERING
        while remaining := having(self.mark):
            assert time.monotonic() < deadline, f"{len(remaining)} processes left"
            time.sleep(0.05)
        files = [path.name for path in self.temporary.iterdir() if not path.name.startswith("pymp-")]
        assert killed or not files, f"temporary files left: {files}"

    def check_text(self, printed: str) -> None:
        """Check that there is no traceback, no control character, and no file written outside."""
        assert "Traceback" not in printed, printed[-300:]
        assert not {c for c in printed if not c.isprintable() and c not in "\n\t"}, repr(printed[-300:])
        assert self.outside.read_text() == "untouched"

    def verdicts(self, folder: str = "reports") -> dict[str, str]:
        """Return the kinds of the verdicts in the record file, by case, of which none is there twice."""
        kinds: dict[str, str] = {}
        for record in self.records(folder):
            assert record["case"] not in kinds, f"{record['case']} has two records"
            kinds[record["case"]] = record["verdict"]["kind"]
        return kinds

    def records(self, folder: str = "reports") -> list[dict[str, Any]]:
        """Return the complete lines of the record file so far, without the header."""
        texts = [path.read_text().rpartition("\n")[0] for path in (self.folder / folder).glob("*.jsonl")]
        return [json.loads(line) for text in texts for line in text.splitlines()[1:]]

    def command(self, *arguments: str, codes: Container[int] = DOCUMENTED, seconds: int = _PROCESSOR) -> None:
        """Run a command in this process, and check its exit code and what it prints."""
        printed = io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True)
        before = sys.argv, sys.stdout, sys.stderr
        with chdir(self.folder), _limited(seconds):
            sys.argv, sys.stdout, sys.stderr = ["tconv", *arguments], printed, printed
            try:
                main()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
            finally:
                sys.argv, sys.stdout, sys.stderr = before
        text = printed.buffer.getvalue().decode("utf-8", "surrogateescape")  # type: ignore[attr-defined]  # BytesIO
        assert code in codes, f"exit code {code}: {text[-300:]!r}"
        self.check_text(text)


class _TooLongError(BaseException):
    """Nothing that handles errors takes it for one."""


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Interrupt a command after so many seconds of processor, or if it waits for something that never comes."""

    def stop(*_: object) -> None:
        raise _TooLongError(f"no end in {seconds} s of processor")

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)
    signal.alarm(seconds * 15)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
