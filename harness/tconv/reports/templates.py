"""The templates of HTML pages, and the files that they include."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


@cache
def environment(folder: str = "page") -> Environment:
    """Return the environment of the templates in a folder of `tconv.reports`: every text is escaped."""
    return Environment(
        loader=PackageLoader("tconv.reports", folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def content(name: str) -> Markup:
    """Return a style or a script of the page, to be included unchanged."""
    text = files("tconv.reports").joinpath("page", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of this package
