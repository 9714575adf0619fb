"""A run loses nothing and does nothing twice, whatever its workers, its user and its machine do."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import numpy as np
import pytest

from left_behind import gone, having
from small_corpus import (
    BARE_HEAD,
    HEAD,
    TIMEOUT,
    bodies,
    environment,
    record_file,
    records,
    settings,
    tconv,
    written,
)
from tconv.backends import outcome as out
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.dialects.rules import Same
from tconv.errors import BackendLost, BackendMissing, FileError
from tconv.execution.asking import Asking
from tconv.execution.call import changed
from tconv.execution.pool import Pool
from tconv.execution.queue import CHUNK
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.execution.supervisor import WorkerProcess
from tconv.records.headers import WaiversHeader
from tconv.records.record import FreshAnswer
from tconv.records.record_file import read
from tconv.verdict import kinds as ver
from wrong_backends import LOG, SPOKEN, TROUBLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tconv.cases.case import Case

SIZES = range(2, 26)
STRIDES = range(1, 13)
GRID = f"""{HEAD}
sweeps:
  - name: grid
    axes:
      spatial: {[[size] for size in SIZES]}
      strides: {list(STRIDES)}
"""
"""Hundreds of cases; those of stride 7 are too much for some backends."""
EIGHT = GRID.replace(str([[size] for size in SIZES]), str([[size] for size in SIZES[:8]]))
"""Three chunks: the trouble stands at every place of a chunk at which it stands in the whole grid."""
FEW = f"""{HEAD}
sweeps:
  - name: few
    axes: {{spatial: [[2], [3], [4]], strides: [1, 2, 3, 4]}}
"""
DEADLY = FEW.replace("[1, 2, 3, 4]", f"[1, {TROUBLE}]")
"""Three cases, and three with the stride of trouble."""
MANY = f"""{HEAD}
sweeps:
  - name: many
    axes: {{spatial: {[[size] for size in range(2, 32)]}, strides: [1, 2, 3, 4]}}
"""


def calls(path: Path) -> Counter[str]:
    """Return how often each call of a backend's log was made."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return Counter(line.partition(" ")[2] for line in lines)


def pool_of(backend: str, jobs: int = 1, timeout: float = TIMEOUT) -> Pool:
    return Pool(Asking(f"wrong_backends:{backend}", timeout=timeout), jobs)


def cases(folder: Path, text: str) -> list[Case]:
    return list(Corpus.load(written(folder, text)).cases())


def test_two_workers_lose_and_double_nothing_through_deaths_and_hangs(tmp_path: Path) -> None:
    asked = cases(tmp_path, GRID)
    with pool_of("DiesAndHangs", jobs=2, timeout=1.5) as pool:
        lines = list(pool.run(asked))
    assert len(asked) == len(SIZES) * len(STRIDES) > 2 * CHUNK
    assert Counter(record.case for record in lines) == Counter(case.id for case in asked)
    kinds = {record.case: record.verdict.kind for record in lines}
    for case in asked:
        expected, size = "agreed", case.x.shape[-1]
        if case.attributes.strides == (TROUBLE,) and size % 2 == 0:
            expected = "timed-out" if size % 8 == 0 else "crashed"
        assert kinds[case.id] == expected, case.id


@pytest.mark.parametrize("last", [TROUBLE, TROUBLE + 1])
def test_a_death_after_the_answer_is_told_wherever_the_case_stands(tmp_path: Path, last: int) -> None:
    asked = cases(tmp_path, FEW.replace("[1, 2, 3, 4]", f"[1, {', '.join(map(str, range(TROUBLE, last + 1)))}]"))
    died = {case.id for case in asked if case.attributes.strides == (TROUBLE,)}
    assert died
    with pool_of("DiesAfterwards") as pool:
        assert {record.case for record in pool.run(asked) if record.verdict.kind == "crashed"} == died
    for case in asked[:3]:
        with pool_of("DiesAfterwards") as pool:
            (record,) = pool.run([case])
        assert record.verdict.kind == ("crashed" if case.id in died else "agreed")


LOST = ver.Crashed("closed or spoilt the journal of its worker, and went on", "")


@pytest.mark.parametrize(
    ("backend", "repeat", "verdict"),
    [
        # The case that is being prepared has the verdict, confirmed alone; the one that agreed before it still does.
        ("PreparationDies", 1, ver.Crashed("SIGKILL", "")),
        ("DiesOfTheSecondCall", 2, ver.Crashed("SIGABRT", "")),
        # What it writes into pipes is not believed; who cannot write any more has died of the case.
        ("WritesIntoPipes", 1, ver.Agreed("exact")),
        ("UnblocksItsPipes", 1, ver.Agreed("exact")),
        ("ClosesItsJournal", 1, ver.Crashed),
        # The cases whose records were lost with it are asked again, each alone.
        ("LosesItsRecord", 1, LOST),
    ],
)
def test_what_a_runtime_does_to_its_process_costs_no_other_case(
    backend: str, repeat: int, verdict: ver.Verdict | type[ver.Verdict], tmp_path: Path
) -> None:
    asked = cases(tmp_path, DEADLY)
    with Pool(Asking(f"wrong_backends:{backend}", timeout=TIMEOUT, repeat=repeat)) as pool:
        records = list(pool.run(asked))
    assert sorted(record.case for record in records) == sorted(case.id for case in asked)
    for record in records:
        assert record.alone is None
        assert record.verdict.kind == "agreed" or "strides=7" in record.case
        assert "strides=7" not in record.case or verdict in (record.verdict, type(record.verdict))


@pytest.mark.parametrize(("is_logged", "kind"), [(True, "agreed"), (False, "crashed")])
def test_a_death_before_a_case_is_its_verdict_if_it_comes_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, is_logged: bool
) -> None:
    """A worker that ends before it begins is replaced once, as nothing ran; with a log the backend does so once."""
    if is_logged:
        monkeypatch.setenv(LOG, str(tmp_path / "log"))
    asked = cases(tmp_path, FEW)[:3]
    with pool_of("DiesUnasked") as pool:
        found = [(record.case, record.verdict.kind, record.alone) for record in pool.run(asked)]
    assert found == [(case.id, kind, None) for case in asked]


def test_a_death_that_a_case_alone_does_not_repeat_is_not_its_verdict(tmp_path: Path) -> None:
    asked = cases(tmp_path, EIGHT)
    with pool_of("DiesOfTheCaseBefore") as pool:
        lines = list(pool.run(asked))
    assert Counter(record.case for record in lines) == Counter(case.id for case in asked)
    after = {case.id for case in asked if case.attributes.strides == (TROUBLE + 1,)}
    ended = {record.case: record for record in lines if record.alone}
    assert {record.verdict.kind for record in lines if record.case not in ended} == {"agreed"}
    assert {(record.verdict, record.alone) for record in ended.values()} == {
        (ver.Crashed("SIGSEGV", ""), FreshAnswer("agreed", same=False))
    }
    assert after == ended.keys()


def test_a_harmed_process_tells_which_cases_it_was_asked_before(tmp_path: Path) -> None:
    """Those that may have harmed it: in this process, before it died, and not answered as they should."""
    asked = cases(tmp_path, EIGHT)
    with pool_of("HarmsAsItErrs") as pool:
        records = list(pool.run(asked))
    strides = {case.id: case.attributes.strides for case in asked}
    assert {strides[record.case] for record in records if record.verdict.kind == "differed"} == {(5,), (TROUBLE,)}
    harmed = [record for record in records if record.alone]
    assert len(harmed) > 2
    for record in harmed:
        # A process dies at the first call after a harm.
        harms = [case for case in record.earlier if strides[case] in {(5,), (TROUBLE,)}]
        assert harms == [record.earlier[-1]]
        assert record.case not in record.earlier
    assert any(len(record.earlier) == 1 for record in harmed)
    assert not any(record.earlier for record in records if not record.alone)


def test_after_a_death_a_case_is_asked_alone_once(tmp_path: Path) -> None:
    asked = cases(tmp_path, EIGHT)
    with pool_of("DiesOfTheSecondCall") as pool:
        died = [record for record in pool.run(asked) if record.verdict.kind == "crashed"]
    assert died
    assert {record.alone for record in died} == {FreshAnswer("agreed", same=False)}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_failures_are_asked_again_after_a_death(tmp_path: Path, jobs: str) -> None:
    command = [sys.executable, "-m", "tconv", "run", "--cases", str(written(tmp_path)), "-j", jobs]
    command += ["--backend", "wrong_backends:AbortsAndDoublesBias"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    (file,) = tmp_path.glob("reports/*.jsonl")
    found = {record.case: record for record in read(file).records}
    assert found["small/trouble"].verdict.kind == "crashed"
    assert found["small/plain"].alone == FreshAnswer("differed", same=True)


def test_the_first_death_of_a_process_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was asked behind it, before it was judged, is no reason to; a death behind others is asked again alone."""
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    asked = cases(tmp_path, FEW.replace("[1, 2, 3, 4]", f"[{TROUBLE}, 1, 2]"))[:5]
    with pool_of("SaysThatItDied") as pool:
        records = {record.case: record for record in pool.run(asked)}
    deadly = [case for case in asked if case.attributes.strides == (TROUBLE,)]
    assert deadly == [asked[0], asked[3]]
    assert {case for case, record in records.items() if record.verdict.kind == "crashed"} == {
        case.id for case in deadly
    }
    made = calls(tmp_path / "log")
    assert [made[f"({TROUBLE},) {case.x.shape}"] for case in deadly] == [1, 2]


def test_every_death_is_repeated_in_a_process_that_was_asked_nothing_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process is asked nothing after what it died of, and each deadly case was the first of some process."""
    log = tmp_path / "log"
    monkeypatch.setenv(LOG, str(log))
    asked = cases(tmp_path, EIGHT)
    deadly = [case for case in asked if case.attributes.strides == (TROUBLE,)]
    with pool_of("Aborts", jobs=2) as pool:
        kinds = {record.case: record.verdict.kind for record in pool.run(asked)}
    assert kinds == {case.id: "crashed" if case in deadly else "agreed" for case in asked}
    ended = [line.split(maxsplit=1) for line in log.read_text(encoding="utf-8").splitlines()]
    first, last = dict(reversed(ended)), dict(ended)
    assert set(first.values()) >= {f"({TROUBLE},) {case.x.shape}" for case in deadly}
    assert all(sum(who == process and what.startswith(f"({TROUBLE},)") for who, what in ended) <= 1 for process in last)


def test_nothing_is_left_of_a_pool(tmp_path: Path) -> None:
    asked = cases(tmp_path, DEADLY)
    with pool_of("Right"):
        pass
    before, opened = set(children_of_zygote()), len([*Path("/proc/self/fd").iterdir()])
    with pool_of("Aborts", jobs=2) as pool:
        kinds = [record.verdict.kind for record in pool.run(asked)]
        again = [record.verdict.kind for record in pool.run(asked)]
        assert len(set(children_of_zygote()) - before) <= 2
    assert sorted(again) == sorted(kinds) == ["agreed"] * 3 + ["crashed"] * 3
    assert set(children_of_zygote()) == before
    assert len([*Path("/proc/self/fd").iterdir()]) == opened


def children_of_zygote() -> list[int]:
    (own,) = [each for each in descendants(os.getpid()) if b"zygote" in Path(f"/proc/{each}/cmdline").read_bytes()]
    return descendants(own)


def descendants(process: int) -> list[int]:
    """Return the children of a process that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, above = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            if above == str(process) and state != "Z":
                found.append(int(path.parent.name))
    return found


def test_a_death_keeps_the_lines_that_say_why(tmp_path: Path) -> None:
    (died,) = [r for r in read(records("Panics", tmp_path)).records if r.verdict.kind == "crashed"]
    assert isinstance(died.verdict, ver.Crashed)
    assert len(died.verdict.stderr) < 2500
    assert "panicked at" in died.verdict.stderr
    assert "attempt to subtract with overflow" in died.verdict.stderr


@pytest.mark.parametrize("method", ["yes", "no"], ids=["forked", "interpreter"])
def test_the_last_words_of_a_backend_in_python_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setenv("TCONV_FORK", method)
    (died,) = [r for r in read(records("ExitsInWords", tmp_path)).records if r.verdict.kind == "crashed"]
    assert isinstance(died.verdict, ver.Crashed)
    assert died.verdict.stderr.splitlines()[-2:] == ["the licence has ended", "no licence"]


def test_answers_that_differ_are_unstable(tmp_path: Path) -> None:
    path = written(tmp_path, DEADLY)
    for repeat, kind in ((1, "differed"), (2, "unstable")):
        settings = RunSettings(Asking("wrong_backends:Wavers", timeout=TIMEOUT, repeat=repeat), tmp_path / str(repeat))
        finished = read(run(Selection(Corpus.load(path)), settings, lambda *_: None).path)
        kinds = {record.case: record.verdict.kind for record in finished.records}
        assert set(kinds.values()) == {"agreed", kind}
        assert {case for case, case_kind in kinds.items() if case_kind == kind} == {
            case for case in kinds if "strides=7" in case
        }
        assert finished.header.repeat == repeat


def test_an_unstable_answer_is_told_by_where_it_changes() -> None:
    before = np.arange(60.0, dtype=np.float32).reshape(1, 3, 20)
    after = before.copy()
    after[0, 2, 5:7] += 0.5
    assert changed(out.Produced(before), out.Produced(after)) == (
        "2 of 60 elements of float32 [1, 3, 20] change; as they came, [0, 2, 5] is 45, and then 45.5"
    )
    assert changed(out.Produced(before), out.Refused("no")) == (
        "float32 [1, 3, 20] beginning with [0.0, 1.0, 2.0, 3.0], and then refused: Refused(message='no')"
    )


def test_an_answer_that_lies_unread_is_in_time(tmp_path: Path) -> None:
    """Whoever takes the lines may be slower than the timeout; that is no silence of the other worker's."""
    asked = cases(tmp_path, MANY)[: CHUNK + 8]
    with pool_of("Slow", jobs=2, timeout=1.0) as pool:
        # Until both are there, so that both are at work when the first line is taken.
        for _ in range(20):
            if [bool(worker.introduction) for worker in pool._workers] != [True, True]:
                list(pool.run(asked))
        kinds: list[str] = []
        for record in pool.run(asked):
            sleep(0 if kinds else 1.5)
            kinds.append(record.verdict.kind)
    assert kinds == ["agreed"] * len(asked)


def test_a_run_that_was_broken_off_anywhere_is_resumed_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut the record file at any byte: a resumed run asks what is missing, once, and nothing else."""
    log = tmp_path / "log"
    monkeypatch.setenv(LOG, str(log))
    path = records("PadsSwapped", tmp_path, FEW)
    whole, complete, once = path.read_bytes(), bodies(path), calls(log)
    lines = whole.splitlines(keepends=True)
    first = len(lines[0])
    edges = {0, 1, first - 1, first, first + 1, first + len(lines[1]), len(whole) - 1, len(whole)}
    anywhere = random.Random(22).sample(range(len(whole)), 6)  # noqa: S311 - the same places in every run
    for cut in sorted(edges | set(anywhere)):
        log.unlink(missing_ok=True)
        path.write_bytes(whole[:cut])
        kept = max(whole[:cut].count(b"\n") - 1, 0)
        assert records("PadsSwapped", tmp_path, FEW, resume=True) == path
        assert bodies(path) == complete, cut
        assert len(read(path).records) == len(complete)
        assert calls(log) <= once, cut
        assert calls(log).total() == len(complete) - kept, cut


def test_a_resumed_run_changes_nothing_that_was_written(tmp_path: Path) -> None:
    """The header says how the run began: what may differ, as waivers and confinement, is no reason to write it anew."""
    path = records("Right", tmp_path)
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    header = json.loads(first)
    header["run"]["started"] = "2026-01-01T00:00:00+00:00"
    header["run"]["backend"]["environment"]["isolated"] = "by namespaces"
    written = "".join([json.dumps(header) + "\n", *rest[:-1]])
    path.write_text(written + rest[-1][:9], encoding="utf-8")
    again = replace(settings("Right", tmp_path, resume=True), waivers=lambda _: WaiversHeader(file="a.yaml"))
    resumed = run(Selection(Corpus.load(tmp_path / "small.yaml")), again, lambda *_: None)
    assert path.read_text(encoding="utf-8").startswith(written)
    assert len(resumed.records) == len(read(path).records) == len(rest)


def test_a_run_of_something_else_is_not_resumed(tmp_path: Path) -> None:
    """Another corpus, tier or timeout makes another header: refused, and the file stays as it is."""
    path = records("Right", tmp_path, FEW)
    before = path.read_bytes()
    corpus = Corpus.load(tmp_path / "small.yaml")
    again = settings("Right", tmp_path, resume=True)
    slower = replace(again, asking=replace(again.asking, timeout=TIMEOUT + 1))
    other = Corpus.load(written(tmp_path, FEW + "# changed\n"))
    for selection, how in [
        (Selection(corpus, "full"), again),
        (Selection(corpus), slower),
        (Selection(other), again),
    ]:
        with pytest.raises(FileError, match="must be of the same run to be resumed") as refused:
            run(selection, how, lambda *_: None)
        assert ("timeout 3.0 -> 4.0" in str(refused.value)) == (how is slower)
        assert path.read_bytes() == before
    # Of the same run, but with a case that it does not have. Its header would be that of the run that resumes it.
    foreign = before.replace(b'"case":"small/few[', b'"case":"small/gone[', 1)
    assert foreign != before
    path.write_bytes(foreign + b'{"case":')
    waived = replace(again, waivers=lambda _: WaiversHeader(file="a.yaml"))
    with pytest.raises(FileError, match="a record must be of a case that the header selects"):
        run(Selection(corpus), waived, lambda *_: None)
    assert path.read_bytes() == foreign + b'{"case":'


def test_a_part_of_the_corpus_has_a_record_file_of_its_own(tmp_path: Path) -> None:
    path = records("Right", tmp_path, FEW)
    before = path.read_bytes()
    part = Selection(Corpus.load(tmp_path / "small.yaml"), patterns=("small/few[strides=1]",))
    other = run(part, settings("Right", tmp_path), lambda *_: None).path
    assert len(read(other).records) == 3
    assert path.read_bytes() == before


SAME = "cases:\n  - {name: same, with: {spatial: [3], kernel: [3], strides: 2, auto_pad: same_upper}}\n"


def test_a_pool_speaks_the_dialect_that_it_is_given(tmp_path: Path) -> None:
    known = DIALECTS["onnx/ConvTranspose-22"]
    own = replace(known, answers={**known.answers, "same": Same.NO_PADDING.by("its own")}, disputed=())
    (case,) = Corpus.load(written(tmp_path, BARE_HEAD + SAME)).cases()
    kinds = []
    for dialect in (known, own):
        with Pool(Asking("onnxruntime", dialect, timeout=TIMEOUT)) as pool:
            kinds.append(pool.record(case).verdict.kind)
    assert kinds == ["agreed", "wrong-shape"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as Linux shows them")
@pytest.mark.parametrize("method", ["yes", "no"], ids=["forked", "interpreter"])
def test_a_worker_has_one_thread_and_a_runtime_the_number_that_the_user_wants(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCONV_FORK", method)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with pool_of("TellsThreads") as pool:
        told = pool.backend.environment
    assert (told["threads"], told["wanted"]) == ("1", "7")
    assert os.environ["OMP_NUM_THREADS"] == "7"


def test_what_workers_print_reaches_no_output_of_ours(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = records("Prints", tmp_path, FEW)
    assert {record.verdict.kind for record in read(path).records} == {"agreed"}
    out, err = capfd.readouterr()
    assert SPOKEN not in out + err


def test_a_worker_that_is_gone_when_it_is_started_again_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backend that dies and then cannot be had any more is missing, which is no verdict on the cases left."""
    asked = cases(tmp_path, DEADLY)
    source = "from wrong_backends import IsKilled\nclass Once(IsKilled):\n    pass\n"
    module = tmp_path / "only_once.py"
    module.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with Pool(Asking("only_once:Once", timeout=TIMEOUT)) as pool:
        module.unlink()
        with pytest.raises(BackendMissing, match="No module named 'only_once'"):
            list(pool.run(asked))


def test_a_backend_that_is_another_one_after_a_death_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    asked = cases(tmp_path, DEADLY)
    died = next(case for case in asked if case.attributes.strides == (TROUBLE,))
    with pool_of("IsAnother") as pool, pytest.raises(BackendLost) as lost:
        list(pool.run(asked))
    assert f" after a worker had ended at {died.id}, and '1' before)" in str(lost.value)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux shows them")
def test_a_runtime_that_stops_the_process_above_costs_no_other_case(tmp_path: Path, mark: str) -> None:
    """No wait is without a limit: what does not answer is killed, and others are asked in workers of another one."""
    asked = cases(tmp_path, DEADLY)
    where = ("--cases", "small.yaml", "--backend", "wrong_backends:StopsItsParent", "--output", "out")
    assert tconv(tmp_path, "run", *where, TCONV_TEST_MARK=mark).returncode == 1
    assert gone(mark)
    found = {record.case: record for record in read(record_file(tmp_path, "StopsItsParent")).records}
    deadly = {case.id for case in asked if case.attributes.strides == (TROUBLE,) and case.x.shape[-1] == 3}
    assert {case for case, record in found.items() if record.verdict.kind == "crashed"} == deadly
    assert {record.verdict.kind for case, record in found.items() if case not in deadly} == {"agreed"}
    assert not any(record.alone for record in found.values())


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux shows them")
def test_a_signal_ends_a_run_whose_other_processes_are_stopped(tmp_path: Path, mark: str) -> None:
    """A stopped process hears no signal but the last one."""
    process, _ = started(tmp_path, mark)
    for each in set(having(mark)) - {process.pid}:
        os.kill(each, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert gone(mark)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found as Linux shows them")
def test_a_killed_zygote_is_the_verdict_of_no_case(tmp_path: Path, mark: str) -> None:
    process, path = started(tmp_path, mark)
    for _ in range(2):
        zygotes = [each for each in having(mark) if parent(each) == process.pid and leads_session(each)]
        os.kill(zygotes[0], signal.SIGKILL)
        sleep(1.5)
    process.communicate()
    found = read(path).records
    assert (process.returncode, len(found)) == (0, 120)
    assert {(record.verdict.kind, record.alone) for record in found} == {("agreed", None)}


def test_a_runtime_that_spoils_its_interpreter_ends_no_run(tmp_path: Path) -> None:
    written(tmp_path, DEADLY)
    where = ("--cases", "small.yaml", "--backend", "wrong_backends:EmptiesItsModules", "--output", "out")
    ended = tconv(tmp_path, "run", *where)
    assert (ended.returncode in {0, 1}, "Traceback" in ended.stderr) == (True, False)
    assert len(read(record_file(tmp_path, "EmptiesItsModules")).records) == 6


def started(
    folder: Path,
    mark: str,
    backend: str = "Slow",
    text: str = MANY,
    lines: int = 10,
    arguments: Sequence[str] = (),
    **more: str,
) -> tuple[subprocess.Popen[str], Path]:
    """Start a run that takes a while, wait for its first lines, and return it with its record file."""
    command = ["run", "--cases", str(written(folder, text)), "--backend", f"wrong_backends:{backend}", "-j", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tconv", *command, "--output", "out", *arguments],
        cwd=folder,
        env=environment(TCONV_TEST_MARK=mark, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    path = record_file(folder, backend)
    while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < lines):
        sleep(0.02)
    return process, path


@pytest.mark.parametrize(
    ("send", "number", "code", "word"),
    [
        pytest.param(os.kill, signal.SIGINT, 130, "interrupted", marks=pytest.mark.thorough),
        (os.killpg, signal.SIGINT, 130, "interrupted"),
        pytest.param(os.kill, signal.SIGTERM, 143, "terminated", marks=pytest.mark.thorough),
        (os.killpg, signal.SIGHUP, 129, "hung up"),
    ],
    ids=["SIGINT", "SIGINT-of-the-terminal", "SIGTERM", "SIGHUP-of-the-terminal"],
)
def test_a_signal_ends_a_run_that_can_be_resumed(
    send: Callable[[int, int], None], number: int, code: int, word: str, tmp_path: Path, mark: str
) -> None:
    """Its code, a sentence, whole records, no process left behind; --resume does the rest, and only the rest."""
    process, path = started(tmp_path, mark)
    assert len(having(mark)) > 2
    send(process.pid, number)
    _, err = process.communicate()
    assert process.returncode == code
    assert err.splitlines()[-1] == f"tconv: {word}; a run goes on from here by the same command with --resume"
    assert "Traceback" not in err
    assert gone(mark)
    kept = read(path).records
    assert 0 < len(kept) < 120
    log = tmp_path / "log"
    where = ("--cases", "small.yaml", "--backend", "wrong_backends:Slow", "-j", "2", "--output", "out")
    assert tconv(tmp_path, "run", *where, "--resume", **{LOG: str(log)}).returncode == 0
    assert len({record.case for record in read(path).records}) == len(read(path).records) == 120
    assert calls(log).total() == 120 - len(kept)


@pytest.mark.parametrize("backend", ["LeavesChild", "LeavesSession"])
def test_what_a_worker_started_ends_with_it(backend: str, tmp_path: Path, mark: str) -> None:
    where = ("--cases", str(written(tmp_path)), "--backend", f"wrong_backends:{backend}", "--timeout", "1")
    assert tconv(tmp_path, "run", *where, TCONV_TEST_MARK=mark).returncode == 1
    assert gone(mark)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
@pytest.mark.parametrize("killed", ["the run", "the process that forks workers"])
def test_what_a_deaf_worker_leaves_ends_with_the_run(tmp_path: Path, mark: str, killed: str) -> None:
    """Not the worker that hears no signal lives on, not the process it was forked from, not what has left its session.

    If the process that forks workers is killed, the run asks the cases again in workers of another one.
    """
    text = MANY.replace("strides: [1, 2, 3, 4]", f"strides: [1, {TROUBLE}]")
    process, _ = started(tmp_path, mark, "HangsWithSession", text, lines=1)
    while not (tmp_path / "hangs").exists():
        assert process.poll() is None
        sleep(0.02)
    if killed == "the run":
        process.kill()
    else:
        (server,) = [each for each in having(mark) if parent(each) == process.pid and leads_session(each)]
        os.kill(server, signal.SIGKILL)
        sleep(0.2)
        process.send_signal(signal.SIGINT)
    # What lives on may hold what it prints to.
    assert process.wait(timeout=60) == (-signal.SIGKILL if killed == "the run" else 130)
    assert gone(mark)
    process.communicate()


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def leads_session(process: int) -> bool:
    return os.getsid(process) == process


@pytest.mark.skipif(sys.platform != "linux", reason="a folder is removed while it is in use")
def test_a_worker_that_cannot_make_its_files_names_the_folder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A full disk, say, is no fault of the backend, and nothing of it is printed but by whoever started the run."""
    asked = cases(tmp_path, DEADLY)
    with pool_of("Aborts") as pool:
        shutil.rmtree(pool._folder.name)
        with pytest.raises(FileError, match=r"must be writable while cases run \(No such file"):
            list(pool.run(asked))
    assert capfd.readouterr() == ("", "")


def test_a_link_in_the_place_of_a_workers_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious text", encoding="utf-8")
    (tmp_path / "worker-1.log").symlink_to(tmp_path / "precious")
    with pytest.raises(FileError, match=r"worker-1\.log: must be writable while cases run"):
        WorkerProcess(Asking("wrong_backends:Right"), tmp_path / "worker-1.log")
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "precious text"
