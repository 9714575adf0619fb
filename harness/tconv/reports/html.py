"""The HTML report: one file for one run or several, which loads nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from tconv.reports import atomic_write
from tconv.reports.page import overview
from tconv.reports.page.arrays import OPERANDS, VALUES, ArrayBlock, array_block
from tconv.reports.page.records import records_data
from tconv.reports.phrases import inconsistency
from tconv.reports.scripts import as_data, joined, policy
from tconv.reports.statuses import STATUSES
from tconv.reports.templates import content, environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.gate.assessment import Assessment
    from tconv.reports.page.overview import Overview

PAGE_LIMIT = 24 * 2**20
"""The largest number of characters of a page; arrays that would exceed it are left in their artifacts."""

SCRIPTS = (
    "text.js",
    "patterns.js",
    "search.js",
    "records.js",
    "address.js",
    "arrays.js",
    "colours.js",
    "elements.js",
    "canvas.js",
    "geometry.js",
    "shapes.js",
    "lane_rows.js",
    "lanes.js",
    "planes.js",
    "geometry_view.js",
    "sums.js",
    "fields.js",
    "shades.js",
    "value_table.js",
    "tile_canvas.js",
    "tiles.js",
    "issue_text.js",
    "case_view.js",
    "case_sections.js",
    "case.js",
    "case_data.js",
    "table.js",
    "page.js",
)
"""The modules of the page's script; each imports from those before it only."""

_TAG = len('<script type="application/json" id="arrays-"></script>\n') + 8


def write(
    assessments: Sequence[Assessment], destination: Path, find: Callable[[str], Case | None] = lambda _: None
) -> None:
    """Write the page; it replaces an older one as a whole.

    Args:
        assessments: the runs, in the page's order.
        destination: the file.
        find: returns a case by its id; a case that it does not know has no geometry on the page.
    """
    atomic_write.write(destination, _page(assessments, find))


def _page(assessments: Sequence[Assessment], find: Callable[[str], Case | None] = lambda _: None) -> str:
    runs = overview.overviews(assessments)
    data = as_data(records_data(runs, find))
    empty = _render(runs, data, [])
    return _render(runs, data, _arrays(runs, PAGE_LIMIT - len(empty)))


def _render(runs: Sequence[Overview], data: str, arrays: Sequence[tuple[int, str]]) -> str:
    style, script = content("page", "page.css") + content("page", "case.css"), _script()
    template = environment("page").get_template("page.html.j2")
    return template.render(
        runs=runs,
        summary=overview.summary(runs),
        overview=overview,
        statuses=STATUSES,
        inconsistency=inconsistency,
        data=Markup(data),  # noqa: S704 - _json escapes what begins markup
        arrays=[(number, Markup(block)) for number, block in arrays],  # noqa: S704 - likewise
        style=style,
        script=script,
        policy=policy(style, script),
    )


def _script() -> Markup:
    return joined(("page", name) for name in SCRIPTS)


def _arrays(runs: Sequence[Overview], room: int) -> list[tuple[int, str]]:
    """Return a block of arrays for each record with an artifact, under the record's number.

    As long as there is room, first every block gets the outputs, then every block gets the operands too. An artifact's
    path is relative to the folder of its record file.

    Args:
        runs: the runs.
        room: how many characters the blocks may have.
    """
    judged = [judged for run in runs for judged in run.assessment.judged]
    folders = [run.assessment.run.path.parent for run in runs for _ in run.assessment.judged]
    order = tuple(STATUSES)
    artifacts = sorted(
        ((n, member.record.artifact) for n, member in enumerate(judged) if member.record.artifact is not None),
        key=lambda numbered: order.index(judged[numbered[0]].status),
    )
    full = f"The arrays are not shown: the page's limit of {PAGE_LIMIT // 2**20} MiB is reached."
    blocks = {n: as_data(ArrayBlock([f"{full} The artifact is {path}."]).data()) for n, path in artifacts}
    room -= sum(len(block) + _TAG for block in blocks.values())
    for names in (VALUES, VALUES + OPERANDS):
        for n, path in artifacts:
            block = as_data(array_block(folders[n], path, names).data())
            room -= len(block) - len(blocks[n])
            if room < 0:
                return list(blocks.items())
            blocks[n] = block
    return list(blocks.items())
