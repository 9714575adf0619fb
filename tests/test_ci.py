"""The action and the templates for GitLab and Jenkins: their own shell steps run, with inputs as a user gives them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from exported_models import write
from small_corpus import environment, written

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text(encoding="utf-8"))[".tconv"]
JENKINS = (ROOT / "docs/ci/Jenkinsfile").read_text(encoding="utf-8")
FAKE_PYTHON = """#!/bin/sh
# Stands for python3 -m venv FOLDER: an environment whose pip writes down what it installs.
mkdir -p "$3/bin"
printf '#!/bin/sh\nprintf "%%s\\n" "$@" > "$PIP_LOG"\n' > "$3/bin/pip"
printf '#!/bin/sh\nexec "%s" -m tconv "$@"\n' "$REAL_PYTHON" > "$3/bin/tconv"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$REAL_PYTHON" > "$3/bin/python"
chmod +x "$3/bin/pip" "$3/bin/tconv" "$3/bin/python"
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return the folder of a job: a small corpus, and a python3 that makes environments without an index."""
    written(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(FAKE_PYTHON)
    (tmp_path / "bin" / "python3").chmod(0o755)
    return tmp_path


def shell(machine: Path, script: str, variables: Mapping[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script as the runner of a CI system does, with these variables; by bash with these options, or by sh."""
    own = {
        "RUNNER_TEMP": str(machine / "temp"),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(machine / "summary.md"),
        "GITHUB_OUTPUT": str(machine / "outputs"),
        "PIP_LOG": str(machine / "pip.log"),
        "REAL_PYTHON": sys.executable,
        "PATH": f"{machine / 'bin'}{os.pathsep}{os.environ['PATH']}",
    } | dict(variables)
    command = ["bash", *options, "-c", script] if options else ["sh", "-e", "-c", script]
    return subprocess.run(command, cwd=machine, env=environment(**own), capture_output=True, text=True, check=False)


def github(machine: Path, python: str = sys.executable, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the shell steps of the action with these inputs; the others have their defaults."""
    assert set(inputs) <= set(ACTION["inputs"])
    given = {name: entry["default"] for name, entry in ACTION["inputs"].items()} | inputs
    for step in ACTION["runs"]["steps"]:
        if "run" in step:
            variables = {
                name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], value)
                for name, value in step["env"].items()
            }
            done = shell(
                machine, step["run"], {"REAL_PYTHON": python} | variables, "--noprofile", "--norc", "-eo", "pipefail"
            )
            if done.returncode:
                break
    return done


def jenkins(machine: Path, **parameters: str) -> subprocess.CompletedProcess[str]:
    defaults = dict(re.findall(r"string\(name: '(\w+)', defaultValue: '(.*?)'", JENKINS)) | {"TCONV_STRICT": "false"}
    for script in re.findall(r"sh \'\'\'(.*?)\'\'\'", JENKINS, re.DOTALL):
        done = shell(machine, script, defaults | parameters)
        if done.returncode:
            break
    return done


def gitlab(machine: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return shell(machine, "\n".join(GITLAB["script"]), GITLAB["variables"] | variables)


RIGHT = "wrong_backends:Right"
SWAPPED = "wrong_backends:PadsSwapped"


def baseline_of_swapped(machine: Path, reports: Path) -> None:
    """Make a baseline of a run, as if the other backend had answered so before."""
    (machine / "baseline").mkdir()
    (records,) = reports.glob("*.jsonl")
    text = records.read_text(encoding="utf-8").replace("Right", "PadsSwapped")
    (machine / "baseline" / "old.jsonl").write_text(text, encoding="utf-8")
    shutil.rmtree(reports)


def test_every_input_reaches_the_shell() -> None:
    """One that no step reads would be accepted and ignored; the table of the docs has them all."""
    steps = json.dumps(ACTION["runs"]["steps"])
    assert [name for name in ACTION["inputs"] if f"inputs.{name} " not in steps] == []
    page = (ROOT / "docs/how-to/ci.md").read_text(encoding="utf-8")
    assert [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in page] == []


def outputs(machine: Path) -> dict[str, str]:
    lines = (machine / "outputs").read_text(encoding="utf-8").splitlines()
    written = dict(line.split("=", 1) for line in lines)
    assert [value["value"] for value in ACTION["outputs"].values()] == [
        f"${{{{ steps.run.outputs.{name} }}}}" for name in written
    ]
    return written


def test_the_action_installs_runs_and_writes_what_github_reads(machine: Path) -> None:
    """A green run has its summary; what pip installs is tconv and every word of the requirements."""
    done = github(
        machine,
        backend=RIGHT,
        cases="small.yaml",
        jobs="1",
        requirements="acme==1 other[extra]",
        junit="j.xml",
        badge="b.json",
    )
    assert done.returncode == 0, done.stderr
    assert (machine / "pip.log").read_text().split("\n") == ["install", str(ROOT), "acme==1", "other[extra]", ""]
    assert "## tconv: green" in (machine / "summary.md").read_text(encoding="utf-8")
    assert (machine / "j.xml").is_file()
    assert json.loads((machine / "b.json").read_text())["message"] == "6 of 6 conform"
    assert list((machine / "temp" / "tconv-report").glob("*.jsonl"))
    given = outputs(machine)
    assert given["exit-code"] == "0"
    assert Path(given["page"]).is_file()
    assert {status: count for status, count in json.loads(given["counts"]).items() if count} == {"passed": 6}


def test_the_action_annotates_the_case_that_fails(machine: Path) -> None:
    """At its line of the case file; and what became worse since the baseline, which stands in the summary too."""
    assert github(machine, backend=RIGHT, cases="small.yaml").returncode == 0
    baseline_of_swapped(machine, machine / "temp" / "tconv-report")
    done = github(machine, backend=SWAPPED, cases="small.yaml", baseline="baseline", badge="b.json")
    assert done.returncode == 1
    assert json.loads((machine / "b.json").read_text())["color"] == "red"
    assert re.search(
        r"^::error file=small.yaml,line=8,col=12,title=tconv%3A PadsSwapped 1.0::1 failed", done.stderr, re.MULTILINE
    )
    assert re.search(r"^::warning file=small.yaml,line=8,col=12,.*1 became worse", done.stderr, re.MULTILINE)
    assert "## Since the baseline" in (machine / "summary.md").read_text(encoding="utf-8")


def test_the_action_audits_models_and_runs_no_case(machine: Path) -> None:
    """The page of the audit is kept; what is accepted does not fail the step."""
    write("keras-same", machine)
    done = github(machine, audit="keras-same.onnx")
    report = machine / "temp" / "tconv-report"
    assert (done.returncode, [path.name for path in report.iterdir()]) == (1, ["audit.html"])
    assert "unsafe on onnxruntime" in done.stdout
    (machine / "known.txt").write_text("keras-same.onnx up_b onnxruntime reading")
    assert github(machine, audit="keras-same.onnx", accept="known.txt").returncode == 0


@pytest.mark.parametrize(
    ("strict", "code"), [("true", 0), ("YES", 0), ("1", 0), ("false", 0), ("no", 0), ("", 0), ("on", 2), ("treu", 2)]
)
def test_strict_is_a_yes_a_no_or_an_error(machine: Path, strict: str, code: int) -> None:
    """A word that is neither must not pass for a no. Here echo stands for Python, and prints the arguments."""
    done = github(machine, "echo", backend=RIGHT, strict=strict)
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert f"strict must be true, yes, 1, false, no or 0 (got '{strict}')" in done.stdout
    else:
        assert ("--strict" in done.stdout) == (strict in {"true", "YES", "1"})


def test_the_action_gives_patterns_options_and_cases_to_leave_out(machine: Path) -> None:
    """Each word of a list is an argument of its own, and no glob of the shell.

    The exit code and the counts of a red run are outputs too.
    """
    (machine / "small").mkdir()
    (machine / "small" / "plain").write_text("")
    inputs = {"option": "intra_op_num_threads=2", "timeout": "5"}
    inputs |= {"patterns": "small/p* small/after", "exclude": "small/pl* small/a*"}
    done = github(machine, cases="small.yaml", **inputs)
    (records,) = (machine / "temp" / "tconv-report").glob("*.jsonl")
    header = json.loads(records.read_text(encoding="utf-8").splitlines()[0])["run"]
    assert (header["backend"]["options"], header["timeout"]) == ({"intra_op_num_threads": "2"}, 5), done.stderr
    assert outputs(machine)["exit-code"] == str(done.returncode)
    assert sum(json.loads(outputs(machine)["counts"]).values()) == 1


def test_ci_runs_one_list_of_environments() -> None:
    """Tox has each of them; `.ci/run` and the workflow read the file that lists them."""
    listed = (ROOT / ".ci/environments").read_text(encoding="utf-8").split()
    sections = re.findall(r"^\[testenv:([\w-]+)", (ROOT / "tox.ini").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(listed) <= set(sections)
    assert "faults" in listed
    for reader in (".ci/run", ".github/workflows/ci.yml"):
        assert ".ci/environments" in (ROOT / reader).read_text(encoding="utf-8")


@pytest.mark.parametrize("system", [gitlab, pytest.param(jenkins, marks=pytest.mark.thorough)])
def test_the_templates_run(machine: Path, system: object) -> None:
    """Green and red, with a baseline, as each system's own shell runs them."""
    assert callable(system)
    common = {"TCONV_CASES": "small.yaml", "TCONV_REQUIREMENTS": ". acme"}
    done = system(machine, TCONV_BACKEND=RIGHT, **common)
    assert done.returncode == 0, done.stderr
    assert (machine / "pip.log").read_text().split() == ["install", ".", "acme"]
    assert (machine / "tconv-report" / "junit.xml").is_file()
    baseline_of_swapped(machine, machine / "tconv-report")
    red = system(machine, TCONV_BACKEND=SWAPPED, TCONV_BASELINE="baseline", **common)
    assert red.returncode == 1, red.stderr
    assert "1 case became worse" in red.stdout
    strict = system(machine, REAL_PYTHON="echo", TCONV_STRICT="true", **common)
    assert strict.stdout.rstrip().endswith("--strict"), strict.stderr


def test_gitlab_runs_a_part_in_a_matrix_and_refuses_what_is_no_answer(machine: Path) -> None:
    """`parallel` sets the number and the count of a job."""
    part = gitlab(machine, TCONV_BACKEND=RIGHT, TCONV_CASES="small.yaml", CI_NODE_INDEX="2", CI_NODE_TOTAL="3")
    assert "shard 2/3" in part.stdout, part.stderr
    wrong = gitlab(machine, TCONV_BACKEND=RIGHT, TCONV_STRICT="on")
    assert wrong.returncode == 2
