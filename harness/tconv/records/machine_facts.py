"""The facts of several machines of one run, joined for one header."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tconv.records.headers import BackendHeader

MAY_DIFFER = ("processor", "cores", "memory")
"""Facts that may differ between the machines of a run, as no waiver depends on them."""
CONFINEMENT = "isolated"
"""The entry of a header's environment about confinement. It may differ between the machines of a run: a system may
forbid confinement, and no answer depends on it."""

_AND = " | "


def joined(machines: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the facts of all machines: of those that may differ all values, of the others the common ones.

    Without a common value a fact is left out, so no waiver that depends on it holds.
    """
    values = {name: {machine.get(name, "") for machine in machines} for machine in machines for name in machine}
    return {
        name: _every(texts) if name in MAY_DIFFER else "".join(texts)
        for name, texts in values.items()
        if name in MAY_DIFFER or len(texts) == 1
    }


def _every(texts: Iterable[str]) -> str:
    """Return all values of a fact, each once; a text may already have those of several machines."""
    return _AND.join(sorted({value for text in texts for value in text.split(_AND) if value}))


def joined_backend(backends: Sequence[BackendHeader]) -> BackendHeader:
    """Return the backend of a run on several machines, with the facts of all.

    Args:
        backends: the backend's header from each machine; they differ only in facts of the machine.
    """
    machine = joined([backend.machine for backend in backends])
    environment = without_confinement(backends[0].environment)
    if any(CONFINEMENT in backend.environment for backend in backends):
        environment[CONFINEMENT] = _every(backend.environment.get(CONFINEMENT, "no") for backend in backends)
    return backends[0].model_copy(update={"machine": machine, "environment": environment})


def without_confinement(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a header without the entry about confinement."""
    return {name: text for name, text in environment.items() if name != CONFINEMENT}
