"""What every campaign shares: a command in surroundings of its own, and what must hold whatever is done to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent
DOCUMENTED = frozenset({0, 1, 2, 3, 129, 130, 141, 143})
"""Exit codes of the documentation, but for the one that says that tconv itself failed."""
SECONDS = 120.0
"""How long a command may take; what takes longer hangs."""
CASES = """\
format: 1
about: What the campaigns run.
cites: [{dialect: onnx/ConvTranspose-22, clause: doc}]
base: {channels: 2, out_channels: 2, spatial: [5], kernel: [3]}
sweeps:
  - {name: plain, axes: {strides: [1, 2, 3], dilations: [1, 2], pads_begin: [0, 1], dtype: [f32, f64]}}
cases: [{name: trouble, with: {strides: 7}}]
"""
_MARK = "TCONV_FAULTS"
_LINGERING = 20.0
"""So many seconds a process may take to notice that its parent has ended, on a machine that has much else to do."""


def is_root() -> bool:
    """Return whether other users, limits and file systems can be made: what needs them is left out otherwise."""
    return os.geteuid() == 0


@dataclass
class Tally:
    """How many faults of a campaign were injected, and those that were not held, each in a line."""

    name: str
    injected: int = 0
    broke: list[str] = field(default_factory=list)

    def count(self, fault: str, wrong: str | None) -> None:
        """Count a fault; `wrong` says what did not hold."""
        self.injected += 1
        if wrong:
            self.broke.append(f"{fault}: {wrong}")

    def __str__(self) -> str:
        return f"{self.name}: {self.injected - len(self.broke)} of {self.injected} held"


class Surroundings:
    """A folder, a folder for temporary files and a mark in the environment, all of one command."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="faults-")
        self.folder = Path(self._folder.name)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.outside = self.folder / "outside"
        self.outside.write_text("untouched")
        self.mark = uuid4().hex
        (self.folder / "cases.yaml").write_text(CASES)

    def __enter__(self) -> Surroundings:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._folder.cleanup()

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of the command."""
        path = os.pathsep.join([str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])
        return os.environ | {"PYTHONPATH": path, "TMPDIR": str(self.temporary), _MARK: self.mark} | more

    def start(self, *arguments: str, prefix: Sequence[str] = (), **settings: object) -> subprocess.Popen[bytes]:
        """Start the command in the folder, below another command where one is given; what it prints goes to files there."""
        settings = {"env": self.environment(), "cwd": self.folder} | settings
        for name in {"stdout", "stderr"} - settings.keys():
            settings[name] = (self.folder / name).open("wb")
        command = [*prefix, sys.executable, "-m", "tconv", *arguments]
        return subprocess.Popen(command, **settings)  # type: ignore[call-overload, no-any-return]

    def ended(self, process: subprocess.Popen[bytes]) -> int | None:
        """Return the exit code of a command; None where it hangs."""
        try:
            return process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None

    def run(self, *arguments: str, prefix: Sequence[str] = (), **settings: object) -> int | None:
        """Run a command and return its exit code."""
        return self.ended(self.start(*arguments, prefix=prefix, **settings))

    def printed(self) -> str:
        """Return what the last command printed."""
        texts = [(self.folder / name).read_bytes() for name in ("stdout", "stderr") if (self.folder / name).exists()]
        return b"".join(texts).decode("utf-8", "surrogateescape")

    def processes(self) -> list[int]:
        """Return the processes that were started here and run still."""
        living = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                    living.append(int(folder.name))
        return living

    def wrong(self, code: int | None, codes: frozenset[int] = DOCUMENTED, *, killed: bool = False) -> str | None:
        """Return what does not hold after a command; None where all holds.

        Args:
            code: its exit code; None where it hung.
            codes: those that may be.
            killed: whether it was killed, so that its temporary files are for the next run to remove.
        """
        printed = self.printed()
        if code is None:
            return f"hung for {SECONDS:g} s"
        if code not in codes and not killed:
            return f"exit code {code}: {printed[-300:]!r}"
        if "Traceback" in printed:
            return f"a traceback: {printed[-300:]!r}"
        if controls := {c for c in printed if not c.isprintable() and c not in "\n\t"}:
            return f"control characters {controls!r} in {printed[-300:]!r}"
        if self.outside.read_text() != "untouched":
            return "a file outside was written"
        deadline = time.monotonic() + _LINGERING
        while remaining := self.processes():
            if time.monotonic() > deadline:
                return f"{len(remaining)} processes left"
            time.sleep(0.05)
        files = [path.name for path in self.temporary.iterdir() if not path.name.startswith("pymp-")]
        return f"temporary files left: {files}" if files and not killed else None
