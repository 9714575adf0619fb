"""Options as fields: what a command takes is a dataclass, whose fields have name, type and option in one place."""

from __future__ import annotations

from dataclasses import field, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance

_Result = TypeVar("_Result")


def option_field(option: str | Callable[..., Any], *names: str, **settings: Any) -> Any:  # noqa: ANN401 - of its field's type
    """Return a field of a dataclass that an option of click sets; both have the same name.

    Args:
        option: how it is written, such as `--jobs`, or what `click.option` or `click.argument` returned.
        names: what else `click.option` takes by position.
        settings: what `click.option` takes by name.
    """
    return field(metadata={"option": click.option(option, *names, **settings) if isinstance(option, str) else option})


def with_options(options: type[DataclassInstance]) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Return a decorator that adds the options of a dataclass to a command, which gets an instance of it.

    Values of options that other decorators add are passed to the command by name. With several dataclasses the command
    gets their instances in the order of the decorators.

    Args:
        options: a dataclass; every field is made with `option_field`, and --help has the options in their order.
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
