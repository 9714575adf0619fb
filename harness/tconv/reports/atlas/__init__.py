"""The atlas: where the specifications differ, and which runtime follows which."""

from tconv.reports.atlas.content import Atlas, atlas
from tconv.reports.atlas.rendering import html, markdown
from tconv.reports.atlas.runs import AtlasRun

__all__ = ["Atlas", "AtlasRun", "atlas", "html", "markdown"]
