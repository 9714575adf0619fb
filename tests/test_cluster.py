"""A run on a cluster gives the records of a local run, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from time import sleep
from typing import TYPE_CHECKING

import pytest
from distributed import LocalCluster

from made_cluster import Processes, are_there, none_is_left, processes
from small_corpus import HEAD, bodies, environment, record_file, records, settings, tconv, written
from tconv.backends.extras import installing
from tconv.corpus import Corpus
from tconv.errors import BackendMissing, ClusterError
from tconv.execution import cluster
from tconv.execution.cluster import joined
from tconv.records import artifacts
from tconv.records.record_file import read
from wrong_backends import LOG

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from small_corpus import Command
    from tconv.cases.case import Case

MANY = f"""{HEAD}
sweeps:
  - name: many
    axes: {{spatial: {[[size] for size in range(2, 26)]}, strides: [1, 2, 3, 7]}}
"""
"""96 cases, a quarter of which are too much for some backends."""

BACKWARDS = MANY.replace(str([[size] for size in range(2, 26)]), str([[size] for size in range(25, 1, -1)]))
"""The same from the largest to the smallest; a few of the last are too much for `EndsItsParent`."""


def cases(folder: Path, text: str = MANY) -> list[Case]:
    """Return the cases of a case file's text."""
    return list(Corpus.load(written(folder, text)).cases())


def files(folder: Path) -> dict[str, bytes]:
    """Return the artifacts of a folder."""
    return {file.name: file.read_bytes() for file in (folder / artifacts.FOLDER).iterdir()}


# A cluster of one worker in this process.


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the address of a scheduler; idle pools end soon."""
    monkeypatch.setattr(cluster, "_IDLE_SECONDS", 0.5)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(local_directory=str(tmp_path / "dask"), **options) as local:
        yield local.scheduler_address


def verdicts(address: str, folder: Path, backend: str, asked: list[Case]) -> dict[str, str]:
    """Return the kinds of the verdicts that a cluster gives."""
    with joined(address, settings(backend, folder).asking, folder) as pool:
        return {record.case: record.verdict.kind for record in pool.run(asked)}


def test_every_case_has_its_verdict_and_a_death_costs_one(address: str, tmp_path: Path) -> None:
    """More chunks than one; a runtime that dies takes nothing with it but its own case."""
    asked = cases(tmp_path)
    kinds = verdicts(address, tmp_path, "Aborts", asked)
    assert kinds.keys() == {case.id for case in asked}
    assert {case.id for case in asked if case.attributes.strides == (7,)} == {
        case for case, kind in kinds.items() if kind == "crashed"
    }


def test_the_arrays_of_wrong_outputs_arrive(address: str, tmp_path: Path) -> None:
    """They are those of a local run, byte for byte."""
    text = f"{HEAD}cases: [{{name: padded, with: {{pads_begin: 1}}}}]\n"
    local = records("PadsSwapped", tmp_path, text)
    assert set(verdicts(address, tmp_path / "there", "PadsSwapped", cases(tmp_path, text)).values()) == {"differed"}
    assert files(tmp_path / "there") == files(local.parent)
    assert len(files(local.parent)) == 1


@pytest.mark.parametrize("when", [1, 2], ids=["first", "later"])
def test_a_worker_of_another_version_judges_nothing(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: int
) -> None:
    """Of the first worker the version of this process is demanded, and of each chunk's worker that of the first."""
    said = iter([{"numpy": "2.0"}] * when + [{"numpy": "1.0"}] * 9)
    monkeypatch.setattr(cluster, "versions", lambda: next(said))
    with pytest.raises(ClusterError, match=r"must judge alike \(numpy must be '.\.0', got '.\.0'\)$"):
        verdicts(address, tmp_path, "Right", cases(tmp_path))


def test_a_runtime_that_is_not_there_is_reported_with_the_machine(address: str, tmp_path: Path) -> None:
    """By the error that a local run has, on one line."""
    with pytest.raises(BackendMissing, match=rf"^{os.uname().nodename}: .*no licence"):
        verdicts(address, tmp_path, "FailsToStart", [])


def test_an_artifact_lies_under_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's name for a file leads nowhere else, and what is larger than an artifact may be is not written."""
    monkeypatch.setattr(artifacts, "_LARGEST_FILE", 4)
    for name, data in {"0" * 16: b"1234", "1" * 16: b"12345", "../evil": b"1", "evil": b"1"}.items():
        artifacts.moved_in(tmp_path / "out", f"{name}.npz", data)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.npz")] == [
        f"out/artifacts/{'0' * 16}.npz"
    ]


# The command line.


def test_jobs_do_not_go_with_a_cluster(command: Command) -> None:
    """Workers' threads say how many cases run at a time; nothing is ignored in silence."""
    done = command("run", "--dask", "tcp://127.0.0.1:1", "-j", "2")
    assert done.returncode == 2
    assert "--jobs must not go with --dask" in done.stderr


def test_no_scheduler_is_exit_3_and_one_line(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is named, and what came of it."""
    written(tmp_path)
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 0.5)
    done = command("run", "--cases", "small.yaml", "--dask", "tcp://127.0.0.1:1")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith("tconv: tcp://127.0.0.1:1 must be a dask scheduler")


def test_without_dask_the_extra_is_named(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a backend whose runtime is not installed."""
    written(tmp_path)
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "tconv.execution.cluster")
    monkeypatch.delattr("tconv.execution.cluster")
    done = command("run", "--cases", "small.yaml", "--dask", "tcp://127.0.0.1:1")
    assert done.returncode == 3
    assert f"install it with: {installing(['dask'])}\n" in done.stderr


# A real cluster: a scheduler and workers, each a process.


def where(backend: str, address: str, *more: str) -> list[str]:
    """Return the arguments of a run on a cluster."""
    small = ["run", "--cases", "small.yaml", "--backend", f"wrong_backends:{backend}", "--timeout", "3"]
    return [*small, "--output", "there", "--dask", address, *more]


def started_on(
    dask: Processes, folder: Path, backend: str, lines: int, *more: str
) -> tuple[subprocess.Popen[str], Path]:
    """Start a run on a cluster, wait for its first lines, and return it with its record file."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tconv", *where(backend, dask.address, *more)],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    path = record_file(folder, backend, "there")
    while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < lines):
        sleep(0.02)
    return process, path


def calls(log: Path) -> int:
    """Return how many calls of cases a backend has noted: the probes of its sums give no strides."""
    return len(log.read_text().splitlines())


@pytest.mark.thorough
def test_a_cluster_that_loses_a_worker_gives_the_records_of_a_local_run(tmp_path: Path) -> None:
    """One of two workers is killed in the middle: its chunk is run again, and nothing is lost or doubled.

    The artifacts of wrong outputs are there too; and what the killed worker started ends with it.
    """
    text = MANY.replace("[1, 2, 3, 7]", "[1, 2, 5]") + "cases: [{name: trouble, with: {strides: 7}}]\n"
    local = records("SlowAndVarious", tmp_path, text)
    with processes(tmp_path / "cluster", 2, "--no-nanny") as dask:
        # The local run asks no new calls, and no failure again.
        process, path = started_on(dask, tmp_path, "SlowAndVarious", 1, "--no-new-calls")
        assert are_there(tmp_path, 2)
        os.kill(dask.workers[0].pid, signal.SIGKILL)
        out, err = process.communicate()
        assert process.returncode == 1, err
        assert "Traceback" not in out + err
        assert none_is_left(tmp_path)
    assert bodies(path) == bodies(local)
    assert read(path).header.continues(read(local).header)
    assert files(path.parent) == files(local.parent)


@pytest.mark.thorough
def test_a_chunk_that_dask_gives_up_ends_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    """A dask worker is lost whenever it runs the chunk: exit code 3, a line, and the records of other chunks are kept.

    --resume asks what has no record, and only that.
    """
    asked, log = cases(tmp_path, BACKWARDS), tmp_path / "log"
    with processes(tmp_path / "cluster", 1, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as dask:
        done = tconv(tmp_path, *where("EndsItsParent", dask.address))
    assert done.returncode == 3
    assert "Traceback" not in done.stdout + done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"tconv: {dask.address} must be a dask scheduler with workers")
    assert asked[64].id in said
    path = record_file(tmp_path, "EndsItsParent", "there")
    assert {record.case for record in read(path).records} == {case.id for case in asked[:64]}
    with processes(tmp_path / "again", 1, **{LOG: str(log)}) as dask:
        assert tconv(tmp_path, *where("EndsItsParent", dask.address, "--resume")).returncode == 0
    assert Counter(record.case for record in read(path).records) == Counter(case.id for case in asked)
    assert calls(log) == len(asked) - 64


@pytest.mark.thorough
def test_ctrl_c_leaves_nothing_on_the_cluster_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    """130, whole records, no process of a pool left on the workers after a while; --resume asks the rest alone."""
    asked, log = cases(tmp_path), tmp_path / "log"
    with processes(tmp_path / "cluster", 1, "--no-nanny", **{LOG: str(log)}) as dask:
        process, path = started_on(dask, tmp_path, "Slow", 10)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        assert process.returncode == 130
        words = "interrupted; a run goes on from here by the same command with --resume"
        assert err.splitlines()[-1] == f"tconv: {words}"
        assert "Traceback" not in err
        assert none_is_left(tmp_path)
        before = len(read(path).records)
        assert 0 < before < len(asked)
        log.unlink()
        assert tconv(tmp_path, *where("Slow", dask.address, "--resume")).returncode == 0
        assert {record.case for record in read(path).records} == {case.id for case in asked}
    assert calls(log) == len(asked) - before


@pytest.mark.thorough
def test_a_scheduler_that_is_gone_ends_the_run(tmp_path: Path) -> None:
    """Exit code 3 and a sentence, whole records, and no process of a pool left on the worker."""
    cases(tmp_path)
    with processes(tmp_path / "cluster", 1, "--no-nanny") as dask:
        process, path = started_on(dask, tmp_path, "Slow", 10)
        dask.scheduler.kill()
        _, err = process.communicate()
        assert process.returncode == 3
        assert err.splitlines()[-1].startswith(f"tconv: {dask.address} must be a dask scheduler")
        assert "Traceback" not in err
        assert none_is_left(tmp_path)
    assert 0 < len(read(path).records) < 96


@pytest.mark.thorough
def test_a_worker_that_joins_later_with_other_kernels_is_refused(tmp_path: Path) -> None:
    """A variable that chooses kernels is set on it: exit code 3, and whole records."""
    count = len(cases(tmp_path, MANY.replace("[1, 2, 3, 7]", str([*range(1, 25)]))))
    with processes(tmp_path / "cluster", 1, "--no-nanny") as dask:
        process, path = started_on(dask, tmp_path, "Slow", 1)
        dask.worker("--no-nanny", ONEDNN_MAX_CPU_ISA="AVX2")
        _, err = process.communicate()
        assert process.returncode == 3
        assert "every dask worker must judge alike (environment.ONEDNN_MAX_CPU_ISA must be '', got 'AVX2')" in err
        assert len(read(path).records) < count
