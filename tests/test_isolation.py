"""A runtime's process that is confined reaches nothing outside; what it leaves behind ends with it, confined or not."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from left_behind import gone
from small_corpus import tconv, written
from tconv.backends import confinement
from tconv.backends.exec import Exec
from tconv.backends.exec_child import ChildStarter
from tconv.corpus import Corpus
from tconv.errors import BackendMissing
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.records.record_file import read
from tconv.verdict import kinds as ver

HOSTILE = """
import json, os, socket, subprocess, sys
port, outside, mark = sys.argv[1:]

def tried(what, *arguments, **settings):
    try:
        what(*arguments, **settings)
    except OSError as error:
        return error.strerror
    return "done"

def freed():
    for kind in ([], ["unshare", "--user", "--map-root-user", "--mount"]):
        subprocess.run([*kind, "sh", "-c", 'mount -o remount,bind,rw /; touch "$0"', outside], capture_output=True)

for line in sys.stdin:
    message = json.loads(line)
    if "hello" in message:
        print(json.dumps({"name": "hostile", "version": "1", "dialect": "geometry/1"}), flush=True)
        continue
    harm = {
        "connect": tried(socket.create_connection, ("127.0.0.1", int(port)), 5),
        "write": tried(open, outside, "w"),
        "link": tried(os.symlink, "/", os.environ["TMPDIR"] + "/../link"),
        "own": tried(open, os.path.dirname(message["run"]["output"]) + "/own", "w"),
        "inputs": tried(open, os.path.dirname([*message["run"]["inputs"].values()][0]) + "/own", "w"),
        "temporary": tried(open, os.environ["TMPDIR"] + "/own", "w"),
        }
    tried(freed)
    subprocess.Popen(["sleep", "300"], start_new_session=True, env=dict(os.environ, MARK=mark))
    print(json.dumps({"id": message["run"]["id"], "refused": json.dumps(harm)}), flush=True)
"""
"""A child that tries what it must not, and tells in its refusal what came of it."""


RUNNER = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"name": "polite", "version": "1", "dialect": "geometry/1"}), flush=True)
"""
"""A child that ends when its input does."""


@cache
def impossible() -> str:
    """Return why nothing can be confined on this machine; an empty text where it can."""
    with tempfile.TemporaryFile() as errors:
        starter = ChildStarter(["true"], None)
        starter.start(errors).communicate()
        starter.clear()
    return "" if starter.isolated == confinement.WORDS else starter.isolated


confined = pytest.mark.skipif(bool(impossible()), reason=f"nothing can be confined here: {impossible()}")
linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")


def harm(folder: Path, mark: str, *arguments: str) -> tuple[dict[str, str], str]:
    """Run the hostile child on one case; return what came of each thing that it tried, and what the header says."""
    (folder / "hostile.py").write_text(HOSTILE)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        command = shlex.join([sys.executable, str(folder / "hostile.py"), port, str(folder / "outside"), mark])
        where = ("--cases", str(written(folder)), "--backend", f"exec:{command}", "--waivers", "none", "-j", "1")
        done = tconv(folder, "run", *where, *arguments, "small/trouble")
    assert done.returncode == 1, done.stderr
    run = read(next((folder / "reports").glob("hostile*.jsonl")))
    return json.loads(run.records[0].verdict.message), run.header.backend.environment["isolated"]


@confined
@pytest.mark.parametrize("arguments", [(), ("--isolate",)], ids=["default", "asked-for"])
def test_a_child_reaches_no_network_no_file_and_no_process_of_others(
    arguments: tuple[str, ...], tmp_path: Path, mark: str
) -> None:
    """Its own folder and temporary files it may write; the header says so, and nothing of it lives on."""
    came, isolated = harm(tmp_path, mark, *arguments)
    assert came["connect"] == "Network is unreachable"
    assert came["write"] == came["link"] == came["inputs"] == "Read-only file system"
    assert came["own"] == came["temporary"] == "done"
    assert not (tmp_path / "outside").exists()
    assert isolated == confinement.WORDS
    assert gone(mark)


@linux
def test_a_child_that_is_not_confined_leaves_no_process_either(tmp_path: Path, mark: str) -> None:
    came, isolated = harm(tmp_path, mark, "--no-isolate")
    assert came["connect"] == came["write"] == "done"
    assert isolated == "no: --no-isolate"
    assert gone(mark)


@confined
def test_a_backend_of_the_workers_own_is_confined_where_that_is_asked_for(tmp_path: Path) -> None:
    where = ("--cases", str(written(tmp_path)), "--backend", "wrong_backends:Reaches", "--waivers", "none", "-j", "1")
    assert tconv(tmp_path, "run", *where, "--isolate").returncode == 1
    run = read(next((tmp_path / "reports").glob("*.jsonl")))
    came = next(record.verdict for record in run.records if record.case == "small/trouble")
    assert came == ver.RefusedValid("Read-only file system, Read-only file system, Network is unreachable")
    assert run.header.backend.environment["isolated"] == confinement.WORDS
    assert not (tmp_path / "outside").exists()


def test_what_cannot_be_confined_is_told_and_runs_only_where_it_need_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "plan9")
    with tempfile.TemporaryFile() as errors:
        with pytest.raises(
            BackendMissing, match=r"--isolate must be possible \(got: the system is plan9\); allow user"
        ):
            ChildStarter(["true"], isolate=True).start(errors)
        starter = ChildStarter(["true"], None)
        starter.start(errors).communicate()
    assert starter.isolated == "no: the system is plan9"
    assert starter.folder is None


@confined
def test_a_child_whose_namespace_is_killed_is_told_as_killed() -> None:
    """Its first process, which would say how the command ended, is killed with all others: that is no orderly end."""
    with tempfile.TemporaryFile() as errors:
        starter = ChildStarter(["sh", "-c", "echo; exec sleep 300"], isolate=True)
        child = starter.start(errors)
        assert child.stdout is not None
        child.stdout.readline()
        first = int(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text())
        os.kill(first, signal.SIGKILL)
        child.communicate()
        assert child.returncode == -signal.SIGKILL
        starter.clear()


@confined
def test_the_end_of_a_confined_child_is_its_own() -> None:
    with tempfile.TemporaryFile() as errors:
        for words, code in (("kill -ABRT $$", -6), ("kill -KILL $$", -9), ("exit 134", 134), ("sleep 300 & exit 3", 3)):
            starter = ChildStarter(["sh", "-c", words], isolate=True)
            child = starter.start(errors)
            child.communicate()
            assert child.returncode == code, words
            starter.clear()
        with pytest.raises(BackendMissing, match=r"backend must start \(got '/nowhere': No such file"):
            ChildStarter(["/nowhere"], isolate=True).start(errors)


def test_a_child_that_closes_its_output_and_lives_on_is_ended(tmp_path: Path, mark: str) -> None:
    closing = 'import os; print(\'{"name": "shy", "version": "1", "dialect": "geometry/1"}\', flush=True); os.close(1)'
    (tmp_path / "shy.py").write_text(f"{closing}\nimport time; time.sleep(300)\n")
    (case, *_) = Corpus.load(written(tmp_path)).cases()
    command = shlex.join(["env", f"MARK={mark}", sys.executable, str(tmp_path / "shy.py")])
    with Pool(Asking(f"exec:{command}", isolate=False)) as pool:
        assert pool.record(case).verdict == ver.Crashed("exit code 0", "")
    assert gone(mark)


def test_a_child_that_cannot_be_ended_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that runs with another user's rights would live on after a hang; it is left to end with its input."""
    ended: list[subprocess.Popen[bytes]] = []

    def denied(child: subprocess.Popen[bytes]) -> None:
        ended.append(child)
        raise PermissionError

    (tmp_path / "runner.py").write_text(RUNNER)
    monkeypatch.setattr(subprocess.Popen, "kill", denied)
    monkeypatch.setattr("tconv.backends.exec_child.os.kill", lambda *_: denied(cast("Any", None)))
    with pytest.raises(BackendMissing, match=r"must be a process that tconv may end \(got one with another user's"):
        Exec(shlex.join([sys.executable, str(tmp_path / "runner.py")]), isolate=False)
    assert ended[-1].wait(60) == 0
