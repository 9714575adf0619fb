"""The command `tconv`: one thin file for each of its commands."""

from __future__ import annotations

import sys
from contextlib import suppress
from errno import EAGAIN, ENAMETOOLONG
from functools import partial
from importlib import import_module
from shutil import get_terminal_size
from typing import NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from tconv import __version__
from tconv.cli.limits import refuse_too_little
from tconv.cli.stopping import signal_that_came, stoppable
from tconv.cli.streams import NoReader, printable_streams, say_in_error
from tconv.errors import FileError, Invalid, TconvError
from tconv.nearest_word import nearest
from tconv.shown_texts import one_line, shortened

GROUPS = {
    "Judge a runtime": {
        "run": (
            "Run cases on a backend, and judge every answer.",
            "tconv run 'padding/**' --backend opencv --tier smoke",
        ),
        "report": ("Judge records of earlier runs, and make the page.", "tconv report reports/ --baseline old/ --open"),
    },
    "Find out why": {
        "show": (
            "Print the expected result of a case in each dialect.",
            "tconv show padding/auto-pad/negative-total-by-hand",
        ),
        "explain": ("Explain a name, a failing case, or what a runtime computes.", "tconv explain wrong-dtype"),
        "shrink": ("Find the smallest case that fails in the same way.", "tconv shrink CASE --backend opencv"),
        "site": ("Write a site that compares runtimes, from records.", "tconv site reports/ --output site"),
        "fuzz": ("Run random cases on a backend.", "tconv fuzz --backend opencv --seconds 60"),
        "history": (
            "Run releases of a runtime, and print what changed between them.",
            "tconv history onnxruntime 1.27.0 1.28.0",
        ),
    },
    "Take a model or a case elsewhere": {
        "audit": ("Say whether a model is safe on a runtime.", "tconv audit model.onnx --backend onnxruntime"),
        "port": (
            "Print the call in another dialect that gives the same output.",
            "tconv port --model model.onnx --to torch/conv_transpose",
        ),
        "export": ("Write a case as a model, a bug report, or another project's test.", "tconv export CASE models"),
        "import": ("Write ONNX node tests as a case file.", "tconv import node-tests/"),
    },
    "Keep cases and waivers": {
        "waivers": (
            "Propose waivers for failures, and pin readings.",
            "tconv waivers propose reports/ --output waivers.yaml",
        ),
        "list": ("Print the topics or the ids of cases.", "tconv list 'padding/**[strides=2]'"),
        "check": ("Check case files and waiver files for mistakes.", "tconv check cases/"),
        "backends": ("Print the installed backends and their dialects.", "tconv backends"),
    },
}
"""All commands, grouped by question, each with its line in `tconv --help`, and an example for its own help.

`tconv --help` must not import the commands.
"""
COMMANDS = {name: texts for group in GROUPS.values() for name, texts in group.items()}
_HELP = frozenset({"-h", "--help"})
"""Arguments with which a run starts no worker."""
_WHOLE_PROCESS = object()
_ZYGOTE, _ORPHANS = "tconv.execution.zygote", "tconv.backends.orphans"
"""Modules that a command imports if it starts workers."""
_WRONG_USAGE = 2
_INTERNAL_FAILURE = 4
# A shell gives this exit code to a program that SIGPIPE ended; 1 would mean red.
_NO_READER = 141
_LONGEST_LINE = 2000
"""The longest line of an error: a user who passes thousands of words need not read all of them again."""


class _Commands(click.Group):
    """Commands that are imported when they are called. So no command waits for the libraries of another."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"tconv.cli.{cmd_name}_command").command
        example = f"\b\nExample:\n  {COMMANDS[cmd_name][1]}"
        if not (command.epilog or "").endswith(example):
            command.epilog = "\n\n".join(filter(None, (command.epilog, example)))
        if ctx.obj is _WHOLE_PROCESS and (module := sys.modules.get(_ORPHANS)) is not None:
            module.adopt()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        widest = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                # All lines begin at the same column, in all groups.
                formatter.write_dl([(name.ljust(widest), line) for name, (line, _) in group.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            known = ", ".join(COMMANDS)
            raise click.UsageError(f"a command must be one of {known} (got {args[0]!r}){nearest(args[0], COMMANDS)}")
        refuse_too_little()
        if args[:1] == ["run"] and _HELP.isdisjoint(args):
            # The zygote loads tconv in parallel to this process: that saves a third of a run's start.
            import_module(_ZYGOTE).prepare()
        name, command, left = super().resolve_command(ctx, args)
        if name == "run" and command is not None:
            # Only runs load tomllib.
            settings = import_module("tconv.cli.project_settings").read_settings(command)
            ctx.default_map = {name: settings}
        return name, command, left


_BEGINNING = """\b
Examples:
  tconv run                              Judge onnxruntime.
  tconv run --backend acme_tconv:Acme    Judge a runtime of your own.
  tconv explain CASE --backend NAME      Say why a case fails.
  tconv explain wrong-dtype              Say what a word of a report means."""


_CONTEXT = {
    "help_option_names": ["-h", "--help"],
    "show_default": True,
    # click's own width is at least 50 columns.
    "terminal_width": min(get_terminal_size().columns, 80) - 2,
}


@click.command(cls=_Commands, epilog=_BEGINNING, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="tconv")
def _tconv() -> None:
    """Test whether a runtime computes transposed convolution as its specification says.

    Exit codes: 0 green; 1 red; 2 wrong usage or a bad file; 3 a backend is not available; 4 tconv itself failed.
    If a signal ends the command, the code is 128 plus its number.
    """
    if sys.platform != "linux":
        click.echo(f"tconv: warning: tconv is tested on Linux only (this is {sys.platform})", err=True)


def main(*, whole_process: bool = False) -> NoReturn:
    """Run the command line and exit with its code; no traceback reaches the terminal.

    Args:
        whole_process: whether this process runs only the command. If so, all processes that it started end with it, and
            signals change nothing once the exit code is known.
    """
    try:
        with printable_streams():
            try:
                code = stoppable(partial(_code, whole_process=whole_process), whole_process=whole_process)
            finally:
                if whole_process and (module := sys.modules.get(_ZYGOTE)) is not None:
                    module.end_orphans()
    except NoReader:
        code = _NO_READER
    except OSError as error:
        say_in_error(f"tconv: standard output must be written (got: {error.strerror})\n")
        code = _WRONG_USAGE
    sys.exit(code)


def _code(*, whole_process: bool) -> int:
    """Run the command line and return the exit code, after a line about what went wrong."""
    try:
        code = _tconv.main(prog_name="tconv", standalone_mode=False, obj=_WHOLE_PROCESS if whole_process else None)
        return code if isinstance(code, int) else 0
    except Exception as error:  # noqa: BLE001 - every error gets a sentence
        if (stopped := signal_that_came()) is not None:
            raise stopped from None
        message, code = _message(error)
        # If nobody reads standard error, the exit code still reports the error.
        with suppress(OSError):
            click.echo("\n".join(shortened(line, _LONGEST_LINE) for line in message.split("\n")), err=True)
        return code


def _message(error: BaseException) -> tuple[str, int]:
    """Return the sentence that the terminal shows for an error, and the exit code."""
    match error:
        case NoArgsIsHelpError():
            return error.format_message(), error.exit_code
        case click.ClickException():
            context = getattr(error, "ctx", None)
            command = context.command_path if context else "tconv"
            sentence = one_line(error.format_message()).rstrip(".")
            return f"tconv: {sentence}; see '{command} --help'", error.exit_code
        case FileError():
            return str(error), error.exit_code
        case TconvError():
            return f"tconv: {error}", error.exit_code
        case Invalid():
            return f"tconv: {error}", _WRONG_USAGE
        case MemoryError():
            sentence = one_line(str(error)) or "none"
            return (
                f"tconv: there must be more memory (got: {sentence}); take fewer --jobs, or raise a limit",
                _WRONG_USAGE,
            )
        case OSError():
            return f"tconv: {_refusal(error)}", _WRONG_USAGE
        case _:
            # An error inside tconv: the terminal shows a sentence, and a file gets the traceback.
            sentence = one_line(f"{type(error).__name__}: {error}")
            return f"tconv: failed by itself: {sentence}; {_trace()}", _INTERNAL_FAILURE


_REFUSED = {
    ENAMETOOLONG: ("a path must be shorter", "check it"),
    EAGAIN: ("processes and threads must be allowed to be more", "take fewer --jobs, or raise the limit: ulimit -u"),
}
"""Errors of the system that get a sentence of their own: what must hold, and what to do."""


def _refusal(error: OSError) -> str:
    """Return in words what the system refused: a full disk, too few file handles, a path that is too long."""
    file = f"{error.filename}: " if error.filename is not None else ""
    must, remedy = _REFUSED.get(error.errno or 0, ("the system must let tconv read and write", ""))
    return f"{file}{must} (got: {error.strerror or error}){remedy and f'; {remedy}'}"


def _trace() -> str:
    """Write the current traceback to a new file, and return where it is."""
    # Few runs need these modules, and every command would wait for them.
    import tempfile  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    try:
        with tempfile.NamedTemporaryFile("wb", prefix="tconv-failure-", suffix=".txt", delete=False) as file:
            file.write(traceback.format_exc().encode(errors="backslashreplace"))
    except OSError as error:
        return f"the trace cannot be written ({error.strerror})"
    return f"the trace is in {file.name}"
