"""The history of a runtime: its causes by release."""

from tconv.reports.history.content import histories
from tconv.reports.history.terminal import answer, changed, show

__all__ = ["answer", "changed", "histories", "show"]
