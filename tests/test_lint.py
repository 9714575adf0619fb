"""The corpus's lint: a minimal file for each finding, clean ones beside them, and `tconv check`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import small_corpus
from small_corpus import BARE_HEAD
from tconv.cli.check_command import command as check_command
from tconv.corpus import Corpus, tiers
from tconv.corpus.lint import lint
from tconv.datafiles import data_folder
from tconv.dialects import DIALECTS, Absent
from tconv.dialects.constraints import CONSTRAINTS
from tconv.errors import UsageError
from tconv.gate import waiver_lint
from tconv.gate.waivers import load as load_waivers

if TYPE_CHECKING:
    from pathlib import Path

SWEEP = "sweeps: [{name: s, axes: {strides: [1, 2]}}]\n"
TWIN = "cases: [{name: a}, {name: b}]\n"


def written(folder: Path, text: str, name: str = "file.yaml") -> Path:
    return small_corpus.written(folder, BARE_HEAD + text, name)


def findings(folder: Path, text: str) -> list[tuple[str, str]]:
    return [(finding.where, finding.message) for finding in lint(Corpus.load(written(folder, text)))]


# Tiers.


def test_tiers_of_yesterday(tmp_path: Path) -> None:
    written(tmp_path, SWEEP)
    tiers.write(tmp_path, Corpus.load(tmp_path).sweeps.values())
    assert list(lint(Corpus.load(tmp_path))) == []
    written(tmp_path, SWEEP.replace("[1, 2]", "[1, 3]"))
    (finding,) = lint(Corpus.load(tmp_path))
    assert (finding.where, finding.message) == (
        "file/s",
        f"tiers.json must be of today (got another digest); run 'tconv check {tmp_path} --write-tiers'",
    )
    written(tmp_path, SWEEP.replace("name: s", "name: t"))
    assert [(one.where, one.message.partition(" (")[0].partition(";")[0]) for one in lint(Corpus.load(tmp_path))] == [
        ("file/t", "tiers.json must be of today"),
        ("file/s", "tiers.json must name sweeps that are there, without a tier of their own"),
    ]


def test_tiers_of_other_dialects(tmp_path: Path) -> None:
    written(tmp_path, SWEEP)
    tiers.write(tmp_path, Corpus.load(tmp_path).sweeps.values())
    kept = tmp_path / tiers.FILE_NAME
    found = json.loads(kept.read_text(encoding="utf-8"))
    found["sweeps"]["file/s"]["gate"] = found["sweeps"]["file/s"]["gate"][:-1]
    kept.write_text(json.dumps(found), encoding="utf-8")
    (finding,) = lint(Corpus.load(tmp_path))
    assert finding.where == "file/s"
    assert "must cover what each dialect can say (gate lacks " in finding.message


def test_one_file_of_a_kept_folder(tmp_path: Path) -> None:
    path = written(tmp_path, SWEEP)
    written(tmp_path, SWEEP, "other.yaml")
    tiers.write(tmp_path, Corpus.load(tmp_path).sweeps.values())
    assert list(lint(Corpus.load(path))) == []
    written(tmp_path, SWEEP.replace("[1, 2]", "[1, 3]"))
    assert [finding.where for finding in lint(Corpus.load(path))] == ["file/s"]


# Sense.


@pytest.mark.parametrize(
    "settings",
    [
        "{breaks: strides-length, strides: [2, 2]}",
        "{breaks: strides-positive, strides: 0}",
        "{breaks: strides-given, omit: [strides]}",
        "{breaks: strides-given, omit: [strides], bias: true}",
        "{breaks: pads-given, omit: [pads_begin]}",
        "{breaks: batch-not-empty, batch: 0}",
        "{breaks: kernel-not-empty, kernel: 0}",
        "{breaks: one-type, w: {dtype: f16}}",
        "{breaks: type-known, dtype: f64}",
        "{breaks: type-known, dtype: bf16}",
        "{breaks: output-size-non-negative, pads_begin: 7}",
        "{breaks: output-not-empty, output_shape: 0}",
        "{breaks: data-format-known, data_format: {raw: NCHW}}",
    ],
)
def test_a_case_that_breaks_what_it_says(tmp_path: Path, settings: str) -> None:
    path = written(tmp_path, f"cases: [{{name: a, with: {settings}}}]")
    several = "cites: [{dialect: onednn/ConvTranspose-1, clause: doc}, {dialect: onnx/ConvTranspose-22, clause: doc}]"
    path.write_text(re.sub("cites: .*", several, path.read_text(encoding="utf-8")), encoding="utf-8")
    # That a citation has no words for any case is found at the citation.
    assert [finding for finding in lint(Corpus.load(path)) if finding.where == "file/a"] == []


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_each_constraint_that_is_not_broken_is_found(tmp_path: Path, name: str) -> None:
    """The smallest ordinary case breaks nothing, whatever it says; some dialect minds each constraint there is."""
    assert any(not isinstance(dialect.constraints[name], Absent) for dialect in DIALECTS.values())
    plain = f"cases: [{{name: a, with: {{breaks: {name}, spatial: [4, 4], kernel: [3, 3]}}}}]"
    ((where, message),) = findings(tmp_path, plain)
    assert where == "file/a"
    assert message.startswith(f"must break {name} (got a valid call of ")


@pytest.mark.parametrize(
    "other",
    [
        "seed: 1",
        "shapes: symbolic",
        "filter_source: input",
        "bias_source: unnamed",
        "strides: 1",
        "data_format: NCX",
        "dtype: f16",
        "data: ones",
    ],
)
def test_presentation_and_spelling_are_something_new(tmp_path: Path, other: str) -> None:
    assert findings(tmp_path, f"cases: [{{name: a}}, {{name: b, with: {{{other}}}}}]") == []


def test_a_literal_may_be_nan(tmp_path: Path) -> None:
    values = "with: {spatial: [2], kernel: [2], x: {values: [.nan, 2]}, w: {values: [1, 10]}}"
    expected = "expected: [{dialects: [onnx/ConvTranspose-22], spatial: [3], values: [.nan, .nan, 20]}]"
    assert findings(tmp_path, f"cases: [{{name: a, {values}, {expected}}}]") == []


# tconv check


def check(*arguments: str) -> tuple[int, str, list[str]]:
    """Return the code of the command, its last line, and what it says on standard error."""
    result = CliRunner().invoke(check_command, arguments, standalone_mode=False, catch_exceptions=False)
    return result.return_value, result.stdout.splitlines()[-1], result.stderr.splitlines()


def test_check_counts_and_ends_with_two_where_something_is_found(tmp_path: Path) -> None:
    assert check(str(written(tmp_path, SWEEP))) == (0, "2 cases, 1 sweep, 0 findings", [])
    code, last, told = check(str(written(tmp_path, TWIN)))
    assert (code, last) == (2, "2 cases, 0 sweeps, 1 finding")
    place = tmp_path / "file.yaml:4:20"
    assert told == [f"{place}: file/b: must say something new (got the same as file/a); remove one"]


def test_check_prints_five_findings_of_a_sweep(tmp_path: Path) -> None:
    """A sweep that goes wrong goes wrong often: the rest is counted, and told with --all."""
    path = str(
        written(tmp_path, "sweeps: [{name: s, with: {breaks: batch-not-empty}, axes: {seed: [1, 2, 3, 4, 5, 6, 7]}}]")
    )
    code, last, told = check(path)
    assert (code, last) == (2, "7 cases, 1 sweep, 7 findings")
    assert len(told) == 6
    assert told[-1] == "file/s: and 2 more findings; see them with --all"
    assert len(check(path, "--all")[2]) == 7


def test_check_writes_tiers_and_then_looks(tmp_path: Path) -> None:
    """With --write-tiers a stale file is of today; for one file alone, what is kept of the others stays."""
    path = written(tmp_path, SWEEP)
    written(tmp_path, SWEEP.replace("strides", "seed"), "other.yaml")
    assert check(str(tmp_path), "--write-tiers")[0] == 0
    kept = Corpus.load(tmp_path).tiers.selections
    assert set(kept) == {"file/s", "other/s"}
    written(tmp_path, SWEEP.replace("[1, 2]", "[1, 2, 3]"))
    assert check(str(path))[0] == 2
    assert check(str(path), "--write-tiers")[0] == 0
    assert check(str(tmp_path))[0] == 0
    again = Corpus.load(tmp_path).tiers.selections
    assert again["other/s"] == kept["other/s"]
    assert again["file/s"] != kept["file/s"]


def test_tiers_of_a_single_file_are_not_stored_beside_it(tmp_path: Path) -> None:
    """Where the folder stores none, a file alone has none either: the command says what to do, and writes nothing."""
    path = written(tmp_path, SWEEP)
    with pytest.raises(UsageError, match=r"^--write-tiers must be for a folder of case files, or a file of one that"):
        check(str(path), "--write-tiers")
    assert not (tmp_path / tiers.FILE_NAME).exists()


# Citations, and literals that a type does not hold.


@pytest.mark.parametrize(
    ("text", "number"),
    [("2^-140", "0x1p-140"), ("-2^100", "-0x1p100"), ("3*2^-1074", "0x3p-1074"), ("-9007199254740992*2^-1", "-0x1p52")],
)
def test_a_number_may_be_a_multiple_of_a_power_of_two(tmp_path: Path, text: str, number: str) -> None:
    values = f"x: {{values: [{text}]}}, w: {{values: [1]}}"
    expected = f"expected: [{{dialects: [onnx/ConvTranspose-22], spatial: [1], values: [{text}]}}]"
    case = f"{{name: a, with: {{dtype: f64, spatial: [1], kernel: [1], {values}}}, {expected}}}"
    corpus = Corpus.load(written(tmp_path, f"cases: [{case}]"))
    (one,) = corpus.cases()
    assert one.x.values == one.expected[0].values == (float.fromhex(number),)
    assert list(lint(corpus)) == []


# Waiver files.

WAIVERS = """\
format: 1
backend: acme
unsupported:
  - {where: {stride: 2}, because: so}
waivers:
  - name: one
    dialects: [onnx/ConvTranspose-22]
    cases: "file[strids=1]"
    verdict: {kind: differed}
    versions: ">=1"
    clause: doc
    because: so
    example: file/s[strides=3]
    date: 2026-11-20
"""


def test_check_of_a_waiver_file(tmp_path: Path) -> None:
    cases, path = str(written(tmp_path, SWEEP)), tmp_path / "waivers.yaml"
    path.write_text(WAIVERS)
    code, last, told = check(str(path), "--cases", cases)
    assert (code, last) == (2, "1 waiver, 0 pins, 1 unsupported, 3 findings")
    advice = "did you mean 'strides'?; 'tconv list --json' prints the facts of each case"
    assert told == [
        f"{path}:4:14: where must have facts of cases (got 'stride'); {advice}",
        f"{path}:8:12: a pattern must have facts of cases (got 'strids'); {advice}",
        f"{path}:13:14: example must be the id of a case (got 'file/s[strides=3]'); did you mean 'file/s'?",
    ]
    path.write_text(WAIVERS.replace("stride:", "strides:").replace("strids=1", "strides=2").replace("=3]", "=1]"))
    message = (
        "example must be a case that the waiver covers (got 'file/s[strides=1]', which has strides=1 and not 2); "
        "correct cases, where or it"
    )
    assert check(str(path), "--cases", cases)[2] == [f"{path}:13:14: {message}"]
    path.write_text(path.read_text().replace('cases: "file[strides=2]"', "where: {strides: 2}"))
    assert check(str(path), "--cases", cases)[2] == [f"{path}:13:14: {message}"]
    path.write_text(path.read_text().replace("where: {strides: 2}", 'cases: "file[size=2]"'))
    code, _, told = check(str(path), "--cases", cases)
    assert f"{path}:13:14: {message.replace('strides=1 and not 2', 'no size')}" in told
    path.write_text(WAIVERS.replace("stride:", "strides:").replace("strids=1", "strides=2").replace("=3]", "=2]"))
    assert check(str(path), "--cases", cases) == (0, "1 waiver, 0 pins, 1 unsupported, 0 findings", [])
    with pytest.raises(UsageError, match="--cases needs a waiver file"):
        check(cases, "--cases", cases)


@pytest.mark.parametrize("path", sorted(data_folder("waivers").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_waivers_have_no_findings(path: Path, corpus: Corpus) -> None:
    assert waiver_lint.lint(path, corpus)[1] == []
    assert load_waivers(path).backend == path.stem
