"""The history of a runtime: its causes by release, on the terminal and as a page in Markdown."""

from tconv.reports.history.content import histories
from tconv.reports.history.page import markdown
from tconv.reports.history.terminal import show
from tconv.reports.history.wording import answer, changed

__all__ = ["answer", "changed", "histories", "markdown", "show"]
