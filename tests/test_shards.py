"""Shards: each case is in one of them, and together they are judged as the whole run is."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_records import AGREED, facts, header, waiver_file
from made_records import waiver as waiver_of
from reporting import red_lines
from small_corpus import HEAD, record_file, records, written
from tconv.corpus import Corpus
from tconv.corpus.sweep import Sweep
from tconv.errors import FileError, UsageError
from tconv.execution.selection import Selection
from tconv.gate.assessment import assess, assess_with_corpus
from tconv.records.headers import WaiversHeader
from tconv.records.record import Record
from tconv.records.record_file import Run, read
from tconv.records.shards import Shards, merged
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from small_corpus import Command
    from tconv.gate.status import RecordStatus

Item = TypeVar("Item")

GRID = f"""{HEAD}
sweeps:
  - name: grid
    axes: {{spatial: [[2], [3], [4]], strides: [1, 2, 3, 7]}}
"""


def dealt(items: Sequence[Item], shards: Shards) -> Iterator[Item]:
    deal, half = shards.deal(), len(items) // 2
    yield from compress(items[:half], deal(half))
    yield from compress(items[half:], deal(len(items) - half))


@given(st.integers(1, 9), st.integers(0, 40))
def test_every_case_is_in_exactly_one_shard(count: int, cases: int) -> None:
    parts = [list(dealt(range(cases), Shards((number,), count))) for number in range(1, count + 1)]
    assert sorted(case for part in parts for case in part) == list(range(cases))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_shard_makes_its_own_cases_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases of the other shards of a million need not be made; the parts are those of the ids."""
    corpus = Corpus.load(written(tmp_path, GRID))
    selection = Selection(corpus, "full", (), shard=Shards((2,), 4))
    made, make = [], Sweep.case
    monkeypatch.setattr(Sweep, "case", lambda sweep, numbers: made.append(numbers) or make(sweep, numbers))
    assert [case.id for case in selection.stream()] == list(selection.ids())
    assert len(made) == selection.count == 3


@pytest.mark.parametrize("text", ["1/1", "1,2/2"])
def test_all_shards_of_a_run_are_the_run(text: str, command: Command, tmp_path: Path) -> None:
    """The header names no part, so that nothing is left to other shards: a run that shows nothing is red."""
    faults = "  - {name: invalid, with: {breaks: pads-without-auto-pad, auto_pad: same_upper, pads_begin: 1}}\n"
    written(tmp_path, f"{HEAD}\ncases:\n{faults}{faults.replace('invalid', 'another')}")
    arguments = ("run", "--backend", "wrong_backends:AcceptsEverything", "--cases", "small.yaml", "--output", "out")
    done = command(*arguments, "--shard", text)
    assert done.returncode == 1, done.stdout
    assert "red: no output of a valid call was computed" in done.stdout
    (path,) = Path(tmp_path, "out").glob("*.jsonl")
    assert read(path).header.shard == ""


@pytest.mark.parametrize("text", ["1/1", "2/4", "1,3/4"])
def test_shards_are_read_as_they_are_written(text: str) -> None:
    assert str(Shards.parse(text)) == text


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "1/", "/2", "1/0", "-1/2", "a/b", "1,/2", "1/2 "])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="a shard must be i/n, with i from 1 to n"):
        Shards.parse(text)


def shards_of(run: Run, count: int) -> list[Run]:
    parts = []
    for number in range(1, count + 1):
        records = list(dealt(run.records, Shards((number,), count)))
        own = run.header.model_copy(update={"shard": f"{number}/{count}", "cases": len(records)})
        parts.append(Run(Path(f"out/acme-shard-{number}-of-{count}.jsonl"), own, records))
    return parts


def made(verdicts: dict[str, ver.Verdict]) -> Run:
    records = [Record(case, "acme", header().dialect, verdict, 0.25) for case, verdict in sorted(verdicts.items())]
    return Run(Path("out/acme.jsonl"), header(cases=len(records)), records)


WHOLE = made({f"a/b/c[s={n}]": AGREED if n % 3 else ver.RefusedValid(f"no {n}") for n in range(10)})


@given(st.integers(1, 9), st.randoms())
def test_all_shards_in_any_order_are_the_whole_run(count: int, random: object) -> None:
    parts = shards_of(WHOLE, count)
    random.shuffle(parts)  # type: ignore[attr-defined] # a random.Random
    (joined,) = merged(parts)
    assert joined.header == WHOLE.header
    assert joined.records == WHOLE.records


def test_what_is_missing_stays_in_the_header() -> None:
    first, _, third = shards_of(WHOLE, 3)
    (joined,) = merged([third, first])
    assert joined.header.shard == "1,3/3"
    assert joined.header.cases == len(first.records) + len(third.records) == len(joined.records)


def test_shards_of_different_runs_stay_apart() -> None:
    (half, _), (third, _, _) = shards_of(WHOLE, 2), shards_of(WHOLE, 3)
    other = replace(half, header=half.header.model_copy(update={"corpus": "sha256:1"}))
    assert [run.header.shard for run in merged([half, WHOLE, third, other, WHOLE])] == ["1/2", "", "1/3", "1/2", ""]


def test_a_shard_that_is_there_twice_is_refused() -> None:
    first, second = shards_of(WHOLE, 2)
    again = replace(first, path=Path("again.jsonl"))
    with pytest.raises(FileError, match=r"^again\.jsonl: must be another shard than out/acme-shard-1-of-2\.jsonl is"):
        merged([first, second, again])


def test_a_fact_in_which_the_machines_differ_is_not_in_the_whole() -> None:
    """No waiver of some machines must hold for cases that ran on others; how many cores there are is told."""
    machines = (
        {"simd": "avx2", "cores": "2", "system": "Linux"},
        {"simd": "avx2 avx512f", "cores": "4", "system": "Linux"},
    )
    parts = [
        replace(
            part,
            header=part.header.model_copy(
                update={"backend": part.header.backend.model_copy(update={"machine": machine})}
            ),
        )
        for part, machine in zip(shards_of(WHOLE, 2), machines, strict=True)
    ]
    (joined,) = merged(parts)
    assert joined.header.backend.machine == {"cores": "2 | 4", "system": "Linux"}


def test_confinement_does_not_part_a_run() -> None:
    """A system may forbid it on one of two machines: the shards are one run, which a resumed one continues."""

    def confined(part: Run, environment: dict[str, str]) -> Run:
        backend = part.header.backend.model_copy(update={"environment": {"threads": "1"} | environment})
        return replace(part, header=part.header.model_copy(update={"backend": backend}))

    first, second = shards_of(WHOLE, 2)
    for other, words in (({"isolated": "no: not permitted"}, "no: not permitted | yes"), ({}, "no | yes")):
        (joined,) = merged([confined(first, {"isolated": "yes"}), confined(second, other)])
        assert joined.header.backend.environment == {"threads": "1", "isolated": words}
    assert confined(first, {"isolated": "yes"}).header.continues(first.header)
    assert not confined(first, {"threads": "2"}).header.continues(first.header)


def test_who_reads_shards_with_several_waivers_is_told_so() -> None:
    """They were not all judged by the waivers of the first one; nor by those of the reader."""

    def by(part: Run, waivers: WaiversHeader | None) -> Run:
        return replace(part, header=part.header.model_copy(update={"waivers": waivers}))

    first, second = shards_of(WHOLE, 2)
    known, other = WaiversHeader(file="acme.yaml", digest="1"), WaiversHeader(file="acme.yaml", digest="2")
    for waivers in (other, WaiversHeader(file="none"), None):
        (joined,) = merged([by(first, known), by(second, waivers)])
        assert assess(joined, None, facts).waived_before_by == "several (the shards differ)"
    (joined,) = merged([by(first, known), by(second, known)])
    assert joined.header.waivers == known


def test_artifacts_are_found_from_the_folder_above(tmp_path: Path) -> None:
    """Shards may lie in folders of their own; a path in a record leads into its own folder of artifacts only."""
    first, second = shards_of(WHOLE, 2)
    paths = "artifacts/0123.npz", "../../secret.npz"
    for number, (part, artifact) in enumerate(zip((first, second), paths, strict=True)):
        part.path = tmp_path / str(number) / part.path.name
        part.records = [replace(part.records[0], artifact=artifact), *part.records[1:]]
    (joined,) = merged([first, second])
    assert joined.path.parent == tmp_path
    found = {record.artifact for record in joined.records} - {None}
    assert found == {"0/artifacts/0123.npz", "1/artifacts/secret.npz"}


def run_shards(command: Command, count: int, *more: str) -> list[str]:
    """Run every shard of `GRID` by the command and return the paths of the record files."""
    for number in range(1, count + 1):
        where = ("--cases", "small.yaml", "--backend", "wrong_backends:Right", "-j", "1", "--output", "out")
        command("run", *where, "--shard", f"{number}/{count}", *more)
    paths = [record_file(Path.cwd(), part=f"-shard-{n}-of-{count}") for n in range(1, count + 1)]
    return [str(path.relative_to(Path.cwd())) for path in paths]


def test_the_command_parts_a_run_and_joins_it(command: Command, tmp_path: Path) -> None:
    corpus = Corpus.load(written(tmp_path, GRID))
    paths = run_shards(command, 2)
    runs = [read(tmp_path / path) for path in paths]
    assert [run.header.shard for run in runs] == ["1/2", "2/2"]
    assert [run.header.cases for run in runs] == [6, 6]
    assert {record.case for run in runs for record in run.records} == {case.id for case in corpus.cases()}
    whole = command("report", "--cases", "small.yaml", *paths)
    assert whole.returncode == 0
    assert "12 cases" in whole.stdout.splitlines()[0]
    assert "shard" not in whole.stdout
    # Of files it names those alone that it wrote.
    assert whole.stdout.splitlines()[-1].split() == ["page", "out/index.html"]
    some = command("report", "--cases", "small.yaml", paths[1])
    assert some.returncode == 1
    assert "red: all 2 shards must be there (missing: 1); give the records of every shard" in some.stdout
    assert command("report", "--cases", "small.yaml", *paths).returncode == 0
    for twice in (paths[0], str(Path(paths[0]).parent)):
        again = command("report", "--cases", "small.yaml", *paths, twice)
        assert (again.returncode, "must be named once (got it twice" in again.stderr) == (2, True)
    assert command("report", "--cases", "small.yaml", paths[0]).returncode == 1


def test_a_shard_is_resumed_as_itself(command: Command, tmp_path: Path) -> None:
    written(tmp_path, GRID)
    first, second = run_shards(command, 2)
    whole = (tmp_path / first).read_bytes()
    (tmp_path / first).write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    assert run_shards(command, 2, "--resume") == [first, second]
    assert {record.case for record in read(tmp_path / first).records} == {
        json.loads(line)["case"] for line in whole.splitlines()[1:]
    }
    (tmp_path / first).write_bytes((tmp_path / second).read_bytes())
    where = ("--cases", "small.yaml", "--backend", "wrong_backends:Right", "--output", "out", "--shard", "1/2")
    done = command("run", *where, "--resume")
    assert done.returncode == 2
    assert "must be of the same run to be resumed" in done.stderr


@pytest.mark.parametrize("backend", ["PadsSwapped", "Various", "RefusesEverything"])
def test_the_gate_of_all_shards_is_the_gate_of_the_whole(tmp_path: Path, backend: str) -> None:
    run = read(records(backend, tmp_path, GRID))
    corpus = Corpus.load(tmp_path / "small.yaml")
    whole = assess_with_corpus(run, None, corpus, strict=False, own=False)
    for count in (2, 5):
        (joined,) = merged(shards_of(run, count))
        parts = assess_with_corpus(joined, None, corpus, strict=False, own=False)
        assert red_lines(parts) == red_lines(whole)
        assert statuses(parts.statuses) == statuses(whole.statuses)


def statuses(members: Sequence[RecordStatus]) -> list[tuple[str, str]]:
    return [(member.record.case, member.status) for member in members]


def test_a_shard_is_not_judged_by_what_other_shards_must_show() -> None:
    """That no case passed, and that a waiver's example follows a reading, is red in the whole alone."""
    deviating = {
        "a/b/c[s=1]": ver.Disputed(("odd-total-at-the-end",), "refusal"),
        "a/b/c[s=2]": ver.AcceptedInvalid("x"),
    }
    waivers = waiver_file(waiver_of())
    whole = assess(made(deviating), waivers, facts)
    assert [reason.partition(" ")[0] for reason in red_lines(whole)] == ["waiver", "no"]
    assert [red_lines(assess(part, waivers, facts)) for part in shards_of(made(deviating), 2)] == [[], []]


def test_what_is_red_in_a_shard_is_red_in_the_whole() -> None:
    """A failure, and a waiver whose own example does not deviate: its shard need not wait for the others to say so."""
    run = made({"a/b/c[s=1]": AGREED, "a/b/c[s=2]": ver.RefusedValid("no")})
    waivers = waiver_file(waiver_of())
    first, second = (red_lines(assess(part, waivers, facts)) for part in shards_of(run, 2))
    assert [reason.partition(" ")[0] for reason in first] == ["waiver"]
    assert second == ["1 case failed without a waiver"]
    assert set(red_lines(assess(run, waivers, facts))) == {*first, *second}


def test_many_shards_have_a_name_that_a_system_can_have() -> None:
    names = {Shards(tuple(range(first, 500)), 500).name for first in (1, 2)}
    assert len(names) == 2
    assert all(len(name) < 60 and name.endswith("-of-500") for name in names)
    assert Shards((1, 2, 4), 4).name == "shard-1-2-4-of-4"
