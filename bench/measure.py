"""Time measured alternately, so that all compared functions meet the same load of the machine."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FEWEST = 3
"""The fewest rounds."""


def timed(function: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Return the seconds for a call of a function; releasing its result is included."""
    started = clock()
    function()
    return clock() - started


def in_turn(
    functions: Sequence[Callable[[], object]], seconds: float, clock: Callable[[], float] = perf_counter
) -> list[list[float]]:
    """Call functions in rounds, and return the seconds of each call, function by function.

    The first call of each is not counted. Every round begins with another function, because a costly call leaves the
    processor's caches full of its data.

    Args:
        functions: the functions to measure.
        seconds: the time for the rounds; there are at least `FEWEST`.
        clock: wall time, or the processor time of this thread.
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
    """Return the values of rounds as multiples of units measured in the same rounds."""
    return [value / unit for value, unit in zip(values, units, strict=True)]
