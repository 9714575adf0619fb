"""The templates of pages and of Markdown, the files that they include, and how their texts are escaped."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from tconv.shown_texts import one_line

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


@cache
def environment(folder: str = "reports/page") -> Environment:
    """Return the environment of the templates in a folder of the package: in HTML every text is escaped."""
    made = Environment(
        loader=PackageLoader("tconv", folder),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"escaped": escaped, "code": code}
    return made


def content(name: str) -> Markup:
    """Return a style or a script of the page, to be included unchanged."""
    text = files("tconv.reports").joinpath("page", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a file of this package


def escaped(text: object) -> str:
    """Return text with Markdown's special characters escaped, as one line for the cell of a table."""
    return _SPECIAL.sub(r"\\\1", one_line(str(text)))


def code(text: object) -> str:
    """Return text as code in the cell of a table: a bar would end the cell, and a backtick would end the code."""
    return "`" + one_line(str(text)).replace("`", "'").replace("|", "\\|") + "`"
