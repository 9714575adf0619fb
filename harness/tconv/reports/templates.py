"""The templates of the HTML page and of the atlas, and the files that they include."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

Folder = Literal["atlas", "page"]


@cache
def environment(folder: Folder, *, autoescape: bool = True) -> Environment:
    """Return the environment of the templates in a folder beside this module."""
    return Environment(
        loader=PackageLoader("tconv.reports", folder),
        autoescape=autoescape,  # noqa: S701 - only the atlas in Markdown turns it off, and has filters of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def content(folder: Folder, name: str) -> Markup:
    """Return a style or a script from a folder beside this module, to be included as it is."""
    text = files("tconv.reports").joinpath(folder, name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of this package
