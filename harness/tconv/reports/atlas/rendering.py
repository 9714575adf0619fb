"""The atlas as Markdown and as an HTML page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from tconv.dialects.rules import QUESTIONS
from tconv.gate.status import Status
from tconv.reports.atlas import summaries, wording
from tconv.reports.atlas.ported_texts import ported_texts
from tconv.reports.markdown import code, escaped
from tconv.reports.page.overview import href
from tconv.reports.scripts import as_data, joined, policy
from tconv.reports.templates import content, environment

if TYPE_CHECKING:
    from tconv.reports.atlas.content import Atlas
    from tconv.reports.atlas.matrix import Question
    from tconv.reports.atlas.runs import AtlasRun
    from tconv.reports.templates import Folder

SCRIPTS: tuple[tuple[Folder, str], ...] = (
    ("page", "text.js"),
    ("page", "elements.js"),
    ("page", "geometry.js"),
    ("page", "shapes.js"),
    ("page", "lane_rows.js"),
    ("page", "lanes.js"),
    ("page", "grating.js"),
    ("page", "planes.js"),
    ("page", "drawing_elements.js"),
    ("page", "geometry_view.js"),
    ("atlas", "resolver.js"),
    ("atlas", "port.js"),
    ("atlas", "atlas.js"),
)
"""The modules of the page's script; each imports from those before it only."""
_SUMMARIES = {
    made.__name__: made
    for made in (
        summaries.short,
        summaries.listed,
        summaries.tiers,
        summaries.machines_of,
        summaries.brief,
        summaries.formula,
        summaries.told_apart,
        summaries.answered_by,
        summaries.allowed_by,
        summaries.contradicted_by,
        summaries.rules_of,
        summaries.deviations_of,
        summaries.notes_of,
    )
}
_MARKS = {"text": "", "disputed": "*", "deviation": "!"}


def markdown(atlas: Atlas) -> str:
    """Return the atlas in GitHub's Markdown."""
    # Within a word an underscore means nothing in Markdown, and an empty cell needs one space at most.
    text = re.sub(r"(?<=[A-Za-z0-9])\\_(?=[A-Za-z0-9])", "_", _rendered("atlas.md.j2", atlas))
    return re.sub(r"(?<=\|) +(?=\|)", " ", text)


def html(atlas: Atlas) -> str:
    """Return the atlas as one page that loads no other file."""
    style = content("page", "page.css") + content("page", "case.css") + content("atlas", "atlas.css")
    script = joined(SCRIPTS)
    data = as_data(ported_texts(tuple(atlas.same)))
    return _rendered("atlas.html.j2", atlas, style=style, script=script, data=data, policy=policy(style, script))


def _rendered(template: str, atlas: Atlas, **more: object) -> str:
    templates = environment("atlas", autoescape=template.endswith(".html.j2"))
    templates.filters |= {"md": escaped, "code": code, "answer": wording.ANSWERS.__getitem__, "href": _target}
    answering = {id(follows.run) for question in atlas.questions for follows in question.follows}
    return templates.get_template(template).render(
        atlas=atlas,
        statuses=tuple(Status),
        answers=_answers,
        anchor=lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-"),
        columns=[run for run in atlas.runs if id(run) in answering],
        drawn=QUESTIONS,
        **_SUMMARIES,
        **more,
    )


def _answers(question: Question, run: AtlasRun) -> str:
    """Return a run's answers to a question, each marked where it is not the text's own."""
    cells = next((follows.cells for follows in question.follows if follows.run is run), ())
    return " / ".join(f"{cell.answer}{_MARKS[cell.standing]}" for cell in cells)


def _target(address: str | None) -> str:
    """Return an address that may become a link, quoted so that it does not end early in Markdown; empty for others."""
    return quote(href(address), safe="/:?#[]@!$&'*+,;=%~")
