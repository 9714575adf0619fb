"""The atlas: on what the specifications differ, and which runtime follows whom."""

from tconv.reports.atlas.content import Atlas, Source, atlas
from tconv.reports.atlas.rendering import html, markdown

__all__ = ["Atlas", "Source", "atlas", "html", "markdown"]
