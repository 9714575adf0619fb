"""How a backend is asked, as the user chooses it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from tconv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects import Dialect

VARIABLE = "TCONV_ISOLATE"
"""The environment variable for `--isolate`, also for commands without this option."""


def required() -> bool | None:
    """Return whether runtimes must be confined by the environment variable; None if it is not set.

    Raises:
        UsageError: its value is not yes or no.
    """
    text = os.environ.get(VARIABLE, "").strip()
    try:
        return TypeAdapter(bool).validate_python(text) if text else None
    except ValidationError:
        raise UsageError(f"environment variable {VARIABLE} must be yes or no (got {text!r})") from None


@dataclass(frozen=True, slots=True)
class Asking:
    """How a backend is asked.

    Attributes:
        backend: an installed name, `package.module:attribute`, or `exec:COMMAND LINE`.
        dialect: the dialect; None for the first one of the backend.
        options: values of the backend's options, by name.
        timeout: the limit of a call, in seconds.
        repeat: how often each case is asked.
        isolate: whether the processes of runtimes must be confined; None: those of `exec:` are, if the system can.
        folder: the folder of artifacts; None if none are written.
        shown: a tensor of the graph that becomes a further output, so that nothing is fused across it; empty for none.
    """

    backend: str
    dialect: Dialect | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    repeat: int = 1
    isolate: bool | None = field(default_factory=required)
    folder: str | None = None
    shown: str = ""
