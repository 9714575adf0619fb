"""What is written as a record is read as the same record, and what is none is refused at its line."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_records import EVERY_VERDICT, header
from tconv.diagnosis.placement import Placement
from tconv.dialects.readings import Combination
from tconv.errors import FileError
from tconv.records import artifacts
from tconv.records.headers import FORMAT, header_line
from tconv.records.record import CallSummary, FreshAnswer, Record, record_line, record_of
from tconv.records.record_file import header_in, read
from tconv.shown_texts import printable
from tconv.verdict import kinds as ver
from tconv.verdict.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

TEXT = st.text(max_size=20).map(printable)
WORDS = st.lists(TEXT, min_size=1, max_size=3).map(tuple)
COUNTS = st.integers(0, 2**40)
SIZES = st.lists(COUNTS, max_size=4).map(tuple)
NUMBERS = st.floats()
RULES = st.sampled_from(["exact", "bound", "shape", "refusal"])
WRONG_VALUES = (RULES, COUNTS, COUNTS, SIZES.filter(len), NUMBERS, NUMBERS, st.none() | NUMBERS)
VERDICTS = {
    ver.Agreed: st.builds(ver.Agreed, RULES, WORDS | st.just(())),
    ver.Disputed: st.builds(ver.Disputed, WORDS, RULES, WORDS | st.just(())),
    ver.Differed: st.builds(ver.Differed, *WRONG_VALUES),
    ver.Imprecise: st.builds(ver.Imprecise, *WRONG_VALUES),
    ver.Inconclusive: st.builds(ver.Inconclusive, COUNTS, COUNTS, WORDS | st.just(()), WORDS),
    ver.WrongShape: st.builds(ver.WrongShape, SIZES, SIZES),
    ver.WrongDtype: st.builds(ver.WrongDtype, TEXT, TEXT),
    ver.RefusedValid: st.builds(ver.RefusedValid, TEXT),
    ver.AcceptedInvalid: st.builds(ver.AcceptedInvalid, TEXT, st.booleans()),
    ver.Unsupported: st.builds(ver.Unsupported, TEXT),
    ver.NotApplicable: st.builds(ver.NotApplicable, TEXT),
    ver.Crashed: st.builds(ver.Crashed, TEXT, TEXT),
    ver.TimedOut: st.builds(ver.TimedOut, NUMBERS),
    ver.Unstable: st.builds(ver.Unstable, TEXT),
    ver.BackendError: st.builds(ver.BackendError, TEXT),
}
CALLS = st.builds(
    CallSummary,
    st.dictionaries(TEXT, TEXT | st.integers(-(2**40), 2**40) | st.lists(st.integers(-9, 9), max_size=3), max_size=3),
    st.lists(st.tuples(TEXT, st.lists(st.integers(0, 99), max_size=4), TEXT), max_size=3),
    TEXT,
    TEXT,
)
SIZES = st.lists(st.integers(-9, 99), min_size=1, max_size=3).map(tuple)
PLACEMENTS = st.builds(Placement, SIZES, SIZES, SIZES, st.lists(SIZES, max_size=2).map(tuple))
SECONDS = st.floats(0, 1e6).map(lambda seconds: round(seconds, 6))


@pytest.mark.parametrize("kind", VERDICTS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_a_record_is_read_as_it_was_written(kind: type[ver.Verdict], data: st.DataObject) -> None:
    optional = st.none() | TEXT
    record = data.draw(
        st.builds(
            Record,
            TEXT,
            TEXT,
            TEXT,
            VERDICTS[kind],
            SECONDS,
            optional,
            st.none() | CALLS,
            optional,
            WORDS.map(lambda texts: tuple(map(Combination.parse, texts))),
            optional,
            optional,
            st.none() | PLACEMENTS,
            st.none() | st.builds(FreshAnswer, TEXT, st.booleans()),
            st.lists(TEXT, max_size=2).map(tuple),
        )
    )
    line = record_line(record)
    assert "\n" not in line
    assert "\r" not in line
    json.loads(line, parse_constant=pytest.fail)
    # `repr` because NaN differs from itself.
    assert repr(record_of(line)) == repr(record)


def test_every_kind_of_verdict_is_written_and_read_above() -> None:
    assert set(VERDICTS) == {type(verdict) for verdict in EVERY_VERDICT} == set(KINDS.values())


def test_what_says_nothing_is_not_written() -> None:
    line = record_line(Record("a/b", "acme", "onnx/ConvTranspose-22", ver.Agreed("exact"), 0.0012345678))
    assert json.loads(line) == {
        "case": "a/b",
        "backend": "acme",
        "dialect": "onnx/ConvTranspose-22",
        "verdict": {"kind": "agreed", "rule": "exact"},
        "seconds": 0.001235,
    }


def written(folder: Path, *lines: str, end: str = "\n") -> Path:
    path = folder / "acme.jsonl"
    path.write_text("\n".join([header_line(header()), *lines]) + end, encoding="utf-8")
    return path


def line_of(case: str, verdict: ver.Verdict = EVERY_VERDICT[0]) -> str:
    return record_line(Record(case, "acme", "onnx/ConvTranspose-22", verdict))


def test_a_file_is_read_in_the_order_of_ids(tmp_path: Path) -> None:
    found = read(written(tmp_path, line_of("b"), line_of("c"), line_of("a")))
    assert [record.case for record in found.records] == ["a", "b", "c"]
    assert found.header == header()


def test_a_last_line_without_its_end_is_no_record(tmp_path: Path) -> None:
    """It is what an interrupted writer leaves, even where it happens to be whole."""
    path = written(tmp_path, line_of("a"), line_of("b"), end="")
    assert [record.case for record in read(path).records] == ["a"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "must be a record (got: Invalid JSON"),
        ("{", "must be a record (got: Invalid JSON"),
        ("[]", "must be a record (got: "),
        ("{}", "must be a record (got: case: Field required)"),
        (line_of("a").replace('"case"', '"cases"'), "must be a record (got: case: Field required)"),
        (line_of("a")[:-1] + ',"more":1}', "must be a record (got: more: Unexpected keyword argument)"),
        (line_of("a").replace('"kind":"agreed"', '"kind":"agrees"'), "must be a record (got: verdict: "),
        (line_of("a").replace('"rule"', '"more":1,"rule"'), "must be a record (got: verdict.agreed.more: "),
        (line_of("a").replace('"exact"', "3"), "must be a record (got: verdict.agreed.rule: "),
        ('"\udcff"', "must be a record (got: "),
    ],
)
def test_what_is_no_record_is_refused_at_its_line(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "acme.jsonl"
    content = "\n".join([header_line(header()), line_of("a"), line, line_of("b"), ""])
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(FileError) as caught:
        read(path)
    assert (caught.value.path, caught.value.line) == (path, 3)
    assert str(caught.value).startswith(f"{path}:3: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "first",
    [
        "",
        "hello",
        line_of("a"),
        header_line(header()).replace('"repeat":1', '"repeats":1'),
        header_line(header()).replace('"tier":"gate"', '"tier":"all"'),
    ],
    ids=["nothing", "text", "record", "key", "tier"],
)
def test_what_does_not_begin_with_a_header_is_refused_at_line_1(first: str, tmp_path: Path) -> None:
    path = tmp_path / "acme.jsonl"
    path.write_text(first + "\n" + line_of("a") + "\n", encoding="utf-8")
    with pytest.raises(FileError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:1: must start with a header of format {FORMAT} (got: ")


def test_a_name_and_a_version_have_at_most_100_characters(tmp_path: Path) -> None:
    path = tmp_path / "acme.jsonl"
    for longest, field in itertools.product(("n" * 100, "n" * 101), ("name", "version")):
        line = json.loads(header_line(header(cases=0)))
        line["run"]["backend"][field] = longest
        path.write_text(json.dumps(line) + "\n", encoding="utf-8")
        if len(longest) == 100:
            assert getattr(read(path).header.backend, field) == longest
        else:
            with pytest.raises(FileError, match=rf"run\.backend\.{field}: .* at most 100 "):
                read(path)


def test_another_format_is_refused_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, line_of("a"))
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    line["format"], line["run"]["more"] = FORMAT - 1, 1
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    for reader in (read, header_in):
        with pytest.raises(FileError) as caught:
            reader(path)
        assert str(caught.value) == f"{path}:1: written by format {FORMAT - 1}; run tconv again"


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "acme.jsonl"
    path.write_bytes(b"")
    with pytest.raises(FileError, match=":1: must start with a header"):
        read(path)


def test_a_run_continues_another_that_differs_in_its_start_alone() -> None:
    later = header().model_copy(update={"started": "2027-01-01T00:00:00+00:00"})
    assert later.continues(header())
    for key, value in [("corpus", "sha256:1"), ("dialect", "geometry/1"), ("timeout", 9.0), ("cases", 2)]:
        assert not header().model_copy(update={key: value}).continues(header()), key
    assert not header("1.2.1").continues(header())


def test_long_texts_are_cut() -> None:
    assert len(line_of("a/b/c", ver.Agreed("exact", ("n" * 100_000,)))) < 30_000


def test_large_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    array = np.random.default_rng(1).standard_normal(2**18)
    written = artifacts.write(tmp_path, ("acme",), {"actual": array})
    read_again = artifacts.array(tmp_path, written, "actual")
    assert read_again is not None
    assert np.array_equal(read_again, array)
