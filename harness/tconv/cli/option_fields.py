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


def by(option: str | Callable[..., Any], *names: str, **settings: Any) -> Any:  # noqa: ANN401 - of its field's type
    """Return a field that is set by an option of click, whose name it has.

    Args:
        option: how it is written, or what `click.option` or `click.argument` returned.
        names: what else `click.option` takes by position.
        settings: what it takes by name.
    """
    return field(metadata={"option": click.option(option, *names, **settings) if isinstance(option, str) else option})


def taking(options: type[DataclassInstance]) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Return what adds the options of a dataclass to a command, which is called with an instance of it.

    What other decorators add is handed on by name.

    Args:
        options: a dataclass; every field is made with `by`, and --help has the options in their order.
    """
    names = [each.name for each in fields(options)]

    def decorated(command: Callable[..., _Result]) -> Callable[..., _Result]:
        @wraps(command)
        def called(**chosen: Any) -> _Result:  # noqa: ANN401 - of each option's type
            return command(options(**{name: chosen.pop(name) for name in names}), **chosen)

        for each in reversed(fields(options)):
            called = each.metadata["option"](called)
        return called

    return decorated
