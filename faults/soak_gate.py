"""The whole gate tier, one run after another in one process; it takes a processor a quarter of a minute each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import soak

if TYPE_CHECKING:
    from collections.abc import Iterator

    from campaign import Tally


def campaigns(count: int, seed: int) -> Iterator[Tally]:
    """Yield the tally of so many runs."""
    return soak.campaigns(count, seed, soak.WHOLE)
