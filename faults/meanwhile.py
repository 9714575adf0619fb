"""What happens to a run from outside: folders go, disks fill, its processes are stopped, its records change under it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from campaign import DOCUMENTED, Surroundings, Tally, is_root
from processes import verdicts

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    Meanwhile = Callable[[Surroundings, subprocess.Popen[bytes]], object]

RUN = ("run", "--cases", "cases.yaml", "--tier", "full", "-j", "2", "--waivers", "none", "--timeout", "2", "--backend")
_CASES = 25
IN_MOUNT = 'mount -t tmpfs -o {options} none "$0" && exec "$@"'
"""A new file system in the place of a folder, which only the command sees."""


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies; of what happens at a moment of chance `count` faults are injected."""
    chance = random.Random(seed)
    yield _meanwhile(count, chance)
    yield _stopped(count, chance)
    yield _small_disks(count)


def _meanwhile(count: int, chance: random.Random) -> Tally:
    """A folder or file of the run is removed, replaced or changed: it ends in words, and the next run is whole."""
    tally = Tally("folders and files that go meanwhile")
    ways: dict[str, Meanwhile] = {
        "the output goes": lambda s, _: _gone(s, "reports"),
        "the output is another": lambda s, _: ((s.folder / "reports").rename(s.folder / "moved"), (s.folder / "reports").mkdir()),
        "the records go": lambda s, _: [path.unlink() for path in (s.folder / "reports").glob("*.jsonl")],
        "the lock goes": lambda s, _: [path.unlink() for path in (s.folder / "reports").glob(".*.lock")],
        "temporary files go": lambda s, _: _gone(s, "tmp"),
        "what is in the temporary folder goes": lambda s, _: [shutil.rmtree(p, ignore_errors=True) for p in s.temporary.iterdir()],
        "case files go": lambda s, _: (s.folder / "cases.yaml").unlink(),
        "case files change": lambda s, _: (s.folder / "cases.yaml").write_text("format: 1\n"),
        "the working directory goes": lambda s, _: _gone(s, "."),
        "the output may not be written": lambda s, _: (s.folder / "reports").chmod(0o500),
        "SIGPIPE": lambda _, process: process.send_signal(signal.SIGPIPE),
        "SIGUSR1": lambda _, process: process.send_signal(signal.SIGUSR1),
        "SIGQUIT": lambda _, process: process.send_signal(signal.SIGQUIT),
        "SIGHUP": lambda _, process: process.send_signal(signal.SIGHUP),
        "SIGHUP twice": lambda _, process: (process.send_signal(signal.SIGHUP), process.send_signal(signal.SIGHUP)),
        "SIGTERM and SIGINT": lambda _, process: (process.send_signal(signal.SIGTERM), process.send_signal(signal.SIGINT)),
        "SIGWINCH": lambda _, process: process.send_signal(signal.SIGWINCH),
        "SIGCHLD": lambda _, process: process.send_signal(signal.SIGCHLD),
        "SIGALRM": lambda _, process: process.send_signal(signal.SIGALRM),
        "all children are killed": lambda s, process: [_kill(p) for p in s.processes() if p != process.pid],
    }  # fmt: skip
    deadly = {"SIGUSR1", "SIGQUIT", "SIGALRM"}
    for number in range(count):
        fault = list(ways)[number] if number < len(ways) else chance.choice(list(ways))
        after = chance.uniform(0.2, 2.0)
        with Surroundings() as surroundings:
            process = surroundings.start(*RUN, "wrong_backends:Slow")
            time.sleep(after)
            with suppress(FileNotFoundError):
                ways[fault](surroundings, process)
            code = surroundings.ended(process)
            killed = fault in deadly or "go" in fault or "all children" in fault
            wrong = surroundings.wrong(
                code, DOCUMENTED | {-signal.SIGUSR1, -signal.SIGQUIT, -signal.SIGALRM}, killed=killed
            )
            if not wrong and code not in DOCUMENTED and fault not in deadly:
                wrong = f"exit code {code}: {surroundings.printed()[-300:]!r}"
            tally.count(f"{fault} after {after:.2f} s", wrong)
    return tally


def _gone(surroundings: Surroundings, name: str) -> None:
    """Remove a folder, but for what the campaign itself looks at."""
    for path in (surroundings.folder / name).iterdir():
        if path.name not in {"stdout", "stderr", "outside", "tmp"}:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    if name not in {".", "tmp"}:
        (surroundings.folder / name).rmdir()


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _stopped(count: int, chance: random.Random) -> Tally:
    """All processes of a run, or the run alone, are stopped for longer than a case may take, and go on: no verdict is theirs."""
    tally = Tally("stopped for a while")
    for _ in range(max(1, count // 10)):
        after, alone = chance.uniform(0.5, 1.5), chance.random() < 0.5
        with Surroundings() as surroundings:
            process = surroundings.start(*RUN, "wrong_backends:Slow")
            time.sleep(after)
            targets = [process.pid] if alone else [process.pid, *surroundings.processes()]
            for number in (signal.SIGTSTP if alone else signal.SIGSTOP, signal.SIGCONT):
                for target in targets:
                    with suppress(ProcessLookupError):
                        os.kill(target, number)
                time.sleep(3)
            wrong = surroundings.wrong(surroundings.ended(process), frozenset({0}))
            if not wrong and (len(verdicts(surroundings)) != _CASES or "timed-out" in verdicts(surroundings).values()):
                wrong = "a record is missing, or tells a timeout"
            tally.count(f"{'the run alone' if alone else 'all'} after {after:.2f} s", wrong)
    return tally


def _small_disks(count: int) -> Tally:
    """A disk for the output or for temporary files that has few bytes, few inodes, or cannot be written."""
    tally = Tally("small disks")
    sizes = (
        "size=4k",
        "size=16k",
        "size=40k",
        "size=200k",
        "nr_inodes=2",
        "nr_inodes=4",
        "nr_inodes=6",
        "nr_inodes=8",
        "nr_inodes=12",
        "ro",
    )
    for options in sizes[: count if is_root() else 0]:
        for name in ("reports", "tmp"):
            for backend in ("Right", "PadsSwapped"):
                with Surroundings() as surroundings:
                    (surroundings.folder / name).mkdir(exist_ok=True)
                    script = IN_MOUNT.format(options=options)
                    prefix = ("unshare", "--mount", "sh", "-c", script, str(surroundings.folder / name))
                    code = surroundings.run(*RUN, f"wrong_backends:{backend}", prefix=prefix)
                    wrong = surroundings.wrong(code, frozenset({0, 1, 2, 3}))
                    if not wrong and code == 0 and backend == "PadsSwapped":
                        wrong = "green"
                    tally.count(f"{options} for {name} of {backend}", wrong)
    return tally
