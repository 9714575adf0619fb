"""Succession: a copy of a loaded worker is as good as another worker, or is not made."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from small_corpus import HEAD, TIMEOUT, environment, written
from tconv.corpus import Corpus
from tconv.errors import BackendLost
from tconv.execution.pool import Pool
from tconv.execution.worker import Assignment
from wrong_backends import LOG, TROUBLE

if TYPE_CHECKING:
    from pathlib import Path

CASES = f"""{HEAD}
sweeps:
  - name: deadly
    axes: {{spatial: {[[size] for size in range(2, 14)]}, strides: [{TROUBLE}, 1]}}
"""
STEPS = """
import select, socket, subprocess, sys, tempfile, threading, time
from tconv.execution.succession import shared
before, kept = shared(), []
for step in (
    lambda: None,
    lambda: tempfile.TemporaryFile(),
    lambda: subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]),
    lambda: socket.socketpair(),
    lambda: select.epoll(),
    lambda: select.epoll(),
    lambda: threading.Thread(target=time.sleep, args=(60,), daemon=True).start(),
):
    kept.append(step())
    now = shared()
    print(before is not None and now == before)
    if isinstance(kept[-1], select.epoll):
        before = now
    if isinstance(kept[-1], subprocess.Popen):
        kept[-1].kill()
        kept[-1].wait()
    if isinstance(kept[-1], tuple):
        [end.close() for end in kept[-1]]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has")
def test_what_a_copy_would_share_or_lack_is_seen() -> None:
    """A file is no hindrance; a child, a connection, an event queue, another one, and a thread are."""
    more = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
    done = subprocess.run(
        [sys.executable, "-c", STEPS], env=environment(**more), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True", "False", "False", "False", "False", "False"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has")
def test_copies_that_end_before_they_are_asked_anything_end_the_run(tmp_path: Path) -> None:
    """After three in turn, with a message that says how they ended; not when tconv's own time is over."""
    asked = list(Corpus.load(written(tmp_path, CASES)).cases())
    with (
        Pool(Assignment("wrong_backends:AbortsAndEndsAtAFork", None, None, ""), 1, TIMEOUT) as pool,
        pytest.raises(BackendLost, match=r"got 3 in turn that ended before any: .*7"),
    ):
        list(pool.run(asked))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has")
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("backend", ["AbortsAndSaysThatItLoads", "AbortsAndHasAThread"])
def test_every_death_is_repeated_in_a_process_that_was_asked_nothing_before(
    backend: str, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loaded once for many deaths, or anew for each where a copy would not do: the verdicts are the same."""
    log = tmp_path / "log"
    monkeypatch.setenv(LOG, str(log))
    asked = list(Corpus.load(written(tmp_path, CASES)).cases())
    with Pool(Assignment(f"wrong_backends:{backend}", None, None, ""), jobs, TIMEOUT) as pool:
        kinds = {line.case: line.record.verdict.kind for line in pool.run(asked)}
    deadly = [case for case in asked if case.attributes.strides == (TROUBLE,)]
    assert kinds == {case.id: "died" if case in deadly else "agreed" for case in asked}
    lines = log.read_text().splitlines()
    calls = [line.split(maxsplit=1) for line in lines if line != "loaded"]
    first = dict(reversed(calls))
    last = dict(calls)
    assert set(first.values()) >= {f"({TROUBLE},) {case.x.shape}" for case in deadly}
    # Nothing was asked in a process after what it died of.
    assert all(sum(who == process and what.startswith(f"({TROUBLE},)") for who, what in calls) <= 1 for process in last)
    loaded = lines.count("loaded")
    assert (loaded < len(deadly)) is (backend == "AbortsAndSaysThatItLoads")
