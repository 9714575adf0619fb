"""Case files and records that are no plain files, or are written as no editor of ours writes them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from faults.place import CASES, COUNT, EITHER, GREEN, HEAD, IS_ROOT, RUN, WRONG

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from faults.place import Place

RIGHT = (*RUN, "wrong_backends:Right")
BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Root may read what root may not read."""
ACCENT = "caf\u00e9.yaml"


class Plan(NamedTuple):
    """What is put into the folder `c`, and what must come of reading it.

    Attributes:
        prepare: what is done, with the folder.
        codes: exit codes that may be.
        cases: how many records a green run must have.
        at: what is read.
        prefix: a command that starts it.
    """

    prepare: Callable[[Path], object]
    codes: Container[int] = WRONG
    cases: int = COUNT
    at: str = "c"
    prefix: tuple[str, ...] = ()


def _good(path: Path) -> None:
    path.write_text(CASES)


def _file(data: bytes) -> Callable[[Path], object]:
    return lambda c: (c / "a.yaml").write_bytes(data)


def _also(other: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda c: (_good(c / "a.yaml"), other(c))


def _deep(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("deep" * 10, dir_fd=here)
        below = os.open("deep" * 10, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("a.yaml", os.O_CREAT, dir_fd=here))
    os.close(here)


PLANS = {
    "a pipe": Plan(lambda c: os.mkfifo(c / "a.yaml")),
    "a pipe itself": Plan(lambda c: os.mkfifo(c / "a.yaml"), at="c/a.yaml"),
    "a pipe and a file": Plan(_also(lambda c: os.mkfifo(c / "b.yaml")), EITHER),
    "a device": Plan(lambda _: None, at="/dev/zero"),
    "an empty device": Plan(lambda _: None, at="/dev/null"),
    "a terminal": Plan(lambda _: None, at="/dev/tty"),
    "a link to a device": Plan(lambda c: (c / "a.yaml").symlink_to("/dev/zero")),
    "a folder with a file's name": Plan(_also(lambda c: (c / "b.yaml").mkdir()), GREEN),
    "nothing but a folder with a file's name": Plan(lambda c: (c / "a.yaml").mkdir()),
    "a link that leads nowhere": Plan(_also(lambda c: (c / "b.yaml").symlink_to("none")), EITHER),
    "a loop of links": Plan(lambda c: ((c / "a.yaml").symlink_to("b.yaml"), (c / "b.yaml").symlink_to("a.yaml"))),
    "a loop of links itself": Plan(lambda c: (c / "a").symlink_to("a"), at="c/a"),
    "a loop of folders": Plan(_also(lambda c: (c / "d").symlink_to(".")), GREEN),
    "a loop of folders above": Plan(_also(lambda c: (c / "d").symlink_to("..")), GREEN),
    "a deep folder": Plan(_deep, EITHER),
    "a file that may not be read": Plan(_also(lambda c: (c / "a.yaml").chmod(0)), prefix=BOUND),
    "a folder that may not be read": Plan(_also(lambda c: (c / "d").mkdir(0)), EITHER, prefix=BOUND),
    "10 MB": Plan(_file((CASES + "# x\n" * 2_500_000).encode())),
    "a sparse file": Plan(lambda c: ((c / "a.yaml").touch(), os.truncate(c / "a.yaml", 2**40))),
    "the same case in two files": Plan(_also(lambda c: _good(c / "b.yaml")), GREEN, 2 * COUNT),
    "names that differ by case": Plan(_also(lambda c: _good(c / "A.yaml")), EITHER, 2 * COUNT),
    "names that are one text in two normal forms": Plan(
        lambda c: [_good(c / unicodedata.normalize(form, ACCENT)) for form in ("NFC", "NFD")], EITHER, 2 * COUNT
    ),
    "a name that is a suffix": Plan(lambda c: _good(c / ".yaml"), EITHER),
    "a name that begins with a hyphen": Plan(lambda c: _good(c / "-a.yaml"), GREEN),
    "a long name": Plan(lambda c: _good(c / f"{'n' * 250}.yaml"), GREEN),
    "1,000 files": Plan(
        lambda c: [(c / f"n{n}.yaml").write_text(f"{HEAD}cases: [{{name: a}}]\n") for n in range(1000)], GREEN, 1000
    ),
    "another user's file": Plan(_also(lambda c: shutil.chown(c / "a.yaml", 65534)), GREEN),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_case_files(place: Place, plan: Plan) -> None:
    if not IS_ROOT and (plan.prefix or plan is PLANS["another user's file"]):
        pytest.skip("rights and owners are changed by root")
    (place.folder / "c").mkdir()
    plan.prepare(place.folder / "c")
    place.check(place.run("check", plan.at, prefix=plan.prefix), {0, 1, 2})
    place.check(place.run("list", "--tier", "full", "--cases", plan.at, prefix=plan.prefix), plan.codes)
    code = place.run("run", "--cases", plan.at, *RIGHT[3:], prefix=plan.prefix)
    place.check(code, plan.codes)
    assert code or len(place.verdicts()) == plan.cases


def _from(data: bytes, **header: str) -> bytes:
    first, _, rest = data.partition(b"\n")
    line = json.loads(first)
    line["run"].update(header)
    return json.dumps(line).encode() + b"\n" + rest


def _cut(data: bytes) -> bytes:
    accent = data.replace(b'"started"', '"path":"é","x'.encode() + b'":"","started"', 1)
    return accent[: accent.index(b"\xc3") + 1]


RECORDS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "cut in a letter of two bytes": _cut,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "null bytes at the end": lambda data: data + b"\0" * 4096 + b"\n",
    "null bytes in the middle": lambda data: data[:2000] + b"\0" * 4096 + data[2000:],
    "nothing": lambda _: b"",
    "a newline": lambda _: b"\n",
    "empty lines": lambda data: data.replace(b"\n", b"\n\n"),
    "twice": lambda data: data + data,
    "a long line": lambda data: data + b"[" * 2**24 + b"\n",
    "deep": lambda data: data + b"[" * 10**5 + b"]" * 10**5 + b"\n",
    "a number of many digits": lambda data: data.replace(b'"seconds":', b'"seconds":' + b"1" * 10**5, 1),
    "keys twice": lambda data: data.replace(b'{"case":', b'{"case":"a","case":', 1),
    "of the future": lambda data: _from(data, started="2999-01-01T00:00:00+00:00"),
    "of no time": lambda data: _from(data, started="yesterday"),
    "of a later release": lambda data: _from(data, tconv="99.0.0"),
}


@pytest.mark.parametrize("change", RECORDS.values(), ids=RECORDS)
def test_records(place: Place, change: Callable[[bytes], bytes]) -> None:
    place.run(*RIGHT)
    (path,) = (place.folder / "reports").glob("*.jsonl")
    path.write_bytes(change(path.read_bytes()))
    place.check(place.run("report", str(path), "--cases", "cases.yaml", "--waivers", "none"))
    code = place.run(*RIGHT, "--resume")
    place.check(code, EITHER)
    assert code or len(place.verdicts()) == COUNT


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        Path.mkdir,
        lambda path: path.symlink_to(path.name),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: (path.touch(), os.truncate(path, 2**40)),
    ],
    ids=["a pipe", "a folder", "a loop of links", "a link to a device", "a sparse file"],
)
def test_records_that_are_no_file(place: Place, make: Callable[[Path], object]) -> None:
    place.run(*RIGHT)
    (path,) = (place.folder / "reports").glob("*.jsonl")
    path.unlink()
    make(path)
    place.check(place.run("report", str(path)))
    place.check(place.run("report", str(path), "--baseline", str(path)))
    place.check(place.run(*RIGHT, "--resume"))
