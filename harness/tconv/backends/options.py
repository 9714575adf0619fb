"""Options of a backend, as plain data: the settings of a runtime that a user may choose.

A backend lists its options in the class attribute `OPTIONS`. This is a function if only the runtime knows their values.
Given options are keyword arguments of its constructor. An option at its default is the same as one that is not given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tconv.errors import OptionError
from tconv.nearest_word import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: its name, a Python identifier.
        meaning: its meaning, in a few words.
        default: the default value.
        values: the allowed words or integers; None for any text.
        plainer: the value with which the runtime changes a graph less; empty if there is none.
        named_by: if the runtime's log names values of this option: the option and value that switch this log on, and
            a regular expression for the names; empty if not.
    """

    name: str
    meaning: str
    default: str
    values: tuple[str, ...] | range | None = None
    plainer: str = ""
    named_by: tuple[str, str, str] | tuple[()] = ()

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        match self.values:
            case None:
                return "any text"
            case range():
                return f"an integer from {self.values[0]} to {self.values[-1]}"
            case words:
                return ", ".join(words)

    def allows(self, value: str) -> bool:
        """Return whether a value is allowed."""
        if isinstance(self.values, range):
            return value.isdecimal() and str(int(value)) == value and int(value) in self.values
        return self.values is None or value in self.values


def checked(options: Sequence[Option], chosen: Mapping[str, str], backend: str) -> dict[str, str]:
    """Check given options, and return them.

    Args:
        options: the options of the backend.
        chosen: values by the options' names.
        backend: the name of the backend in messages.

    Raises:
        OptionError: an option or its value is unknown.
    """
    by_name = {option.name: option for option in options}
    for name, value in chosen.items():
        if name not in by_name:
            if not by_name:
                raise OptionError(f"{backend} must be given no option, as it has none (got {name!r})")
            names = ", ".join(by_name)
            raise OptionError(f"an option of {backend} must be one of {names} (got {name!r}){nearest(name, by_name)}")
        if not (option := by_name[name]).allows(value):
            words = option.values if isinstance(option.values, tuple) else ()
            one_of = "one of " if words else ""
            raise OptionError(
                f"option {name} of {backend} must be {one_of}{option.allowed} (got {value!r}){nearest(value, words)}"
            )
    return dict(chosen)


def with_defaults(options: Sequence[Option], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each option: the given one, or its default."""
    return {option.name: chosen.get(option.name, option.default) for option in options}


def assignments(chosen: Mapping[str, str]) -> tuple[str, ...]:
    """Return options as on the command line, `name=value`."""
    return tuple(f"{name}={value}" for name, value in chosen.items())


def not_default(options: Sequence[Option], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the options that are not at their defaults, in the order of names."""
    defaults = {option.name: option.default for option in options}
    return {name: value for name, value in sorted(chosen.items()) if defaults.get(name) != value}
