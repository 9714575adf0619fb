"""Options that describe a call of the operator: sizes, and every attribute."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tconv.dialects import DIALECTS
from tconv.errors import UsageError
from tconv.nearest_word import nearest
from tconv.vocabulary import NEUTRAL, AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

_Command = TypeVar("_Command", bound="Callable[..., Any]")
_LIST = re.compile(r"-?[0-9]{1,9}(?:[,x]-?[0-9]{1,9})*")
_MEANINGS = {
    "strides": "Strides.",
    "dilations": "Dilations.",
    "pads_begin": "Padding at the beginning.",
    "pads_end": "Padding at the end.",
    "output_padding": "Output padding.",
    "output_shape": "The output's spatial sizes.",
}


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


def sizes(name: str, text: str) -> Callable[[_Command], _Command]:
    """Return an option that takes integers, one for each spatial axis."""
    return click.option(f"--{name.replace('_', '-')}", name, type=_Sizes(), help=text)


def attributes(command: _Command) -> _Command:
    """Add an option for every attribute of the operator; a single number holds for every axis."""
    command = click.option("--groups", type=int, help="The number of groups.")(command)
    command = click.option("--auto-pad", type=_Mode(), help="The padding mode, also in a dialect's own words.")(command)
    for name in reversed((*NEUTRAL, "output_shape")):
        command = sizes(name, _MEANINGS[name])(command)
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
