"""The interface of a backend, which is imported from here, and the search for a backend by its name."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from tconv.backends.environments import engine_of
from tconv.backends.extras import installing
from tconv.backends.info import BackendInfo
from tconv.backends.meant_modules import can_be_imported, instead_of_file, with_class
from tconv.backends.options import Option, checked
from tconv.backends.outcome import BackendError, Crashed, Outcome, Produced, Refused, ShapeOnly, TimedOut, Unsupported
from tconv.cases.context import Grid, Quantisation
from tconv.errors import BackendMissing, OptionError
from tconv.nearest_word import nearest
from tconv.shown_texts import raised

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from tconv.cases.call import Call

__all__ = [
    "GROUP",
    "Backend",
    "BackendError",
    "BackendInfo",
    "Crashed",
    "Grid",
    "Option",
    "Outcome",
    "Produced",
    "Quantisation",
    "Refused",
    "ShapeOnly",
    "TimedOut",
    "Unsupported",
    "create",
    "is_child",
    "is_named_by_start",
    "names",
    "refuse_unknown",
]

GROUP = "tconv.backends"
"""The entry-point group of a distribution's backends."""


class Backend(Protocol):
    """A runtime. It has its own worker process, so it may crash, hang and print.

    Its class may have the attribute `OPTIONS`: a tuple of `Option`, or a function that returns one. Options that a user
    gives are keyword arguments of its constructor.
    """

    def info(self) -> BackendInfo:
        """Return name, version, dialects and other facts of the backend."""

    def run(self, call: Call, arrays: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> Outcome:
        """Run one call.

        Args:
            call: the call, in the words of one of the backend's dialects.
            arrays: the operands by role, x, w and perhaps b, in the call's layouts.

        Returns:
            The outcome. An exception that leaves the backend is recorded as a backend error.
        """


@cache
def shipped(name: str) -> type[Any] | None:
    """Return the class of a backend that ships, without loading its runtime; None for any other name.

    In addition to `Backend`, the class has its dialects in `DIALECTS`. If Python can call the runtime without tconv, it
    has a function `snippet`. This takes a `Call`, and returns a `Snippet`, or None if the runtime cannot take the call.

    Args:
        name: the name that the user gave.
    """
    own = (entry for entry in entry_points(group=GROUP) if entry.name == name)
    return next((entry.load() for entry in own if entry.module.startswith(f"{__name__}.")), None)


def names() -> list[str]:
    """Return the names of the installed backends."""
    return sorted(entry.name for entry in entry_points(group=GROUP))


def create(
    spec: str,
    options: Mapping[str, str] = MappingProxyType({}),
    timeout: float = 60.0,
    isolate: bool | None = None,  # noqa: FBT001 - a value that is passed on
    dialect: str | None = None,
) -> Backend:
    """Return the backend of an installed name, of `package.module:attribute`, or of a child process.

    A child process is `exec:COMMAND LINE`, `NAME==VERSION` or `runner:NAME`, see `environments`.

    Args:
        spec: the name that the user gave.
        options: values of its options by name; the others have their defaults.
        timeout: the limit for a child's hello, in seconds.
        isolate: whether a child process must be confined; None: it is, if the system can.
        dialect: the dialect for a runner that has several; None for its first.

    Raises:
        BackendMissing: there is no such backend, or its runtime is not installed.
        OptionError: an option or its value is unknown.
    """
    if is_child(spec):
        from tconv.backends.exec import Exec

        engine = engine_of(spec)
        command = spec.removeprefix("exec:") if engine is None else engine.command(dialect)
        return Exec(command, options, timeout, isolate)
    try:
        factory = _factory(spec)
        backend: Backend = factory(**checked(options_of(factory), options, spec))
    except (BackendMissing, OptionError):
        raise
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and _is_named(spec, error):
            raise _not_importable(spec, error) from error
        raise BackendMissing(
            f"backend {spec!r} must have its runtime installed (got: {error}){_remedy(spec)}"
        ) from error
    except Exception as error:  # a backend may raise anything
        raise BackendMissing(f"backend {spec!r} must start (got {raised(error)})") from error
    return backend


def is_child(spec: str) -> bool:
    """Return whether a backend is a child process of its worker; then the child is confined, not the worker."""
    return spec.startswith("exec:") or engine_of(spec) is not None


def is_named_by_start(spec: str) -> bool:
    """Return whether the name of a backend is known only after its start; until then its spec is used."""
    return ":" in spec or "==" in spec


def options_of(backend: object) -> Sequence[Option]:
    """Return the options of a backend or its class; none if it names none."""
    options: Sequence[Option] | Callable[[], Sequence[Option]] = getattr(backend, "OPTIONS", ())
    return options() if callable(options) else options


def _is_named(spec: str, error: ModuleNotFoundError) -> bool:
    """Return whether the missing module is the one that the user named, or a package above it."""
    module, colon, _ = spec.partition(":")
    return bool(colon and error.name) and f"{module}.".startswith(f"{error.name}.")


def _remedy(spec: str) -> str:
    """Return the command that installs a backend's runtime, by the extra that its entry point names."""
    for entry in entry_points(group=GROUP):
        if entry.name == spec and entry.extras and entry.dist:
            return f"; install it with: {installing(entry.extras, entry.dist.name)}"
    return ""


def refuse_unknown(spec: str) -> None:
    """Refuse an unknown name of a backend. No backend is loaded, so a known name may still be missing its runtime.

    Args:
        spec: the name that the user gave.

    Raises:
        BackendMissing: the name is unknown; the message has suggestions.
    """
    if is_child(spec):
        return
    if instead := instead_of_file(spec):
        raise BackendMissing(instead)
    # To look for the installed names takes as long as to start a worker.
    if ":" not in spec and spec not in (known := names()):
        raise BackendMissing(
            f"backend must be one of {', '.join(known)}, NAME==VERSION, runner:NAME, exec:COMMAND or "
            f"package.module:attribute (got {spec!r}){with_class(spec) or nearest(spec, known)}"
        )
    if ":" in spec and not can_be_imported(spec):
        raise _not_importable(spec, f"No module named {spec.partition(':')[0].partition('.')[0]!r}")


def _not_importable(spec: str, got: object) -> BackendMissing:
    must = f"must be of a module that can be imported from here, {Path.cwd()}"
    remedy = "correct its name, or run tconv in the module's folder"
    return BackendMissing(f"backend {spec!r} {must} (got: {got}); {remedy}")


def _factory(spec: str) -> Any:  # noqa: ANN401 - anything callable that returns a Backend
    refuse_unknown(spec)
    if ":" in spec:
        module, _, attribute = spec.partition(":")
        if "" not in sys.path:
            # As with `python -m`, modules of the current folder can be imported.
            sys.path.insert(0, "")
        loaded = import_module(module)
        if not hasattr(loaded, attribute):
            must = f"backend {spec!r} must name a class or a function of the module {module!r}"
            raise BackendMissing(f"{must} (got {attribute!r}, which it lacks){nearest(attribute, vars(loaded))}")
        return getattr(loaded, attribute)
    return next(entry for entry in entry_points(group=GROUP) if entry.name == spec).load()
