"""The exhaustive tier: generated and never held as a whole, and its passes are counts that every reader knows."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from itertools import groupby, islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_records import AGREED, DIALECT, DIFFERED, facts, header, run_of, waiver, waiver_file
from small_corpus import HEAD, TIMEOUT, written
from tconv.corpus import Corpus, lint, sweep
from tconv.dialects import DIALECTS
from tconv.errors import FileError
from tconv.execution import pool
from tconv.execution.run import RunSettings, run
from tconv.execution.selection import Selection
from tconv.expectation.owed import Inexpressible, expectation
from tconv.gate.assessment import assess
from tconv.gate.status import Status
from tconv.records.cells import Cell, Count, Passed, cell_of, plain_pass
from tconv.records.headers import header_line
from tconv.records.record import Record, record_line
from tconv.records.record_file import read
from tconv.reports import html, junit, terminal
from tconv.verdict import kinds as ver
from wrong_backends import LOG

if TYPE_CHECKING:
    from collections.abc import Sequence
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
"""In each cell two cases have equal pads, two have not, and four have an output_padding that ONNX cannot have."""
IN_EVERY = 24


@pytest.fixture
def every(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """Return a corpus with a small sweep of the exhaustive tier, whose first axis alone, of three labels, is coarse."""
    monkeypatch.setattr(sweep, "MOST_CELLS", 3)
    return Corpus.load(written(tmp_path, EVERY))


def ran(backend: str, corpus: Corpus, *patterns: str, jobs: int = 1, resume: bool = False) -> Path:
    """Run a backend over the exhaustive tier and return the record file."""
    folder = corpus.folder / "out"
    settings = RunSettings(f"wrong_backends:{backend}", None, jobs, TIMEOUT, folder, resume)
    return run(Selection(corpus, "exhaustive", patterns), settings, lambda *_: None)


# Which cases it has.


def test_its_sweeps_are_in_no_other_tier(every: Corpus) -> None:
    """It holds the full tier, and beyond it the sweeps that are marked."""
    full, all_ids = set(every.ids("full")), list(every.ids("exhaustive"))
    assert full == {"small/single", "small/few[strides=1]", "small/few[strides=2]"}
    assert len(all_ids) == len(set(all_ids)) == every.count("exhaustive") == len(full) + IN_EVERY
    assert full < set(all_ids)
    assert all(case_id.startswith("small/every[") for case_id in set(all_ids) - full)


def test_ids_count_and_cases_agree(every: Corpus) -> None:
    """With patterns over labels, over what all cases share, and over what follows from several settings."""
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


def test_cells_follow_each_other_and_are_patterns(every: Corpus) -> None:
    """All cases with the same coarse labels are one cell, whose name is a pattern that matches these and no other."""
    cells = [cell for cell, _ in groupby(every.ids("exhaustive"), every.cell)]
    assert cells == [None, *(f"small/every[spatial={size}]" for size in (3, 4, 5)), None]
    for cell in filter(None, cells):
        assert {every.cell(case_id) for case_id in every.ids("exhaustive", (cell,))} == {cell}
        assert every.count("exhaustive", (cell,)) == 8


def test_a_sweep_is_one_cell_where_its_first_axis_is_long(every: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path alone is the name of the cell."""
    monkeypatch.setattr(sweep, "MOST_CELLS", 2)
    again = Corpus.load(every.folder / "small.yaml")
    assert {again.cell(case_id) for case_id in again.ids("exhaustive", ("small/every",))} == {"small/every"}


def test_no_row_of_a_sweep_is_made_before_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million combinations cost a block each time: to load, to find one, and to take the first."""
    made: list[int] = []
    numbered = sweep.Sweep._numbered
    monkeypatch.setattr(sweep.Sweep, "_numbered", lambda self, n: made.append(len(n)) or numbered(self, n))
    axes = "{strides: %s, dilations: %s, seed: %s}" % ((list(range(1, 101)),) * 2 + (list(range(1000)),))
    text = f"{HEAD}\nsweeps:\n  - {{name: huge, tier: exhaustive, axes: {axes}}}\n"
    corpus = Corpus.load(written(tmp_path, text))
    assert corpus.find("small/huge[strides=77,dilations=3,seed=999]") is not None
    assert len(list(islice(corpus.cases("exhaustive"), 5))) == 5
    assert sum(made) < 100_000


def test_a_sample_is_linted(tmp_path: Path) -> None:
    """What no dialect can say, and a skip that leaves nothing out, are found in a sweep of this tier too."""
    text = EVERY.replace("spatial: [[3]", "kernel: [1, 2], spatial: [[1]")
    text = text.replace(
        "tier: exhaustive\n", "tier: exhaustive\n    skip: [{when: {kernel: 2, spatial: 1}, because: so}]\n"
    )
    found = [finding.message for finding in lint.lint(Corpus.load(written(tmp_path, text)))]
    assert found
    assert all(message.startswith("must be sayable in a dialect") for message in found)
    never = text.replace("[{when", "[{when: {kernel: 2, spatial: 1}, because: first}, {when")
    assert any("skip 2 must leave" in finding.message for finding in lint.lint(Corpus.load(written(tmp_path, never))))


def test_what_the_tier_may_not_be_beside(tmp_path: Path) -> None:
    """In the smoke tier a sweep cannot be at the same time, and another tier has no such mark."""
    for wrong, message in {
        "smoke: true, tier: exhaustive": "must be false beside tier: exhaustive",
        "tier: full": "must be",
    }.items():
        text = f"{HEAD}\nsweeps:\n  - {{name: s, {wrong}, axes: {{seed: [1, 2]}}}}\n"
        with pytest.raises(FileError, match=message):
            Corpus.load(written(tmp_path, text))


@given(st.data())
def test_every_shipped_case_can_be_said_and_has_an_output(corpus: Corpus, data: st.DataObject) -> None:
    """Of any row: some dialect owes a value, and the size that explicit pads leave is at least 1 on every axis."""
    chosen = data.draw(st.sampled_from([candidate for candidate in corpus.sweeps.values() if candidate.exhaustive]))
    case = chosen.case(data.draw(st.sampled_from(chosen.sample(500).tolist())))
    owed = [expectation(case, dialect) for dialect in DIALECTS.values()]
    values = [candidate for candidate in owed if not isinstance(candidate, Inexpressible)]
    assert values
    assert all(min(value.primary.geometry.output) > 0 and not value.disputed for value in values)


# What a run of it leaves.


def test_passes_are_counted_and_everything_else_has_its_record(every: Corpus) -> None:
    """A count for each cell and way to pass, with a digest of exactly these ids; cases of other tiers have records."""
    found = read(ran("PadsSwapped", every, jobs=2))
    assert Counter(record.verdict.kind for record in found.records) == {"differed": 6, "agreed": 3}
    assert all(record.artifact for record in found.records if record.verdict.kind == "differed")
    assert found.cases == found.header.cases == 27
    for size in (3, 4, 5):
        name = f"small/every[spatial={size}]"
        ids = {"agreed": [], "inexpressible": []}
        for case_id in every.ids("exhaustive", (name,)):
            if "output_padding=1" in case_id:
                ids["inexpressible"].append(case_id)
            elif "pads_begin=1,pads_end=1" in case_id or "pads_begin=0,pads_end=0" in case_id:
                ids["agreed"].append(case_id)
        cells = {cell.kind: (cell.cases, cell.digest, cell.rule) for cell in found.cells if cell.cell == name}
        assert cells == {
            "agreed": (2, digest_of(ids["agreed"]), "exact"),
            "inexpressible": (4, digest_of(ids["inexpressible"]), None),
        }


@pytest.mark.parametrize("most", [1, 5, 10_000])
def test_cells_are_whole_however_many_cases_a_message_has(
    every: Corpus, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that begins in one part of the stream and ends in another is counted once."""
    monkeypatch.setattr(pool, "CHUNK", most)
    found = read(ran("Right", every))
    assert sorted((cell.cell[-2], cell.kind, cell.cases) for cell in found.cells) == [
        (size, kind, 4) for size in "345" for kind in ("agreed", "inexpressible")
    ]


def test_a_run_that_was_broken_off_anywhere_is_resumed_to_the_same_end(
    every: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut the file at any byte: a resumed run asks what has neither record nor whole cell, and ends alike."""
    monkeypatch.setenv(LOG, str(log := every.folder / "log"))
    path = ran("PadsSwapped", every)
    whole, ends = path.read_bytes(), {}

    def content() -> list[str]:
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines()[1:])
        return sorted(json.dumps(line | {"seconds": 0}, sort_keys=True) for line in lines)

    complete = content()
    edges = {len(whole[:end]) for end in range(len(whole)) if whole[end - 1 : end] == b"\n"}
    anywhere = random.Random(22).sample(range(len(whole)), 4)  # noqa: S311 - the same places in every run
    for cut in sorted({*list(edges)[::3], *anywhere, len(whole)}):
        path.write_bytes(whole[:cut])
        log.unlink(missing_ok=True)
        ran("PadsSwapped", every, resume=True)
        assert content() == complete, cut
        ends[cut] = len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0
    assert ends[len(whole)] <= min(ends.values()) + 4


def test_what_is_a_plain_pass() -> None:
    """Agreement without a note, and what the dialect cannot say; whatever else a record holds is not lost."""
    plain = {verdict: plain_pass(record_line(Record("a", "b", DIALECT, verdict, 0.25))) for verdict in (
        AGREED, ver.Agreed("bound"), ver.Agreed("exact", ("cropped",)), ver.Inexpressible("no"), DIFFERED)}  # fmt: skip
    assert list(plain.values()) == [(("agreed", "exact"), 0.25), (("agreed", "bound"), 0.25), None,
                                    (("inexpressible", None), 0.25), None]  # fmt: skip
    assert plain_pass(record_line(Record("a", "b", DIALECT, AGREED, harmed="SIGSEGV"))) is None


def digest_of(case_ids: Sequence[str]) -> str:
    """Return the digest of a cell of these cases."""
    count = Count()
    for case_id in case_ids:
        count.add(case_id, Passed("agreed", "exact"), 0.25)
    (cell,) = count.cells("a/b")
    return cell.digest


def test_a_digest_is_computed_as_the_documentation_says() -> None:
    """The sum of the BLAKE2b digests of 8 bytes, modulo 2^64: whoever checks a file needs the very number."""
    ids = ["a/b", "a/c", "a/d[strides=2]"]
    numbers = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") for text in ids]
    digests = [f"{sum(numbers[:count]) % 2**64:016x}" for count in range(1, 4)]
    assert [digest_of(ids[:count]) for count in range(1, 4)] == digests
    assert max(digests) >= "8"


@given(st.lists(st.text(), min_size=2, unique=True), st.randoms(use_true_random=False))
def test_a_digest_is_of_the_ids_and_not_of_their_order(ids: list[str], chance: random.Random) -> None:
    """Another order gives the same digest; one id fewer does not."""
    shuffled = chance.sample(ids, len(ids))
    assert digest_of(shuffled) == digest_of(ids)
    assert digest_of(shuffled[1:]) != digest_of(ids)


@given(st.builds(Cell, st.text(), st.sampled_from(["agreed", "inexpressible"]), st.integers(1, 2**40),
                 st.from_regex("[0-9a-f]{16}", fullmatch=True),
                 st.sampled_from([None, "exact", "bound", "shape", "refusal"]), st.floats(0, 1e6)))  # fmt: skip
def test_a_cell_is_read_as_it_was_written(cell: Cell) -> None:
    """All but the seconds, which are rounded to microseconds."""
    again = cell_of(cell.line().encode())
    assert again.seconds == pytest.approx(cell.seconds, abs=1e-6)
    assert (again.cell, again.kind, again.cases, again.digest, again.rule) == (
        cell.cell, cell.kind, cell.cases, cell.digest, cell.rule)  # fmt: skip


def test_a_line_that_is_no_count_is_refused_at_its_place(tmp_path: Path) -> None:
    """As a line that is no record is, and a record that is there twice."""
    path = tmp_path / "acme.jsonl"
    path.write_text("\n".join([header_line(header()), CELLS[0].line(), CELLS[1].line(), CELLS[0].line(), ""]), "utf-8")
    with pytest.raises(FileError, match=r"acme\.jsonl:4: a cell must have one count of a kind \(got 'a/b/c' again\)"):
        read(path)
    path.write_text(
        header_line(header()) + '\n{"cell":"a","kind":"differed","cases":1,"digest":"0"}\n', encoding="utf-8"
    )
    with pytest.raises(FileError, match=r"acme\.jsonl:2: must be the count of a cell \(got: kind"):
        read(path)


# What readers make of it.

CELLS = [Cell("a/b/c", "agreed", 900, "0" * 16, "exact", 1.5), Cell("a/b/c", "inexpressible", 90, "0" * 16)]


def test_the_gate_and_the_reports_count_what_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As passed and as inexpressible, in the totals, by topic, in JUnit, and for whether the run is complete."""
    found = run_of({"a/d/e": AGREED})
    found.cells = CELLS
    assessment = assess(found, None, facts)
    assert assessment.red == ["1 cases must have a record (got 991); resume the run"]
    found.header = header(cases=991)
    assessment = assess(found, None, facts)
    assert assessment.red == []
    assert assessment.counts == {Status.PASSED: 901, Status.INEXPRESSIBLE: 90}
    terminal.show(assessment, None)
    out = capsys.readouterr().out
    assert "991 cases" in out
    assert "901  passed" in out
    junit.write([assessment], tmp_path / "junit.xml")
    text = (tmp_path / "junit.xml").read_text(encoding="utf-8")
    assert "passed: 900 cases" in text
    assert "inexpressible: 90 cases" in text
    html.write([assessment], tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "990 that passed or are inexpressible have no record, but are counted by cell" in page
    assert ">901<" in page


def test_a_run_with_nothing_but_counted_passes_is_green() -> None:
    """Cases that agree and are only counted have shown something; cases that are inexpressible have not."""
    found = run_of({})
    found.cells, found.header = CELLS[:1], header(cases=900)
    assert assess(found, None, facts).red == []
    found.cells, found.header = CELLS[1:], header(cases=90)
    assert assess(found, None, facts).red == [
        "not one case passed, or had the values of another reading, so nothing was shown"
    ]


def test_a_waiver_whose_example_is_counted_as_agreeing_is_stale() -> None:
    """Without a record it does not deviate; where the cell has inexpressible cases too, it may be one of these."""
    found = run_of({"a/d/e": AGREED})
    file = waiver_file(waiver())
    for cells, stale in ((CELLS[:1], 1), (CELLS, 0), ([Cell("a/x", "agreed", 1, "0" * 16)], 0)):
        found.cells = cells
        assert len(assess(found, file, facts).stale) == stale
    # With patterns, the cell may be counted without the example.
    found.cells, found.header = CELLS[:1], found.header.model_copy(update={"patterns": ("a/b/c[s=2]",)})
    assert assess(found, file, facts).stale == []


# The commands.


def test_run_list_and_show_take_it(command: Command, every: Corpus, tmp_path: Path) -> None:
    """From the command line, with the tier or with an id."""
    where = ("--cases", str(every.folder / "small.yaml"))
    name = "small/every[spatial=4,pads_begin=1,pads_end=0,output_padding=0]"
    assert len(command("list", "--tier", "exhaustive", *where).stdout.splitlines()) == 27
    assert command("list", name, *where).stdout.splitlines() == [name]
    assert f"{name}" in command("show", name, *where).stdout
    done = command("run", "--tier", "exhaustive", *where, "--output", "out", "-j", "1")
    assert done.returncode == 0, done.stderr
    assert "exhaustive tier  27 cases" in done.stdout
    assert "27 of 27 cases" in done.stderr
    records = next((tmp_path / "out").glob("*.jsonl"))
    assert len(records.read_text(encoding="utf-8").splitlines()) == 1 + 3 + 6
    again = command("report", str(records), *where)
    assert (again.returncode, "15  passed" in again.stdout) == (0, True)


def test_check_says_how_many_more_there_are(command: Command, tmp_path: Path) -> None:
    """They are not among the cases that every other tier has."""
    done = command("check", str(written(tmp_path, EVERY).parent), "--write-tiers")
    assert done.stdout == "3 cases, 2 sweeps, 0 findings, 24 more in the exhaustive tier\n"
    assert "small/every" not in (tmp_path / "tiers.json").read_text(encoding="utf-8")


def test_shipped_cells_are_few(corpus: Corpus) -> None:
    """Some hundreds a sweep: a record file of a million passes has some thousand lines."""
    for one in corpus.sweeps.values():
        if one.exhaustive:
            assert 100 < len({one.cell(one.case_id(row)) for row in one.sample(5000).tolist()}) <= sweep.MOST_CELLS
