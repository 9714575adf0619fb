"""The facts of several machines that took part in one run, as the header of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.records.headers import BackendHeader

MAY_DIFFER = ("processor", "cores", "memory")
"""Facts that the machines of a run need not share: no waiver asks for them, and none is a vector extension."""
CONFINEMENT = "isolated"
"""What a header's environment says of confinement. A system may forbid it, and no answer depends on it, so that the
machines of a run need not share it."""

_AND = " | "


def joined(machines: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the facts of all machines: those that may differ with every value, of the others the common ones.

    What a header does not say is not known of its machine, so that no waiver of some machines holds.
    """
    values = {name: {machine.get(name, "") for machine in machines} for machine in machines for name in machine}
    return {
        name: _every(texts) if name in MAY_DIFFER else "".join(texts)
        for name, texts in values.items()
        if name in MAY_DIFFER or len(texts) == 1
    }


def _every(texts: Iterable[str]) -> str:
    """Return every value of a fact once; a text of several machines that were joined before has several."""
    return _AND.join(sorted({value for text in texts for value in text.split(_AND) if value}))


def joined_backend(backends: Sequence[BackendHeader]) -> BackendHeader:
    """Return the backend of a run that several machines took part in, with the facts of all.

    Args:
        backends: the backend as each machine says it, alike in all that need not be of a machine.
    """
    machine = joined([backend.machine for backend in backends])
    environment = without_confinement(backends[0].environment)
    if any(CONFINEMENT in backend.environment for backend in backends):
        environment[CONFINEMENT] = _every(backend.environment.get(CONFINEMENT, "no") for backend in backends)
    return backends[0].model_copy(update={"machine": machine, "environment": environment})


def without_confinement(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a backend says of itself, without how its process was confined."""
    return {name: text for name, text in environment.items() if name != CONFINEMENT}
