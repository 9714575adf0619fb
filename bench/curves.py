"""The growth curves of a run as pictures, in SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    from figures import Curve, Findings

WIDE = 30
"""Where the ends of an axis are so many times apart, it is logarithmic."""


def drawn(found: Mapping[str, Findings], folder: Path) -> list[Path]:
    """Draw each curve into a file of a folder, and return the files; none where matplotlib is not there."""
    try:
        from matplotlib import rcParams  # noqa: PLC0415 - a picture needs it, a figure does not
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        print("no pictures: matplotlib is not there (pip install --group bench)")
        return []
    # Text stays text, and the same run gives the same file.
    rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tconv", "font.size": 9})
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for bench, findings in found.items():
        for name, curve in findings.curves.items():
            figure = Figure(figsize=(6, 3.5), layout="constrained")
            axes = figure.subplots()
            for line, points in curve.lines.items():
                axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=line)
            _scale(axes, curve)
            axes.set(xlabel=curve.x, ylabel=curve.y, title=name)
            axes.grid(visible=True, alpha=0.3)
            if len(curve.lines) > 1:
                axes.legend()
            files.append(folder / f"{bench}-{name.replace(' ', '-')}.svg")
            figure.savefig(files[-1], metadata={"Date": None})
    return files


def _scale(axes: Axes, curve: Curve) -> None:
    points = [point for line in curve.lines.values() for point in line]
    for axis, values in zip("xy", zip(*points, strict=True), strict=True):
        if min(values) > 0 and max(values) / min(values) > WIDE:
            getattr(axes, f"set_{axis}scale")("log")
        elif axis == "y":
            axes.set_ylim(bottom=0)
