"""Options for the words that case and waiver files may use; `words` has the words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_Command = TypeVar("_Command", bound="Callable[..., Any]")


def words(command: _Command) -> _Command:
    """Add an option for each kind of words; the parameter `what` has which of them was given."""
    for what, text in (
        ("misreadings", "what diagnosis may name, and what each does."),
        ("readings", "disputed readings of each dialect, and what they say."),
        ("facts", "what patterns and waivers may ask of a case."),
        ("constraints", "what breaks may name, and which dialects state it."),
    ):
        command = click.option(f"--{what}", "what", flag_value=what, default=None, help=f"Instead: {text}")(command)
    return command
