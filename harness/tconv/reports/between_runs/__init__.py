"""What became of every case between two runs."""

from tconv.reports.between_runs.comparing import Comparison, compared, regressions
from tconv.reports.between_runs.pairing import paired, refuse_unpaired
from tconv.reports.between_runs.terminal import show

__all__ = ["Comparison", "compared", "paired", "refuse_unpaired", "regressions", "show"]
