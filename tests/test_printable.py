"""Text from outside, be it a name, a message, a reason or a path, is shown and never acted upon."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pydantic import ValidationError

from made_records import DIALECT, header
from tconv.cli.streams import PrintableStream
from tconv.errors import FileError
from tconv.records.headers import BackendHeader, header_line
from tconv.records.record import Record, record_line
from tconv.records.record_file import read
from tconv.reports.listing import print_line
from tconv.reports.templates import code, escaped
from tconv.shown_texts import one_line, printable, shortened
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = (
    "\x1b[2J",
    "\x9b31m",
    "\x1b]0;title\x07",
    "\0",
    "a\rb",
    "\u202eexe.txt",
    "\u2066",
    "\u2028",
    "\u2029",
    "\x85",
    "\ud800",
    "\udcff",
    "\ufeff",
)
"""What a terminal, an editor or an encoder would stumble over."""


@given(st.text(st.characters(), max_size=50))
def test_printable_text_is_what_stays_as_it_is(text: str) -> None:
    """Whatever comes in, only printable characters, spaces, newlines and tabs leave, in UTF-8, and twice is once."""
    shown = printable(text)
    assert all(character.isprintable() or character.isspace() for character in shown)
    assert not set(shown) & {"\r", "\x85", "\u2028", "\u2029", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f"}
    assert printable(shown) == shown
    assert one_line(text).isprintable()
    shown.encode()


@given(st.text(st.sampled_from("ab \n"), max_size=200), st.integers(5, 150))
def test_a_shortened_text_is_no_longer_than_it_may_be(text: str, width: int) -> None:
    """Whatever its words are; a text that fits stays as it is, and a longer one keeps its beginning and its end."""
    short = shortened(text, width)
    if len(text) <= width:
        assert short == text
        return
    first, mark, last = short.partition(" ... ")
    assert mark
    assert len(short) <= width
    assert text.startswith(first)
    assert text.endswith(last)


@pytest.mark.parametrize("text", ["plain", "gr\u00fc\u00dfe \u4e2d", "two\nlines\tand a tab", ""])
def test_printable_text_is_not_changed(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("hostile", HOSTILE)
def test_streams_and_styles_escape_it(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    below = io.TextIOWrapper(io.BytesIO(), "utf-8")
    stream = PrintableStream(below)
    stream.write(f"a{hostile}b\n")
    stream.flush()
    assert below.buffer.getvalue().decode() == f"{printable(f'a{hostile}b')}\n"  # type: ignore[attr-defined]  # BytesIO
    stream.isatty = below.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdout", stream)
    print_line(f"a{hostile}b", "bold")
    styled = below.buffer.getvalue().decode().partition("\n")[2]  # type: ignore[attr-defined]  # BytesIO
    assert styled == f"\x1b[1m{printable(f'a{hostile}b')}\x1b[0m\n"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_records_hold_and_give_printable_text(hostile: str, tmp_path: Path) -> None:
    """A name in a header or a message in a record is printable when it is written, and when another wrote it."""
    own = header().model_copy(update={"backend": BackendHeader(name=f"a{hostile}", version=f"1{hostile}")})
    record = Record("a/b", own.backend.name, DIALECT, ver.BackendError(f"no {hostile}"))
    path = tmp_path / "records.jsonl"
    path.write_text(f"{header_line(own)}\n{record_line(record)}\n", encoding="utf-8")
    run = read(path)
    assert run.header.backend.title == printable(f"a{hostile} 1{hostile}")
    assert run.records[0].verdict == ver.BackendError(printable(f"no {hostile}"))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[0]["run"]["backend"]["name"] = lines[1]["backend"] = hostile
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert read(path).header.backend.name == read(path).records[0].backend == printable(hostile)


@pytest.mark.parametrize("name", ["", "n" * 101])
def test_a_backend_has_a_name_that_a_file_can_have(name: str) -> None:
    """A name that is empty, or too long for a file, is refused where it comes in."""
    with pytest.raises(ValidationError):
        BackendHeader(name=name, version="1")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_error_about_a_path_is_printable(hostile: str, tmp_path: Path) -> None:
    assert printable(str(error := FileError(tmp_path / f"a{hostile}b", "must be there"))) == str(error)


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "<img src=x onerror=y>", "<!-- a", "[a](javascript:b)", "&lt;", "`<b>`"]
)
@pytest.mark.parametrize("cell", [escaped, code])
def test_markdown_has_no_element_of_a_text(text: str, cell: object) -> None:
    """A text in a cell is text: no element of HTML, no link."""
    assert callable(cell)
    tokens = MarkdownIt("commonmark").enable("table").parse(f"| a |\n|---|\n| {cell(text)} |\n")
    kinds = {token.type for outer in tokens for token in (outer, *(outer.children or ()))}
    assert "table_open" in kinds
    assert not kinds & {"html_inline", "html_block", "link_open", "image"}
