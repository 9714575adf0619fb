"""Tiers: which rows of a sweep are run when, and the file that keeps them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from small_corpus import BARE_HEAD, written
from tconv.corpus import Corpus, tiers
from tconv.corpus.coverage import find_expressible_rows
from tconv.dialects import SPOKEN
from tconv.errors import FileError
from tconv.expectation.expected import NotApplicable, expect

if TYPE_CHECKING:
    from pathlib import Path

    from tconv.corpus import Tier
    from tconv.corpus.sweep import Sweep

SWEEP = """\
  - name: {name}
    with: {{channels: 2, out_channels: 2}}
    axes:
      strides: [1, 2, 3]
      dilations: [1, 2]
      auto_pad: [explicit, same_upper, valid]
      output_shape: [null, full]
      groups: [1, 2]
      bias: [true, false]
      data_format: [NCX, NXC]
"""


def sweeps(folder: Path, *names: str) -> Corpus:
    for name in names:
        written(folder, f"{BARE_HEAD}sweeps:\n{SWEEP.format(name=name)}", f"{name}.yaml")
    return Corpus.load(folder)


@pytest.fixture
def two(tmp_path: Path) -> Corpus:
    tiers.write(tmp_path, sweeps(tmp_path, "one", "two").sweeps.values())
    return Corpus.load(tmp_path)


# Choosing.


def sayable_is_what_expectations_say(sweep: Sweep) -> None:
    """Hold that a row is sayable where its case is not not applicable, row by row and dialect by dialect."""
    cases = [sweep.case(row) for row in sweep.rows().tolist()]
    assert {name: mask.tolist() for name, mask in find_expressible_rows(sweep).items()} == {
        name: [not isinstance(expect(case, dialect), NotApplicable) for case in cases]
        for name, dialect in SPOKEN.items()
    }


@pytest.mark.parametrize(
    "axes",
    [
        # Named as presentation is, and not of it.
        "shapes: {one: {groups: 1}, two: {groups: 2, channels: 2, out_channels: 2}}",
        "filter_source: {plain: {}, biased: {bias: true}}",
        # A word that is written as it is decides who can say it.
        "data_format: [NCX, {raw: NCHW}]",
        "filter_format: {known: {}, unknown: {filter_format: {raw: OIHW}}}",
        # Named as anything, and of presentation alone.
        "format: {n: {data_format: NXC}, c: {data_format: NCX, shapes: symbolic}}",
        "shapes: [static, symbolic]",
    ],
)
def test_presentation_goes_by_what_is_set(tmp_path: Path, axes: str) -> None:
    breaks = "data-format-known" if "data_format" in axes else "filter-format-known"
    with_ = f"{{breaks: {breaks}}}" if "raw" in axes else "{}"
    file = written(tmp_path, f"{BARE_HEAD}sweeps: [{{name: s, with: {with_}, axes: {{{axes}, strides: [1, 2]}}}}]")
    (sweep,) = Corpus.load(file).sweeps.values()
    sayable_is_what_expectations_say(sweep)


# Keeping.


def test_what_is_written_is_read(two: Corpus, tmp_path: Path) -> None:
    assert set(two.tiers.selections) == {"one/one", "two/two"}
    for sweep in two.sweeps.values():
        assert two.tiers.selections[sweep.id] == tiers.select(sweep)
        assert two.tiers.fresh(sweep)
    lines = (tmp_path / tiers.FILE_NAME).read_text(encoding="utf-8").splitlines()
    assert [line.partition(":")[0].strip() for line in lines[1:-1]] == ['"one/one"', '"two/two"']
    assert json.loads("\n".join(lines))["format"] == 1


def rows(corpus: Corpus, sweep: Sweep, tier: Tier) -> list[list[int]]:
    return [row for block in corpus.tiers.blocks(sweep, tier) for row in block.tolist()]


def test_what_is_kept_is_used(two: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """No command waits for a choice that is kept: rows are those of the file, in the sweep's order."""
    monkeypatch.setattr(tiers, "select", lambda _sweep: pytest.fail("chosen anew"))
    sweep = two.sweeps["one/one"]
    for tier, numbers in (
        ("gate", two.tiers.selections["one/one"].gate),
        ("smoke", two.tiers.selections["one/one"].smoke),
    ):
        assert rows(two, sweep, tier) == sweep.rows()[list(numbers)].tolist()
    assert len(rows(two, sweep, "full")) == len(sweep.rows()) == 288


def test_a_stale_digest_is_chosen_anew(two: Corpus, tmp_path: Path) -> None:
    """After a change of the sweep the kept rows are not its rows: the tier covers the sweep of today."""
    file = tmp_path / "one.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("strides: [1, 2, 3]", "strides: [1, 4]"), encoding="utf-8")
    changed = Corpus.load(tmp_path)
    sweep = changed.sweeps["one/one"]
    assert changed.tiers.selections == two.tiers.selections
    assert not changed.tiers.fresh(sweep)
    assert changed.tiers.fresh(changed.sweeps["two/two"])
    assert rows(changed, sweep, "gate") == sweep.rows()[list(tiers.select(sweep).gate)].tolist()
    assert {case.attributes.strides for case in changed.cases("smoke", ["one"])} == {(1,), (4,)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "<<<<<<< ours",
        '{"format": 2, "sweeps": {}}',
        '{"format": 1, "rows": {}}',
        '{"sweeps": {"one/one": {"digest": "a", "gate": [1]}}}',
        '{"sweeps": {"one/one": {"digest": "a", "gate": [-1, 0], "smoke": []}}}',
        '{"sweeps": {"one/one": {"digest": "a", "gate": [1, 1], "smoke": []}}}',
        '{"sweeps": {"one/one": {"digest": "a", "gate": [], "smoke": [2, 1]}}}',
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / tiers.FILE_NAME).write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"tiers\.json: must be what tconv writes .*; delete it and run"):
        sweeps(tmp_path, "one")


def test_rows_that_a_sweep_does_not_have_are_refused(two: Corpus, tmp_path: Path) -> None:
    path = tmp_path / tiers.FILE_NAME
    kept = json.loads(path.read_text(encoding="utf-8"))
    kept["sweeps"]["one/one"]["gate"].append(288)
    path.write_text(json.dumps(kept), encoding="utf-8")
    edited = Corpus.load(tmp_path)
    assert len(list(edited.cases("smoke"))) == len(list(two.cases("smoke")))
    with pytest.raises(FileError, match=r"tiers\.json: must be what tconv writes"):
        list(edited.cases("gate"))


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """An installed corpus may be out of reach: that is a sentence, not a trace."""
    (tmp_path / tiers.FILE_NAME).mkdir()
    with pytest.raises(FileError, match=r"tiers\.json: must be a file that can be written"):
        tiers.write(tmp_path, [])


# The shipped corpus. What its tiers cover is in test_coverage.


@pytest.mark.parametrize("name", ["presentation/omitted", "empty/channels", "long/thin", "layouts/written"])
def test_shipped_rows_are_those_that_would_be_chosen(name: str, corpus: Corpus) -> None:
    """Choosing again on this machine gives the rows that are kept: a choice does not depend on who made it."""
    assert tiers.select(corpus.sweeps[name]) == corpus.tiers.selections[name]
