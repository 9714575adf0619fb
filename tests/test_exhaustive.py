"""The exhaustive tier: generated and never held as a whole, and run in shards."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_corpus import HEAD, written
from tconv.corpus import Corpus, lint, sweep
from tconv.dialects import DIALECTS
from tconv.execution.selection import Selection
from tconv.expectation.expected import NotApplicable, expect
from tconv.records.shards import Shards

if TYPE_CHECKING:
    from pathlib import Path

    from small_corpus import Command

EVERY = f"""{HEAD}
sweeps:
  - name: every
    tier: exhaustive
    axes: {{spatial: [[3], [4], [5]], pads_begin: [0, 1], pads_end: [0, 1], output_padding: [0, 1]}}
  - {{name: few, axes: {{strides: [1, 2]}}}}
cases:
  - {{name: single}}
"""
"""Half of the cases of its sweep have an output_padding that ONNX cannot have."""
IN_EVERY = 24


@pytest.fixture
def every(tmp_path: Path) -> Corpus:
    """Return a corpus with a small sweep of the exhaustive tier."""
    return Corpus.load(written(tmp_path, EVERY))


# Which cases it has.


def test_its_sweeps_are_in_no_other_tier(every: Corpus) -> None:
    full, all_ids = set(every.ids("full")), list(every.ids("exhaustive"))
    assert full == {"small/single", "small/few[strides=1]", "small/few[strides=2]"}
    assert len(all_ids) == len(set(all_ids)) == every.count("exhaustive") == len(full) + IN_EVERY
    assert full < set(all_ids)
    assert all(case_id.startswith("small/every[") for case_id in set(all_ids) - full)


def test_ids_count_and_cases_agree(every: Corpus) -> None:
    for patterns, count in {
        (): 27,
        ("small/every",): 24,
        ("small/every[pads_begin=1,spatial=3|4]",): 8,
        ("**[pads_begin=1]", "**[pads_end=1]"): 18,
        ("small/every[dtype=f32]",): 24,
        ("small/every[dtype=f16]",): 0,
        ("small/every[nonsense=1]",): 0,
        ("**[rank=1,output_padding_positive=true]",): 12,
        ("small/few", "small/every[spatial=5,dtype=f32,output_padding=0]"): 6,
    }.items():
        ids = list(every.ids("exhaustive", patterns))
        assert [case.id for case in every.cases("exhaustive", patterns)] == ids
        assert every.count("exhaustive", patterns) == len(ids) == count


def test_a_case_is_found_whatever_the_tier(every: Corpus) -> None:
    """By its id, and by a pattern that only it matches; a run of the gate tier takes it from the exhaustive one."""
    name = "small/every[spatial=4,pads_begin=1,pads_end=0,output_padding=1]"
    found = every.find(name)
    assert found is not None
    assert (found.id, found.attributes.pads_begin, found.x.shape) == (name, (1,), (1, 4, 4))
    assert every.case("small/every[output_padding=1,spatial=4,pads_begin=1,pads_end=0]") == found
    assert [case.id for case in Selection(every, "gate", (name, "small/single")).cases()] == ["small/single", name]


def test_no_row_of_a_sweep_is_made_before_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million combinations cost a block each time: to load, to find one, and to take the first."""
    made: list[int] = []
    numbered = sweep.Sweep.numbered
    monkeypatch.setattr(sweep.Sweep, "numbered", lambda self, n: made.append(len(n)) or numbered(self, n))
    axes = "{strides: %s, dilations: %s, seed: %s}" % ((list(range(1, 101)),) * 2 + (list(range(1000)),))
    text = f"{HEAD}\nsweeps:\n  - {{name: huge, tier: exhaustive, axes: {axes}}}\n"
    corpus = Corpus.load(written(tmp_path, text))
    assert corpus.find("small/huge[strides=77,dilations=3,seed=999]") is not None
    assert len(list(islice(corpus.cases("exhaustive"), 5))) == 5
    assert sum(made) < 100_000


def test_a_sample_is_linted(tmp_path: Path) -> None:
    text = EVERY.replace("spatial: [[3]", "kernel: [1, 2], spatial: [[1]")
    text = text.replace(
        "tier: exhaustive\n", "tier: exhaustive\n    skip: [{when: {kernel: 2, spatial: 1}, because: so}]\n"
    )
    found = [finding.message for finding in lint.lint(Corpus.load(written(tmp_path, text)))]
    assert found
    assert all(message.startswith("a dialect must be able to express it") for message in found)
    never = text.replace("[{when", "[{when: {kernel: 2, spatial: 1}, because: first}, {when")
    assert any("skip 2 must leave" in finding.message for finding in lint.lint(Corpus.load(written(tmp_path, never))))


@given(st.data())
def test_every_shipped_case_can_be_said_and_has_an_output(corpus: Corpus, data: st.DataObject) -> None:
    """Of any row: some dialect expects a value, and the size that explicit pads leave is at least 1 on every axis."""
    chosen = data.draw(st.sampled_from([candidate for candidate in corpus.sweeps.values() if candidate.exhaustive]))
    case = chosen.case(data.draw(st.sampled_from(chosen.sample(500).tolist())))
    expected = [expect(case, dialect) for dialect in DIALECTS.values()]
    values = [candidate for candidate in expected if not isinstance(candidate, NotApplicable)]
    assert values
    assert all(min(value.primary.geometry.output) > 0 and not value.disputed for value in values)


# The commands.


def test_run_list_and_show_take_it(command: Command, every: Corpus, tmp_path: Path) -> None:
    where = ("--cases", str(every.folder / "small.yaml"))
    name = "small/every[spatial=4,pads_begin=1,pads_end=0,output_padding=0]"
    assert len(command("list", "**", "--tier", "exhaustive", *where).stdout.splitlines()) == 27
    assert command("list", name, *where).stdout.splitlines() == [name]
    assert f"{name}" in command("show", name, *where).stdout
    done = command("run", "--tier", "exhaustive", *where, "--output", "out", "-j", "1")
    assert done.returncode == 0, done.stderr
    assert "exhaustive tier  27 cases" in done.stdout
    assert "27 of 27 cases" in done.stderr
    records = next((tmp_path / "out").glob("*.jsonl"))
    assert len(records.read_text(encoding="utf-8").splitlines()) == 1 + 27
    again = command("report", str(records), *where)
    assert (again.returncode, "15  passed" in again.stdout) == (0, True)


@pytest.mark.parametrize(
    "arguments", [("--tier", "exhaustive"), ("exhaustive/**",), ("--tier", "exhaustive", "--shard", "1/2")]
)
def test_more_cases_than_a_run_may_have_are_refused(
    arguments: tuple[str, ...], command: Command, corpus: Corpus
) -> None:
    done = command("run", *arguments, "--backend", "wrong_backends:FailsToStart", "--output", "out")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    first = re.search(r"--shard (1/\d+) ", line)
    assert first is not None
    Selection(corpus, "exhaustive", shard=Shards.parse(first[1])).refuse_too_many()


def test_check_says_how_many_more_there_are(command: Command, tmp_path: Path) -> None:
    done = command("check", str(written(tmp_path, EVERY).parent), "--write-tiers")
    assert done.stdout == "3 cases, 2 sweeps, 0 findings, 24 more in the exhaustive tier\n"
    assert "small/every" not in (tmp_path / "tiers.json").read_text(encoding="utf-8")
