"""The address of the repository stands once, in pyproject.toml: links of the package's page are made from it."""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class RepositoryHook(MetadataHookInterface):
    """Add the addresses and the README, whose links and pictures are files of the repository, to the metadata."""

    def update(self, metadata: dict[str, object]) -> None:
        """Set `urls` and `readme`."""
        address = self.config["repository"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = re.sub(r"\]\((?!https?:|#)([^)]+)\)", rf"]({address}/blob/main/\1)", text)
        text = re.sub(r'(src|srcset)="(?!https?:)([^"]+)"', rf'\1="{address}/raw/main/\2"', text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = {
            "Repository": address,
            "Documentation": f"{address}/tree/main/docs",
            "Changelog": f"{address}/blob/main/CHANGELOG.md",
            "Issues": f"{address}/issues",
        }
