"""Case files, waivers and records that are no plain files, or are written as no editor of ours writes them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from campaign import CASES, DOCUMENTED, Surroundings, Tally, is_root
from processes import verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUN = ("run", "--tier", "full", "--waivers", "none", "-j", "1", "--backend", "wrong_backends:Right", "--cases")
GREEN, WRONG, EITHER = frozenset({0}), frozenset({2}), frozenset({0, 2})
BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Root may read what root may not read."""
_CASES = 25


@dataclass(frozen=True)
class Plan:
    """What is put into the folder `c`, and what must come of reading it.

    Attributes:
        prepare: what is done, with the folder.
        codes: exit codes that may be.
        cases: how many records there must be; None where it does not matter.
        cases_at: what is read.
        prefix: a command that starts it.
    """

    prepare: Callable[[Path], object]
    codes: frozenset[int] = WRONG
    cases: int | None = None
    cases_at: str = "c"
    prefix: tuple[str, ...] = ()


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies; what they inject is a list, and `count` limits how much is done of each."""
    del seed
    yield _case_files(count)
    yield _records(count)


def _case_files(count: int) -> Tally:
    tally = Tally("case files that are none, or written otherwise")
    for fault, plan in list(case_files().items())[:count]:
        if plan.prefix and not is_root():
            continue
        with Surroundings() as surroundings:
            (surroundings.folder / "c").mkdir()
            plan.prepare(surroundings.folder / "c")
            wrong = None
            for arguments in (("check",), ("list", "--tier", "full", "--cases"), RUN):
                code = surroundings.run(*arguments, plan.cases_at, prefix=plan.prefix)
                codes = plan.codes | ({1, 2} if arguments[0] == "check" else set())
                wrong = wrong or surroundings.wrong(code, frozenset(codes))
            if not wrong and plan.cases is not None and len(verdicts(surroundings)) != plan.cases:
                wrong = f"{len(verdicts(surroundings))} records, must be {plan.cases}"
            tally.count(fault, wrong)
    return tally


def case_files() -> dict[str, Plan]:
    """Kinds of files and folders, encodings, ends of lines, names."""
    accent = "caf\u00e9.yaml"
    return {
        "a pipe": Plan(lambda c: os.mkfifo(c / "a.yaml")),
        "a pipe itself": Plan(lambda c: os.mkfifo(c / "a.yaml"), cases_at="c/a.yaml"),
        "a pipe beside a file": Plan(lambda c: (_good(c / "a.yaml"), os.mkfifo(c / "b.yaml")), EITHER),
        "a device": Plan(lambda _: None, cases_at="/dev/zero"),
        "an empty device": Plan(lambda _: None, cases_at="/dev/null"),
        "a terminal": Plan(lambda _: None, cases_at="/dev/tty"),
        "a link to a device": Plan(lambda c: (c / "a.yaml").symlink_to("/dev/zero")),
        "a folder with a file's name": Plan(lambda c: (_good(c / "a.yaml"), (c / "b.yaml").mkdir()), GREEN, _CASES),
        "nothing but a folder with a file's name": Plan(lambda c: (c / "a.yaml").mkdir()),
        "a link that leads nowhere": Plan(lambda c: (_good(c / "a.yaml"), (c / "b.yaml").symlink_to("none")), EITHER),
        "a loop of links": Plan(lambda c: ((c / "a.yaml").symlink_to("b.yaml"), (c / "b.yaml").symlink_to("a.yaml"))),
        "a loop of links itself": Plan(lambda c: (c / "a").symlink_to("a"), cases_at="c/a"),
        "a loop of folders": Plan(lambda c: (_good(c / "a.yaml"), (c / "d").symlink_to(".")), GREEN, _CASES),
        "a loop of folders above": Plan(lambda c: (_good(c / "a.yaml"), (c / "d").symlink_to("..")), GREEN, _CASES),
        "a deep folder": Plan(_deep, EITHER),
        "a file that may not be read": Plan(lambda c: (_good(c / "a.yaml"), (c / "a.yaml").chmod(0)), prefix=BOUND),
        "a folder that may not be read": Plan(lambda c: (_good(c / "a.yaml"), (c / "d").mkdir(0)), EITHER, prefix=BOUND),
        "10 MB": Plan(lambda c: (c / "a.yaml").write_text(CASES + "# x\n" * 2_500_000)),
        "a sparse file": Plan(lambda c: ((c / "a.yaml").touch(), os.truncate(c / "a.yaml", 2**40))),
        "UTF-16": Plan(lambda c: (c / "a.yaml").write_text(CASES, encoding="utf-16")),
        "UTF-32": Plan(lambda c: (c / "a.yaml").write_text(CASES, encoding="utf-32")),
        "Latin-1": Plan(lambda c: (c / "a.yaml").write_bytes(CASES.replace("What", "Wh\u00e4t").encode("latin-1"))),
        "a byte order mark": Plan(lambda c: (c / "a.yaml").write_text(CASES, encoding="utf-8-sig"), GREEN, _CASES),
        "two byte order marks": Plan(lambda c: (c / "a.yaml").write_text("\ufeff" + CASES, encoding="utf-8-sig")),
        "CRLF": Plan(lambda c: (c / "a.yaml").write_bytes(CASES.replace("\n", "\r\n").encode()), GREEN, _CASES),
        "CR": Plan(lambda c: (c / "a.yaml").write_bytes(CASES.replace("\n", "\r").encode()), EITHER),
        "no last newline": Plan(lambda c: (c / "a.yaml").write_text(CASES.rstrip()), GREEN, _CASES),
        "null bytes": Plan(lambda c: (c / "a.yaml").write_text(CASES + "\0" * 100)),
        "nothing": Plan(lambda c: (c / "a.yaml").touch()),
        "spaces": Plan(lambda c: (c / "a.yaml").write_text(" \n" * 1000)),
        "gzip": Plan(lambda c: (c / "a.yaml").write_bytes(gzip.compress(CASES.encode()))),
        "a picture": Plan(lambda c: (c / "a.yaml").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))),
        "JSON": Plan(lambda c: (c / "a.yaml").write_text('{"format": 1}')),
        "the same case in two files": Plan(lambda c: (_good(c / "a.yaml"), _good(c / "b.yaml")), GREEN, 2 * _CASES),
        "two suffixes": Plan(lambda c: (_good(c / "a.yaml"), _good(c / "a.yml"))),
        "names that differ by case": Plan(lambda c: (_good(c / "a.yaml"), _good(c / "A.yaml")), EITHER),
        "names that are one text of two normal forms": Plan(
            lambda c: [_good(c / unicodedata.normalize(form, accent)) for form in ("NFC", "NFD")], EITHER
        ),
        "a name that is no text": Plan(lambda c: _good(c / "\udcff.yaml")),
        "a name with a newline": Plan(lambda c: _good(c / "a\nb.yaml")),
        "a name with an escape": Plan(lambda c: _good(c / "\x1b[2J.yaml")),
        "a name of brackets": Plan(lambda c: _good(c / "[a].yaml")),
        "a name that is a suffix": Plan(lambda c: _good(c / ".yaml"), EITHER),
        "a name that begins with a hyphen": Plan(lambda c: _good(c / "-a.yaml"), GREEN, _CASES),
        "a long name": Plan(lambda c: _good(c / f"{'n' * 250}.yaml"), GREEN, _CASES),
        "1,000 files": Plan(lambda c: [_small(c / f"n{n}.yaml") for n in range(1000)], GREEN, 1000),
        "another user's file": Plan(lambda c: (_good(c / "a.yaml"), shutil.chown(c / "a.yaml", 65534)), GREEN, _CASES),
    }  # fmt: skip


def _good(path: Path) -> None:
    path.write_text(CASES)


def _small(path: Path) -> None:
    path.write_text(CASES.partition("sweeps:")[0] + "cases: [{name: a}]\n")


def _deep(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("deep" * 10, dir_fd=here)
        below = os.open("deep" * 10, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("a.yaml", os.O_CREAT, dir_fd=here))
    os.close(here)


def _records(count: int) -> Tally:
    tally = Tally("record files that are none, or written otherwise")
    with Surroundings() as surroundings:
        surroundings.run(*RUN, "cases.yaml")
        path = next((surroundings.folder / "reports").glob("*.jsonl"))
        data = path.read_bytes()
        accent = data.replace(b'"started"', '"path":"é","x'.encode() + b'":"","started"', 1)
        contents = {
            "gzip": gzip.compress(data),
            "cut in a letter of two bytes": accent[: accent.index(b"\xc3") + 1],
            "UTF-16": data.decode().encode("utf-16"),
            "a byte order mark": b"\xef\xbb\xbf" + data,
            "CRLF": data.replace(b"\n", b"\r\n"),
            "CR": data.replace(b"\n", b"\r"),
            "null bytes at the end": data + b"\0" * 4096 + b"\n",
            "null bytes in the middle": data[:2000] + b"\0" * 4096 + data[2000:],
            "nothing": b"",
            "a newline": b"\n",
            "empty lines": data.replace(b"\n", b"\n\n"),
            "twice": data + data,
            "a long line": data + b"[" * 2**24 + b"\n",
            "deep": data + b"[" * 10**5 + b"]" * 10**5 + b"\n",
            "a number of many digits": data.replace(b'"seconds":', b'"seconds":' + b"1" * 10**5, 1),
            "keys twice": data.replace(b'{"case":', b'{"case":"a","case":', 1),
            "of the future": _from(data, started="2999-01-01T00:00:00+00:00"),
            "of no time": _from(data, started="yesterday"),
            "of a later release": _from(data, tconv="99.0.0"),
        }
        for fault, content in list(contents.items())[:count]:
            path.write_bytes(content)
            code = surroundings.run("report", str(path), "--cases", "cases.yaml", "--waivers", "none")
            wrong = surroundings.wrong(code)
            code = surroundings.run(*RUN, "cases.yaml", "--resume")
            wrong = wrong or surroundings.wrong(code, EITHER)
            if not wrong and code == 0 and len(verdicts(surroundings)) != _CASES:
                wrong = "records are missing after --resume"
            tally.count(fault, wrong)
        path.unlink()
        kinds: dict[str, Callable[[], object]] = {
            "a pipe": lambda: os.mkfifo(path),
            "a folder": path.mkdir,
            "a loop of links": lambda: path.symlink_to(path.name),
            "a link to a device": lambda: path.symlink_to("/dev/zero"),
            "a sparse file": lambda: (path.touch(), os.truncate(path, 2**40)),
        }
        for fault, make in list(kinds.items())[:count]:
            make()
            wrong = None
            for arguments in (("report", str(path)), ("report", str(path), "--baseline", str(path))):
                wrong = wrong or surroundings.wrong(surroundings.run(*arguments), DOCUMENTED)
            tally.count(fault, wrong or surroundings.wrong(surroundings.run(*RUN, "cases.yaml", "--resume")))
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return tally


def _from(data: bytes, **header: str) -> bytes:
    first, _, rest = data.partition(b"\n")
    line = json.loads(first)
    line["run"].update(header)
    return json.dumps(line).encode() + b"\n" + rest
