"""Odd environments of the command: variables, folders, users, limits, streams, command lines, plugins."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from faults.place import COUNT, DOCUMENTED, EITHER, GREEN, IS_ROOT, MISSING, RUN, WRONG

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from faults.place import Place

RIGHT = (*RUN, "wrong_backends:Right")
NOBODY = 65534
AS_NOBODY = (
    "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
    # Python can be read in any folder then.
    "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search", "--bounding-set=-all,+dac_read_search",
)  # fmt: skip
"""A user who has no rights but to read."""
needs_root = pytest.mark.skipif(not IS_ROOT, reason="other users and their limits need root")


def runs_whole(place: Place, codes: Container[int] = GREEN, **settings: Any) -> None:  # noqa: ANN401 - those of Popen
    """Run the cases: a green run has all records."""
    code = place.run(*RIGHT, **settings)
    place.check(code, codes)
    assert code or len(place.verdicts()) == COUNT


JUNK = ("", "x", "-1", "0", "1e9", "\x1b[2J", "ä\udcff", "/dev/null", "x" * 5000)
ANY_VALUE = (
    "COLUMNS", "TERM", "LANG", "OMP_NUM_THREADS", "TCONV_ONEDNN", "HOME", "NO_COLOR", "FORCE_COLOR"
)  # fmt: skip


@pytest.mark.parametrize("value", JUNK, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("name", ANY_VALUE)
def test_a_variable_with_junk(place: Place, name: str, value: str) -> None:
    runs_whole(place, EITHER, env=place.environment(**{name: value}))


@pytest.mark.parametrize(
    "variables",
    [
        *({name: value} for name, value in {
            "PYTHONOPTIMIZE": "2", "PYTHONDEVMODE": "1", "PYTHONWARNINGS": "always", "PYTHONMALLOC": "debug",
            "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONUNBUFFERED": "1", "LC_ALL": "C",
            "LANGUAGE": "tlh", "TZ": "Nowhere/Nothing", "PYTHONFAULTHANDLER": "1", "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONSAFEPATH": "1",
        }.items()),
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "TERM": "dumb", "COLUMNS": "1"},
    ],
    ids=lambda variables: next(iter(variables)),
)  # fmt: skip
def test_what_python_and_the_locale_know(place: Place, variables: dict[str, str]) -> None:
    runs_whole(place, env=place.environment(**variables))


@pytest.mark.parametrize("name", ["TMPDIR", "HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"])
@pytest.mark.parametrize(
    "value", ["/nowhere", "/proc", "{}/outside", "relative", "/dev/null", f"/{'deep/' * 300}"], ids=lambda v: v[:12]
)
def test_folders_of_the_system_are_none(place: Place, name: str, value: str) -> None:
    """They are missing, no folders, or cannot be written; the run does without."""
    runs_whole(place, env=place.environment(**{name: value.format(place.folder)}))


@pytest.mark.parametrize("name", ["/".join(["long"] * 40), "a b\n'ä\"\x1b[2J"], ids=["long", "odd letters"])
def test_a_folder_for_temporary_files_with_an_odd_name(place: Place, name: str) -> None:
    (place.folder / name).mkdir(parents=True)
    runs_whole(place, env=place.environment(TMPDIR=f"{place.folder}/{name}"))


@pytest.mark.parametrize(
    "settings",
    [
        {"preexec_fn": partial(os.close, 0)},
        {"preexec_fn": partial(os.closerange, 0, 3)},
        {"preexec_fn": partial(os.nice, 19)},
        {"umask": 0},
        {"umask": 0o777},
    ],
    ids=["no standard input", "no streams", "nice", "umask 0", "umask 0777"],
)
def test_a_process_with_odd_streams_and_rights(place: Place, settings: dict[str, Any]) -> None:
    """Streams are closed, and files have other rights; a file that nobody may read is refused."""
    runs_whole(place, EITHER if settings.get("umask") else GREEN, **settings)


def test_the_working_directory_is_deleted(place: Place) -> None:
    (place.folder / "gone").mkdir()

    def leave() -> None:
        os.chdir("gone")
        Path("../gone").rmdir()

    place.check(place.run(*RIGHT, preexec_fn=leave), WRONG)


def given_away(place: Place) -> None:
    for path in (place.folder, *place.folder.rglob("*")):
        shutil.chown(path, NOBODY, NOBODY)


@needs_root
def test_another_user(place: Place) -> None:
    """Without a folder to write to, the run is refused; with one, it is whole."""
    place.check(place.run(*RIGHT, prefix=AS_NOBODY), WRONG)
    given_away(place)
    runs_whole(place, prefix=AS_NOBODY)


@needs_root
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6])
def test_few_processes(place: Place, count: int) -> None:
    """A user may have so many processes: the run is whole, or says why not."""
    given_away(place)
    code = place.run(*RIGHT, prefix=("prlimit", f"--nproc={count}", *AS_NOBODY))
    place.check(code, DOCUMENTED - {1})


LIST = ("list", "--cases", "cases.yaml")
LINES: dict[str, tuple[Sequence[str], Container[int]]] = {
    "5,000 patterns": ((*LIST, *[f"cases/x{n}" for n in range(5000)]), WRONG),
    "5,000 patterns that match": ((*LIST, *["cases/**"] * 5000), GREEN),
    "a pattern of 100,000 stars": ((*LIST, "*" * 100_000), EITHER),
    "a pattern of many stars": ((*LIST, "*a" * 2000), EITHER),
    "a pattern of many double stars": ((*LIST, "**/" * 2000), EITHER),
    "a pattern of many conditions": ((*LIST, f"**[strides={'|'.join(map(str, range(20_000)))}]"), EITHER),
    "brackets": ((*LIST, "[" * 10_000), WRONG),
    "an empty pattern": ((*LIST, ""), EITHER),
    "5,000 options": ((*RIGHT, *["--option", "a=b"] * 5000), {2, 3}),
    "a long backend": ((*RUN, "x" * 100_000), MISSING),
    "a long command": ((*RUN, f"exec:{'x ' * 50_000}"), MISSING),
    "an empty command": ((*RUN, "exec:"), MISSING),
    "a command of no text": ((*RUN, "exec:\udcff"), MISSING),
    "a module of no text": ((*RUN, "\udcff:x"), MISSING),
    "a relative module": ((*RUN, "..x:y"), MISSING),
    "an attribute of attributes": ((*RUN, "os:path.join"), MISSING),
    "no class": ((*RUN, "os:sep"), MISSING),
}


@pytest.mark.parametrize(("arguments", "codes"), LINES.values(), ids=LINES)
def test_a_command_line(place: Place, arguments: Sequence[str], codes: Container[int]) -> None:
    place.check(place.run(*arguments), codes)


MODULES = {
    "raises": "raise RuntimeError('\\udcff\\x1b[31m')",
    "exits": "raise SystemExit(0)",
    "aborts": "import os; os.abort()",
    "prints": "print('x' * 10**6)",
    "interrupts": "raise KeyboardInterrupt",
    "has no such class": "",
    "is no Python": "((",
}
ENTRIES = {
    "no value": "hostile =",
    "no text": "\udcff = a:b",
    "an escape": "a\x1b[2J = a:b",
    "doubled": "a = b:c\na = d:e",
    "many": "\n".join(f"n{n} = a:b" for n in range(20_000)),
}


def installed(place: Place, entries: str, module: str = "") -> dict[str, str]:
    """Install a distribution with entry points, and return an environment that finds it."""
    about = place.folder / "hostile-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[tconv.backends]\n{entries}\n", errors="surrogateescape")
    (place.folder / "hostile_plugin.py").write_text(module)
    return before(place)


def before(place: Place) -> dict[str, str]:
    """Return an environment whose modules are those of the folder before all others."""
    return place.environment(PYTHONPATH=os.pathsep.join([str(place.folder), place.environment()["PYTHONPATH"]]))


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_a_plugin_that_cannot_be_imported(place: Place, module: str) -> None:
    """It is missing for a run of it, and harms no other one."""
    environment = installed(place, "hostile = hostile_plugin:Backend", module)
    for arguments, codes in (((*RUN, "hostile"), MISSING), (("backends",), GREEN), (RIGHT, GREEN)):
        place.check(place.run(*arguments, env=environment), codes)


@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES)
def test_entry_points_that_are_none(place: Place, entries: str) -> None:
    place.check(place.run("backends", env=installed(place, entries)), {0, 2, 3})
