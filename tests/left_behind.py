"""Which processes live on after a command, by a word in the environment with which it was started."""

from __future__ import annotations

from pathlib import Path
from time import sleep


def having(word: str) -> list[int]:
    """Return the processes in whose environment the word is, zombies aside."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if word.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                # It has ended since, or is another user's.
                continue
    return found


def gone(mark: str) -> bool:
    """Return whether no process has the mark; who only has to notice that its parent has ended may take its time."""
    for _ in range(500):
        if not having(mark):
            return True
        sleep(0.02)
    return False
