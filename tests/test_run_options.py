"""What a person who runs tconv every day asks of it: part of a run, a short answer, an answer for a script."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from made_records import AGREED, DIALECT, DIFFERED, facts, run_of
from small_corpus import HEAD, environment, written
from tconv.gate.assessment import assess
from tconv.records.failure import failure
from tconv.records.record import Record
from tconv.records.record_file import read
from tconv.reports import plain
from tconv.reports.report import make_report
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from small_corpus import Command

TROUBLED = "wrong_backends:PadsSwapped"


@pytest.fixture
def run(command: Command, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    written(tmp_path)

    def run(backend: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        name = backend if ":" in backend else f"wrong_backends:{backend}"
        return command("run", "--backend", name, "--cases", "small.yaml", "--output", "out", "-j", "1", *arguments)

    return run


def ids(folder: Path) -> dict[str, list[str]]:
    return {path.name: [record.case for record in read(path).records] for path in sorted(folder.glob("*.jsonl"))}


def test_exclude_leaves_cases_out(run: Command, tmp_path: Path) -> None:
    assert "4 passed" in run("Right", "--exclude", "small/p*", "-q").stdout
    assert "1 passed" in run("Right", "small/p*", "--exclude", "small/plain", "-q").stdout
    assert sorted(map(len, ids(tmp_path / "out").values())) == [1, 4]


def test_quiet_is_a_line_and_nothing_on_standard_error(run: Command) -> None:
    green = run("Right", "-q")
    assert green.stdout == f"Right 1.0  {DIALECT}  green: 6 passed\n"
    assert green.stderr == ""
    assert run(TROUBLED, "-q").stdout.splitlines()[1:] == ["red: 1 case failed without a waiver"]


def test_json_is_the_result_for_a_script(run: Command, command: Command) -> None:
    done = run(TROUBLED, "--json")
    (result,) = json.loads(done.stdout)["runs"]
    assert (done.returncode, result["green"], result["counts"]["failed"]) == (1, False, 1)
    assert [cause["cases"] for cause in result["causes"] if cause["status"] == "failed"] == [["small/padded"]]
    reported = command("report", "out", "--cases", "small.yaml", "--json")
    assert (reported.returncode, json.loads(reported.stdout)) == (1, json.loads(done.stdout))


@pytest.mark.parametrize("words", ["list", "show small/padded", "show --spatial 5 --kernel 3", "backends"])
def test_other_commands_have_json_too(words: str, command: Command, tmp_path: Path) -> None:
    written(tmp_path)
    cases = ["--cases", "small.yaml"] if words in {"list", "show small/padded"} else []
    done = command(*shlex.split(words), *cases, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_report_writes_every_form(run: Command, command: Command, tmp_path: Path) -> None:
    run(TROUBLED)
    files = ("--junit", "j/x.xml", "--summary", "s.md", "--badge", "b.json")
    done = command("report", "out", "--cases", "small.yaml", *files, "--annotate")
    assert done.returncode == 1
    assert "<testsuite " in (tmp_path / "j" / "x.xml").read_text(encoding="utf-8")
    markdown = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert markdown.startswith("## tconv: red\n")
    assert "\n| cases | what | command that shows more |\n|--:|---|---|\n" in markdown
    assert json.loads((tmp_path / "b.json").read_text())["message"] == "5 of 6 conform, red"
    assert done.stderr.startswith("::error file=small.yaml,line=8,")
    assert (tmp_path / "out" / "index.html").is_file()


@pytest.mark.parametrize(
    ("words", "code", "columns"),
    [
        pytest.param("run --backend wrong_backends:Right --cases", 0, {}, marks=pytest.mark.thorough),
        ("run --backend wrong_backends:PadsSwapped --cases", 1, {}),
        pytest.param(
            "run --backend wrong_backends:PadsSwapped --cases", 1, {"COLUMNS": "60"}, marks=pytest.mark.thorough
        ),
        ("report base.jsonl --baseline base.jsonl --cases", 0, {}),
        ("list --cases", 141, {"COLUMNS": "60"}),
    ],
)
def test_a_reader_that_leaves_changes_no_exit_code(
    words: str, code: int, columns: dict[str, str], run: Command, tmp_path: Path
) -> None:
    """As in `tconv run | head -1`: standard output and standard error are closed pipes from the start.

    What judges nothing ends with 141. With COLUMNS a console writes to the pipe itself.
    """
    if words.startswith("report"):
        run("Right")
        next((tmp_path / "out").glob("*.jsonl")).rename(tmp_path / "base.jsonl")
    script = f"{shlex.quote(sys.executable)} -m tconv {words} small.yaml; echo $? > code"
    subprocess.run(["/bin/sh", "-c", f"( {script} ) 2>&1 | true"], cwd=tmp_path, env=environment(**columns), check=True)
    assert (tmp_path / "code").read_text() == f"{code}\n"


def test_a_baseline_makes_a_run_red_where_a_case_became_worse(run: Command, tmp_path: Path) -> None:
    """It is read before the run, which writes over it here; what fails as before is no news, but red by itself."""
    assert run("Right", "--baseline", "nothing").returncode == 2
    assert run("Right").returncode == 0
    (records,) = (tmp_path / "out").glob("Right*.jsonl")
    records.write_text(records.read_text().replace("Right", "PadsSwapped"))
    records = records.rename(str(records).replace("Right", "PadsSwapped"))
    worse = run(TROUBLED, "--baseline", "out")
    assert worse.returncode == 1
    assert "1 case became worse (1 new, 0 changed, 0 fixed, 0 gone, 5 as before)" in worse.stdout
    same = run(TROUBLED, "--baseline", str(records), "--json")
    assert json.loads(same.stdout)["comparisons"][0]["worse"] == 0


def test_two_exit_codes_are_two_causes() -> None:
    """A number of a message may vary; an exit code tells one end from another."""
    one, other = (failure(Record("a", "b", DIALECT, ver.Crashed(f"exit code {code}", ""))) for code in (1, 77))
    assert one is not None
    assert not one.alike(other)
    assert one.alike(failure(Record("c", "b", DIALECT, ver.Crashed("exit code 1", ""))))


def test_a_badge_counts_what_was_answered() -> None:
    """What the dialect cannot say, and what is declared unsupported, is no part of it."""
    made = plain.badge(make_report([assess(run_of({"a/b": AGREED, "a/c": ver.NotApplicable("no")}), None, facts)]))
    assert made == {"schemaVersion": 1, "label": "tconv acme", "message": "1 of 1 conform", "color": "brightgreen"}
    red = plain.badge(make_report([assess(run_of({"a/b": AGREED, "a/c": DIFFERED}), None, facts)]))
    assert (red["message"], red["color"]) == ("1 of 2 conform, red", "red")


CONTRADICTED = f"""{HEAD}
cases:
  - name: by-hand
    with: {{channels: 1, out_channels: 1, groups: 1, bias: false, spatial: [2], kernel: [1], x: {{values: [1, 2]}},
           w: {{values: [3]}}}}
    expected: [{{dialects: [{DIALECT}], spatial: [2], values: [3, 7]}}]
"""


def test_a_literal_output_that_the_reference_contradicts_is_refused(command: Command, tmp_path: Path) -> None:
    """Before anything is run, at its place: a backend is judged by the reference, and not by what was written."""
    written(tmp_path, CONTRADICTED)
    done = command("run", "--backend", "wrong_backends:Right", "--cases", "small.yaml", "--output", "out")
    assert (done.returncode, done.stdout) == (2, "")
    must = f"small/by-hand: value [1] must be what the reference gives for {DIALECT}, 6 (got 7)"
    assert done.stderr == f"small.yaml:10:78: {must}\n"
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.jsonl"))


WAIVERS = """\
format: 1
backend: PadsSwapped
waivers:
  - {name: swapped, dialects: [onnx/ConvTranspose-22], cases: small/padded, verdict: {kind: differed}, versions: "",
     clause: pads, because: they are exchanged, example: small/padded, date: "2026-11-22"}
"""


def test_records_say_which_waivers_judged_the_run(run: Command, command: Command, tmp_path: Path) -> None:
    """The file and a digest of what it says; who reads the records with others is told, on page and terminal."""
    (tmp_path / "w.yaml").write_text(WAIVERS)
    assert run(TROUBLED, "--waivers", "w.yaml").returncode == 0
    (path,) = (tmp_path / "out").glob("*.jsonl")
    waivers = read(path).header.waivers
    assert waivers is not None
    assert (waivers.file, len(waivers.digest)) == ("w.yaml", len("sha256:") + 16)
    cases = ("--cases", "small.yaml")
    assert "the run began with" not in command("report", "out", *cases, "--waivers", "w.yaml").stdout
    other = command("report", "out", *cases, "--waivers", "none", "--page", "page.html")
    note = f"the run began with the waivers w.yaml {waivers.digest}; here they are none"
    assert note in " ".join(other.stdout.split())
    assert note in (tmp_path / "page.html").read_text(encoding="utf-8")
    asked = ("out", *cases, "--waivers", "none")
    compared_runs = command("report", *asked, "--baseline", "out", "--summary", "summary.md").stdout
    assert f"old: {note}" in " ".join(compared_runs.split())
    assert f"old: {note}" in command("report", *asked, "--baseline", "out", "--json").stdout
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.count(note) == 3, "of the run, and of both sides of the comparison"
    (tmp_path / "w.yaml").write_text(f"# The same.\n{WAIVERS}")
    assert "the run began with" not in command("report", "out", *cases, "--waivers", "w.yaml").stdout


def test_advice_names_the_cases_where_the_reader_has_them(run: Command, command: Command, tmp_path: Path) -> None:
    """And not where they were as the run ended; a proposal has them too."""
    assert run(TROUBLED).returncode == 1
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "small.yaml").rename(tmp_path / "elsewhere" / "small.yaml")
    done = command("report", "out", "--cases", "elsewhere/small.yaml")
    assert command("waivers", "propose", "out", "--cases", "elsewhere/small.yaml", "--output", "w.yaml").returncode == 0
    backend = f"--backend {TROUBLED} --dialect {DIALECT} --cases elsewhere/small.yaml"
    assert f"tconv explain small/padded {backend}" in done.stdout
    assert f"tconv shrink small/padded {backend}\n" in (tmp_path / "w.yaml").read_text(encoding="utf-8")
    assert "name its cases with --cases small.yaml, or run it again" in " ".join(
        command("report", "out").stdout.split()
    )


def test_explain_reads_a_folder(run: Command, command: Command) -> None:
    run("Right")
    done = command("explain", "out", "--cases", "small.yaml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Right 1.0  {DIALECT}  6 records\n")


def test_resume_holds_the_records_against_the_corpus(run: Command, tmp_path: Path) -> None:
    run("Right")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("small/after", "small/unknown"), encoding="utf-8")
    done = run("Right", "--resume")
    assert done.returncode == 2
    assert "a record must be of a case that the header selects from the corpus (got 'small/unknown')" in done.stderr


ALIKE = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    reply = {"name": sys.argv[2], "version": "1", "dialect": "geometry/1"}
    print(json.dumps(reply if "hello" in asked else {"id": asked["run"]["id"], sys.argv[1]: "always"}), flush=True)
"""


def test_two_backends_of_one_name_and_version_are_not_run_by_one_command(command: Command, tmp_path: Path) -> None:
    """The second would replace the records of the first, and a later report would know nothing of these."""
    written(tmp_path)
    (tmp_path / "alike.py").write_text(ALIKE)

    def run(*runners: str) -> subprocess.CompletedProcess[str]:
        specs = [word for how in runners for word in ("--backend", f"exec:{sys.executable} alike.py {how}")]
        return command("run", *specs, "--cases", "small.yaml", "--waivers", "none", "--output", "out", "-j", "1", "-q")

    done = run("refused alike", "unsupported alike")
    assert (done.returncode, done.stdout) == (2, "")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    got = f"exec:{sys.executable} alike.py refused alike and exec:{sys.executable} alike.py unsupported alike"
    assert f"backends must have different names, versions or options (got {got}, both alike 1)" in done.stderr
    assert f"with its own --output; out/{path.name} has the records of the first" in done.stderr
    assert {record.verdict.kind for record in read(path).records} >= {"refused-valid"}
    done = run("refused alike", "unsupported other")
    assert (done.returncode, len([*(tmp_path / "out").glob("*.jsonl")])) == (1, 2)
    # Each command may replace what an earlier one wrote.
    assert run("unsupported alike").returncode == 1
    assert {record.verdict.kind for record in read(path).records} >= {"unsupported"}
