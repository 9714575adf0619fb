"""The command `tconv`: one thin file for each of its commands."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from tconv import __version__
from tconv.cli.output import to_nowhere
from tconv.errors import FileError, Invalid, TconvError, nearest, one_line

if TYPE_CHECKING:
    from types import FrameType

COMMANDS = {
    "run": "Run cases on a backend, judge every answer, report.",
    "list": "Print the ids of cases.",
    "show": "Print a case in each dialect, and what is owed.",
    "check": "Lint case files.",
    "coverage": "Print which values and combinations of values a tier covers.",
    "backends": "Print the installed backends and their dialects.",
    "resolve": "Print what each dialect makes of sizes and attributes.",
    "report": "Make the HTML page of records, and print their totals.",
    "gate": "Hold records against the waivers.",
    "compare": "Print what became of every case between two runs.",
    "atlas": "Write which answer each backend gives where the texts differ.",
    "mutants": "Print which misreadings the corpus notices.",
    "shrink": "Find the smallest case that fails as another does.",
    "fuzz": "Ask a backend what no case file asks.",
    "diagnose": "Tell which misreading explains what a backend does.",
    "learn": "Print the formulas by which a runtime computes sizes and pads.",
    "history": "Tell since which release a runtime does what it does.",
    "export": "Write a case as a model with a script, or as a bug report.",
}
"""Every command, and the line for it in `tconv --help`, which must not import them all."""
_INTERNAL_FAILURE = 4
_INTERRUPTED, _TERMINATED = 130, 143
# The code that a shell gives to a program that SIGPIPE ended; 1 would mean red.
_NO_READER = 141


class _Terminated(BaseException):
    """SIGTERM came."""


class _Commands(click.Group):
    """Commands that are imported when they are called, so that none waits for another's libraries."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"tconv.cli.{cmd_name}_command").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would end with 1, which would mean red. Commands that judge go on without a reader, see `printing`.
            to_nowhere(sys.stdout)
            sys.exit(_NO_READER)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            known = ", ".join(COMMANDS)
            raise click.UsageError(f"a command must be one of {known} (got {args[0]!r}){nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tconv")
def _tconv() -> None:
    """Tell whether a runtime computes transposed convolution as its specification says.

    Exit codes: 0 green; 1 red; 2 wrong usage or a bad file; 3 a backend could not be had; 4 tconv itself failed.
    """


def main() -> NoReturn:
    """Run the command line and exit with its code; no traceback reaches the terminal."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = _tconv.main(prog_name="tconv", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except (click.Abort, KeyboardInterrupt):
        _end("tconv: interrupted; a run goes on from here by the same command with --resume", _INTERRUPTED)
    except _Terminated:
        _end("tconv: terminated; a run goes on from here by the same command with --resume", _TERMINATED)
    except NoArgsIsHelpError as error:
        _end(error.format_message(), error.exit_code)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "tconv"
        _end(f"tconv: {one_line(error.format_message()).rstrip('.')}; see '{command} --help'", error.exit_code)
    except FileError as error:
        _end(str(error), error.exit_code)
    except TconvError as error:
        _end(f"tconv: {error}", error.exit_code)
    except Invalid as error:
        _end(f"tconv: {error}", 2)
    except Exception as error:  # noqa: BLE001 - a fault of tconv: the terminal shows a sentence, a file the trace
        message = one_line(f"{type(error).__name__}: {error}")
        _end(f"tconv: failed by itself: {message}; the trace is in {_trace_file()}", _INTERNAL_FAILURE)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise _Terminated


def _end(message: str, code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)


def _trace_file() -> str:
    """Write the current traceback to a new file and return its path."""
    # Hardly any run needs them, and every command would wait for them.
    import tempfile  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    descriptor, name = tempfile.mkstemp(prefix="tconv-failure-", suffix=".txt")
    os.close(descriptor)
    Path(name).write_text(traceback.format_exc(), encoding="utf-8")
    return name
