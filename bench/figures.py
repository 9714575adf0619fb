"""What a bench measures: medians with their spread, printed; CI checks the ratios that have a band."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Mapping, Sequence

RATIO = "times"
"""The unit of ratios. Only ratios can be compared between machines, and only ratios have a band."""
ATTEMPTS = 3
"""A ratio that leaves its band this often in a row does not do so because the machine is busy."""


@dataclass(frozen=True)
class Figure:
    """A median, with the quartiles as its spread.

    Attributes:
        values: what the rounds measured.
        unit: `RATIO`, or a unit such as us or MiB.
        band: the lowest and highest ratio at the small size that CI runs; None allows any.
    """

    values: Sequence[float]
    unit: str = RATIO
    band: tuple[float, float] | None = None

    @property
    def median(self) -> float:
        """The median of the rounds."""
        return median(self.values)

    @property
    def is_outside(self) -> bool:
        """Whether it is outside its band."""
        return self.band is not None and not self.band[0] <= self.median <= self.band[1]

    def __str__(self) -> str:
        spread = quantiles(self.values, n=4, method="inclusive")[::2] if len(self.values) > 1 else ()
        return f"{self.median:12,.4g} {self.unit:8}   {' to '.join(f'{value:,.4g}' for value in spread)}".rstrip()


def run(name: str, measured: Callable[[Namespace], Mapping[str, Figure]], parser: ArgumentParser) -> int:
    """Measure and print; return 1 if the same ratio leaves its band three times in a row at the small size.

    Args:
        name: the name of the bench.
        measured: measures; it gets the parsed arguments.
        parser: has the bench's own arguments.
    """
    parser.add_argument("--small", action="store_true", help="some seconds' worth, for CI; bands of ratios hold here")
    arguments = parser.parse_args()
    outside: set[str] | None = None
    for _ in range(ATTEMPTS):
        figures = measured(arguments)
        now = {what for what, figure in figures.items() if arguments.small and figure.is_outside}
        outside = now if outside is None else outside & now
        if not outside:
            break
    width = max(map(len, figures))
    print(name, *(f"  {what:{width}} {figure}" for what, figure in figures.items()), sep="\n")
    for what in sorted(outside or ()):
        print(f"{name}: {what} must be in {figures[what].band} (got {figures[what].median:.3g}, {ATTEMPTS} times)")
    return int(bool(outside))


def timed(function: Callable[[], object], clock: Callable[[], float] = perf_counter) -> float:
    """Return the seconds for a call of a function; releasing its result is included."""
    started = clock()
    function()
    return clock() - started


def in_turn(
    functions: Sequence[Callable[[], object]], seconds: float, clock: Callable[[], float] = perf_counter
) -> list[list[float]]:
    """Call functions in at least three rounds, and return the seconds of each call, function by function.

    The first call of each is not counted. Every round begins with another function, because a costly call leaves the
    processor's caches full of its data. So all of them meet the same load of the machine.
    """
    for function in functions:
        function()
    rounds: list[list[float]] = [[] for _ in functions]
    started, number = perf_counter(), 0
    while perf_counter() - started < seconds or number < ATTEMPTS:
        for place in range(len(functions)):
            which = (place + number) % len(functions)
            rounds[which].append(timed(functions[which], clock))
        number += 1
    return rounds
