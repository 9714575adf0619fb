"""Options of a backend: what a user may choose of a runtime, as plain data.

A backend lists its options in the class attribute `OPTIONS`, a function where only the runtime knows their values. It
takes what is given as keyword arguments of its constructor. What is given at its default is as good as not given: the
run is one of the same backend.
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
    """One thing that a user may choose.

    Attributes:
        name: its name, a Python identifier.
        meaning: what it chooses, in a few words.
        default: the value where none is given.
        values: the words, or the integers, that it may be; None for any text.
        plainer: the value with which the runtime changes a graph less; empty if the option is of something else.
        named_by: an option and its value with which the runtime's log names such values, and the regular expression
            that finds them; empty if it does not.
    """

    name: str
    meaning: str
    default: str
    values: tuple[str, ...] | range | None = None
    plainer: str = ""
    named_by: tuple[str, str, str] | tuple[()] = ()

    @property
    def allowed(self) -> str:
        """What it may be, in words."""
        match self.values:
            case None:
                return "any text"
            case range():
                return f"an integer from {self.values[0]} to {self.values[-1]}"
            case words:
                return ", ".join(words)

    def allows(self, value: str) -> bool:
        """Return whether it may have this value."""
        if isinstance(self.values, range):
            return value.isdecimal() and str(int(value)) == value and int(value) in self.values
        return self.values is None or value in self.values


def checked(options: Sequence[Option], chosen: Mapping[str, str], backend: str) -> dict[str, str]:
    """Return what was given, checked.

    Args:
        options: the options that the backend has.
        chosen: values by the options' names.
        backend: how messages name the backend.

    Raises:
        OptionError: the backend has no such option, or the option may not have that value.
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
    """Return what was given and is no default, in the order of names: it tells one run of a backend from another."""
    defaults = {option.name: option.default for option in options}
    return {name: value for name, value in sorted(chosen.items()) if defaults.get(name) != value}
