"""YAML files are read by the core schema of YAML 1.2, and every error stands at its line and column."""

from __future__ import annotations

import json
import math
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from strategies import examples
from tconv.corpus.case_file import CaseFile
from tconv.documents import Document, load, read
from tconv.documents import tree as yaml_tree
from tconv.errors import FileError
from tconv.shown_texts import printable

if TYPE_CHECKING:
    from collections.abc import Callable

LINE_END = re.compile(b"\r\n|\r|\n")
LOADERS = [getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader]


@pytest.fixture(params=LOADERS, ids=["libyaml", "python"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have PyYAML with libyaml, and without."""
    monkeypatch.setattr(yaml_tree, "_LOADER", request.param)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Return what writes a file and names it."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "file.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(path: Path) -> tuple[str, int | None, int | None]:
    """Return the message and the place of what `read` raises; every message is one line."""
    with pytest.raises(FileError) as caught:
        read(path)
    assert caught.value.path == path
    assert caught.value.message.isprintable()
    return caught.value.message, caught.value.line, caught.value.column


def result_of(action: Callable[[], object]) -> object:
    """Return what the action returns, or the FileError that it raises; any other error fails the test."""
    try:
        return action()
    except FileError as error:
        return error


CORE_SCHEMA: list[tuple[str, object]] = [
    *((text, None) for text in ("null", "Null", "NULL", "~", "")),
    *((text, True) for text in ("true", "True", "TRUE")),
    *((text, False) for text in ("false", "False", "FALSE")),
    *(("0", 0), ("010", 10), ("-7", -7), ("+12", 12), ("0o17", 15), ("0x1F", 31), ("0xfe", 254)),
    *(("1.5", 1.5), ("-.5", -0.5), ("3.", 3.0), ("1e3", 1000.0), ("1.5E-1", 0.15)),
    *((".inf", math.inf), ("-.Inf", -math.inf), ("+.INF", math.inf)),
    *((text, math.nan) for text in (".nan", ".NaN", ".NAN")),
    *((word, word) for word in ("on", "off", "yes", "No", "y", "nULL", "tRUE", "inf", "nan", ".iNf", "=", "<<", "e3")),
    *((word, word) for word in ("1:30", "190:20:30", "2026-11-20", "2026-11-20T10:00:00Z", "1_000", "full-1", ".")),
    *((word, word) for word in ("0b11", "0X1F", "-0x1F", "0o8", "\u0661")),
    *(("'1'", "1"), ('"true"', "true"), ("''", "")),
]


@pytest.mark.usefixtures("loader")
def test_scalars_follow_the_core_schema(written: Callable[[str], Path]) -> None:
    """A scalar is what the core schema of YAML 1.2 says, in value and in type; YAML 1.1's words are text."""
    texts, values = zip(*CORE_SCHEMA, strict=True)
    # `repr` because NaN differs from itself, and True and 1.0 do not differ from 1.
    assert repr(read(written("".join(f"- {text}\n" for text in texts))).value) == repr(list(values))


@pytest.mark.usefixtures("loader")
def test_keys_are_their_text(written: Callable[[str], Path]) -> None:
    digits = "7" * 200
    text = f"{{on: 1, 010: 2, ~: 3, 1.50: 4, true: 5, '0x1': 6, ? : 7, 12: 8, {digits}: 9, <<: {{a: 9}}}}"
    value = read(written(text)).value
    assert isinstance(value, dict)
    assert list(value) == ["on", "010", "~", "1.50", "true", "0x1", "", "12", digits, "<<"]
    assert value["<<"] == {"a": 9}


@pytest.mark.usefixtures("loader")
def test_aliases_are_the_value_of_the_last_anchor(written: Callable[[str], Path]) -> None:
    """An alias stands for its anchor's value; a scalar is read anew, so it is its text where it is a key."""
    text = "a: &x 010\nb: *x\n*x : &y [1, *x]\nd: *y\n&z 020: 1\ne: *z\nf: [&z 3, *z]\ng: &w [&w 4]\nh: *w\n"
    value = {"a": 10, "b": 10, "010": [1, 10], "d": [1, 10], "020": 1, "e": 20, "f": [3, 3], "g": [4], "h": 4}
    assert read(written(text)).value == value


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_any_system(written: Callable[[str], Path], end: str) -> None:
    document = read(written(f"\ufeffa: 1{end}b:{end}  - 2{end}"))
    assert document.value == {"a": 1, "b": [2]}
    assert document.mark(["a"], key=True) == (1, 1)
    assert document.mark(["b", 0]) == (3, 5)


MARKED = """\
# a comment
about: >-
  text
base: {batch: 1, spatial: [5, 4]}
sweeps:
- name: crop
  axes:
    shape:
      line: [3,
        {k: x}]
anchored: &a [1]
alias: *a
empty:
"""
MARKS = [
    ([], (2, 1), (2, 1)),
    (["about"], (2, 8), (2, 1)),
    (["base"], (4, 7), (4, 1)),
    (["base", "batch"], (4, 15), (4, 8)),
    (["base", "spatial", 1], (4, 31), (4, 31)),
    (["sweeps"], (6, 1), (5, 1)),
    (["sweeps", 0], (6, 3), (6, 3)),
    (["sweeps", 0, "axes", "shape", "line", 1, "k"], (10, 13), (10, 10)),
    (["alias"], (12, 8), (12, 1)),
    (["alias", 0], (11, 15), (11, 15)),
    (["empty"], (13, 7), (13, 1)),
    # What is not there: the nearest enclosing value.
    (["absent"], (2, 1), (2, 1)),
    (["base", "absent", "more"], (4, 7), (4, 7)),
    (["base", "spatial", 2], (4, 27), (4, 27)),
    (["base", "batch", "deeper"], (4, 15), (4, 15)),
]


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(("location", "value", "key"), MARKS, ids=[str(location) for location, *_ in MARKS])
def test_marks_are_where_values_and_keys_stand(
    written: Callable[[str], Path], location: list[str | int], value: tuple[int, int], key: tuple[int, int]
) -> None:
    """A mark is the 1-based place of the value, or of its key; of an alias, the alias's own place."""
    document = read(written(MARKED))
    assert document.mark(location) == value
    assert document.mark(location, key=True) == key


def test_an_unreadable_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    reasons = {
        tmp_path / "absent.yaml": "No such file or directory",
        tmp_path: "Is a directory",
        circle: "Too many levels of symbolic links",
        tmp_path / "nul\0": "embedded null byte",
    }
    for path, reason in reasons.items():
        message = f"must be a file that can be read (got: {reason}); check the path"
        assert refusal(path) == (message, None, None)
    monkeypatch.setattr(Path, "open", mock.Mock(side_effect=PermissionError(13, "Permission denied")))
    assert "(got: Permission denied)" in refusal(tmp_path / "forbidden.yaml")[0]


@pytest.mark.parametrize(
    ("content", "place", "byte"),
    [
        (b"a: 1\nb: \xff", (2, 4), "0xff"),
        ("é: ".encode() + b"\xe9", (1, 4), "0xe9"),
        (b"\xef\xbb\xbfa: \x80", (1, 4), "0x80"),
        ("a: 1".encode("utf-16"), (1, 1), "0xff"),
    ],
)
def test_a_file_must_be_utf8(
    written: Callable[[bytes], Path], content: bytes, place: tuple[int, int], byte: str
) -> None:
    """The first byte that is not UTF-8 is named, with its line and its column in characters."""
    message = f"must be UTF-8 (got the byte {byte}); save the file as UTF-8"
    assert refusal(written(content)) == (message, *place)


CHAIN = "a0: &a0 []\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        # The 33rd level, however many follow; a chain of aliases is as deep as if it were written out.
        ("[" * 100_000, (1, 33)),
        ("{a: " * 100_000, (1, 129)),
        ("- " * 100_000, (1, 65)),
        ("[{a: " * 100_000, (1, 81)),
        ("[" * 33 + "x" + "]" * 33, (1, 33)),
        (CHAIN, (32, 12)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_levels_are_limited(written: Callable[[str], Path], text: str, place: tuple[int, int]) -> None:
    message = "must be at most 32 lists and mappings deep (got more); make it flatter"
    assert refusal(written(text)) == (message, *place)
    assert read(written("".join(CHAIN.splitlines(keepends=True)[:31]))).value


UNPRINTABLE = ("\0", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\ufeff", "\uffff")
ESCAPES = (r"\0", r"\e", r"\x7f", r"\N", r"\x9b", r"\L", r"\P", r"\uFEFF", r"\u202e", r"\u2066")


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("line", [*map("# x{}b: 2".format, UNPRINTABLE), *map('b: "x{}y"'.format, ESCAPES)])
def test_what_is_not_printable_is_refused(written: Callable[[str], Path], line: str) -> None:
    """In comments too, and as an escape: a value of a file reaches terminals and pages."""
    message, *place = refusal(written(f"a: 1\n{line}"))
    assert message.startswith("must be printable text (got ")
    assert place == [2, 4]


def test_what_looks_like_it_and_is_not_is_read(written: Callable[[str], Path]) -> None:
    """The marks of one document, a key in two mappings, a tab within text or between brackets, 32 levels, escapes."""
    readings: dict[str, object] = {
        "---\na: 1\n...\n": {"a": 1},
        "{a: {a: 1}, b: {a: 2}}": {"a": {"a": 1}, "b": {"a": 2}},
        "a: 'x\ty'\nb: {\n\tc: 1}": {"a": "x\ty", "b": {"c": 1}},
        "[" * 32 + "]" * 32: json.loads("[" * 32 + "]" * 32),
        r'"\n\t\_\u3000\u00e9"': "\n\t\xa0\u3000\u00e9",
    }
    for text, value in readings.items():
        assert read(written(text)).value == value


def test_a_large_file_is_refused(written: Callable[[str], Path]) -> None:
    limit = 4 * 2**20
    assert read(written("a: 1 # " + "x" * (limit - 7))).value == {"a": 1}
    message = f"must be at most {limit} bytes (got more); split the file"
    assert refusal(written("a: 1 # " + "x" * (limit - 6))) == (message, None, None)


@pytest.mark.usefixtures("loader")
def test_an_alias_bomb_is_refused_at_once(written: Callable[[str], Path]) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 25))
    start = time.monotonic()
    message, line, _ = refusal(written(bomb))
    assert time.monotonic() - start < 5
    assert message == "must hold at most 200000 values, aliases expanded (got more); split the file"
    # 1 + the sum of s(n), s(0) = 3, s(n) = 9 s(n-1) + 1, passes the limit at n = 5.
    assert line == 6


def test_many_values_are_refused(written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The list itself and what stands in a mapping are values too; aliased values are counted, keys are not."""
    monkeypatch.setattr(yaml_tree, "MAX_VALUES", 9)
    assert read(written("[1, &x 2, {k: 3}, *x, *x, *x]")).value == [1, 2, {"k": 3}, 2, 2, 2]
    for text in ("[1, &x 2, {k: 3}, *x, *x, *x, *x, 1]", "[1, &x 2, {k: 3}, 1, 1, 1, 1, 1]"):
        assert "at most 9 values" in refusal(written(text))[0]


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("sign", ["", "-", "+"])
def test_long_integers_are_refused(written: Callable[[str], Path], sign: str) -> None:
    assert read(written(f"a: {sign}{'9' * 100}")).value == {"a": int(f"{sign}{'9' * 100}")}
    message, *place = refusal(written(f"a: {sign}{'9' * 101}"))
    assert message.startswith(f"must be an integer of at most 100 digits (got '{sign}999")
    assert message.endswith("...); quote it as text")
    assert len(message) < 150
    assert place == [1, 4]
    assert read(written(f"a: '{'9' * 101}'")).value == {"a": "9" * 101}


def test_hostile_scalars_take_no_long_time(written: Callable[[str], Path]) -> None:
    start = time.monotonic()
    assert "100 digits" in refusal(written("1" * 4_000_000))[0]
    assert "100 digits" in refusal(written("0x" + "1" * 4_000_000))[0]
    assert read(written("0." + "1" * 4_000_000)).value == pytest.approx(1 / 9)
    assert read(written("1" * 4_000_000 + "x")).value == "1" * 4_000_000 + "x"
    assert time.monotonic() - start < 20


# What is not printable is refused, escaped or not.
TEXT = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=40).filter(
    lambda text: printable(text) == text
)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**90), 10**90) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
VALUES = st.recursive(
    SCALARS, lambda parts: st.lists(parts, max_size=5) | st.dictionaries(TEXT, parts, max_size=5), max_leaves=30
)


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file that a property test writes again and again."""
    return tmp_path_factory.mktemp("yaml") / "scratch.yaml"


@pytest.mark.parametrize("reader", LOADERS, ids=["libyaml", "python"])
@given(value=VALUES, indent=st.sampled_from([None, 0, 2]))
@examples(100)
def test_json_is_read_as_json_says(
    scratch: Path, reader: type[yaml.SafeLoader], value: object, indent: int | None
) -> None:
    """JSON is YAML 1.2: every plain value comes back as it was, in value and in types."""
    scratch.write_text(json.dumps(value, ensure_ascii=False, indent=indent), "utf-8")
    with mock.patch.object(yaml_tree, "_LOADER", reader):
        again = read(scratch).value
    assert again == value
    assert json.dumps(again) == json.dumps(value)


SNIPPETS = st.lists(
    st.sampled_from(
        [*"[]{}:,-?&*!|>'\"%@`#\n\t \r~<=.0a1\\", "a: ", "- ", "\n  ", "&a ", "*a", "!!int ", "---\n", "..."]
    ),
    max_size=40,
).map("".join)


@pytest.mark.parametrize("reader", LOADERS, ids=["libyaml", "python"])
@given(content=st.text().map(str.encode) | SNIPPETS.map(str.encode) | st.binary())
@examples(500)
def test_any_content_is_read_or_refused(scratch: Path, reader: type[yaml.SafeLoader], content: bytes) -> None:
    scratch.write_bytes(content)
    with mock.patch.object(yaml_tree, "_LOADER", reader):
        outcome = result_of(lambda: read(scratch))
    if isinstance(outcome, FileError):
        assert outcome.message.isprintable()
        assert outcome.line is None or 1 <= outcome.line <= len(LINE_END.split(content))
    else:
        assert isinstance(outcome, Document)


@given(value=VALUES)
@examples(100)
def test_any_value_is_loaded_or_refused(scratch: Path, value: object) -> None:
    keys = {"strides": value, "auto_pad": value, "output_shape": value, "x": value, "omit": value}
    for part in ({"axes": value}, *({"with": {name: part}} for name, part in keys.items())):
        sweep = {"name": "s", "axes": {"seed": [1]}, **part}
        cites = [{"dialect": "onnx/ConvTranspose-22", "clause": "doc"}]
        scratch.write_text(json.dumps({"format": 1, "about": "x", "cites": cites, "sweeps": [sweep]}), "utf-8")
        outcome = result_of(lambda: load(scratch, CaseFile))
        if isinstance(outcome, FileError):
            assert outcome.message.isprintable()
            assert outcome.line == 1
