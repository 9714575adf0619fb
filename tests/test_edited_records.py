"""A record file is held against its own header and the corpus: what is edited, mixed or of another part is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from made_records import AGREED, DIALECT, header
from small_corpus import CASES, written
from tconv.corpus import Corpus
from tconv.errors import FileError
from tconv.gate.record_files import read_selected
from tconv.records.headers import header_line
from tconv.records.record import Record, record_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Lines = list[dict[str, Any]]

DISPUTED = {"kind": "disputed", "rule": "exact", "readings": ["negative-same-shrunk"]}


@pytest.fixture
def edited(tmp_path: Path) -> Callable[[Callable[[Lines], object]], str]:
    """Return what edits the lines of a right record file, reads it, and returns the complaint; empty for none."""
    corpus = Corpus.load(written(tmp_path, CASES))
    head = header(cases=corpus.count("gate")).model_copy(update={"corpus": corpus.digest})
    records = [Record(case, "acme", DIALECT, AGREED) for case in corpus.ids("gate")]

    def run(edit: Callable[[Lines], object]) -> str:
        lines: Lines = [json.loads(text) for text in (header_line(head), *map(record_line, records))]
        edit(lines)
        path = tmp_path / "acme.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        try:
            read_selected(path, corpus)
        except FileError as error:
            return str(error).partition("acme.jsonl:")[2]
        return ""

    return run


def test_a_right_file_and_an_interrupted_one_are_read(edited: Callable[[Callable[[Lines], object]], str]) -> None:
    """Nothing is wrong with a record that is missing: the gate is red until the run is resumed."""
    assert edited(lambda _: None) == ""
    assert edited(lambda lines: lines.pop()) == ""
    assert edited(lambda lines: lines[1].update(verdict=DISPUTED)) == ""
    assert edited(lambda lines: lines[1].update(verdict={**DISPUTED, "readings": ["pads-length-refused"]})) == ""


EDITS: dict[str, tuple[Callable[[Lines], object], str]] = {
    "another dialect": (
        lambda lines: lines[2].update(dialect="onnx/ConvTranspose-1"),
        "3: a record must be of the header's dialect, onnx/ConvTranspose-22 (got 'onnx/ConvTranspose-1')",
    ),
    "another backend": (
        lambda lines: lines[2].update(backend="other"),
        "3: a record must be of the header's backend, acme",
    ),
    "no case": (lambda lines: lines[2].update(case=""), "3: a record must name its case (got an empty text)"),
    "unknown case": (
        lambda lines: lines[1].update(case="small/made-up"),
        "2: a record must be of a case that the header",
    ),
    "twice": (lambda lines: lines[2].update(lines[1]), "3: a case must have one record (got 'small/"),
    "another part": (
        lambda lines: lines[0]["run"].update(patterns=["small/plain"], cases=1),
        "3: a record must be of a case that the header selects from the corpus (got 'small/",
    ),
    "another shard": (
        lambda lines: lines[0]["run"].update(shard="1/6", cases=1),
        "3: a record must be of a case that the",
    ),
    "no patterns": (
        lambda lines: (lines[0]["run"].update(cases=2), lines.__delitem__(slice(3, None))),
        "1: cases must be 6, as many as the header selects (got 2)",
    ),
    "a pattern that matches nothing": (
        lambda lines: lines[0]["run"].update(patterns=["nothing"]),
        "1: a pattern must match",
    ),
    "disputed without a reading": (
        lambda lines: lines[1].update(verdict={**DISPUTED, "readings": []}),
        "2: a disputed verdict must name a reading (got none)",
    ),
    "disputed with a made-up reading": (
        lambda lines: lines[1].update(verdict={**DISPUTED, "readings": ["whatever"]}),
        "2: a reading must be one that onnx/ConvTranspose-22 disputes (got 'whatever')",
    ),
    "a long name": (lambda lines: lines[0]["run"]["backend"].update(name="n" * 300), "1: must start with a header"),
    "no name": (
        lambda lines: lines[0]["run"]["backend"].update(name=""),
        "1: must start with a header of format 5 (got: ",
    ),
    "deeply nested": (lambda lines: lines[1].update(case=[[[]]]), "2: must be a record (got: case: "),
}


@pytest.mark.parametrize("what", EDITS)
def test_what_is_edited_is_refused_with_its_line(what: str, edited: Callable[[Callable[[Lines], object]], str]) -> None:
    edit, message = EDITS[what]
    assert edited(edit).startswith(message)


def test_the_records_of_another_corpus_are_not_held_against_this_one(
    edited: Callable[[Callable[[Lines], object]], str],
) -> None:
    assert edited(lambda lines: lines[0]["run"].update(corpus="sha256:other", patterns=["nothing"])) == ""
