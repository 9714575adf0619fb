"""A run on a cluster gives the records of a local run, whatever happens to its workers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from math import nan
from time import sleep
from typing import TYPE_CHECKING

import pytest

import made_cluster
from made_cluster import Client, agreed, answered, are_there, introduction, none_is_left, pools_below, processes
from small_corpus import HEAD, TIMEOUT, environment, record_file, records, tconv, written
from tconv import __version__
from tconv.backends.extras import installing
from tconv.cases.case import Case, Operand
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.errors import BackendLost, BackendMissing, ClusterError, TconvError, UsageError
from tconv.execution import cluster, dask_worker
from tconv.execution.cluster import Cluster
from tconv.execution.cluster_messages import CASES, Order, Reply, cases_of, differences, joined
from tconv.execution.selection import Selection
from tconv.execution.waiting import CHUNK
from tconv.execution.worker import Assignment
from tconv.records import artifacts
from tconv.records.record_file import read
from tconv.vocabulary import Attributes, DType
from wrong_backends import LOG, TROUBLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from small_corpus import Command

MANY = f"""{HEAD}
sweeps:
  - name: many
    axes: {{spatial: {[[size] for size in range(2, 26)]}, strides: [1, 2, 3, 7]}}
"""
"""96 cases, a quarter of which are too much for some backends."""


def cases(folder: Path, text: str = MANY) -> list[Case]:
    """Return the cases of a case file's text."""
    return list(Corpus.load(written(folder, text)).cases())


def bodies(path: Path) -> list[str]:
    """Return a record file's lines after the header, sorted, without the seconds."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines()[1:])
    return sorted(json.dumps(line | {"seconds": 0}, sort_keys=True) for line in lines)


# What the client does, with workers that are functions.


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> type[Client]:
    """Return the class of clients of which `Cluster` makes one."""

    class Own(Client):
        introductions = {"tcp://a": introduction(), "tcp://b": introduction()}  # noqa: RUF012 - a test sets it
        answer = staticmethod(agreed)
        deadly = frozenset()

    monkeypatch.setattr(cluster, "Client", Own)
    return Own


def cluster_of(folder: Path | None = None) -> Cluster:
    """Return a cluster of the client's workers."""
    return Cluster("tcp://s", Assignment(made_cluster.NAME, None, folder and str(folder), ""), TIMEOUT)


def test_every_case_has_one_line_and_few_chunks_are_on_their_way(
    client: type[Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of chunks on the cluster is bounded, however many there are."""
    monkeypatch.setattr(cluster, "LARGEST_CHUNK", 1)
    asked = cases(tmp_path)
    with cluster_of() as pool:
        lines = list(pool.run(asked))
    assert Counter(line.case for line in lines) == Counter(case.id for case in asked)
    assert len(client.last.chunks) == len(asked) > 2 * cluster.FEWEST_AHEAD
    assert client.last.most == cluster.FEWEST_AHEAD


def test_the_case_that_ends_dask_workers_is_found_and_has_died(client: type[Client], tmp_path: Path) -> None:
    """A chunk whose workers are lost often is halved until the case is alone; all others of it are judged, once."""
    asked = cases(tmp_path)
    client.deadly = frozenset({asked[0].id, asked[5].id, asked[50].id})
    with cluster_of() as pool:
        lines = list(pool.run(asked))
    assert Counter(line.case for line in lines) == Counter(case.id for case in asked)
    assert {line.case for line in lines if line.record.verdict.kind == "died"} == client.deadly
    # To be alone on the cluster is what shows who it was.
    assert all([case] in client.last.chunks for case in client.deadly)


def test_cases_that_a_worker_leaves_out_are_asked_again(client: type[Client], tmp_path: Path) -> None:
    """A worker ends a chunk early where its artifacts are large."""
    client.answer = staticmethod(lambda chunk: agreed(chunk[: (len(chunk) + 1) // 2]))
    asked = cases(tmp_path)
    with cluster_of() as pool:
        lines = list(pool.run(asked))
    assert Counter(line.case for line in lines) == Counter(case.id for case in asked)


def test_an_artifact_has_the_name_that_its_case_gives_it(
    client: type[Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's name for a file leads nowhere, and what is larger than an artifact may be is not written."""
    monkeypatch.setattr(artifacts, "_LARGEST_FILE", 4)
    first, second, *_ = asked = cases(tmp_path)
    small, large = (artifacts.file_name((made_cluster.NAME, made_cluster.DIALECT, case.id)) for case in (first, second))
    files = {small: b"1234", large: b"12345", "../evil.npz": b"1", "evil.npz": b"1"}
    client.answer = staticmethod(lambda chunk: agreed(chunk).model_copy(update={"artifacts": files}))
    folder = tmp_path / "out"
    with cluster_of(folder) as pool:
        list(pool.run(asked))
    assert [path.relative_to(folder).as_posix() for path in folder.rglob("*.npz")] == [f"artifacts/{small}"]
    assert not list(tmp_path.glob("*.npz"))


def other_cases(_: Sequence[Case]) -> Reply:
    """Return an answer to what was not asked."""
    return Reply(lines=(("another", "{}"),))


def each_twice(chunk: Sequence[Case]) -> Reply:
    """Return the lines of cases, and again."""
    return Reply(lines=agreed(chunk).lines * 2)


@pytest.mark.parametrize("answer", [other_cases, each_twice, lambda _: Reply()], ids=["others", "twice", "none"])
def test_an_answer_to_something_else_ends_the_run(client: type[Client], tmp_path: Path, answer: object) -> None:
    """Lines of other cases, two of a case, and none at all, are no answer; the run does not ask forever."""
    client.answer = staticmethod(answer)  # type: ignore[arg-type] # one of the parameters
    with cluster_of() as pool, pytest.raises(TconvError, match="must answer cases that it was sent"):
        list(pool.run(cases(tmp_path)))


@pytest.mark.parametrize(
    ("name", "error"),
    [("BackendLost", BackendLost), ("BackendMissing", BackendMissing), ("KeyError", RuntimeError)],
)
def test_an_error_of_a_worker_is_raised_here(
    client: type[Client], tmp_path: Path, name: str, error: type[Exception]
) -> None:
    """Under its name where it is the backend's; anything else is a failure of tconv."""
    client.answer = staticmethod(lambda _: Reply(error=(name, "it is gone")))
    with cluster_of() as pool, pytest.raises(error, match="it is gone"):
        list(pool.run(cases(tmp_path)))


def test_a_cluster_without_workers_ends_the_run(
    client: type[Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last worker is lost, and none comes within a while."""
    monkeypatch.setattr(cluster, "_WORKER_SECONDS", 0.01)
    monkeypatch.setattr(made_cluster.Future, "add_done_callback", lambda *_: None)
    with cluster_of() as pool:
        client.introductions = {}
        with pytest.raises(ClusterError, match=r"^tcp://s must have a dask worker \(the last one is lost\)$"):
            list(pool.run(cases(tmp_path)))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (introduction("1.1"), "backend.version is '1.1' on tcp://b, '1.0' on tcp://a"),
        (introduction(simd="avx2"), "backend.machine.simd is 'avx2' on tcp://b, '' on tcp://a"),
        (introduction().model_copy(update={"tconv": "0"}), f"tconv is '0' on tcp://b, '{__version__}' on tcp://a"),
    ],
    ids=["version", "simd", "tconv"],
)
def test_workers_that_differ_are_refused(client: type[Client], other: object, words: str) -> None:
    """The message says in what, and who they are."""
    client.introductions |= {"tcp://b": other}  # type: ignore[dict-item] # an introduction
    with pytest.raises(ClusterError) as refused:
        cluster_of()
    assert str(refused.value).startswith("every dask worker must judge alike (")
    assert words in str(refused.value)


def test_the_workers_of_another_tconv_than_the_clients_are_refused(client: type[Client]) -> None:
    """They are alike among themselves; the client makes the cases and the header."""
    other = introduction().model_copy(update={"platform": {"python": "3.1"}})
    client.introductions = {"tcp://a": other, "tcp://b": other}
    with pytest.raises(ClusterError, match=r"platform\.python is '3\.1' on the workers, '.*' on this machine"):
        cluster_of()


def test_a_worker_without_tconv_is_named(client: type[Client]) -> None:
    """What cannot be unpickled there is the function of ours."""
    client.introductions |= {"tcp://b": ModuleNotFoundError("No module named 'tconv'")}
    with pytest.raises(ClusterError, match=rf"must have tconv {__version__} \(tcp://b answers ModuleNotFoundError: No"):
        cluster_of()


def test_machines_may_differ_in_what_no_kernel_is_chosen_by(client: type[Client]) -> None:
    """The header has the facts of all."""
    client.introductions = {"tcp://a": introduction(cores="2", simd="a"), "tcp://b": introduction(cores="8", simd="a")}
    with cluster_of() as pool:
        assert pool.backend.machine == {"cores": "2 | 8", "simd": "a"}
    assert not differences(dict(enumerate(client.introductions.values())))  # type: ignore[arg-type] # any names do
    assert joined([introduction(cores="8"), introduction(cores="8")]).backend.machine == {"cores": "8"}


def test_machines_may_differ_in_whether_they_let_a_runtime_be_confined() -> None:
    """That is the system's choice, and no answer depends on it."""
    free = introduction()
    backend = free.backend.model_copy(update={"environment": {"isolated": "yes"}})
    parties = {"a": free, "b": free.model_copy(update={"backend": backend})}
    assert not differences(parties)
    assert joined(list(parties.values())).backend.environment == {"isolated": "no | yes"}


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
    assert done.stderr.splitlines()[-1].startswith(
        "tconv: tcp://127.0.0.1:1 must be a dask scheduler with workers (got"
    )


def test_without_dask_the_extra_is_named(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a backend whose runtime is not installed."""
    written(tmp_path)
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "tconv.execution.cluster")
    monkeypatch.delattr("tconv.execution.cluster")
    done = command("run", "--cases", "small.yaml", "--dask", "tcp://127.0.0.1:1")
    assert done.returncode == 3
    assert f"install it with: {installing(['dask'])}\n" in done.stderr


def test_a_dialect_of_the_callers_own_is_refused() -> None:
    """Only a name travels, and the worker would take another dialect for it."""
    own = replace(DIALECTS[made_cluster.DIALECT], disputed=())
    with pytest.raises(UsageError, match="a cluster must be given a dialect of tconv's own"):
        Cluster("tcp://s", Assignment("acme", own, None, ""), TIMEOUT)


# What a dask worker does, in this process.


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Order]:
    """Return an order whose pools are ended afterwards; what they write is below the test's folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    order = Order(run="a-run", dialect=None, timeout=TIMEOUT, settings={"backend": "wrong_backends:PadsSwapped"})
    yield order
    dask_worker._close([order.run])
    dask_worker._ended.clear()


def test_cases_that_were_sent_share_their_parts_again() -> None:
    """They are the same cases; what is equal but not the same stays apart: zeros of either sign, and NaN."""
    sent = [
        *Selection(Corpus.load(), "smoke", ("groups/**", "bias/**")).stream(),
        *(Case(f"a/b/{n}", Attributes(), zero, zero) for n, zero in enumerate((written_out(0.0), written_out(-0.0)))),
        Case("a/b/nan", Attributes(), written_out(nan), written_out(nan), written_out(nan)),
    ]
    came = cases_of(CASES.dump_json(sent))
    assert [repr(case) for case in came] == [repr(replace(case, facts={})) for case in sent]
    for part in ("attributes", "cites", "about"):
        found = [getattr(case, part) for case in came]
        assert len(set(map(id, found))) == len(set(found))
    for part in ("x", "w", "b"):
        recipes = [operand for case in came if (operand := getattr(case, part)) and not operand.values]
        assert len(set(map(id, recipes))) == len(set(recipes)) < len(recipes)


def written_out(value: float) -> Operand:
    """Return an operand of one element whose value is written."""
    return Operand((1, 1, 1), DType.F32, "values", values=(value,))


def json_of(order: Order) -> bytes:
    """Return an order as it travels."""
    return order.model_dump_json().encode()


def chunk_reply(order: Order, said: object, chunk: Sequence[Case]) -> Reply:
    """Return what a worker replies to a chunk."""
    text = said.model_dump_json().encode()  # type: ignore[attr-defined] # an introduction
    return Reply.model_validate_json(dask_worker.run_chunk(json_of(order), text, CASES.dump_json(list(chunk))))


PADDED = (
    f"{HEAD}sweeps: [{{name: padded, axes: {{spatial: {[[n] for n in range(2, 50)]}}}, with: {{pads_begin: 1}}}}]\n"
)
"""48 cases that `PadsSwapped` answers wrongly."""


def test_a_worker_keeps_its_pool_until_the_run_ends(order: Order, tmp_path: Path) -> None:
    """A runtime is loaded once for all chunks; the artifacts come with the lines and stay nowhere."""
    said = answered(dask_worker.introduce(json_of(order))).introduction
    assert said is not None
    (pool,) = dask_worker._idle[order.run]
    chunk = cases(tmp_path, PADDED)[:3]
    reply = chunk_reply(order, said, chunk)
    assert [case for case, _ in reply.lines] == [case.id for case in chunk]
    named = {artifacts.file_name(("PadsSwapped", made_cluster.DIALECT, case.id)) for case in chunk}
    assert reply.artifacts.keys() == named
    assert chunk_reply(order, said, chunk).artifacts == reply.artifacts
    assert dask_worker._idle[order.run] == [pool]
    assert pools_below(tmp_path)
    end(order.run)
    assert order.run not in dask_worker._idle
    assert not pools_below(tmp_path)
    error = chunk_reply(order, said, chunk).error
    assert error == ("ClusterError", "the run has ended")
    assert not pools_below(tmp_path)


def end(run: str) -> None:
    """End a run."""
    asyncio.run(dask_worker.end(run))


def test_another_run_ends_the_pools_of_a_client_that_is_gone(order: Order) -> None:
    """A client that was killed has not ended its run; its pools do not stay for ever."""
    answered(dask_worker.introduce(json_of(order)))
    other = order.model_copy(update={"run": "another"})
    answered(dask_worker.introduce(json_of(other)))
    assert list(dask_worker._idle) == ["another"]
    end("another")


def test_large_artifacts_cut_a_chunk_short(order: Order, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply is bounded; the client asks for the rest again."""
    monkeypatch.setattr(dask_worker, "MOST_BYTES", 1)
    said = answered(dask_worker.introduce(json_of(order))).introduction
    asked = cases(tmp_path, PADDED)
    reply = chunk_reply(order, said, asked)
    assert len(reply.lines) == len(reply.artifacts) == CHUNK < len(asked)


def test_a_worker_that_comes_later_and_differs_refuses(order: Order, tmp_path: Path) -> None:
    """It was not there when the workers were compared, so it compares itself."""
    reply = chunk_reply(order, introduction(), cases(tmp_path)[:1])
    assert reply.error is not None
    assert reply.error[0] == "ClusterError"
    assert "backend.name is 'PadsSwapped' on " in reply.error[1]
    assert not pools_below(tmp_path)


def test_a_backend_that_is_not_there_is_told(order: Order) -> None:
    """By the error that a local run has."""
    missing = order.model_copy(update={"settings": {"backend": "wrong_backends:Nobody"}})
    error = answered(dask_worker.introduce(json_of(missing))).error
    assert error is not None
    assert error[0] == "BackendMissing"


# A real cluster: a scheduler and workers, each a process.


def run_on(address: str, folder: Path, backend: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the corpus of a folder on a cluster."""
    where = ("--cases", "small.yaml", "--backend", f"wrong_backends:{backend}", "--timeout", "3", "--output", "there")
    return tconv(folder, "run", *where, "--dask", address, *more)


def started_on(address: str, folder: Path, backend: str, lines: int) -> tuple[subprocess.Popen[str], Path]:
    """Start a run on a cluster, wait for its first lines, and return it with its record file."""
    where = ["--cases", "small.yaml", "--backend", f"wrong_backends:{backend}", "--timeout", "3", "--output", "there"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tconv", "run", *where, "--dask", address],
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


@pytest.mark.thorough
def test_a_cluster_that_loses_a_worker_gives_the_records_of_a_local_run(tmp_path: Path) -> None:
    """One of two workers is killed in the middle: its chunk is run again, and nothing is lost or doubled.

    The artifacts of wrong outputs are there too, byte for byte; and what the killed worker started ends with it.
    """
    text = MANY.replace("[1, 2, 3, 7]", "[1, 2, 5]") + "cases: [{name: trouble, with: {strides: 7}}]\n"
    local = records("SlowAndVarious", tmp_path, text)
    with processes(tmp_path / "cluster", 2, "--no-nanny") as cluster_:
        process, path = started_on(cluster_.address, tmp_path, "SlowAndVarious", 10)
        assert are_there(tmp_path, 1)
        os.kill(cluster_.workers[0].pid, signal.SIGKILL)
        out, err = process.communicate()
        assert process.returncode == 1, err
        assert "Traceback" not in out + err
        assert none_is_left(tmp_path)
    assert bodies(path) == bodies(local)
    assert read(path).header.continues(read(local).header)
    files = {file.name: file.read_bytes() for file in (path.parent / "artifacts").iterdir()}
    assert files == {file.name: file.read_bytes() for file in (local.parent / "artifacts").iterdir()}
    assert files


@pytest.mark.thorough
def test_a_case_that_ends_the_dask_worker_itself_has_died(tmp_path: Path) -> None:
    """It takes worker after worker with it, which dask's nanny starts again; all other cases are judged."""
    few = MANY.replace(str([[size] for size in range(2, 26)]), "[[2], [3], [4], [5]]")
    asked = cases(tmp_path, few)
    with processes(tmp_path / "cluster", 2, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1") as cluster_:
        assert run_on(cluster_.address, tmp_path, "EndsItsParent").returncode == 1
    (path,) = (tmp_path / "there").glob("*.jsonl")
    kinds = {record.case: record.verdict.kind for record in read(path).records}
    assert kinds == {
        case.id: "died" if case.attributes.strides == (TROUBLE,) and case.x.shape[-1] == 3 else "agreed"
        for case in asked
    }


@pytest.mark.thorough
def test_ctrl_c_leaves_nothing_on_the_cluster_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    """130, whole records, no process of a pool left on the workers; --resume asks the rest, and only the rest."""
    asked, log = cases(tmp_path), tmp_path / "log"
    with processes(tmp_path / "cluster", 2, "--no-nanny", **{LOG: str(log)}) as cluster_:
        process, path = started_on(cluster_.address, tmp_path, "Slow", 10)
        assert are_there(tmp_path, 2)
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
        assert run_on(cluster_.address, tmp_path, "Slow", "--resume").returncode == 0
        assert {record.case for record in read(path).records} == {case.id for case in asked}
    calls = [line for line in log.read_text().splitlines() if line.split()[1] != "None"]
    assert len(calls) == len(asked) - before


@pytest.mark.thorough
def test_a_scheduler_that_is_gone_ends_the_run(tmp_path: Path) -> None:
    """Exit code 3 and a sentence, whole records, and no process of a pool left on the worker."""
    cases(tmp_path)
    with processes(tmp_path / "cluster", 1, "--no-nanny") as cluster_:
        process, path = started_on(cluster_.address, tmp_path, "Slow", 10)
        cluster_.scheduler.kill()
        _, err = process.communicate()
        assert process.returncode == 3
        assert err.splitlines()[-1].startswith(f"tconv: {cluster_.address} must be a dask scheduler with workers (got")
        assert "Traceback" not in err
        assert none_is_left(tmp_path)
    assert 0 < len(read(path).records) < 96


@pytest.mark.thorough
def test_workers_with_other_kernels_are_refused_before_the_first_case(tmp_path: Path) -> None:
    """A variable that chooses kernels is set on one of the workers: exit code 3, and no record file."""
    cases(tmp_path)
    with processes(tmp_path / "cluster", 1, "--no-nanny") as cluster_:
        cluster_.worker("--no-nanny", ONEDNN_MAX_CPU_ISA="AVX2")
        cluster_.await_workers()
        done = run_on(cluster_.address, tmp_path, "Right")
        assert done.returncode == 3
        assert "every dask worker must judge alike (backend.environment.ONEDNN_MAX_CPU_ISA is" in done.stderr
        assert not list((tmp_path / "there").glob("*.jsonl"))
