"""Odd environments of the command: variables, folders, locales, users, limits, streams, plugins, command lines."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign import DOCUMENTED, Surroundings, Tally, is_root
from processes import verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUN = (
    "run",
    "--cases",
    "cases.yaml",
    "--tier",
    "full",
    "--waivers",
    "none",
    "-j",
    "1",
    "--backend",
    "wrong_backends:Right",
)
NOBODY = 65534
AS_NOBODY = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    # So that Python can be read, wherever it is.
    "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search",
)  # fmt: skip
"""A user who has no rights but to read."""
_CASES = 25


@dataclass(frozen=True)
class Plan:
    """An environment, and what must come of a command in it.

    Attributes:
        variables: of the environment.
        settings: of the process.
        prepare: what is done before, with the folder.
        arguments: the command.
        codes: its exit codes that may be; 0 is a whole run.
        prefix: a command that starts it.
    """

    variables: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[Path], object] = lambda _: None
    arguments: tuple[str, ...] = RUN
    codes: frozenset[int] = frozenset({0})
    prefix: tuple[str, ...] = ()


GREEN, WRONG, MISSING, EITHER = frozenset({0}), frozenset({2}), frozenset({3}), frozenset({0, 2})


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tallies; what they inject is a list, of which `count` limits how much is done of each."""
    del seed
    for name, plans in {
        "variables": variables(),
        "folders": folders(),
        "processes and limits": processes(),
        "command lines": command_lines(),
        "plugins": plugins(),
    }.items():
        tally = Tally(f"environments: {name}")
        for fault, plan in list(plans.items())[:count]:
            if plan.prefix and not is_root():
                continue
            with Surroundings() as surroundings:
                plan.prepare(surroundings.folder)
                there = {name: text.format(folder=surroundings.folder) for name, text in plan.variables.items()}
                environment = surroundings.environment(**there)
                code = surroundings.run(*plan.arguments, prefix=plan.prefix, **{"env": environment} | plan.settings)
                wrong = surroundings.wrong(code, plan.codes)
                if not wrong and plan.arguments is RUN and code == 0 and len(verdicts(surroundings)) != _CASES:
                    wrong = "records are missing"
                tally.count(fault, wrong)
        yield tally


def variables() -> dict[str, Plan]:
    """Variables that say where things are, how to print, and what Python is to do, with values that are none."""
    junk = ("", "x", "-1", "0", "1e9", "\x1b[2J", "ä\udcff", "/dev/null", "x" * 5000)
    plans = {
        f"{name}={value!r:.20}": Plan({name: value}, codes=EITHER)
        for name in (
            "COLUMNS",
            "TERM",
            "LANG",
            "OMP_NUM_THREADS",
            "TCONV_ISOLATE",
            "TCONV_ONEDNN",
            "HOME",
            "NO_COLOR",
            "FORCE_COLOR",
        )
        for value in junk
    }
    plans |= {
        f"{name}={value}": Plan({name: value})
        for name, value in {
            "PYTHONOPTIMIZE": "2", "PYTHONDEVMODE": "1", "PYTHONWARNINGS": "always", "PYTHONMALLOC": "debug",
            "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONUNBUFFERED": "1", "LC_ALL": "C",
            "LANGUAGE": "tlh", "TZ": "Nowhere/Nothing", "PYTHONFAULTHANDLER": "1", "PYTHONDONTWRITEBYTECODE": "1",
        }.items()
    }  # fmt: skip
    plans["C, dumb, one column"] = Plan(
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "TERM": "dumb", "COLUMNS": "1"}
    )
    # The parent of the tests' backends is found by a path: it is no part of PYTHONPATH's safe paths that matters.
    plans["PYTHONSAFEPATH"] = Plan({"PYTHONSAFEPATH": "1"})
    return plans


def folders() -> dict[str, Plan]:
    """Folders that are missing, no folders, deep, read-only, of another user, or gone."""
    plans = {
        f"{name}={value:.30}": Plan({name: value}, prepare=lambda folder: (folder / "file").touch())
        for name in ("TMPDIR", "HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME")
        for value in ("/nowhere", "/proc", "{folder}/file", "relative", "/dev/null", "/" + "deep/" * 300)
    }
    plans["a long TMPDIR"] = Plan(
        {"TMPDIR": "{folder}" + "/long" * 40},
        prepare=lambda folder: Path(f"{folder}{'/long' * 40}").mkdir(parents=True),
    )
    plans["a TMPDIR with odd letters"] = Plan(
        {"TMPDIR": "{folder}/a b\n'ä\"\x1b[2J"}, prepare=lambda folder: (folder / "a b\n'ä\"\x1b[2J").mkdir()
    )
    return plans


def processes() -> dict[str, Plan]:
    """Streams, users, limits and the working directory."""
    limited = {
        f"at most {count} processes of a user": Plan(
            prefix=("prlimit", f"--nproc={count}", *AS_NOBODY), prepare=_given_away, codes=DOCUMENTED - {1}
        )
        for count in (0, 1, 2, 3, 4, 6)
    }
    return limited | {
        "standard input closed": Plan(settings={"preexec_fn": partial(os.close, 0)}),
        "all streams closed": Plan(settings={"preexec_fn": partial(os.closerange, 0, 3)}),
        "a deleted working directory": Plan(prepare=_copied, settings={"preexec_fn": _in_deleted}, codes=WRONG),
        "another user": Plan(prefix=AS_NOBODY, prepare=_given_away),
        "another user without a folder to write to": Plan(prefix=AS_NOBODY, codes=WRONG),
        "nice 19": Plan(settings={"preexec_fn": partial(os.nice, 19)}),
        "umask 0777": Plan(settings={"umask": 0o777}, codes=EITHER),
        "umask 0": Plan(settings={"umask": 0}),
    }


def _copied(folder: Path) -> None:
    (folder / "gone").mkdir()


def _in_deleted() -> None:
    os.chdir("gone")
    Path("../gone").rmdir()


def _given_away(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, NOBODY, NOBODY)


def command_lines() -> dict[str, Plan]:
    """Arguments that are many, long, empty, doubled and no text."""
    return {
        "5,000 patterns": Plan(arguments=("list", "--cases", "cases.yaml", *[f"cases/x{n}" for n in range(5000)]), codes=WRONG),
        "5,000 patterns that match": Plan(arguments=("list", "--cases", "cases.yaml", *["cases/**"] * 5000)),
        "a pattern of 100,000 stars": Plan(arguments=("list", "--cases", "cases.yaml", "*" * 100_000), codes=EITHER),
        "a pattern of many stars": Plan(arguments=("list", "--cases", "cases.yaml", "*a" * 2000), codes=EITHER),
        "a pattern of many double stars": Plan(arguments=("list", "--cases", "cases.yaml", "**/" * 2000), codes=EITHER),
        "a pattern of many conditions": Plan(arguments=("list", "--cases", "cases.yaml", f"**[strides={'|'.join(map(str, range(20_000)))}]"), codes=EITHER),
        "brackets": Plan(arguments=("list", "--cases", "cases.yaml", "[" * 10_000), codes=WRONG),
        "an empty pattern": Plan(arguments=("list", "--cases", "cases.yaml", ""), codes=EITHER),
        "5,000 options": Plan(arguments=(*RUN, *["--option", "a=b"] * 5000), codes=frozenset({2, 3})),
        "a long backend": Plan(arguments=(*RUN[:-1], "x" * 100_000), codes=MISSING),
        "a long command": Plan(arguments=(*RUN[:-1], f"exec:{'x ' * 50_000}"), codes=MISSING),
        "an empty command": Plan(arguments=(*RUN[:-1], "exec:"), codes=MISSING),
        "a command of no text": Plan(arguments=(*RUN[:-1], "exec:\udcff"), codes=MISSING),
        "a module of no text": Plan(arguments=(*RUN[:-1], "\udcff:x"), codes=MISSING),
        "a relative module": Plan(arguments=(*RUN[:-1], "..x:y"), codes=MISSING),
        "an attribute of attributes": Plan(arguments=(*RUN[:-1], "os:path.join"), codes=MISSING),
        "no class": Plan(arguments=(*RUN[:-1], "os:sep"), codes=MISSING),
    }  # fmt: skip


def plugins() -> dict[str, Plan]:
    """Distributions whose entry points raise, end the process, are no text, or are doubled."""
    texts = {
        "raises": "raise RuntimeError('\\udcff\\x1b[31m')",
        "exits": "raise SystemExit(0)",
        "aborts": "import os; os.abort()",
        "prints": "print('x' * 10**6)",
        "interrupts": "raise KeyboardInterrupt",
        "has no such class": "",
        "is no Python": "((",
    }
    plans = {
        f"an entry point that {how}, {' '.join(arguments)[:12]}": Plan(
            {"PYTHONPATH": f"{{folder}}{os.pathsep}{Surroundings().environment()['PYTHONPATH']}"},
            prepare=partial(_plugin, "[tconv.backends]\nhostile = hostile_plugin:Backend\n", text),
            arguments=arguments,
            codes=codes,
        )
        for how, text in texts.items()
        for arguments, codes in (
            ((*RUN[:-1], "hostile"), MISSING),
            (("backends",), GREEN),
            (RUN, GREEN),
        )
    }
    names = {"no value": "hostile =", "no text": "\udcff = a:b", "an escape": "a\x1b[2J = a:b", "doubled": "a = b:c\na = d:e", "many": "\n".join(f"n{n} = a:b" for n in range(20_000))}  # fmt: skip
    return plans | {
        f"an entry point with {name}": Plan(
            {"PYTHONPATH": f"{{folder}}{os.pathsep}{Surroundings().environment()['PYTHONPATH']}"},
            prepare=partial(_plugin, f"[tconv.backends]\n{line}\n", ""),
            arguments=("backends",),
            codes=frozenset({0, 2, 3}),
        )
        for name, line in names.items()
    }


def _plugin(entry_points: str, module: str, folder: Path) -> None:
    about = folder / "hostile-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(entry_points, errors="surrogateescape")
    (folder / "hostile_plugin.py").write_text(module)
