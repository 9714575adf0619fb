"""Coverage: counts on sweeps small enough to count by hand, and what the tiers of the shipped corpus cover."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from small_corpus import BARE_HEAD, written
from strategies import NARROW
from tconv.corpus import Corpus, coverage
from tconv.corpus.coverage import Coverage, Covered
from tconv.dialects import SPOKEN

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command
    from tconv.corpus import Tier

ONNX, ONEDNN = "onnx/ConvTranspose-22", "onednn/ConvTranspose-1"
OPENVINO, GROUPED = "openvino/ConvolutionBackpropData-1", "openvino/GroupConvolutionBackpropData-1"


def covered(folder: Path, sweeps: str, tier: Tier = "full") -> dict[str, Coverage]:
    """Return the coverage of the only sweep of a file, by dialect."""
    found = list(
        coverage.measure_coverage(Corpus.load(written(folder, f"{BARE_HEAD}sweeps:\n{sweeps}", "file.yaml")), tier)
    )
    assert [one.dialect_name for one in found] == list(SPOKEN)
    return {one.dialect_name: one for one in found}


# Counts by hand.

TINY = """\
  - name: tiny
    with: {channels: 2, out_channels: 2}
    axes:
      bias: [false, true]
      groups: [1, 2]
      strides: [1, 2, 3]
    skip: [{when: {strides: 3, bias: true}, because: three with a bias is odd}]
"""


def test_counts_of_a_dialect_that_says_everything(tmp_path: Path) -> None:
    """12 combinations less 2 skipped: 7 values, 16 - 1 pairs (2*2 + 2*3 + 2*3), 10 of 12 triples, no quadruple."""
    found = covered(tmp_path, TINY)[ONNX]
    assert (found.sweep, found.cases) == ("file/tiny", 10)
    assert found.counts == (Covered(1, 7, 7, 7), Covered(2, 15, 15, 16), Covered(3, 10, 10, 12), Covered(4, 0, 0, 0))
    assert found.never == (("bias=true,strides=3", "skipped: three with a bias is odd"),)


def test_counts_of_a_dialect_that_cannot_say_all(tmp_path: Path) -> None:
    """OpenVINO has neither bias nor groups: what is left is one case for each stride."""
    found = covered(tmp_path, TINY)[OPENVINO]
    assert found.cases == 3
    assert [(count.covered, count.reachable) for count in found.counts] == [(5, 5), (7, 7), (3, 3), (0, 0)]
    assert [words for words, _ in found.never] == ["bias=true", "groups=2"]


def test_reasons_name_the_constraint_and_the_clause(tmp_path: Path) -> None:
    """Why a value never occurs is what makes its cases not applicable there."""
    found = covered(tmp_path, TINY)
    assert dict(found[OPENVINO].never) == {
        "bias=true": f"without-bias: {SPOKEN[OPENVINO].spelling.inputs['b'].clause}",
        "groups=2": f"without-groups: {SPOKEN[OPENVINO].spelling.attributes['groups'].clause}",
    }
    assert [words for words, _ in found[GROUPED].never] == ["bias=true"]


def test_pairs_are_told_where_both_values_occur(tmp_path: Path) -> None:
    """A pair is news only if each of its values occurs with something else; the bound of ONNX forbids some."""
    sweep = "  - name: s\n    axes: {strides: [1, 3], output_padding: [0, 2], bias: [false, true]}\n"
    found = covered(tmp_path, sweep)
    clause = SPOKEN[ONNX].constraints["output-padding-below-stride-or-dilation"].clause
    assert found[ONNX].never == (("strides=1,output_padding=2", f"output-padding-below-stride-or-dilation: {clause}"),)
    assert found[ONNX].cases == 6
    assert found[ONEDNN].never == ()
    assert found[ONEDNN].cases == 8


def test_skips_that_leave_a_pair_away_are_all_told(tmp_path: Path) -> None:
    """Where several skips take a pair together, their reasons stand together; a skip beside them does not."""
    found = covered(
        tmp_path,
        "  - name: s\n"
        "    axes: {strides: [1, 2], dilations: [1, 2], seed: [1, 2]}\n"
        "    skip:\n"
        "      - {when: {strides: 2, dilations: 2, seed: 1}, because: one}\n"
        "      - {when: {strides: 2, dilations: 2, seed: 2}, because: two}\n"
        "      - {when: {strides: 1, dilations: 1, seed: 1}, because: three}\n",
    )[ONNX]
    assert found.never == (("strides=2,dilations=2", "skipped: one; two"),)


def test_a_sweep_that_a_dialect_cannot_say(tmp_path: Path) -> None:
    """One reason stands for all of its cases, and nothing is reachable."""
    found = covered(tmp_path, "  - name: s\n    with: {bias: true}\n    axes: {strides: [1, 2], seed: [1, 2]}\n")[
        OPENVINO
    ]
    assert found.cases == 0
    assert [(count.covered, count.reachable, count.conceivable) for count in found.counts[:2]] == [(0, 0, 4), (0, 0, 4)]
    assert found.never == (("every case", f"without-bias: {SPOKEN[OPENVINO].spelling.inputs['b'].clause}"),)


def test_a_tier_counts_its_own_rows(tmp_path: Path) -> None:
    """Smoke has every pair and not every triple; gate has every quadruple; full has everything; marked is full."""
    axes = ", ".join(f"axis{number}: {{a: {{}}, b: {{}}, c: {{}}}}" for number in range(5))
    text = f"  - name: s\n    axes: {{{axes}}}\n"
    smoke, gate, full = (covered(tmp_path, text, tier)[ONNX] for tier in ("smoke", "gate", "full"))
    assert full.cases == 3**5
    assert 9 <= smoke.cases < gate.cases < full.cases
    assert [(count.covered, count.reachable) for count in full.counts] == [(15, 15), (90, 90), (270, 270), (405, 405)]
    assert smoke.counts[1] == full.counts[1]
    assert smoke.counts[2].covered < 270
    assert gate.counts == full.counts
    marked = covered(tmp_path, text.replace("name: s\n", "name: s\n    tier: smoke\n"), "smoke")[ONNX]
    assert (marked.cases, marked.counts) == (full.cases, full.counts)


# The shipped corpus.


@pytest.mark.thorough
def test_the_shipped_tiers_cover_what_they_promise(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every dialect the gate tier has every reachable quadruple of every sweep, and smoke every reachable pair."""
    monkeypatch.setattr(coverage, "find_expressible_rows", lru_cache(maxsize=None)(coverage.find_expressible_rows))
    gate = list(coverage.measure_coverage(corpus, "gate"))
    monkeypatch.setattr(coverage, "STRENGTHS", (1, 2))
    monkeypatch.setattr(coverage, "_never", lambda *_: ())
    smoke = list(coverage.measure_coverage(corpus, "smoke"))
    tiers_of_sweeps = Counter(sweep.tier for sweep in corpus.sweeps.values())
    assert len(smoke) == tiers_of_sweeps[None] * len(SPOKEN)
    assert len(gate) == (tiers_of_sweeps[None] + tiers_of_sweeps["gate"]) * len(SPOKEN)
    for found in (gate, smoke):
        short = [
            (one.sweep, one.dialect_name, counted)
            for one in found
            for counted in one.counts
            if counted.covered < counted.reachable
        ]
        assert short == []
    said = {name: sum(one.cases for one in gate if one.dialect_name == name) for name in SPOKEN}
    # TFLite has no attribute but strides and the mode.
    assert min(number for name, number in said.items() if name not in NARROW) > 2500, said
    assert min(said.values()) > 500, said
    for one in gate:
        if not one.cases:
            assert [words for words, _ in one.never] == ["every case"]
        assert all(reason and ": " in reason for _, reason in one.never)


# tconv check --coverage


def test_the_command_prints_counts_and_reasons(command: Command, tmp_path: Path) -> None:
    """A line for each dialect, and below what never occurs, dialects and values of one reason together."""
    covered(tmp_path, TINY)
    lines = command("check", "--coverage", str(tmp_path), "--tier", "full").stdout.splitlines()
    assert any("full tier: covered/reachable" in line for line in lines)
    rows = {line.split()[1]: line.split() for line in lines if line.strip().startswith("file/tiny  ")}
    assert rows[ONNX][2:] == ["10", "7/7", "15/15", "10/10", "-"]
    assert rows[OPENVINO][2:] == ["3", "5/5", "7/7", "3/3", "-"]
    assert set(rows) == set(SPOKEN)
    at = lines.index("never occurs:")
    assert f"  in {ONNX}, for skipped: three with a bias is odd" in lines[at:]
    assert "    file/tiny: bias=true,strides=3" in lines[at:]


def test_the_command_for_one_dialect(command: Command, tmp_path: Path) -> None:
    """Only that dialect is printed."""
    covered(tmp_path, "  - name: s\n    axes: {strides: [1, 2], seed: [1, 2]}\n")
    out = command("check", "--coverage", str(tmp_path), "--dialect", ONNX).stdout
    assert [name for name in SPOKEN if name in out] == [ONNX]
    assert "everything that the axes can say occurs" in out
