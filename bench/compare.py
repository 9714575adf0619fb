"""Two runs of the benches side by side: the ratio of each figure, and what moved by more than its spread.

Ratios can be compared between machines. Times can be compared only where the machine's own floors, which stand in the
same files, have not moved.

Run `python bench/compare.py OLD NEW`, with files that a bench or `python bench` has written by --json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from figures import RATIO, Findings, digits, findings_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from figures import Figure


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description="Two runs of the benches side by side.")
    parser.add_argument("old", type=Path, help="the earlier figures, as JSON")
    parser.add_argument("new", type=Path, help="the later figures, as JSON")
    arguments = parser.parse_args()
    print(compared(saved(arguments.old), saved(arguments.new)))
    return 0


def saved(path: Path) -> dict[str, Findings]:
    """Return the findings of each bench in a file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return {name: findings_of(value) for name, value in values.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sys.stderr.write(
            f"{path} must hold figures that bench/ wrote with --json (got {type(error).__name__}: {error})\n"
        )
        sys.exit(2)


def compared(old: Mapping[str, Findings | None], new: Mapping[str, Findings]) -> str:
    """Return a line for each figure: old, new, new in units of old; then what moved."""
    lines, moved = [], []
    for bench, findings in new.items():
        before = old.get(bench)
        if before is None:
            lines.append(f"{bench}: not in the earlier run")
            continue
        names = [*findings.figures, *(name for name in before.figures if name not in findings.figures)]
        width = max(map(len, names), default=0)
        lines.append(f"{bench:{width + 2}}{'old':>12}{'new':>12}{'new / old':>12}")
        for name in names:
            pair = before.figures.get(name), findings.figures.get(name)
            has_moved = all(pair) and pair[1].moved(pair[0])
            moved += [f"{bench}: {name}"] * has_moved
            lines.append(f"  {name:{width}}{_side_by_side(*pair)}{'   moved' * has_moved}")
    return "\n".join([*lines, f"moved beyond its spread: {'; '.join(moved) or 'nothing'}"])


def _side_by_side(old: Figure | None, new: Figure | None) -> str:
    """Return both medians, the ratio where there is one, and the unit of what is no ratio."""
    medians = "".join(f"{digits(figure.median):>12}" if figure else f"{'-':>12}" for figure in (old, new))
    ratio = f"{new.median / old.median:12.3f}" if old and new and old.median else f"{'':>12}"
    unit = (old or new).unit
    return f"{medians}{ratio}{'' if unit == RATIO else f' {unit}'}"


if __name__ == "__main__":
    sys.exit(main())
