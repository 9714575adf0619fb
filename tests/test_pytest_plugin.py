"""Under pytest, case files are tests where an ini file asks, and the run ends red where the gate is."""

from __future__ import annotations

import json
import multiprocessing
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from junitparser import JUnitXml

from exported_models import write
from made_records import waiver
from small_corpus import CASES, HEAD, NAMES

if TYPE_CHECKING:
    from collections.abc import Callable


pytest_plugins = ["pytester"]

VARIOUS = f"""{HEAD}
cases:
  - {{name: agrees}}
  - {{name: follows-another-reading, with: {{batch: 0}}}}
  - {{name: accepts-invalid, with: {{breaks: pads-without-auto-pad, auto_pad: same_upper, pads_begin: 1}}}}
  - {{name: cannot-be-said, with: {{auto_pad: same_upper, pads_begin: 1}}}}
  - {{name: differs, with: {{strides: 2}}}}
  - {{name: is-known, with: {{strides: 2, seed: 1}}}}
  - {{name: is-declared, with: {{strides: 3}}}}
  - {{name: is-undeclared, with: {{strides: 4}}}}
  - {{name: dies, with: {{strides: 7}}}}
"""
KNOWN = waiver(name="zeros", cases="various/is-known", example="various/is-known", verdict={"kind": "wrong-shape"})
DECLARED = {"cases": "various/is-declared", "because": "stride 3 is for next year"}
ROOT = Path(__file__).parent.parent


@pytest.fixture
def project(pytester: pytest.Pytester) -> Callable[..., pytest.Pytester]:
    """Return what makes a project with a case file, an ini file, and a waiver file where one is given."""

    def make(
        backend: str = "Right",
        cases: str = CASES,
        name: str = "small",
        waivers: dict[str, Any] | None = None,
        **settings: str,
    ) -> pytest.Pytester:
        settings = {"tconv_cases": "cases", "tconv_backend": f"wrong_backends:{backend}"} | settings
        if waivers is not None:
            content = {"format": 1, "backend": backend} | waivers
            pytester.path.joinpath("known.yaml").write_text(json.dumps(content), encoding="utf-8")
            settings["tconv_waivers"] = "known.yaml"
        lines = [f"{key} = {value}" for key, value in settings.items()]
        pytester.makeini("\n".join(["[pytest]", *lines]))
        pytester.mkdir("cases").joinpath(f"{name}.yaml").write_text(cases, encoding="utf-8")
        return pytester

    return make


def test_without_the_setting_no_file_is_a_test(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("small.yaml").write_text(CASES, encoding="utf-8")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "tconv:" not in result.stdout.str()


def test_the_cases_of_a_file_are_its_items(project: Callable[..., pytest.Pytester]) -> None:
    """Named as their ids end; what lies beside the folder, or is no YAML, is left alone."""
    made = project()
    made.path.joinpath("other.yaml").write_text("format: 3", encoding="utf-8")
    made.path.joinpath("cases", "notes.txt").write_text("format: 3", encoding="utf-8")
    result = made.runpytest("--collect-only", "-q")
    assert result.ret == pytest.ExitCode.OK
    assert sorted(line for line in result.outlines if "::" in line) == sorted(f"cases/small.yaml::{n}" for n in NAMES)
    result = made.runpytest("-v")
    result.assert_outcomes(passed=len(NAMES))
    assert multiprocessing.active_children() == []
    result.stdout.fnmatch_lines(
        ["tconv: wrong_backends:Right, gate tier", "Right 1.0, onnx/ConvTranspose-22: 6 passed"]
    )


def test_models_are_audited(pytester: pytest.Pytester) -> None:
    """Each is an item: it passes if it is safe, or its findings are accepted, and else fails with what was found."""
    for name in ("keras-same", "volume"):
        write(name, pytester.mkdir(name))
    pytester.makeini("[pytest]\ntconv_audit = */*.onnx\ntconv_accept = known.txt\n")
    known = pytester.path / "known.txt"
    known.write_text("# nothing yet")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["unsafe on onnxruntime *negative-same-shrunk*"])
    known.write_text("keras-same.onnx up_b onnxruntime reading")
    pytester.runpytest("-k", "keras").assert_outcomes(passed=1, deselected=1)
    assert pytester.runpytest("-o", "tconv_audit=*.onnx").ret == pytest.ExitCode.USAGE_ERROR
    missing = pytester.runpytest("-o", "tconv_backend=runner:no-such", "-k", "volume")
    missing.assert_outcomes(failed=1, deselected=1)


def test_the_tier_decides_which_cases_there_are(project: Callable[..., pytest.Pytester]) -> None:
    sweep = "sweeps: [{name: s, axes: {strides: [1, 2], dilations: [1, 2], groups: [1, 2], seed: [0, 1]}}]\n"
    made = project(cases=HEAD + sweep + "cases: [{name: a}, {name: b, tier: smoke}]\n")
    found = {}
    for tier in ("smoke", "gate", "full"):
        lines = made.runpytest("--collect-only", "-q", "-o", f"tconv_tier={tier}").outlines
        found[tier] = {line for line in lines if "::" in line}
    assert found["smoke"] < found["gate"] <= found["full"]
    assert "cases/small.yaml::a" in found["gate"] - found["smoke"]
    assert len(found["full"]) == 18


def test_the_gate_fails_what_other_cases_show(project: Callable[..., pytest.Pytester]) -> None:
    """A refusal that a reading may explain is no failure; if another case denies the reading, it is one."""
    negative = "spatial: [2], kernel: [1], groups: 1, strides: 4"
    made = project(
        "OutOfMemoryBelowZero",
        f"""{HEAD}
cases:
  - {{name: answered, with: {{{negative}, auto_pad: same_upper}}}}
  - {{name: refused, with: {{{negative}, auto_pad: same_lower}}}}
""",
    )
    result = made.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["refused-valid: out of memory: 4096 bytes", "  case       small/refused"])
    alone = made.runpytest("-k", "refused")
    assert alone.ret == pytest.ExitCode.OK
    alone.stdout.fnmatch_lines(["note: no output was computed"])


def test_each_status_has_its_outcome(project: Callable[..., pytest.Pytester]) -> None:
    """A waived case is expected to fail, what cannot be asked is skipped, a deviation fails; no case takes another."""
    made = project("Various", VARIOUS, "various", {"waivers": [KNOWN], "unsupported": [DECLARED]})
    result = made.runpytest("-rA")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=3, xfailed=1, skipped=2, failed=3)
    lines = result.outlines
    summary = [line for line in lines if line.startswith(("PASSED", "XFAIL", "FAILED"))]
    told = {line.split()[1].partition("::")[2]: line for line in summary}
    assert {name: line.split()[0] for name, line in told.items()} == {
        "agrees": "PASSED",
        "follows-another-reading": "PASSED",
        "accepts-invalid": "PASSED",
        "is-known": "XFAIL",
        "differs": "FAILED",
        "is-undeclared": "FAILED",
        "dies": "FAILED",
    }
    assert told["is-known"].endswith(" - it rounds up")
    skipped = " ".join(line for line in lines if line.startswith("SKIPPED"))
    assert "cases/various.yaml: stride 3 is for next year" in skipped
    assert "pads-without-auto-pad" in skipped
    text = result.stdout.str()
    assert "reported: breaks pads-without-auto-pad, and was answered" in text
    assert "disputed: " in text
    assert "Various 1.0, onnx/ConvTranspose-22: 1 disputed, 2 failed, 1 not-applicable, 1 passed, 1 reported" in text
    assert "red: 2 cases failed without a waiver" in text
    assert "red: 1 case is unsupported, and not declared so; declare" in text


def test_a_failure_is_explained_without_a_traceback(project: Callable[..., pytest.Pytester]) -> None:
    """What was found, the call, expected and actual, what was printed, and the command that asks again."""
    made = project("Various", VARIOUS, "various", {"unsupported": [DECLARED]})
    result = made.runpytest("-rf")
    text = result.stdout.str()
    assert "Traceback" not in text
    assert ".py" not in text
    asked = f"--backend wrong_backends:Various --dialect onnx/ConvTranspose-22 --cases {made.path / 'cases'}"
    result.stdout.fnmatch_lines(
        [
            "_* various/differs _*",
            "wrong-shape: must be [[]1, 6, 11[]] (got [[]2, 6, 11[]])",
            "  case       various/differs",
            "  backend    Various, speaking onnx/ConvTranspose-22",
            "  call       strides=[[]2[]], group=2",
            "  inputs     X f32 [[]1, 4, 5[]], W f32 [[]4, 3, 3[]], B f32 [[]6[]], in NCX and IOX",
            f"  reproduce  tconv run various/differs {asked} --waivers none",
            "_* various/is-undeclared _*",
            "unsupported: unsupported, and not declared so: only small strides",
            "_* various/dies _*",
            "crashed: SIGABRT: stack smashing detected",
            "  printed    stack smashing detected",
        ]
    )


def test_a_hang_is_one_failure_and_the_others_run(project: Callable[..., pytest.Pytester]) -> None:
    result = project("Hangs", tconv_timeout="1.5").runpytest()
    result.assert_outcomes(passed=len(NAMES) - 1, failed=1)
    result.stdout.fnmatch_lines(["timed-out: no answer within 1.5 s"])


def test_strict_makes_a_failure_of_an_invalid_model_that_is_accepted(project: Callable[..., pytest.Pytester]) -> None:
    made = project("Various", VARIOUS, "various", {"unsupported": [DECLARED]})
    made.runpytest("-k", "accepts-invalid or agrees").assert_outcomes(passed=2)
    strictly = made.runpytest("-k", "accepts-invalid or agrees", "-o", "tconv_strict=true")
    strictly.assert_outcomes(passed=1, failed=1)


def test_runxfail_shows_a_waived_failure_as_what_it_is(project: Callable[..., pytest.Pytester]) -> None:
    made = project("Various", VARIOUS, "various", {"waivers": [KNOWN]})
    result = made.runpytest("--runxfail", "-k", "is-known or agrees")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["wrong-shape: must be *"])


def test_a_stale_waiver_is_red(project: Callable[..., pytest.Pytester]) -> None:
    """No case fails, and yet the run does: in the summary, by the exit status, and in the JUnit file."""
    stale = waiver(name="gone", cases="small/padded", example="small/padded")
    made = project(waivers={"waivers": [stale]})
    result = made.runpytest("--junitxml=junit.xml", "--color=yes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    sentence = "waiver 'gone' is stale: its example 'small/padded' ran and agrees now; remove it"
    assert f"\x1b[31mred: {sentence}\x1b[0m" in result.stdout.str()
    assert result.parseoutcomes() == {"passed": 6, "failed": 1}
    cases = [case for suite in JUnitXml.fromfile(str(made.path / "junit.xml")) for case in suite]
    assert [case.result[0].message for case in cases if not case.is_passed] == [sentence]
    assert len(cases) == 7


def test_a_waiver_whose_example_is_deselected_is_left_alone(project: Callable[..., pytest.Pytester]) -> None:
    """-k runs some cases; of the others it says nothing. That its example is no case is known without a run."""
    stale = waiver(name="gone", cases="small/padded", example="small/padded")
    made = project("PadsSwapped", waivers={"waivers": [stale | {"verdict": {"kind": "crashed"}}]})
    assert made.runpytest("-k", "plain").ret == pytest.ExitCode.OK
    unknown = waiver(name="lost", cases="small/after", example="small/nothing")
    made.path.joinpath("known.yaml").write_text(
        json.dumps({"format": 1, "backend": "PadsSwapped", "waivers": [stale, unknown]}), encoding="utf-8"
    )
    text = made.runpytest("-k", "plain").stdout.str()
    assert "red: waiver 'lost' is invalid: its example 'small/nothing' is no case of this corpus; correct it" in text
    assert "stale" not in text


def test_options_that_choose_items_choose_what_is_run(project: Callable[..., pytest.Pytester]) -> None:
    """What failed last is run alone; and after the first failure no item is reported."""
    made = project("PadsSwapped")
    made.runpytest("-x").assert_outcomes(passed=1, failed=1)
    made.runpytest().assert_outcomes(passed=5, failed=1)
    again = made.runpytest("--lf")
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["PadsSwapped 1.0, onnx/ConvTranspose-22: 1 failed"])


def test_every_item_of_a_case_has_its_result(project: Callable[..., pytest.Pytester]) -> None:
    """A file that is named twice has two items for each case, and none passes unjudged."""
    made = project("PadsSwapped")
    found = made.runpytest("cases/small.yaml", "cases/small.yaml", "--keep-duplicates", "-k", "padded or plain")
    found.assert_outcomes(passed=2, failed=2)


def test_items_are_not_dealt_out_to_processes_of_pytest(project: Callable[..., pytest.Pytester]) -> None:
    """One run asks for all of them, in processes of its own."""
    result = project().runpytest("-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = filter(None, result.errlines)
    assert line.startswith("ERROR: -n must not be given")


def test_a_run_without_a_judged_case_is_red(project: Callable[..., pytest.Pytester]) -> None:
    made = project("UnsupportedEverywhere", waivers={"unsupported": [{"cases": "small", "because": "to come"}]})
    result = made.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(skipped=6, failed=1)
    result.stdout.fnmatch_lines(["red: no case was judged*"])


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ("cases: [{name: a, with: {stride: 2}}]", "5:26: must be one of the known keys (got 'stride'); did you mean "),
        ("sweeps: [{name: a, axes: {groups: [2, 3]}}]", "5:10: groups must divide the 4 input channels (got 3)"),
    ],
)
def test_a_bad_case_file_is_one_line(cases: str, message: str, project: Callable[..., pytest.Pytester]) -> None:
    """Path, line, column, also if it is found only when the cases of a sweep are made; nothing is run."""
    made = project(cases=f"{HEAD}{cases}\n")
    result = made.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = filter(None, result.errlines)
    assert line.startswith(f"ERROR: {made.path / 'cases' / 'small.yaml'}:{message}")


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("tconv_tier", "gat", "must be one of smoke, gate, full (got 'gat'); did you mean 'gate'?"),
        ("tconv_dialect", "onnx/ConvTranspose-2", "did you mean 'onnx/ConvTranspose-22'?"),
        ("tconv_backend", "onnxruntim", "(got 'onnxruntim'); did you mean 'onnxruntime'?"),
        ("tconv_backend", "nowhere.at_all:Backend", "must be of a module that can be imported from here, "),
        ("tconv_backend", "here/acme.py:Backend", "must be module:attribute, as Python imports it, and no file"),
        ("tconv_backend", "wrong_backends:FailsToStart", "must start (got RuntimeError: no licence see the manual)"),
        ("tconv_timeout", "0", "must be seconds, at least 0.05 (got 0)"),
        ("tconv_timeout", "soon", "'soon'"),
        ("tconv_strict", "maybe", "'maybe'"),
        ("tconv_cases", "nowhere", "must be a case file or a folder of them (got nothing at "),
        ("tconv_waivers", "wrong.yaml", "must be a version specifier such as '>=1.28' (got '=>1')"),
    ],
)
def test_a_bad_setting_is_a_usage_error_in_one_line(
    setting: str, value: str, message: str, project: Callable[..., pytest.Pytester]
) -> None:
    """With the ini file and its name, if it is not found out as the backend starts."""
    made = project(**{setting: value})
    wrong = {"format": 1, "backend": "Right", "waivers": [waiver(versions="=>1")]}
    made.path.joinpath("wrong.yaml").write_text(json.dumps(wrong), encoding="utf-8")
    result = made.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = filter(None, result.errlines)
    place = "backend" if "FailsToStart" in value else f"{made.path / 'tox.ini'}: {setting}"
    assert line.startswith(f"ERROR: {place}")
    assert message in line


def test_cases_elsewhere_hang_below_the_ini_file(project: Callable[..., pytest.Pytester]) -> None:
    """What pytest does not come by on its way is collected where the ini file is, and can be named there."""
    made = project()
    made.path.joinpath("tox.ini").unlink()
    gate = made.mkdir("gate")
    settings = "[pytest]\ntconv_cases = ../cases\ntconv_backend = wrong_backends:Right\n"
    gate.joinpath("pytest.ini").write_text(settings, encoding="utf-8")
    result = made.runpytest("gate", "--collect-only", "-q")
    found = [line for line in result.outlines if "::" in line]
    assert sorted(found) == sorted(f"pytest.ini::small.yaml::{name}" for name in NAMES)
    made.runpytest("gate").assert_outcomes(passed=6)
    made.runpytest("gate/pytest.ini::small.yaml::plain").assert_outcomes(passed=1)


def test_the_ini_file_of_the_docs_collects_and_passes(pytester: pytest.Pytester) -> None:
    """The block of docs/how-to/pytest.md is an ini file as it stands, for a folder `cases` beside it."""
    page = (ROOT / "docs/how-to/pytest.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```ini\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    pytester.makeini(block)
    pytester.mkdir("cases").joinpath("small.yaml").write_text(CASES, encoding="utf-8")
    pytester.runpytest("-k", "plain or padded").assert_outcomes(passed=2)
