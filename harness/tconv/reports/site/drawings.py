"""A drawing of a call along its last axis: the data, all elements that taps reach, and the output of each reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.dialects.geometry import Geometry

_CELL, _ROW, _LEFT, _MOST, _LETTER = 18, 34, 4, 48, 6
_TEMPLATE = """\
<svg class="drawing" role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<title>{title}</title>
{body}
</svg>"""


@dataclass(frozen=True, slots=True)
class Window:
    """The output of a reading: its words, and its geometry."""

    words: str
    geometry: Geometry


def draw(spatial: int, kernel: int, windows: Sequence[Window]) -> Markup:
    """Return the drawing as SVG; empty if an axis is too long, or has no element.

    Args:
        spatial: the number of elements of the data on the last axis.
        kernel: the number of taps on it.
        windows: the outputs, a row for each.
    """
    first = windows[0].geometry
    stride, dilation = first.strides[-1], first.dilations[-1]
    reach = (spatial - 1) * stride + (kernel - 1) * dilation + 1
    begins = [window.geometry.pads_begin[-1] for window in windows]
    ends = [begin + window.geometry.output[-1] for begin, window in zip(begins, windows, strict=True)]
    left, right = min(0, *begins), max(reach, *ends)
    if not 0 < right - left <= _MOST or min(spatial, kernel) < 1:
        return Markup()
    hit = {i * stride + k * dilation for i in range(spatial) for k in range(kernel)}
    rows = [
        _row(0, left, "data", [(i * stride, "data", str(i + 1)) for i in range(spatial)]),
        _row(1, left, "all that the taps reach", [(o, "hit" if o in hit else "gap", "") for o in range(reach)]),
    ]
    for number, (window, begin, end) in enumerate(zip(windows, begins, ends, strict=True), 2):
        cells = [(o, "kept" if o in hit else "empty", str(o - begin + 1)) for o in range(begin, end)]
        rows.append(_row(number, left, window.words, cells))
    return Markup(_TEMPLATE).format(  # noqa: S704 - the template above; `format` escapes its arguments
        width=max((right - left) * _CELL, *(len(window.words) * _LETTER for window in windows), 200) + 2 * _LEFT,
        height=len(rows) * _ROW + 4,
        title=f"{spatial} elements of data, {kernel} taps, stride {stride}, dilation {dilation}",
        body=Markup("\n").join(rows),
    )


def _row(number: int, left: int, words: str, cells: Sequence[tuple[int, str, str]]) -> Markup:
    y = number * _ROW + 12
    text = Markup('<text class="row" x="{}" y="{}">{}</text>').format(_LEFT, y - 2, words)
    cell = Markup('<g class="{}"><rect x="{}" y="{}" width="{}" height="{}"/><text x="{}" y="{}">{}</text></g>')
    drawn = (
        cell.format(of, _x(at, left), y + 2, _CELL - 1, 16, _x(at, left) + _CELL // 2, y + 14, label)
        for at, of, label in cells
    )
    return text + Markup().join(drawn)


def _x(at: int, left: int) -> int:
    return (at - left) * _CELL + _LEFT
