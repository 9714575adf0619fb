"""The atlas: on what the specifications differ, and which runtime follows whom."""

from tconv.reports.atlas.content import Atlas, atlas
from tconv.reports.atlas.rendering import html, markdown
from tconv.reports.atlas.source import Source

__all__ = ["Atlas", "Source", "atlas", "html", "markdown"]
