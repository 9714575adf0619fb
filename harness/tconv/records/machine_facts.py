"""The facts of several machines that took part in one run, as the header of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAY_DIFFER = ("processor", "cores", "memory")
"""Facts that the machines of a run need not share: no waiver asks for them, and none is a vector extension."""


def joined(machines: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the facts of all machines: those that may differ with every value, of the others the common ones.

    What a header does not say is not known of its machine, so that no waiver of some machines holds.
    """
    values = {name: {machine.get(name, "") for machine in machines} for machine in machines for name in machine}
    return {
        name: " | ".join(sorted(filter(None, texts)))
        for name, texts in values.items()
        if name in MAY_DIFFER or len(texts) == 1
    }
