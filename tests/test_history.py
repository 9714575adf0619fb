"""Since which release: environments, the strip of a cause, bisection, and the command itself."""

from __future__ import annotations

import math
import os
import re
import signal
import site
import sys
import threading
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from made_records import AGREED, DIFFERED, facts, named, run_of, waiver, waiver_file
from small_corpus import written
from tconv.backends import create
from tconv.cli import history_command
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.errors import BackendMissing
from tconv.evidence import Explanation, Follows, Rule
from tconv.evidence.formulas import Formula
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.execution.selection import Selection
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.investigation.history import environments
from tconv.investigation.history.asking import Fleet
from tconv.investigation.history.bisecting import bisected
from tconv.investigation.history.environments import Environments
from tconv.investigation.history.interpreters import Interpreter, interpreters
from tconv.investigation.history.package_index import between, last_of_each_minor
from tconv.investigation.history.runtimes import RUNNERS, RUNTIMES, Runtime
from tconv.investigation.history.strips import Mark, Span, spans, strips
from tconv.records.record import CallSummary, Record
from tconv.records.record_file import read
from tconv.reports.causes import find_causes
from tconv.reports.history import histories
from tconv.reports.history.terminal import what
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from small_corpus import Command
    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import WaiverFile

DIALECT = "onnx/ConvTranspose-22"
RUNNER = Path(__file__).with_name("acme_runner.py")
ACME = Runtime("acme", RUNNER, DIALECT)
HERE = Interpreter(sys.version_info[:2], Path(sys.executable))
FIRST, SECOND, THIRD = "a/b/c[s=1]", "a/b/c[s=2]", "a/b/c[s=3]"


# Which releases


def versions(*texts: str) -> list[Version]:
    """Return versions."""
    return [Version(text) for text in texts]


def test_between_has_both_ends_and_all_patches_of_the_last() -> None:
    """1.15 as the last release includes 1.15.1, and 1.2 is older than 1.15."""
    all_of_them = versions("1.16.0", "1.2.0", "1.15.0", "1.15.1", "1.3.0", "2.0")
    assert between(all_of_them, Version("1.3"), Version("1.15")) == versions("1.3.0", "1.15.0", "1.15.1")
    assert between(all_of_them, None, None) == sorted(all_of_them)


def test_the_last_of_each_minor_version_stands_for_it() -> None:
    """Patches are left out, but the last."""
    some = versions("1.15.1", "1.15.0", "1.16.3", "1.16.10", "2.0", "2025.3.0")
    assert last_of_each_minor(some) == versions("1.15.1", "1.16.10", "2.0", "2025.3.0")


def test_a_python_that_cannot_be_asked_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails, hangs up or is no Python of ours is passed over; the Python that runs tconv is always there."""
    for name, text in {
        "python3.7": "exit 1",
        "python3.8": "echo pypy 3.8 False",
        "python3.9": "echo cpython 3.5 False",
    }.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert [python.version for python in interpreters()] == [sys.version_info[:2]]


def test_an_old_onnxruntime_gets_an_old_numpy() -> None:
    """Releases before 1.19 are built for numpy 1, and most do not say so."""
    runtime = RUNTIMES["onnxruntime"]
    assert runtime.requirements(Version("1.18.1")) == ["onnxruntime==1.18.1", "numpy<2"]
    assert runtime.requirements(Version("1.19.0")) == ["onnxruntime==1.19.0", "numpy"]


# Environments


class Making:
    """A maker of environments that installs nothing: the Python of an environment says which release it is.

    It makes what the tests' own Python is, and counts what it is asked for.
    """

    def __init__(self) -> None:
        self.made: list[list[str]] = []
        self.fails: dict[str, BaseException] = {}

    def __call__(self, folder: Path, interpreter: Interpreter, requirements: Sequence[str]) -> None:
        """Make the Python of an environment."""
        self.made.append(list(requirements))
        (folder / "bin").mkdir(parents=True)
        release = requirements[0].partition("==")[2]
        if release in self.fails:
            raise self.fails[release]
        python = folder / "bin" / "python"
        packages = os.pathsep.join(filter(None, sys.path))
        python.write_text(
            f"#!/bin/sh\nACME={release} ACME_PACKAGES='{packages}' exec {interpreter.executable} \"$@\"\n"
        )
        python.chmod(0o755)


@pytest.fixture
def making() -> Making:
    """Return a maker that installs nothing."""
    return Making()


def environment(folder: Path, making: Making, version: str = "1", *, rebuild: bool = False) -> str:
    """Return the command line of a release's runner."""
    return Environments(folder / "cache", making, rebuild).command(ACME, Version(version), HERE, DIALECT)


def folders(folder: Path) -> list[str]:
    """Return what is in the cache, but for its locks."""
    return sorted(path.name for path in (folder / "cache").iterdir() if path.suffix != ".lock")


def test_an_environment_is_made_once(tmp_path: Path, making: Making) -> None:
    """The second time it is taken as it is; with rebuild it is made anew."""
    first = environment(tmp_path, making)
    assert environment(tmp_path, making) == first
    assert making.made == [["acme==1"]]
    environment(tmp_path, making, rebuild=True)
    assert making.made == [["acme==1"]] * 2


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BackendMissing("no wheel"), OSError("disk full")])
def test_nothing_is_left_of_an_environment_that_is_not_whole(
    error: BaseException, tmp_path: Path, making: Making
) -> None:
    """Whether it is interrupted or fails, the next one makes it from the beginning."""
    making.fails["1"] = error
    with pytest.raises(type(error)):
        environment(tmp_path, making)
    assert folders(tmp_path) == []
    making.fails.clear()
    environment(tmp_path, making)
    assert len(folders(tmp_path)) == 1


def test_what_a_killed_process_left_is_thrown_away(tmp_path: Path, making: Making) -> None:
    """A half-made folder beside the place of an environment is no environment, and in nobody's way."""
    environment(tmp_path, making)
    (whole,) = folders(tmp_path)
    half = tmp_path / "cache" / f".{whole}.partial"
    (tmp_path / "cache" / whole).rename(half)
    environment(tmp_path, making)
    assert folders(tmp_path) == [whole]
    assert len(making.made) == 2


def test_two_who_want_the_same_environment_make_one(tmp_path: Path, making: Making) -> None:
    """The second waits until the first has made it."""
    threads = [threading.Thread(target=environment, args=(tmp_path, making)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert making.made == [["acme==1"]]


def test_an_interrupt_ends_what_was_started(tmp_path: Path) -> None:
    """The installer and what it has started are gone when the interrupt is heard."""
    said = tmp_path / "pid"

    def interrupt() -> None:
        while not said.exists() or not said.read_text():
            sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        environments._run(["sh", "-c", f"sleep 600 & echo $! > {said}; wait"])
    interrupter.join()
    stat = Path(f"/proc/{int(said.read_text())}/stat")
    # It may be a zombie until somebody asks for its end, but it does not sleep on.
    with suppress(FileNotFoundError):
        for _ in range(600):
            if stat.read_text().rpartition(")")[2].split()[0] in "ZX":
                return
            sleep(0.05)
        pytest.fail("it still runs")


def test_what_an_installer_says_is_told() -> None:
    """The last lines of its standard error, in one line."""
    with pytest.raises(BackendMissing, match=r"must succeed \(got: no such wheel\)"):
        environments._run(["sh", "-c", "echo no such wheel >&2; exit 1"])


# Asking releases


def fleet(folder: Path, making: Making, *, rebuild: bool = False) -> Fleet:
    """Return the made-up runtime's releases."""
    pythons = {Version(str(number)): HERE for number in range(1, 10)}
    places = Environments(folder / "cache", making, rebuild)
    return Fleet(ACME, find_dialect(DIALECT), places, pythons, 1, 10.0)


def recorded(folder: Path, making: Making, *releases: str) -> list[Path]:
    """Run the small corpus on releases, and return their record files."""
    selection = Selection(Corpus.load(written(folder)))
    asked = fleet(folder, making)
    return [
        asked.recorded(Version(release), selection, folder / "out", lambda *_: None, resume=False)
        for release in releases
    ]


def test_a_release_is_recorded_and_judged_as_any_backend(tmp_path: Path, making: Making) -> None:
    """The records have the runtime's name, the release as its version, and a verdict for each case."""
    (path,) = recorded(tmp_path, making, "4")
    run = read(path)
    assert (run.header.backend.name, run.header.backend.version) == ("acme", "4")
    verdicts = {record.case.rpartition("/")[2]: record.verdict for record in run.records}
    assert verdicts.pop("after") == ver.BackendError("Oops: at three")
    assert {verdict.kind for verdict in verdicts.values()} == {"agreed"}


def test_a_broken_environment_says_what_to_do(tmp_path: Path, making: Making) -> None:
    """A Python that is gone, or a package of another release; --rebuild mends it."""
    case = next(iter(Corpus.load(written(tmp_path)).cases("gate")))
    environment(tmp_path, making)
    (name,) = folders(tmp_path)
    python = tmp_path / "cache" / name / "bin" / "python"
    python.write_text(python.read_text().replace("ACME=1 ", "ACME=9 "))
    with pytest.raises(BackendMissing, match=r"must have 1 \(got 9\).* make it anew with --rebuild"):
        fleet(tmp_path, making).record(Version("1"), case)
    python.unlink()
    with pytest.raises(BackendMissing, match=r"No such file.* make it anew with --rebuild"):
        fleet(tmp_path, making).record(Version("1"), case)
    assert fleet(tmp_path, making, rebuild=True).record(Version("1"), case).verdict.kind == "agreed"


ASKED = (
    "invalid/attributes/groups-*",
    "invalid/attributes/plain[fault=float64]",
    "output-padding/bounds/at-stride-by-hand",
    "padding/output-shape/*-by-hand",
)


@pytest.mark.parametrize("dialect", ["onnx/ConvTranspose-22", "onnx/ConvTranspose-11"])
def test_the_runner_of_onnxruntime_does_as_its_backend(dialect: str, tmp_path: Path) -> None:
    """Values, refusals and what is neither have the words that they have with `--backend onnxruntime`."""
    cases = [*Corpus.load(written(tmp_path)).cases("gate"), *Corpus.load().cases("gate", ASKED)]
    runner = f"exec:{sys.executable} {RUNNERS / 'runner_onnxruntime.py'} {dialect}"
    verdicts = []
    for backend in ("onnxruntime", runner):
        with Pool(Asking(backend, find_dialect(dialect), timeout=10.0)) as pool:
            assert pool.backend.name == "onnxruntime"
            records = pool.records(cases)
        verdicts.append(
            {case: (record.verdict.kind, getattr(record.verdict, "message", "")) for case, record in records.items()}
        )
    assert verdicts[0] == verdicts[1]
    # Which calls it breaks at, or dies of, is a matter of the release.
    assert {"agreed", "disputed", "refused-valid", "unsupported"} <= {kind for kind, _ in verdicts[1].values()}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("[ONNXRuntimeError] : 1 : FAIL : Unsupported model IR version: 10, max 9", "unsupported"),
        ("Opset 22 is under development and support for this is limited.", "unsupported"),
        ("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for the node", "unsupported"),
        ("[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model", "refused"),
        ("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : narrowing_error", "backend-error"),
        ("vector::_M_range_check", "backend-error"),
    ],
)  # fmt: skip
def test_what_a_release_has_not_got_yet_is_no_refusal(message: str, kind: str, tmp_path: Path) -> None:
    """A RuntimeError of an old release is told by its words: an opset that it does not know is unsupported."""
    (tmp_path / "onnxruntime.py").write_text(
        "__version__ = '0.3'\nclass SessionOptions: pass\n"
        f"class InferenceSession:\n    def __init__(self, model, options): raise RuntimeError({message!r})\n"
    )
    starter = tmp_path / "start.py"
    starter.write_text(
        f"import runpy, sys\nsys.path[:0] = [{str(tmp_path)!r}, {str(RUNNERS)!r}]\n"
        f"runpy.run_path({str(RUNNERS / 'runner_onnxruntime.py')!r}, run_name='__main__')\n"
    )
    case = next(iter(Corpus.load(written(tmp_path)).cases("gate")))
    with Pool(Asking(f"exec:{sys.executable} {starter} {DIALECT}", timeout=10.0)) as pool:
        verdict = pool.record(case).verdict
    assert verdict.kind == {"refused": "refused-valid"}.get(kind, kind)


# Strips


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ("....", []),
        ("..xx", [Span(2, 3, 1, None)]),
        ("xx..", [Span(0, 1, None, 2)]),
        (".xx.x", [Span(1, 2, 0, 3), Span(4, 4, 3, None)]),
        (".uoxu x o.", [Span(3, 6, 0, 9)]),
        ("uox", [Span(2, 2, None, None)]),
    ],
)
def test_a_strip_has_spans(marks: str, expected: list[Span]) -> None:
    """Each with the last good release before it, and the one that fixed it; what does not tell ends nothing."""
    assert spans([Mark(mark) for mark in marks]) == expected


def releases(
    *verdicts: Mapping[str, ver.Verdict], file: WaiverFile | None = None, diagnosis: Mapping[str, str] | None = None
) -> list[Assessment]:
    """Return releases 1, 2, ... that came to these verdicts, judged with waivers of every version."""
    found = []
    for number, of in enumerate(verdicts, start=1):
        run = run_of(of, str(number))
        for place, record in enumerate(run.records):
            names = named(
                *((diagnosis or {}).get(record.case, "").split("|") if (diagnosis or {}).get(record.case) else ())
            )
            wrong = isinstance(record.verdict, ver.Differed)
            run.records[place] = Record(record.case, "acme", DIALECT, record.verdict, diagnosis=names if wrong else ())
        found.append(assess(run, file and file.for_every_version(), facts))
    return found


def shown(*args: Mapping[str, ver.Verdict], **more: object) -> list[tuple[Status, str, str]]:
    """Return the status, marks and smallest case of each strip."""
    found = strips(releases(*args, **more))  # type: ignore[arg-type]
    return [(strip.status, "".join(strip.marks), strip.example.record.case) for strip in found]


def test_each_cause_has_a_strip_by_its_smallest_case() -> None:
    """A failure of the same words in two releases is one cause, whatever is between them."""
    refused = {FIRST: ver.RefusedValid("no 7"), SECOND: ver.RefusedValid("no 8")}
    rows = shown(
        {FIRST: AGREED}, refused, {FIRST: ver.Unsupported("later")}, {SECOND: AGREED}, {FIRST: ver.RefusedValid("no 9")}
    )
    assert rows[0] == (Status.FAILED, ".xu x", FIRST)


def test_the_example_of_a_cause_is_that_of_a_run() -> None:
    """Of the cases that tell the most releases, the smallest one, whose id may be longer."""

    def of(sizes: Mapping[str, int]) -> Assessment:
        (release,) = releases(dict.fromkeys(sizes, ver.RefusedValid("no")))
        calls = {case: CallSummary({}, [("X", [size], "f32")], "NCX", "IOX") for case, size in sizes.items()}
        judged = [replace(each, record=replace(each.record, call=calls[each.record.case])) for each in release.statuses]
        return replace(release, statuses=tuple(judged))

    (strip,) = strips([of({"a/b": 50, "a/long": 5, "a/c": 1}), of({"a/b": 50, "a/long": 5, "invalid/c": 1})])
    assert strip.example.record.case == "a/long"


def test_one_explanation_is_one_cause() -> None:
    """Outputs that a common misreading explains are one cause, whatever else explains one of them."""
    of = {FIRST: DIFFERED, SECOND: DIFFERED}
    both = {FIRST: "odd_sized=end|upper-for-lower", SECOND: "odd_sized=end"}
    assert shown(of, of, diagnosis=both) == [(Status.FAILED, "xx", SECOND)]


def test_calls_that_were_fixed_in_different_releases_have_different_causes() -> None:
    """Also if they fail in the same words; a call of which later releases tell nothing is with the most others."""
    died = dict.fromkeys((FIRST, SECOND, THIRD, "a/d/e"), ver.Crashed("SIGFPE", ""))
    fixed_first = {FIRST: AGREED, SECOND: died[SECOND], THIRD: died[THIRD]}
    fixed_all = dict.fromkeys(fixed_first, AGREED)
    assert shown(died, fixed_first, fixed_all) == [(Status.FAILED, "xx.", SECOND), (Status.FAILED, "x..", FIRST)]
    assert [strip.counts for strip in strips(releases(died, fixed_first, fixed_all))] == [(3, 2, 0), (1, 0, 0)]


@pytest.mark.parametrize("waived", [False, True])
def test_valid_and_invalid_calls_have_different_causes(*, waived: bool) -> None:
    """Also if both die by the same signal, and if one waiver covers both."""
    died = ver.Crashed("SIGFPE", "")
    file = waiver_file(waiver(verdict={"kind": "crashed"})) if waived else None
    of_invalid = {"breaks": "strides-positive"}
    run = run_of({FIRST: died, SECOND: died})
    release = assess(run, file, lambda case: {**(facts(case) or {}), **(of_invalid if case == SECOND else {})})
    found = {strip.example.record.case: what(strip) for strip in strips([release])}
    assert set(found) == {FIRST, SECOND}
    assert found[SECOND] == f"invalid calls: {found[FIRST]}"
    if not waived:
        assert {cause.example: cause.count for cause in find_causes(release, Status.FAILED)} == {FIRST: 1, SECOND: 1}


def test_values_that_change_from_call_to_call_are_said_to(tmp_path: Path, making: Making) -> None:
    """Failures are asked again, as in any run: what chance decides is no cause of its own values."""
    (path,) = recorded(tmp_path, making, "7")
    assert any(record.alone for record in read(path).records)
    (history,) = histories([path], Corpus.load(tmp_path / "small.yaml"), "none")
    assert all("alone in a fresh process" in what(strip) for strip in history.strips)
    assert any(strip.example.record.varies for strip in history.strips)


def test_a_learnt_rule_is_one_cause_in_all_releases() -> None:
    """However many answers fit in each: the rule is what the releases have in common."""
    size = Rule("size", Formula(((1, "X"), (1, "s"))), None)

    def learnt(release: Assessment, *cases: str) -> Assessment:
        found = Explanation(Follows((size,)), ("auto_pad=valid",), cases, len(cases), frozenset(), 9)
        return replace(release, explained=(found,))

    of = {FIRST: DIFFERED, SECOND: DIFFERED}
    old, new = releases(of, {SECOND: DIFFERED}, diagnosis={FIRST: "odd_sized=end"})
    (strip,) = strips([learnt(old, FIRST, SECOND), learnt(new, SECOND)])
    assert (strip.rule, strip.counts) == ("where auto_pad=valid: size is X + s", (2, 1))
    # A name that explains one of them alone is no name of the cause.
    assert strip.explained is None
    assert what(strip) == "where auto_pad=valid: size is X + s"


def test_other_words_for_the_same_cases_are_the_same_cause() -> None:
    """Where most cases are the same, and no release has both; two causes of one release stay two."""
    old, new = ver.RefusedValid("Oh no"), ver.RefusedValid("Please do not")
    assert [marks for _, marks, _ in shown({FIRST: old, SECOND: old}, {FIRST: new, SECOND: new})] == ["xx"]
    assert len(shown({FIRST: old, SECOND: new})) == 2
    assert len(shown({FIRST: old, SECOND: AGREED, THIRD: AGREED}, {FIRST: AGREED, SECOND: new, THIRD: new})) == 2


def test_a_waiver_names_its_deviation_in_every_release() -> None:
    """Also where its versions leave the release out."""
    file = waiver_file(waiver(versions=">=3"))
    assert shown({FIRST: DIFFERED}, {FIRST: AGREED}, {FIRST: DIFFERED}, file=file) == [(Status.WAIVED, "x.x", FIRST)]


def test_a_disputed_reading_has_a_strip_too() -> None:
    """It is good where the text's first answer is followed; a release that fails there follows neither."""
    follows = ver.Disputed(("odd-total-at-the-end",), "exact")
    rows = shown({FIRST: follows}, {FIRST: AGREED}, {FIRST: ver.RefusedValid("no")})
    assert (Status.DISPUTED, "x.o", FIRST) in rows
    assert (Status.FAILED, "..x", FIRST) in rows


# Bisection


def record_of(verdict: ver.Verdict) -> Record:
    """Return a record of a case."""
    return Record(FIRST, "acme", DIALECT, verdict)


@given(st.data())
def test_a_change_is_found_in_log_steps(data: st.DataObject) -> None:
    """Both releases of the change are right, and no more are asked than two and the logarithm."""
    count = data.draw(st.integers(2, 200))
    change = data.draw(st.integers(1, count - 1))
    asked = []

    def ask(version: Version) -> Record:
        asked.append(version)
        return record_of(AGREED if version < Version(str(change)) else DIFFERED)

    found = bisected([Version(str(number)) for number in range(count)], ask)
    assert found.changed
    assert (found.before[0], found.after[0]) == (Version(str(change - 1)), Version(str(change)))
    assert found.asked == len(asked) == len(set(asked))
    assert found.asked <= 2 + math.ceil(math.log2(count))


@given(st.integers(2, 40), st.data())
def test_releases_that_cannot_be_asked_are_passed_over(count: int, data: st.DataObject) -> None:
    """The change is between two that answer, and none between them does."""
    missing = data.draw(st.sets(st.integers(0, count - 1), max_size=count - 2))
    there = [number for number in range(count) if number not in missing]
    change = data.draw(st.sampled_from(there[1:]))

    def ask(version: Version) -> Record:
        number = int(str(version))
        if number in missing:
            raise BackendMissing("no")
        return record_of(AGREED if number < change else DIFFERED)

    found = bisected([Version(str(number)) for number in range(count)], ask)
    assert int(str(found.after[0])) == change
    assert int(str(found.before[0])) == max(number for number in there if number < change)
    assert {int(str(version)) for version, _ in found.left_out} <= missing


def test_what_does_not_change_is_told() -> None:
    """Only the oldest and the newest are asked."""
    found = bisected(versions("1", "2", "3", "4"), lambda _: record_of(AGREED))
    assert (found.changed, found.asked) == (False, 2)


def test_one_release_has_nothing_to_be_compared_with() -> None:
    """Where all others cannot be asked, that is an error that says why."""

    def ask(version: Version) -> Record:
        if version != Version("2"):
            raise BackendMissing(f"{version} is gone")
        return record_of(AGREED)

    with pytest.raises(BackendMissing, match=r"two releases must be there.*1 is gone"):
        bisected(versions("1", "2", "3"), ask)


# The command


@pytest.fixture
def acme(tmp_path: Path, making: Making, monkeypatch: pytest.MonkeyPatch) -> Sequence[str]:
    """Return the first words of a command whose index and environments are made up."""
    written(tmp_path)
    monkeypatch.setattr(history_command, "with_uv_or_venv", making)
    index = {Version(str(number)): HERE for number in range(1, 7)}
    monkeypatch.setattr(history_command, "wheels", lambda *_, **__: index)
    words = "history acme --package acme --cases small.yaml --waivers none --cache cache --output out -j 1"
    return [*words.split(), "--runner", str(RUNNER), "--dialect", DIALECT]


def test_the_command_prints_a_strip_for_each_cause(command: Command, acme: Sequence[str], making: Making) -> None:
    """A release that cannot be had is told in a line and left out; the others leave records."""
    making.fails["5"] = BackendMissing("the disk is full")
    done = command(*acme, "2", "3", "4", "5", "99", "1")
    assert done.returncode == 0, done.stderr
    assert "acme 99 is left out: it has no wheel for a Python of this machine" in done.stderr
    assert "acme 5 is left out: the disk is full" in done.stderr
    shown = re.findall(r"^([x.]{4})  .*\n(?:  .*\n)*?  tconv show (small/.+)", done.stdout, re.MULTILINE)
    names = [("...x", "after"), (".xx.", "trouble"), ("xx..", "padded")]
    assert sorted(shown) == [(signs, f"small/{name} --cases small.yaml") for signs, name in names]
    assert len(list(Path("out").glob("acme-*.jsonl"))) == 4


def test_from_and_to_take_releases_from_the_index(command: Command, acme: Sequence[str]) -> None:
    """Both ends are asked; a pattern selects the cases, and the records can be read again."""
    done = command(*acme, "--from", "2", "--to", "3", "small/trouble")
    assert "releases, a sign each: 2 3" in done.stdout
    again = command("history", "--records", "out", "--cases", "small.yaml", "--waivers", "none")
    assert again.returncode == 0, again.stderr
    assert "1 cases of the gate tier that match small/trouble" in again.stdout


@pytest.mark.thorough
def test_bisect_prints_where_a_case_changed(command: Command, acme: Sequence[str], making: Making) -> None:
    """Of six releases four are asked; one that does not change ends with 1."""
    done = command(*acme, "--bisect", "small/padded")
    assert done.returncode == 0, done.stderr
    assert "2 is the last with differed" in done.stdout
    assert "3 is the first with agreed" in done.stdout
    assert "4 of 6 releases were asked" in done.stdout
    assert len(making.made) == 4
    same = command(*acme, "--bisect", "small/plain")
    assert same.returncode == 1
    assert "1 and 6 do the same: agreed" in same.stdout


@pytest.mark.parametrize(
    "words",
    [
        "1.0/../../x",
        "1;touch${IFS}x",
        "../1.0",
        "$(touch x)",
        "`touch x`",
        "--package=../x 1",
        "--package=-r/etc/passwd 1",
        "--from=1/.. 1",
    ],
)
def test_hostile_words_make_nothing(words: str, command: Command, acme: Sequence[str], making: Making) -> None:
    """What is no version, no pattern of a case and no name of a distribution is refused before anything is made."""
    done = command(*acme, *(words.split(" ") if words.startswith("--") else [words]))
    assert done.returncode == 2, done.stdout
    assert making.made == []
    assert not Path("cache").exists()
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("words", "must"),
    [
        ("history", "BACKEND must be given"),
        ("history onnxruntime", "releases must be named"),
        ("history onnxruntme 1.15.1", "did you mean 'onnxruntime'"),
        (
            "history acme 1.0 --package acme",
            "must be one of onnxruntime, openvino, openvino-onnx, or have both --package and --runner",
        ),
        ("history onnxruntime 1.15.x", "a release must be a version such as 1.15.1"),
        ("history onnxruntime 1.15.1 --bisect no/such/case", "no/such/case"),
        ("history --records .", "must be a folder with record files, *.jsonl (got none)"),
    ],
)
def test_what_is_wrong_with_the_command_is_told(words: str, must: str, command: Command) -> None:
    """Before anything is asked of an index."""
    done = command(*words.split())
    assert done.returncode == 2
    assert must in done.stderr


def wheel(folder: Path, release: str) -> None:
    """Write a wheel of `acme` for this Python alone."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}-none-any"
    info = f"acme-{release}.dist-info"
    with zipfile.ZipFile(folder / f"acme-{release}-{tag}.whl", "w") as file:
        file.writestr("acme.py", "")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: acme\nVersion: {release}\n")
        file.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: {tag}\n")
        file.writestr(f"{info}/RECORD", "")


@pytest.mark.thorough
def test_pip_and_venv_bring_a_release_from_a_folder(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index's answer, the environment and the runner's Python are real; there is no network."""
    monkeypatch.setattr(history_command, "interpreters", lambda: [HERE])
    (tmp_path / "wheels").mkdir()
    for release in ("1", "2", "3"):
        wheel(tmp_path / "wheels", release)
    written(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("ACME_PACKAGES", os.pathsep.join(filter(None, [*sys.path, *site.getsitepackages()])))
    words = (
        "history acme --package acme --from 3 --to latest small/trouble --cases small.yaml --waivers none --cache cache"
    )
    done = command(*words.split(), "--runner", str(RUNNER))
    assert done.returncode == 0, done.stderr
    assert "releases, a sign each: 3\n" in done.stdout
    cause = re.compile(r"^x  .*\n(?:  .*\n)*?  tconv show small/trouble --cases small.yaml$", re.MULTILINE)
    assert len(cause.findall(done.stdout)) == 1
    again = command(*words.split(), "4", "--runner", str(RUNNER))
    assert "acme 4 is left out: it has no wheel" in again.stderr
    assert again.returncode == 3


def test_without_a_network_it_ends_in_a_sentence(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that the index cannot be reached and what to do, and not that releases have no wheel."""
    monkeypatch.setattr(history_command, "interpreters", lambda: [HERE])
    written(tmp_path)
    refusing = {"INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "1", "FIND_LINKS": "", "CONFIG_FILE": os.devnull}
    for name, value in refusing.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    for releases in (["1.15.1"], ["--from", "1"]):
        done = command("history", "onnxruntime", *releases, "--cache", "cache")
        assert (done.returncode, done.stdout) == (3, "")
        assert re.fullmatch(
            r"tconv: the index of packages must be reachable \(got: Connection refused\); connect .* with the wheels\n",
            done.stderr,
        )


def test_the_names_of_known_runtimes_are_backends() -> None:
    """Their waiver files are found by these names."""
    for name in RUNTIMES:
        with suppress(BackendMissing):
            assert create(name).info().name == name
