"""The command tells its user what is wrong in one line, ends with the right code, and never with a traceback."""

from __future__ import annotations

import json
import os
import re
import resource
import select
import subprocess
import sys
from errno import EAGAIN, EIO, ENAMETOOLONG
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from small_corpus import BARE_HEAD, CASES, environment, written
from tconv.cli import COMMANDS, GROUPS, _tconv
from tconv.cli.limits import refuse_too_little
from tconv.errors import UsageError
from tconv.records.record_file import read

if TYPE_CHECKING:
    from collections.abc import Callable

    from small_corpus import Command
    from tconv.corpus import Corpus

RIGHT = ("--backend", "wrong_backends:Right")


@pytest.fixture
def complaint(command: Command) -> Callable[..., str]:
    """Return what runs a command that ends with 2 and a line, and returns the line."""

    def run(*arguments: str) -> str:
        done = command(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        return done.stderr.removesuffix("\n")

    return run


def test_a_pattern_that_means_several_cases_shows_some(command: Command, tmp_path: Path) -> None:
    """`tconv show` wants one; it lists what there is to choose from."""
    done = command("show", "small", "--cases", str(written(tmp_path)))
    first, *some = done.stderr.splitlines()
    assert done.returncode == 2
    assert first.startswith("tconv: must be one case (got 'small', which matches several)")
    assert len(some) == 5
    assert all(line.startswith("  small/") for line in some)


def test_a_failure_of_tconv_itself_is_a_sentence_and_exit_4(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The trace goes to a file that the sentence names, not to the terminal."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("of\nall things")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("tconv.corpus.Corpus.load", fail)
    done = command("list")
    assert done.returncode == 4
    words = r"tconv: failed by itself: ZeroDivisionError: of all things; the trace is in (.+)\n"
    place = re.fullmatch(words, done.stderr)
    assert place
    assert "ZeroDivisionError: of" in Path(place[1]).read_text(encoding="utf-8")


def test_no_command_at_all_is_the_help_and_exit_2(command: Command) -> None:
    """Whoever types `tconv` alone sees what there is."""
    done = command()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: tconv [OPTIONS] COMMAND")
    assert all(f"\n  {name} " in done.stderr for name in COMMANDS)


def test_the_help_has_a_line_for_each_command_and_imports_none() -> None:
    """Whoever asks which commands there are waits for no library: neither for arrays nor for models of files."""
    code = (
        "import sys\nfrom tconv.cli import main\nsys.argv = ['tconv', '--help']\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert {"numpy", "pydantic", "yaml", "tconv.corpus", "tconv.errors"} & set(done.stderr.split()) == {"tconv.errors"}
    titles = "|".join(GROUPS)
    commands = done.stdout.partition("Examples:")[0]
    listed = re.split(rf"^(?:{titles}):\n", commands, flags=re.MULTILINE)[1:]
    assert [[line.split()[0] for line in part.splitlines() if line.strip()] for part in listed] == list(
        map(list, GROUPS.values())
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, command: Command) -> None:
    """With a sentence on what it does and one for each option, and exit 0."""
    done = command(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: tconv {name} ")
    options = re.findall(r"^  (?:-\w, )?--[\w-]+.*(?:\n {10,}.*)*", done.stdout, re.MULTILINE)
    assert options
    assert all(len(option.split("  ")) > 1 for option in options)


def test_the_cases_of_a_dialect_are_listed(command: Command, tmp_path: Path) -> None:
    """Those that it can say, as ids or as JSON; none is an empty list, and another dialect an error."""
    text = "cases: [{name: plain}, {name: biased, with: {bias: true}}]"
    path, chosen = str(written(tmp_path, f"{BARE_HEAD}{text}")), ("--dialect", "openvino/ConvolutionBackpropData-1")
    assert command("list", "**", "--cases", path, *chosen).stdout.split() == ["small/plain"]
    assert [case["id"] for case in json.loads(command("list", "--cases", path, *chosen, "--json").stdout)] == [
        "small/plain"
    ]
    assert command("list", "small/biased", "--cases", path, *chosen).stdout == ""
    assert json.loads(command("list", "small/biased", "--cases", path, *chosen, "--json").stdout) == []
    assert "small/**" in command("list", "--cases", path).stdout
    done = command("list", "--dialect", "openvino/ConvolutionBackpropData-2")
    assert (done.returncode, "dialect must be one of" in done.stderr) == (2, True)


def test_records_of_other_cases_are_beside_those_of_tconvs_own(command: Command, tmp_path: Path) -> None:
    """No run replaces what a run of another corpus wrote: neither of tconv's own, nor of a file of the same name."""
    assert command("run", "examples/**", "--tier", "smoke", *RIGHT, "--output", "out", "-j", "1", "-q").returncode == 0
    for folder in (tmp_path, tmp_path / "other"):
        folder.mkdir(exist_ok=True)
        assert command("run", "--cases", str(written(folder)), *RIGHT, "--output", "out", "-q").returncode == 0
    headers = [read(path).header for path in (tmp_path / "out").glob("*.jsonl")]
    assert sorted(header.path for header in headers) == sorted(
        ["", str(tmp_path / "small.yaml"), str(tmp_path / "other" / "small.yaml")]
    )
    assert len(list((tmp_path / "out").glob("*.html"))) == 3


@pytest.mark.parametrize("judging", ["report", "waivers propose --output w.yaml", "explain", "history --records"])
def test_records_of_one_s_own_cases_alone_are_judged_by_these_cases(
    judging: str, command: Command, tmp_path: Path
) -> None:
    """Without --cases they are read from where the run had them, which is told; the other commands do as the gate."""
    command("run", "--cases", str(written(tmp_path)), *RIGHT, "--output", "out", "-j", "1", "-q")
    done = command(*judging.split(), "out")
    assert done.returncode == 0
    assert "must be of this corpus" not in done.stdout + done.stderr
    assert f"note: judged by the cases of {tmp_path / 'small.yaml'}, as the run was" in done.stderr


def test_records_of_one_s_own_cases_are_red_where_a_case_is_missing_or_changed(
    command: Command, tmp_path: Path
) -> None:
    """That the cases need not be named must let no gap through."""
    command("run", "--cases", str(written(tmp_path)), *RIGHT, "--output", "out", "-j", "1", "-q")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    whole = path.read_text(encoding="utf-8")
    path.write_text("".join(whole.splitlines(keepends=True)[:-1]), encoding="utf-8")
    done = command("report", "out")
    assert (done.returncode, "red: 6 cases must have a record (got 5)" in done.stdout) == (1, True)
    path.write_text(whole, encoding="utf-8")
    written(tmp_path, CASES.replace("strides: 3", "strides: 4"))
    done = command("report", "out")
    assert (done.returncode, "red: the records must be of this corpus" in done.stdout) == (1, True)
    assert f"name its cases with --cases {tmp_path / 'small.yaml'}" in " ".join(done.stdout.split())
    assert "note: judged by" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the file that is always full is Linux's")
def test_a_full_standard_output_is_named() -> None:
    """Once; the system's words alone do not say which file is full."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        # So little that it is written last.
        command = [sys.executable, "-m", "tconv", "list", "bias/alone"]
        done = subprocess.run(command, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch("tconv: standard output: .*No space left on device.*\n", done.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="its pipes block")
@pytest.mark.parametrize("options", [(), ("-u",)])
def test_a_full_pipe_that_does_not_block_loses_nothing(options: tuple[str, ...], corpus: Corpus) -> None:
    """As a parent that is written in JavaScript makes it, for both streams: the end of a report has what is red."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    command = [sys.executable, *options, "-m", "tconv", "list", "**"]
    with open(reading, "rb") as pipe:  # noqa: PTH123 - it has no path
        process = subprocess.Popen(command, env=environment(), stdout=writing, stderr=writing)
        # Nothing is read until the pipe is full.
        while select.select([], [writing], [], 0.1)[1]:
            assert process.poll() is None
        os.close(writing)
        printed = pipe.read().decode().splitlines()
    assert process.wait() == 0
    assert printed == list(corpus.ids("gate"))


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are of POSIX, and macOS has none of memory")
@pytest.mark.parametrize(("kind", "limit", "said"), [("NOFILE", 10, "open files"), ("AS", 2**27, "memory")])
def test_limits_in_which_nothing_can_run_are_told(kind: str, limit: int, said: str, tmp_path: Path) -> None:
    """Numpy's library would end the process with 1, which means red, and multiprocessing with a traceback."""
    number = getattr(resource, f"RLIMIT_{kind}")
    command = [sys.executable, "-m", "tconv", "run"]
    done = subprocess.run(
        command, env=environment(), cwd=tmp_path, capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(number, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 2
    assert re.fullmatch(rf"tconv: {said} must be at least .* \(got .*\); raise it with: ulimit .*\n", done.stderr)


@pytest.mark.parametrize(
    ("variables", "threads"),
    [
        ({}, 3),
        ({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "2"}, 1),
        ({"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "1"}, 2),
        ({"OPENBLAS_NUM_THREADS": "0", "OMP_NUM_THREADS": "2"}, 2),
        ({"OPENBLAS_NUM_THREADS": "many", "OMP_NUM_THREADS": "-1"}, 3),
        ({"OMP_NUM_THREADS": "9"}, 3),
    ],
)
def test_the_memory_that_must_be_there_is_for_the_threads_that_start(
    variables: dict[str, str], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenBLAS takes the first variable with a positive number, and not more processors than the process may use."""
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 4, 5}, raising=False)
    limit = (160 + 40 * threads) * 2**20
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit if kind == resource.RLIMIT_AS else 1024, 2048))
    refuse_too_little()
    limit -= 1
    with pytest.raises(UsageError, match="memory must be at least"):
        refuse_too_little()


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (BlockingIOError(EAGAIN, "later"), "processes and threads must be allowed to be more (got: later); take fewer"),
        (OSError(ENAMETOOLONG, "too long", "x"), "x: a path must be shorter (got: too long); check it"),
        (OSError(EIO, "broken", "x"), "x: the system must let tconv read and write (got: broken)"),
        (MemoryError("9 GiB"), "there must be more memory (got: 9 GiB); take fewer --jobs, or raise a limit\n"),
    ],
)
def test_what_the_system_refuses_is_named(
    refused: Exception, said: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of processes, or a path that cannot be, is nothing that may not be read or written."""

    def main(**_: object) -> None:
        raise refused

    monkeypatch.setattr("tconv.cli._tconv.main", main)
    done = command("list")
    assert (done.returncode, done.stderr.startswith(f"tconv: {said}")) == (2, True)


@pytest.mark.parametrize("words", ["check", "report", "list --cases"])
def test_a_name_that_no_file_can_have_is_told(words: str, command: Command) -> None:
    """As all of three hundred characters."""
    done = command(*words.split(), "x" * 300)
    assert (done.returncode, done.stdout) == (2, "")
    assert "x: a path must be shorter (got: File name too long); check it\n" in done.stderr


@pytest.mark.parametrize("words", ["run --tier", "run --backend", "show", "report", "list"])
def test_an_error_shows_no_thousands_of_characters(words: str, command: Command) -> None:
    """Its beginning says what must be, and its end what to do."""
    done = command(*words.split(), "x" * 30_000)
    assert (done.returncode, done.stdout) == (3 if words == "run --backend" else 2, "")
    assert done.stderr.startswith("tconv: ")
    assert "xxx ... xxx" in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 2000


def test_another_system_than_linux_gets_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard error, before the answer, which is the usual one."""
    monkeypatch.setattr(sys, "platform", "darwin")
    done = CliRunner().invoke(_tconv, ["list", "padding/output-shape/odd-unit-by-hand"], standalone_mode=False)
    assert done.stderr == "tconv: warning: tconv is tested on Linux only (this is darwin)\n"
    assert done.stdout == "padding/output-shape/odd-unit-by-hand\n"
