"""Options that several commands share, those of a call among them, and dataclasses of options.

Such a dataclass has name, type and option in one place.
"""

from __future__ import annotations

import re
from dataclasses import field, fields
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tconv.backends.machine import cores
from tconv.dialects import DIALECTS, Dialect, find_dialect
from tconv.errors import UsageError
from tconv.nearest_word import nearest
from tconv.records.headers import USUAL_TIMEOUT
from tconv.vocabulary import NEUTRAL, TIERS, AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance
    from click.decorators import FC

_Result = TypeVar("_Result")


class _Seconds(click.FloatRange):
    """Seconds from a twentieth to a day. Infinity and NaN are refused: they would set no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - as click has it
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        return number if isfinite(number) else self.fail(f"{value!r} is not a number of seconds.", param, ctx)


FILE = click.Path(path_type=Path, dir_okay=False)
"""A file to write."""
SECONDS = _Seconds(min=0.05, max=86_400)

cases = click.option(
    "--cases",
    type=click.Path(path_type=Path),
    help="A case file or a folder of them; default: tconv's own.",
)
tier = click.option("--tier", type=click.Choice(TIERS), default="gate", help="Which part of the cases.")
waivers = click.option(
    "--waivers", metavar="FILE|none", help="The file of known deviations; default: tconv's own file for the backend."
)
strict = click.option(
    "--strict",
    is_flag=True,
    help="Count it as a failure if the backend accepts an invalid call, and the text states the broken constraint.",
)


def folder(text: str) -> Callable[[FC], FC]:
    """Return the option for the folder that a command writes; `text` is its help."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--output", type=kind, default=Path("reports"), help=text)


output = folder("The folder of records, artifacts and the page.")
jobs = click.option("-j", "--jobs", type=click.IntRange(1, 256), help="Worker processes; default: one for each core.")
spoken = click.option("--dialect", help="The dialect of the calls; default: the first dialect of the backend.")


def jobs_of(jobs: int | None) -> int:
    """Return the number of workers."""
    return jobs or min(cores(), 256)


def timeout(seconds: float = USUAL_TIMEOUT, text: str = "The most seconds for one case.") -> Callable[[FC], FC]:
    """Return the option that limits the seconds for one case, with its default and its help."""
    return click.option("--timeout", type=SECONDS, default=seconds, help=text)


isolate = click.option(
    "--isolate/--no-isolate",
    default=None,
    show_default=False,
    help="Confine the runtime: it has no network, and may write only into its own folder (Linux). Default: only a"
    " runtime of exec: is confined, if the system allows it.",
)


baseline = click.option(
    "--baseline",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Older records for a comparison. The exit code is also 1 if a case became worse; repeatable.",
)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def _chosen(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Return options of a backend as values by name.

    Raises:
        UsageError: a text is not KEY=VALUE, or a key comes twice.
    """
    chosen: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"--option must be KEY=VALUE (got {text!r}); 'tconv backends' shows the keys")
        if name in chosen:
            raise UsageError(f"--option must give {name!r} once (got {chosen[name]!r} and {value!r})")
        chosen[name] = value
    return chosen


backend_options = click.option(
    "--option",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_chosen,
    help="An option of the backend. 'tconv backends' lists them; repeatable.",
)


def _sizes(_context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, int]:
    sizes = {}
    for text in texts:
        name, equals, size = text.rpartition("=")
        if not (equals and size.isdecimal()):
            raise UsageError(f"--size must be NAME=N, a symbol of the model or an axis such as x[2] (got {text!r})")
        sizes[name] = int(size)
    return sizes


model_sizes = click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="NAME=N",
    callback=_sizes,
    help="A size that the model leaves open. NAME is its symbol, or x[2] for axis 2 of input x; repeatable.",
)


def dialect(name: str | None) -> Dialect | None:
    """Return the dialect that an option names; None means the backend's first.

    Raises:
        UsageError: no dialect has that name.
    """
    return None if name is None else find_dialect(name)


def option_field(option: str | Callable[..., Any], *names: str, **settings: Any) -> Any:  # noqa: ANN401 - of its field's type
    """Return a field of a dataclass that an option of click sets; both have the same name.

    Args:
        option: the text of the option, such as `--jobs`, or what `click.option` or `click.argument` returned.
        names: further positional arguments of `click.option`.
        settings: keyword arguments of `click.option`.
    """
    return field(metadata={"option": click.option(option, *names, **settings) if isinstance(option, str) else option})


def with_options(options: type[DataclassInstance]) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Return a decorator that adds the options of a dataclass to a command, and passes an instance of it.

    Values of other decorators' options are passed by name. With several dataclasses, the command gets their instances
    in the order of the decorators.

    Args:
        options: a dataclass. Every field is made with `option_field`, and --help shows the options in their order.
    """
    names = [option.name for option in fields(options)]

    def decorated(command: Callable[..., _Result]) -> Callable[..., _Result]:
        @wraps(command)
        def called(*others: DataclassInstance, **chosen: Any) -> _Result:  # noqa: ANN401 - of each option's type
            return command(*others, options(**{name: chosen.pop(name) for name in names}), **chosen)

        for option in reversed(fields(options)):
            called = option.metadata["option"](called)
        return called

    return decorated


_LIST = re.compile(r"-?[0-9]{1,9}(?:[,x]-?[0-9]{1,9})*")


class _Sizes(click.ParamType[list[int]]):
    name = "N[,N...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:  # noqa: ANN401
        if isinstance(value, list):
            return value
        if not _LIST.fullmatch(str(value)):
            self.fail(f"must be integers of at most 9 digits, such as 2 or 2,3 (got {value!r})", param, ctx)
        return [int(part) for part in re.split("[,x]", str(value))]


class _Mode(click.ParamType[str]):
    name = "|".join(mode.value for mode in AutoPad)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        words = {mode.value: mode.value for mode in AutoPad}
        for dialect in DIALECTS.values():
            words |= {word: mode for mode, word in dialect.spelling.auto_pad.items()}
        if value not in words:
            self.fail(f"must be one of {', '.join(words)} (got {value!r}){nearest(value, words)}", param, ctx)
        return words[value]


def axis_sizes(name: str, text: str) -> Callable[[FC], FC]:
    """Return an option that takes integers, one for each spatial axis."""
    return click.option(f"--{name.replace('_', '-')}", name, type=_Sizes(), help=text)


def call_attributes(command: FC) -> FC:
    """Add an option for every attribute of the operator."""
    command = click.option("--groups", type=int, help="The number of groups.")(command)
    command = click.option("--auto-pad", type=_Mode(), help="The padding mode, also in a dialect's own words.")(command)
    for name in reversed((*NEUTRAL, "output_shape")):
        command = axis_sizes(name, "A number for each axis, or one for all.")(command)
    return command


def single(value: Any) -> Any:  # noqa: ANN401 - the value of any option
    """Return the integer of a list that has only one, because it holds for every axis; any other value unchanged."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def for_each_axis(name: str, value: list[int], rank: int) -> list[int]:
    """Return one size for each axis. A single size holds for every axis.

    Raises:
        UsageError: there are several sizes, but not one for each axis.
    """
    value = value * rank if len(value) == 1 else value
    if len(value) != rank:
        raise UsageError(f"--{name} must have {rank} sizes, as --spatial (got {len(value)})")
    return value
