"""The command that installs an extra. tconv is on no package index, so it names the packages of the extra."""

from __future__ import annotations

import shlex
from importlib.metadata import PackageNotFoundError, requires
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

OWN = "tconv-conformance"
"""The name of tconv's distribution."""


def installing(extras: Sequence[str], distribution: str = OWN) -> str:
    """Return the command that installs the packages of extras of an installed distribution.

    Args:
        extras: their names.
        distribution: the distribution that has these extras.
    """
    # Only errors need it.
    from packaging.requirements import Requirement

    try:
        requirements = [Requirement(text) for text in requires(distribution) or ()]
    except PackageNotFoundError:
        requirements = []
    brought = [
        f"{requirement.name}{requirement.specifier}"
        for requirement in requirements
        if requirement.marker and not requirement.marker.evaluate({"extra": ""})
        if any(requirement.marker.evaluate({"extra": extra}) for extra in extras)
    ]
    # If tconv is imported from a folder of sources, its extras are unknown.
    return shlex.join(["pip", "install", *brought]) if brought else f"pip install '.[{','.join(extras)}]' in the clone"
