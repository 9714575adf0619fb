"""Workers, and the run itself, are killed, interrupted and terminated at random moments, and resumed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from campaign import Surroundings, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN = ("run", "--cases", "cases.yaml", "--tier", "full", "-j", "2", "--waivers", "none", "--backend")
DEADLY = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)
BACKENDS = ("wrong_backends:Slow", "wrong_backends:Hangs")


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies of the campaigns, of so many faults each."""
    chance = random.Random(seed)
    yield workers_killed(count, chance)
    yield parent_killed(count, chance)
    yield signals(count, chance)


def verdicts(surroundings: Surroundings) -> dict[str, str]:
    """Return the kinds of the verdicts in the record file, by case; a case that is there twice raises."""
    kinds: dict[str, str] = {}
    for path in (surroundings.folder / "reports").glob("*.jsonl"):
        for line in path.read_text().splitlines()[1:]:
            record = json.loads(line)
            if record["case"] in kinds:
                raise ValueError(f"{record['case']} has two records")
            kinds[record["case"]] = record["verdict"]["kind"]
    return kinds


def workers_killed(count: int, chance: random.Random) -> Tally:
    """A worker is killed while it loads or while it runs: every case has its verdict, and none is the kill's."""
    tally = Tally("workers killed")
    for _ in range(count):
        how, after = chance.choice(DEADLY), chance.uniform(0.2, 2.5)
        with Surroundings() as surroundings:
            process = surroundings.start(*RUN, BACKENDS[0])
            time.sleep(after)
            workers = [pid for pid in surroundings.processes() if _is_worker(pid, process.pid)]
            for victim in workers[:1]:
                with suppress(ProcessLookupError):
                    os.kill(victim, how)
            code = surroundings.ended(process)
            wrong = surroundings.wrong(code, frozenset({0, 1}))
            kinds = verdicts(surroundings)
            # A case that is killed twice in a row by something outside looks as if it ended the worker; once it does not.
            if not wrong and set(kinds.values()) - {"agreed", "not-applicable"}:
                wrong = f"verdicts {sorted(set(kinds.values()))}"
            tally.count(f"{how.name} after {after:.2f} s at {len(workers)} workers", wrong)
    return tally


def _is_worker(process: int, run: int) -> bool:
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes()
        parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        # The run's own children are the process that workers are forked from, and multiprocessing's tracker.
        return run not in {process, parent} and b"forkserver" in words
    return False


def parent_killed(count: int, chance: random.Random) -> Tally:
    """The run is killed, nothing of it lives on, and it is resumed to the same records."""
    tally = Tally("parent killed, then resumed")
    with Surroundings() as whole:
        whole.run(*RUN, BACKENDS[0])
        expected = verdicts(whole)
    for _ in range(count):
        backend, after = chance.choice(BACKENDS), chance.uniform(0.3, 3.0)
        with Surroundings() as surroundings:
            process = surroundings.start(*RUN, backend)
            time.sleep(after)
            process.kill()
            wrong = surroundings.wrong(process.wait(), killed=True)
            if not wrong and backend == BACKENDS[0]:
                wrong = surroundings.wrong(surroundings.run(*RUN, backend, "--resume"), frozenset({0}), killed=True)
                if not wrong and verdicts(surroundings) != expected:
                    wrong = "other records than those of a run that was not killed"
            tally.count(f"SIGKILL after {after:.2f} s of {backend}", wrong)
    return tally


def signals(count: int, chance: random.Random) -> Tally:
    """Ctrl-C, SIGTERM and SIGHUP, once or twice, in any phase: in words, with their exit code, and to be resumed."""
    tally = Tally("signals")
    for _ in range(count):
        how, after, twice = (
            chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
            chance.uniform(0.03, 2.5),
            chance.random() < 0.3,
        )
        with Surroundings() as surroundings:
            # A shell ignores Ctrl-C in what it starts in the background, and whoever it starts inherits that.
            process = surroundings.start(*RUN, chance.choice(BACKENDS), preexec_fn=_hear_interrupts)
            time.sleep(after)
            for _ in range(1 + twice):
                process.send_signal(how)
                time.sleep(0.05)
            code = surroundings.ended(process)
            # Before tconv's first line Python itself is ended by a signal.
            codes = {128 + how, 0} | ({-how} if after < 0.2 else set())
            tally.count(f"{how.name}{' twice' * twice} after {after:.2f} s", surroundings.wrong(code, frozenset(codes)))
    return tally


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
