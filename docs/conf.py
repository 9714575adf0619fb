"""The site: `sphinx-build -W docs FOLDER` needs no network. Tables of the reference are made from code."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
import generated

from tconv import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "tconv"
author = "The tconv developers"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tconv {release}"
html_show_sourcelink = False
html_copy_source = False
# An icon of the system's font needs no file.
html_theme_options = {"navigation_with_keys": True}
pygments_style = "tango"
pygments_dark_style = "monokai"
default_role = "code"
autodoc_typehints = "signature"
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
ARCHIVE = "tconv-docs.zip"
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>\.\.?/[^)\s]*)\)")


def prepare(app: Sphinx, page: str, source: list[str]) -> None:
    """Put tables that are made from code in the place of their marks, and name files that are not part of the site."""
    folder = (Path(app.srcdir) / page).parent

    def named(link: re.Match[str]) -> str:
        target = (folder / link["target"].partition("#")[0]).resolve()
        if target.is_relative_to(app.srcdir):
            return link[0]
        path = f"`{target.relative_to(Path(app.srcdir).parent)}`"
        return path if link["text"].strip("`") in path else f"{link['text']} ({path})"

    source[0] = _LINK.sub(named, generated.fill(source[0]))


def zip_site(app: Sphinx, error: Exception | None) -> None:
    """Write the offline copy beside the pages; the first page links to it."""
    if error is None and app.builder.name == "html":
        target = Path(app.outdir) / ARCHIVE
        target.unlink(missing_ok=True)
        with TemporaryDirectory() as folder:
            archive = shutil.make_archive(str(Path(folder) / "docs"), "zip", app.outdir)
            shutil.move(archive, target)


def setup(app: Sphinx) -> None:
    """Let Sphinx call what is above."""
    app.connect("source-read", prepare)
    app.connect("build-finished", zip_site)
