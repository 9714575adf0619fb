"""Time that is measured in turns, so that a busy machine is as busy for each of what is compared."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FEWEST = 3
"""So many rounds, at least."""


def timed(function: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Return how many seconds a call of a function takes, its result released."""
    started = clock()
    function()
    return clock() - started


def in_turn(
    functions: Sequence[Callable[[], object]], seconds: float, clock: Callable[[], float] = perf_counter
) -> list[list[float]]:
    """Call functions in rounds, and return the seconds of each call, function by function.

    The first call of each is not counted. Every round begins with another function: what follows a costly call finds
    the processor's caches full of it.

    Args:
        functions: what is measured.
        seconds: how long the rounds go on; there are `FEWEST` of them at least.
        clock: of the wall, or of this thread's processor.
    """
    for function in functions:
        function()
    rounds: list[list[float]] = [[] for _ in functions]
    started = perf_counter()
    number = 0
    while perf_counter() - started < seconds or number < FEWEST:
        for place in range(len(functions)):
            which = (place + number) % len(functions)
            rounds[which].append(timed(functions[which], clock))
        number += 1
    return rounds


def ratios(values: Sequence[float], units: Sequence[float]) -> list[float]:
    """Return values of rounds in units that were measured in the same rounds."""
    return [value / unit for value, unit in zip(values, units, strict=True)]
