"""How a backend is asked, as the user chooses it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects import Dialect


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
    isolate: bool | None = None
    folder: str | None = None
    shown: str = ""
