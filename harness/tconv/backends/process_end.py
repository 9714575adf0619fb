"""How a child process ended: its signal or exit code, and the lines of its output that say why."""

from __future__ import annotations

import os
import re
import signal
import stat
from contextlib import contextmanager, nullcontext, suppress
from errno import EINVAL
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

from tconv.shown_texts import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAIL = 2000
_SEARCHED = 2**22
_MOST_REASONS = 3
_LONGEST_REASON = 400
_REASON = re.compile(
    r"""
    ^thread\ .*panicked\ at | ^fatal\ runtime\ error:                 # Rust
    | ^terminate\ called | ^libc\+\+abi: | ^\s*what\(\):              # C++
    | \bassertion\b.*\bfailed | \bassertion\ failed | \bcheck\ failed: # assert of C, of LLVM, of ATen; glog
    | ^={2,}\d+={2,}\s*(ERROR|WARNING): | :\ runtime\ error:          # sanitizers
    | ^\*\*\*.*detected\ \*\*\* | ^(double\ )?free\b.*: | ^malloc.*: | ^munmap_chunk | ^corrupted\   # glibc
    | ^Fatal\ Python\ error: | ^panic: | ^fatal\ error:               # Python, Go
    | ^FATAL\ ERROR: | ^Uncaught\b | ^Exception\ in\ thread           # node, Java
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Lines that say why a process ended. A backtrace after them may be longer than the text that is kept."""
ERROR_LINE = re.compile(
    r"""
    ^(?:\S+:\ )?[\w.$]*(?:error|exception)(?:\s*\[\w+\])?(?::|$)                # Python, node, command lines, compilers
    | \bcannot\ find\ module | \bcan't\ open\ file | \bno\ such\ file\b | \bcommand\ not\ found
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A line that begins with the name of an error, unlike lines of a backtrace."""
_FAULTS = {"SIGSEGV", "SIGFPE", "SIGBUS", "SIGILL"}
"""Signals that the processor causes, and not the program."""
_TIME = re.compile(r"^\s*\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s+(?=\S)")
"""The time at the beginning of a line in a log."""


def ending(code: int | None) -> str:
    """Return the cause of a process's end for `Crashed`: a signal's name, or the exit code."""
    if code is None or code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    # Real-time signals have no names.
    return f"signal {-code}"


@contextmanager
def own_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that a runtime's process may have replaced; only a regular file is opened, and no link is followed.

    Args:
        path: the file.

    Raises:
        OSError: it is not there, or is not a regular file.
    """
    # Non-blocking: nobody may write to a pipe in its place.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(EINVAL, "is no file", str(path))
        yield file


def last_words(log: Path | IO[bytes], start: int = 0) -> str:
    """Return the end of a process's output, after earlier lines that say why it ended.

    Args:
        log: the file of the output, by its path or open.
        start: the first byte that counts.
    """
    with suppress(OSError), own_file(log) if isinstance(log, Path) else nullcontext(log) as file:
        # The output may be larger than memory.
        file.seek(max(start, os.fstat(file.fileno()).st_size - _SEARCHED))
        text = file.read(_SEARCHED).decode("utf-8", "replace").strip("\0 \t\r\n")
        if len(text) <= _TAIL:
            return text
        end = text[-_TAIL:].lstrip()
        before = [shortened(reason, _LONGEST_REASON) for reason in reasons(text[:-_TAIL])[:_MOST_REASONS]]
        return "\n".join([*before, "...", end]) if before else end
    return ""


def main_reason(text: str, cause: str = "") -> str:
    """Return the line of a process's output that says best why it ended; empty if none does.

    A process that ends itself says so at last. A fault comes without words: the line before it may say anything.

    Args:
        text: the output.
        cause: the signal or the exit code, as `ending` returns it; empty if it is not known.
    """
    lines = text.strip().splitlines()
    # The last error ended it: before it, Python prints the errors that caused it.
    errors = [line.strip() for line in lines if ERROR_LINE.search(line)]
    reason = next(iter([*reasons(text), *errors[-1:], *([] if cause in _FAULTS else lines[-1:])]), "")
    # The time is removed, as it would make equal lines different.
    return _TIME.sub("", reason)


def reasons(text: str) -> list[str]:
    """Return the lines that say why a process ended: panics, exceptions, assertions, errors of sanitizers.

    A second line that belongs to the first is joined to it.
    """
    lines = text.splitlines()
    lines_found: list[str] = []
    for number, line in enumerate(lines):
        if not _REASON.search(line):
            continue
        if line.lstrip().startswith("what():") and lines_found:
            lines_found[-1] += f" {line.strip()}"
        elif line.rstrip().endswith(":") and number + 1 < len(lines):
            # Rust prints the message after the place.
            lines_found.append(f"{line.strip()} {lines[number + 1].strip()}")
        else:
            lines_found.append(line.strip())
    return lines_found
