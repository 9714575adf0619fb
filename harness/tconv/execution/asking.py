"""How a backend is asked, as the user chooses it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tconv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects import Dialect

VARIABLE = "TCONV_ISOLATE"
"""The environment variable that says it, also for commands that have no option for it."""
_MEANINGS = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True) | dict.fromkeys(
    ("0", "false", "f", "no", "n", "off"), False
)


def required() -> bool | None:
    """Return whether runtimes must be confined, as the environment says it; None where it says nothing.

    Raises:
        UsageError: it says neither yes nor no. Taken for nothing, a wish to confine would be lost in silence.
    """
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        return None
    try:
        return _MEANINGS[text.strip().lower()]
    except KeyError:
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
        only_compares: whether wrong outputs are only compared with those of a run, see `investigation.unset_memory`:
            memory is filled in valid calls too, and nothing is explained.
    """

    backend: str
    dialect: Dialect | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    repeat: int = 1
    isolate: bool | None = field(default_factory=required)
    folder: str | None = None
    only_compares: bool = False
