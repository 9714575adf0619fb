"""Whenever a signal comes, the command ends in words and with the signal's code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING

import click
import pytest

from small_corpus import environment
from tconv import cli
from tconv.cli.stopping import Stopped
from tconv.cli.streams import NoReader

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "import os, signal, sys; from tconv import cli; from tconv.cli import stopping\n"
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
WORDS = {130: "interrupted", 129: "hung up", 143: "terminated"}


def ended(folder: Path, program: str) -> tuple[int, str]:
    """Return the exit code of a Python program that replaces what the command does, and what it prints as an error."""
    (folder / "program.py").write_text(f"{HEAD}{program}\nsys.argv = ['tconv', 'list']\ncli.main(whole_process=True)\n")
    # As a module: Python ends a file otherwise.
    command = [sys.executable, "-m", "program"]
    done = subprocess.run(command, env=environment(), cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "def answer(**_): os.kill(os.getpid(), signal.SIGINT)",
        "def answer(**_):\n exec('import os, signal; os.kill(os.getpid(), signal.SIGINT)')",
        """class F:
            def __set_name__(self, *_): os.kill(os.getpid(), signal.SIGINT)
def answer(**_): type('C', (), {'f': F()})""",
        """import time
class D:
    def __del__(self): os.kill(os.getpid(), signal.SIGINT); print()
def answer(**_): D(); time.sleep(60)""",
        """def answer(**_):
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping._SAID)
    for number in stopping._SAID: os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping._SAID)""",
        """def answer(**_):
    try: os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error: raise ValueError(str(error)) from None""",
    ],
    ids=["at-any-time", "in-an-exec", "as-a-class-is-made", "in-a-finalizer", "with-others", "in-a-library"],
)
def test_an_interrupt_is_one_whatever_python_makes_of_it(program: str, tmp_path: Path) -> None:
    """Of a KeyboardInterrupt that leaves `exec` Python ends by the signal, and what a finalizer raises it drops."""
    code, said = ended(tmp_path, f"{program}\ncli._tconv.main = answer")
    assert code in ({130, 129, 143} if "pthread_sigmask" in program else {130})
    assert said == f"tconv: {WORDS[code]}\n"


def test_what_is_ignored_stays_so(tmp_path: Path) -> None:
    """As `nohup` ignores SIGHUP: the command goes on."""
    program = """signal.signal(signal.SIGHUP, signal.SIG_IGN)
def answer(**_): os.kill(os.getpid(), signal.SIGHUP); return 1
cli._tconv.main = answer"""
    assert ended(tmp_path, program) == (1, "")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_only_a_command_with_resume_speaks_of_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named = import_module(f"tconv.cli.{name}_command").command

    def stopped(**_: object) -> None:
        raise Stopped(signal.SIGINT)

    for command in named.commands.values() if isinstance(named, click.Group) else [named]:
        monkeypatch.setattr(command, "callback", stopped)
        with pytest.raises(Stopped) as raised:
            command.invoke(click.Context(command))
        has_resume = any("--resume" in parameter.opts for parameter in command.params)
        assert ("--resume" in raised.value.outcome) == has_resume


def test_a_signal_after_the_end_changes_nothing(tmp_path: Path) -> None:
    """The exit code is settled then, and Python still has files to remove."""
    program = "import atexit\natexit.register(lambda: [os.kill(os.getpid(), n) for n in stopping._SAID])"
    assert ended(tmp_path, f"{program}\ncli._tconv.main = lambda **_: 1") == (1, "")


def test_a_signal_after_the_reader_has_gone_changes_nothing(tmp_path: Path) -> None:
    """That settles the exit code too, and what the command has started ends also then."""
    program = """import types
from tconv.cli import streams
sys.modules[cli._ZYGOTE] = types.SimpleNamespace(end_orphans=lambda: os.write(2, b"ended"))
leave = streams._leave
streams._leave = lambda stream: [leave(stream), *(os.kill(os.getpid(), number) for number in stopping._SAID)]
def answer(**_): raise streams.NoReader
cli._tconv.main = answer"""
    assert ended(tmp_path, program) == (141, "ended")


@pytest.mark.parametrize("raised", [None, Stopped(signal.SIGTERM), NoReader()], ids=["code", "signal", "reader"])
def test_a_process_that_goes_on_hears_signals_as_before(
    raised: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(**_: object) -> int:
        if raised is not None:
            raise raised
        return 1

    def heard() -> list[object]:
        return [sys.unraisablehook, *map(signal.getsignal, CODES)]

    monkeypatch.setattr(cli._tconv, "main", answer)
    before = heard()
    with pytest.raises(SystemExit):
        cli.main()
    assert heard() == before


@pytest.mark.parametrize("number", CODES)
def test_a_signal_while_the_command_is_imported_ends_it_in_words(number: signal.Signals, tmp_path: Path) -> None:
    # A signal that comes just before a sleep is heard after it.
    naps = "for _ in range(600): time.sleep(0.1)"
    (tmp_path / "click.py").write_text(f"import os, time\nopen('loading', 'w').close()\n{naps}\n")
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "tconv"], env=environment(PYTHONPATH=path), cwd=tmp_path, stderr=subprocess.PIPE
    )
    with process:
        while not (tmp_path / "loading").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate()
    assert (process.returncode, said.decode()) == (CODES[number], f"tconv: {WORDS[CODES[number]]}\n")


def test_before_it_hears_signals_the_command_loads_next_to_nothing() -> None:
    """A Ctrl-C before that is answered by Python, with a traceback."""
    code = "import sys, signal; before = set(sys.modules); import tconv.__main__; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"__future__", "gc", "tconv", "tconv.__main__"}
