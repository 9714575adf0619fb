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
"""The environment variable that says it, also for commands that have no option for it."""


def required() -> bool | None:
    """Return whether runtimes must be confined, as the environment says it; None where it says nothing.

    Raises:
        UsageError: it says neither yes nor no. Taken for nothing, a wish to confine would be lost in silence.
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
        dialect: the dialect; None for the backend's first.
        options: values of the backend's options, by name.
        timeout: seconds that a case may take.
        repeat: how often each case is asked.
        isolate: whether the processes of runtimes must be confined; None for those of `exec:` where that is possible.
        folder: where artifacts go; None for nowhere.
        shown: the tensor of a graph that is made a further output of it, so that nothing is fused across it; empty for
            none.
    """

    backend: str
    dialect: Dialect | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    repeat: int = 1
    isolate: bool | None = field(default_factory=required)
    folder: str | None = None
    shown: str = ""
