"""Which record files of a folder are read: those of the cases that the command is about."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from made_records import header
from small_corpus import written
from tconv.cli.record_files import cases_of, record_files
from tconv.corpus import Corpus
from tconv.corpus.file_reading import MOST_PATHS, digest_path
from tconv.errors import FileError
from tconv.records.headers import header_line
from tconv.records.record_file import read


def recorded(file: Path, corpus: str, path: str = "") -> Path:
    made = header().model_copy(update={"corpus": corpus, "path": path})
    file.write_text(f"{header_line(made)}\n", encoding="utf-8")
    return file


def test_a_folder_may_have_runs_of_tconvs_own_cases_and_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the other kind are left out, with a note; what is merely old is not, and a named file never."""
    mine = written(tmp_path)
    folder = tmp_path / "reports"
    folder.mkdir()
    own = recorded(folder / "a.jsonl", Corpus.load(None).digest)
    old = recorded(folder / "b.jsonl", "sha256:0")
    others = recorded(folder / "c.jsonl", Corpus.load(mine).digest, "small.yaml")
    edited = recorded(folder / "d.jsonl", "sha256:1", "small.yaml")
    # One's own cases may be a copy of tconv's.
    copied = recorded(folder / "e.jsonl", Corpus.load(None).digest, "copy")
    assert record_files([folder], None) == [own, old, copied]
    note = capsys.readouterr().err
    assert "left out 2 of 5 record files, of cases of your own: c.jsonl, d.jsonl; to read them, give --cases" in note
    assert record_files([folder], mine) == [others, edited, copied]
    assert "2 of 5 record files, of tconv's own cases: a.jsonl, b.jsonl; to read them, leave" in capsys.readouterr().err
    assert record_files([others, own], None) == [others, own]
    assert not capsys.readouterr().err


def test_a_folder_with_nothing_else_is_read_as_it_is(tmp_path: Path) -> None:
    """So that the gate says which --cases its records are of; what is no record file is for who reads it, too."""
    mine = recorded(tmp_path / "a.jsonl", "sha256:0", "small.yaml")
    assert record_files([tmp_path], None) == [mine]
    (tmp_path / "b.jsonl").write_text("nothing", encoding="utf-8")
    assert record_files([tmp_path], None) == [tmp_path / "b.jsonl"]
    with pytest.raises(FileError, match="must be a folder with record files"):
        record_files([written(tmp_path).parent / "b.jsonl", _empty(tmp_path)], None)


def test_the_cases_of_records_are_those_that_all_of_them_name(tmp_path: Path) -> None:
    """What --cases says is stronger; a path that has other cases now, or none, says nothing."""
    mine = written(tmp_path)
    of_mine = recorded(tmp_path / "a.jsonl", Corpus.load(mine).digest, str(mine))
    same_place = recorded(tmp_path / "b.jsonl", "sha256:0", str(mine))
    elsewhere = recorded(tmp_path / "c.jsonl", "sha256:1", str(tmp_path / "gone.yaml"))
    own = recorded(tmp_path / "d.jsonl", Corpus.load(None).digest)
    nothing = tmp_path / "e.jsonl"
    nothing.write_text("nothing", encoding="utf-8")
    assert cases_of([of_mine], None) == mine
    # The second is red then, as it is with --cases.
    assert cases_of([of_mine, same_place], None) == mine
    assert cases_of([of_mine], tmp_path / "given.yaml") == tmp_path / "given.yaml"
    for files in ([same_place], [elsewhere], [of_mine, elsewhere], [own], [of_mine, own], [of_mine, nothing], []):
        assert cases_of(files, None) is None


def test_a_path_that_a_record_file_names_costs_little(tmp_path: Path) -> None:
    """It may be any: a folder of the whole machine, a device, a file that is too long to be one of cases."""
    mine = written(tmp_path)
    assert digest_path(mine) == Corpus.load(mine).digest
    assert digest_path(tmp_path) == Corpus.load(tmp_path).digest
    for path in (Path("/"), Path("/dev/zero"), tmp_path / ("x" * 5000)):
        assert digest_path(path) is None
    os.truncate(mine, 2**32)
    assert digest_path(mine) is None
    many = tmp_path / "many"
    many.mkdir()
    written(many)
    assert digest_path(many)
    for number in range(MOST_PATHS):
        (many / str(number)).symlink_to("nothing")
    assert digest_path(many) is None


def _empty(folder: Path) -> Path:
    made = folder / "empty"
    made.mkdir()
    return made


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such files")
@pytest.mark.parametrize("kind", ["pipe", "device", "sparse", "loop"])
def test_what_has_no_end_or_no_writer_is_refused(kind: str, tmp_path: Path) -> None:
    """Neither is waited for, and none of it is read into memory; a loop of links is no file either."""
    path = tmp_path / "a.jsonl"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path)
        case _:
            path.write_text(header_line(header()) + "\n", encoding="utf-8")
            os.truncate(path, 2**32)
    expected = {"sparse": ":2: a line must have at most 16777215 bytes", "loop": ": must be a readable file of records"}
    with pytest.raises(FileError, match=re.escape(expected.get(kind, "is a pipe or a device; save it as a file"))):
        list(map(read, record_files([path], None)))
