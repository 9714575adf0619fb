"""The results of a bench: figures with their spread, and bands of ratios; as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Band = tuple[float, float]
RATIO = "times"
"""The unit of ratios. Only ratios can be compared between machines, and only ratios have a band."""
WHOLE = 10_000


@dataclass(frozen=True)
class Figure:
    """A median, with the quartiles as its spread.

    Attributes:
        median: the median.
        lower: the first quartile.
        upper: the third quartile.
        unit: `RATIO`, or a unit such as us or MiB.
        band: the lowest and highest ratio at the small size that CI runs; None allows any.
    """

    median: float
    lower: float
    upper: float
    unit: str
    band: Band | None = None

    @classmethod
    def of(cls, values: Sequence[float], unit: str = RATIO, band: Band | None = None) -> Figure:
        """Return the figure of values measured in rounds; a single value has no spread."""
        lower, upper = (values[0], values[0]) if len(values) == 1 else quantiles(values, n=4, method="inclusive")[::2]
        return cls(median(values), lower, upper, unit, band)

    @property
    def outside(self) -> bool:
        """Whether it is outside its band."""
        return self.band is not None and not self.band[0] <= self.median <= self.band[1]

    def moved(self, before: Figure) -> bool:
        """Return whether it differs from an earlier figure by more than the spread of both."""
        return self.lower > before.upper or self.upper < before.lower

    def __str__(self) -> str:
        """Return median, unit and spread."""
        spread = "" if self.lower == self.upper else f"   {digits(self.lower)} to {digits(self.upper)}"
        return f"{digits(self.median):>12} {self.unit:8}{spread}".rstrip()


def digits(value: float) -> str:
    """Return a number with four digits, or as an integer if it has more before the decimal point."""
    return f"{value:,.0f}" if abs(value) >= WHOLE else f"{value:.4g}"


@dataclass(frozen=True)
class Findings:
    """All results of a bench, by name."""

    figures: Mapping[str, Figure]

    def outside(self) -> set[str]:
        """Return the names of the ratios outside their bands."""
        return {name for name, figure in self.figures.items() if figure.outside}

    def json(self) -> dict[str, Any]:
        """Return the findings as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """Return a line for each figure."""
        width = max(map(len, self.figures), default=0)
        return "\n".join(f"  {name:{width}} {figure}" for name, figure in self.figures.items())


def findings_of(values: Mapping[str, Any]) -> Findings:
    """Return the findings in JSON values."""
    figures = {
        name: Figure(**value | {"band": value["band"] and tuple(value["band"])})
        for name, value in values["figures"].items()
    }
    return Findings(figures)
