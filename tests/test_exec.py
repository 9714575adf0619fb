"""A child process behind `exec:` is judged like any other backend, and what it does wrong affects one case."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from small_corpus import NAMES, TIMEOUT, written
from tconv.backends import create
from tconv.backends.exec_child import ChildStarter, ExecChild
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS
from tconv.errors import BackendMissing, OptionError
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.expectation.problem import Problem
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.gate.waivers import load
from tconv.records.record import FreshAnswer
from tconv.records.record_file import read
from tconv.reports.phrases import phrase
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.records.record_file import Run

RUNNER = Path(__file__).with_name("runner.py")
DOCS = Path(__file__).parent.parent / "docs"
LISTENER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "run" in message:
        open(sys.argv[1], "w").write(line)
        print(json.dumps({"id": message["run"]["id"], "refused": "heard"}), flush=True)
    else:
        print(json.dumps({"name": "listener", "version": "1", "dialect": "geometry/1"}), flush=True)
"""
"""A child that writes down what it is asked."""

NODE = """node:internal/modules/cjs/loader:1148
  throw err;
  ^

Error: Cannot find module '/nothere.mjs'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1145:15)
  code: 'MODULE_NOT_FOUND',

Node.js v20.20.2
"""
"""What node prints where it is given a file that is not there."""

SILENT = "import sys, time\nsys.stdin.readline()\ntime.sleep(60)\n"

BROKEN = {
    "other-id": "must answer for",
    "no-file": "ok must come with an output file",
    "long-header": "the header of an output file must have at most 10000 bytes (got 943718400)",
    "no-json": "a line must be a JSON object",
    "no-object": "a line must be a JSON object",
    "deep": "a line must be a JSON object",
    "no-answer": "must answer ok, refused, unsupported or backend-error",
    "floods": "a line must have at most",
    "half-a-line": "a line must end with a newline",
}
"""The message for each reply that the protocol does not have."""


def command(how: str) -> str:
    """Return the backend's name for a runner that misbehaves in that way."""
    return f"exec:{shlex.join([sys.executable, str(RUNNER), how])}"


def printing(errors: str, output: str = "") -> str:
    """Return the backend's name for a child that prints this and ends; first to its standard error."""
    source = f"import sys; print({errors!r}, file=sys.stderr, flush=True); sys.stdout.write({output!r})"
    return f"exec:{shlex.join([sys.executable, '-c', source])}"


def recorded(how: str, folder: Path, **options: str) -> Run:
    """Run the small corpus on a runner and return its records."""
    selection = Selection(Corpus.load(written(folder)))
    settings = RunSettings(Asking(command(how), options=options, timeout=TIMEOUT), folder / "out")
    return run(selection, settings, lambda *_: None)


def verdicts(recorded_run: Run) -> dict[str, ver.Verdict]:
    return {record.case.rpartition("/")[2]: record.verdict for record in recorded_run.records}


def test_a_runner_that_follows_the_protocol_is_judged_by_its_replies(tmp_path: Path) -> None:
    right = recorded("right", tmp_path)
    assert {name: verdict.kind for name, verdict in verdicts(right).items()} == dict.fromkeys(NAMES, "agreed")
    assert (right.header.backend.name, right.header.backend.version) == ("runner", "1")
    assert right.header.dialect == "onnx/ConvTranspose-22"


@pytest.mark.parametrize("how", [*BROKEN, "exits", "aborts", "stalls"])
def test_what_a_runner_does_wrong_costs_one_case(how: str, tmp_path: Path) -> None:
    others = verdicts(recorded(how, tmp_path))
    match others.pop("trouble"):
        case ver.BackendError(message):
            assert BROKEN[how] in message
        case ver.Crashed(cause, stderr):
            assert (how, cause, stderr) in {
                ("exits", "exit code 3", "the runner gives up"),
                ("aborts", "SIGABRT", stderr),
            }
        case other:
            assert (how, other) == ("stalls", ver.TimedOut(TIMEOUT))
    assert {verdict.kind for verdict in others.values()} == {"agreed"}
    assert set(others) == set(NAMES) - {"trouble"}


def test_a_second_reply_is_not_judged_as_the_next_case(tmp_path: Path) -> None:
    others = verdicts(recorded("twice", tmp_path))
    assert others.pop("trouble").kind == "refused-valid"
    assert sorted(verdict.kind for verdict in others.values()) in (["agreed"] * 5, ["agreed"] * 4 + ["backend-error"])


def test_a_runner_that_dies_of_what_an_earlier_case_did_is_asked_again(tmp_path: Path) -> None:
    records = {record.case.rpartition("/")[2]: record for record in recorded("harmed", tmp_path).records}
    ended = {name: record for name, record in records.items() if record.alone}
    assert {record.verdict.kind for name, record in records.items() if name not in ended} == {"agreed"}
    ((name, record),) = ended.items()
    assert name != "trouble"
    assert isinstance(record.verdict, ver.Crashed)
    assert (record.verdict.cause, record.alone) == ("SIGABRT", FreshAnswer("agreed", same=False))


def test_a_runner_confirms_the_options_of_its_hello(tmp_path: Path) -> None:
    assert recorded("right", tmp_path, threads="2").header.backend.options == {"threads": "2"}
    with pytest.raises(OptionError, match=r"must confirm .*threads.* \(got: threads must be a number\)"):
        create(command("right"), {"threads": "many"})
    with pytest.raises(OptionError, match=r"\(got: a hello without options\); leave --option out"):
        create(command("deaf"), {"threads": "2"})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("exec:", "must name a command"),
        ("exec:/nowhere/at/all", "must start"),
        ("exec:'half", "quotation"),
        (command("mute"), "must say hello"),
        (command("rude"), "must say name, version and dialect in its hello"),
        (
            "exec:echo loading 0.3",
            r"\(got 'loading 0.3'\); standard output is for the protocol alone: print other lines to",
        ),
        (printing("log: starting", "text\n"), r"\(got 'text'\); .*; it printed: log: starting\)$"),
        (printing(NODE), r"must say hello \(got: Error: Cannot find module '/nothere.mjs'\)$"),
        (
            printing("OSError: [Errno 30] Read-only file system: 'x'"),
            r"file system: 'x'\)(; it is isolated .*--no-isolate)?$",
        ),
    ],
)
def test_a_runner_that_does_not_start_is_missing(
    spec: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(BackendMissing, match=message):
        create(spec)
    assert not list(tmp_path.iterdir())


def test_what_a_child_printed_before_it_ended_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it had ended before the hello was sent, which a busy machine decides."""
    send = ExecChild.send

    def late(child: ExecChild, message: dict[str, Any]) -> None:
        assert child.code == 0
        send(child, message)

    monkeypatch.setattr(ExecChild, "send", late)
    with pytest.raises(BackendMissing, match=r"got 'loading 0\.3'"):
        create("exec:echo loading 0.3")
    with pytest.raises(BackendMissing, match=r"must say hello \(got: it ended\)"):
        create("exec:true")


def test_isolation_is_suspected_where_the_child_was_not_let_do_something(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = ChildStarter(["runner"], isolate=None)
    forbidden = (
        "Permission denied",
        "[Errno 30] Read-only file system",
        "getaddrinfo EAI_AGAIN x",
        "ECONNREFUSED connect",
    )
    assert not any(starter.hint(printed) for printed in forbidden)
    monkeypatch.setattr(starter, "folder", "/somewhere")
    assert all("--no-isolate" in starter.hint(printed) for printed in forbidden)
    assert not any(starter.hint(printed) for printed in (NODE, "ModuleNotFoundError: No module named 'acme'", ""))


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (NODE, "Error: Cannot find module '/nothere.mjs'"),
        ("file:///r.mjs:3\nthrow new Error(1)\n^\n\nError: boom\n    at r.mjs:3:7\n\nNode.js v20.20.2", "Error: boom"),
        ("KeyError: 'a'\n\nDuring handling:\n\nValueError: b\n", "ValueError: b"),
        (
            "python: can't open file 'x.py': [Errno 2] No such file\nbye",
            "python: can't open file 'x.py': [Errno 2] No such file",
        ),
        ("r.py: error: unrecognized arguments: x\nsee --help", "r.py: error: unrecognized arguments: x"),
        ("Error: of before\nterminate called after it\nAborted", "terminate called after it"),
        ("starting\nthe runner gives up", "the runner gives up"),
        ("", ""),
    ],
)
def test_the_line_that_says_why_a_child_ended_is_shown(printed: str, reason: str) -> None:
    assert phrase(ver.Crashed("exit code 1", printed)) == (f"exit code 1: {reason}" if reason else "exit code 1")


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_child_is_sent_the_whole_call(dtype: str, tmp_path: Path, corpus: Corpus) -> None:
    """Where the dialect is none of ONNX's: the layouts, which none of its attributes says, groups, type and shapes."""
    heard = tmp_path / "heard.json"
    case = next(
        case
        for case in corpus.cases("full", ["dtypes/**"])
        if case.attributes.data_format == "NXC"
        and case.attributes.filter_format == "XOI"
        and case.attributes.groups == 2
        and case.x.dtype == dtype
    )
    problem = Problem(case, DIALECTS["geometry/1"])
    spec = f"exec:{shlex.join([sys.executable, '-c', LISTENER, str(heard)])}"
    # It writes to a file that is not its own.
    with Pool(Asking(spec, problem.dialect, timeout=TIMEOUT, isolate=False)) as pool:
        assert pool.record(case).verdict == ver.RefusedValid("heard")
    asked = json.loads(heard.read_text())["run"]
    assert {name: asked[name] for name in ("dialect", "data_format", "filter_format", "groups", "dtype", "shapes")} == {
        "dialect": "geometry/1",
        "data_format": "NXC",
        "filter_format": "XOI",
        "groups": 2,
        "dtype": dtype,
        "shapes": "static",
    }


def test_a_child_is_greeted_with_the_version_of_the_protocol() -> None:
    source = (
        "import json; protocol = json.loads(input())['hello']['protocol'];"
        " hello = {'name': 'greeted', 'version': f'protocol {protocol}', 'dialect': 'geometry/1'};"
        " print(json.dumps(hello), flush=True); input()"
    )
    with Pool(Asking(f"exec:{shlex.join([sys.executable, '-c', source])}", timeout=TIMEOUT)) as pool:
        assert pool.backend.version == "protocol 1"


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node; Debian: apt-get install nodejs")
def test_the_runner_of_the_docs_in_another_language_is_right(tmp_path: Path, corpus: Corpus) -> None:
    """With the waiver file beside it, of what it does not implement, it is green: in every layout, and on faults.

    Negative pads and an output_padding beyond the stride are in `padding`.
    """
    selection = Selection(corpus, patterns=("layouts/**", "padding/**", "groups/**", "invalid/**"), tier="smoke")
    spec = f"exec:{shlex.join(['node', str(DOCS / 'runner_geometry.mjs')])}"
    recorded_run = read(run(selection, RunSettings(Asking(spec), tmp_path), lambda *_: None).path)
    assessment = assess(recorded_run, load(DOCS / "runner_geometry.yaml"), corpus.find_facts, strict=True)
    assert assessment.red == []
    agreed = [record.case for record in recorded_run.records if record.verdict.kind == "agreed"]
    laid = {(corpus.case(name).attributes.data_format, corpus.case(name).attributes.filter_format) for name in agreed}
    assert laid > {(data, taps) for data in ("NCX", "NXC") for taps in ("IOX", "XOI")}
    assert assessment.counts[Status.PASSED] > 200


def test_a_hello_has_the_timeout_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tconv.backends.exec.SHORTEST_HELLO", 0.2)
    (tmp_path / "silent.py").write_text(SILENT)
    command = f"{shlex.quote(sys.executable)} {tmp_path / 'silent.py'}"
    with pytest.raises(BackendMissing, match=r"must say hello \(got: must answer within 0.5 s \(got nothing\)\)"):
        create(f"exec:{command}", timeout=0.5)
