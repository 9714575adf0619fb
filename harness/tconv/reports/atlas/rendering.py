"""The atlas as Markdown, to be committed, and as a page."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tconv.gate.status import Status
from tconv.reports.atlas import words
from tconv.reports.page.overview import href

if TYPE_CHECKING:
    from tconv.reports.atlas.content import Atlas
    from tconv.reports.atlas.matrix import Clause, Follows
    from tconv.reports.atlas.source import Source

_MARKS = {"text": "", "disputed": "*", "deviation": "!"}
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def markdown(atlas: Atlas) -> str:
    """Return the atlas in GitHub's Markdown."""
    return _environment(autoescape=False).get_template("atlas.md.j2").render(_said(atlas))


def html(atlas: Atlas) -> str:
    """Return the atlas as one page that needs nothing else, not even scripts."""
    style = files("tconv.reports").joinpath("page", "page.css").read_text(encoding="utf-8")
    style += files("tconv.reports").joinpath("atlas", "atlas.css").read_text(encoding="utf-8")
    said = _said(atlas) | {"style": Markup(style)}  # noqa: S704 - files of this package
    return _environment(autoescape=True).get_template("atlas.html.j2").render(said)


def _environment(*, autoescape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("tconv.reports", "atlas"),
        autoescape=autoescape,  # noqa: S701 - Markdown is escaped by a filter of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"md": _escaped, "code": _code, "answer": words.ANSWERS.__getitem__, "href": _target}
    return environment


def _said(atlas: Atlas) -> dict[str, object]:
    return {
        "atlas": atlas,
        "statuses": tuple(Status),
        "cell": _cell,
        "anchor": lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-"),
        "columns": [
            source for source in atlas.sources if any(f.source is source for c in atlas.clauses for f in c.follows)
        ],
    }


def _cell(clause: Clause, source: Source) -> str:
    """Return what stands in the matrix: each answer, marked where it is not the text's own."""
    found: Follows | None = next((one for one in clause.follows if one.source is source), None)
    if found is None:
        return ""
    return " / ".join(f"{answer}{_MARKS[standing]}" for answer, standing, _, _ in found.cells)


def _escaped(text: object) -> str:
    """Return text that Markdown takes as it is, within a table's cell too."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _target(address: str | None) -> str:
    """Return an address that may become a link, without what would end one in Markdown; empty where it is none."""
    return quote(href(address), safe="/:?#[]@!$&'*+,;=%~")


def _code(text: object) -> str:
    """Return text as code; a bar would end a table's cell, a backtick the code."""
    return "`" + " ".join(str(text).split()).replace("`", "'").replace("|", "\\|") + "`"
