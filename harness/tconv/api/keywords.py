"""Keywords of the interface: an unknown one is refused, with the nearest right word."""

from __future__ import annotations

from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tconv.api.arguments import Written
from tconv.errors import UsageError
from tconv.nearest_word import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")
_T = TypeVar("_T")


def checked(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function of the interface with clear errors for wrong arguments, instead of a TypeError.

    Raises:
        UsageError: (by the returned function) a keyword is unknown, the arguments do not fit, or there is not enough
            memory.
    """
    binds = signature(function)
    parameters = binds.parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is not Parameter.VAR_KEYWORD]
    if len(known) < len(parameters):
        known += Written.__annotations__

    @wraps(function)
    def refusing(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        name = function.__name__
        for word in kwargs:
            if word not in known:
                must = f"a keyword of {name} must be one of {', '.join(known)}"
                raise UsageError(f"{must} (got {word!r}){nearest(word, known)}")
        try:
            binds.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"{name} must have its arguments (got: {error}); help(tconv.{name}) lists them") from None
        try:
            return function(*args, **kwargs)
        except MemoryError:
            raise UsageError(f"{name} must have enough memory for its arguments; take smaller sizes") from None

    return refusing
