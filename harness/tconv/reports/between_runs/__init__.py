"""What became of every case between two runs: as text, as Markdown, as an HTML page, as JSON."""

from tconv.reports.between_runs.comparing import Comparison, compared, regressions
from tconv.reports.between_runs.pairing import paired, refuse_ambiguous
from tconv.reports.between_runs.rendering import FORMS, as_json, markdown
from tconv.reports.between_runs.terminal import show

__all__ = [
    "FORMS",
    "Comparison",
    "as_json",
    "compared",
    "markdown",
    "paired",
    "refuse_ambiguous",
    "regressions",
    "show",
]
