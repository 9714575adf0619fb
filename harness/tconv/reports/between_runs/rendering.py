"""A comparison as Markdown, as an HTML page without a script, and as JSON."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tconv.reports.between_runs.comparing import became_worse
from tconv.reports.between_runs.transitions import MEANINGS, Transition
from tconv.reports.markdown import code, escaped
from tconv.reports.templates import content, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tconv.reports.between_runs.comparing import Comparison

_MOST_CASES = 50
"""Ids of one cause in Markdown, which GitHub cuts off at a megabyte."""
_MOST_CAUSES = 40


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons in GitHub's Markdown, as the summary of a job or the comment on a change."""
    return _rendered("comparison.md.j2", comparisons, most=_MOST_CASES, most_causes=_MOST_CAUSES)


def html(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons as one page that loads no other file and has no script."""
    style = content("page", "page.css") + content("between_runs", "comparison.css")
    fixed = sum(comparison.count(Transition.FIXED) for comparison in comparisons)
    title = f"{became_worse(sum(comparison.worse for comparison in comparisons))}, {fixed:,} fixed"
    return _rendered("comparison.html.j2", comparisons, style=style, title=title)


def as_json(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return comparisons as JSON values, with every case."""
    return [
        {
            "old": str(comparison.old.run.path),
            "new": str(comparison.new.run.path),
            "worse": comparison.worse,
            "same": comparison.same,
            "added": comparison.added,
            "notes": comparison.notes,
            "counts": {str(transition): comparison.count(transition) for transition in Transition},
            "differences": [difference._asdict() for difference in comparison.differences],
            "causes": [
                {"transition": str(group.transition), "what": group.what, "cases": list(group.cases)}
                for group in comparison.groups
            ],
        }
        for comparison in comparisons
    ]


def _rendered(template: str, comparisons: Sequence[Comparison], **more: object) -> str:
    templates = environment("between_runs", autoescape=template.endswith(".html.j2"))
    templates.filters |= {"md": escaped, "code": code}
    return templates.get_template(template).render(
        comparisons=comparisons, transitions=Transition, meanings=MEANINGS, **more
    )


FORMS: Mapping[str, Callable[[Sequence[Comparison]], str]] = MappingProxyType(
    {
        "markdown": markdown,
        "html": html,
        "json": lambda comparisons: json.dumps(as_json(comparisons), indent=1) + "\n",
    }
)
"""How comparisons are written, by the name of the format."""
