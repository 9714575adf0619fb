"""The shared command line of all benches: bands of ratios, and a comparison with an earlier run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from figures import RATIO, Findings, digits, findings_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from figures import Figure

ATTEMPTS = 3
"""A ratio that leaves its band this often in a row does not do so because the machine is busy."""
MISSING = 3
"""The exit code of a bench if something that it measures is not installed."""


def run(name: str, measured: Callable[[argparse.Namespace], Findings], parser: argparse.ArgumentParser) -> int:
    """Measure and print; return 1 if the same ratio leaves its band three times in a row at the small size.

    Args:
        name: the name of the bench in JSON.
        measured: measures; it gets the parsed arguments.
        parser: has the bench's own arguments.
    """
    parser.add_argument("--small", action="store_true", help="some seconds' worth, for CI; bands of ratios hold here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="figures of an earlier run, to be set next to these"
    )
    arguments = parser.parse_args()
    findings = measured(arguments)
    outside = findings.outside() if arguments.small else set()
    for _ in range(ATTEMPTS - 1):
        if not outside:
            break
        print(f"{name}: outside its band, and measured again: {', '.join(sorted(outside))}")
        findings = measured(arguments)
        outside &= findings.outside()
    print(f"{name}\n{findings}", flush=True)
    if arguments.against:
        print(compared({name: saved(arguments.against).get(name)}, {name: findings}))
    if arguments.json:
        arguments.json.write_text(json.dumps({name: findings.json()}, indent=1) + "\n", encoding="utf-8")
    for ratio in sorted(outside):
        figure = findings.figures[ratio]
        sys.stderr.write(f"{name}: {ratio} must be in {figure.band} (got {figure.median:.3g}, {ATTEMPTS} times)\n")
    return int(bool(outside))


def missing(what: str) -> NoReturn:
    """End a bench with a sentence if something that it measures is not installed.

    Raises:
        SystemExit: always.
    """
    sys.stderr.write(f"{what}\n")
    sys.exit(MISSING)


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
    """Return a line for each figure: old, new and their ratio; then those that moved by more than their spread."""
    lines, moved = [], []
    for bench, findings in new.items():
        before = old.get(bench)
        if before is None:
            lines.append(f"{bench}: not in the earlier run")
            continue
        width = max(map(len, findings.figures), default=0)
        lines.append(f"{bench:{width + 2}}{'old':>12}{'new':>12}{'new / old':>12}")
        for name, figure in findings.figures.items():
            earlier = before.figures.get(name)
            has_moved = earlier is not None and figure.moved(earlier)
            moved += [f"{bench}: {name}"] * has_moved
            lines.append(f"  {name:{width}}{_side_by_side(earlier, figure)}{'   moved' * has_moved}")
    return "\n".join([*lines, f"moved beyond its spread: {'; '.join(moved) or 'nothing'}"])


def _side_by_side(old: Figure | None, new: Figure) -> str:
    """Return both medians, their ratio if there are two, and the unit unless the figure is a ratio."""
    ratio = f"{new.median / old.median:12.3f}" if old and old.median else f"{'':>12}"
    before = digits(old.median) if old else "-"
    return f"{before:>12}{digits(new.median):>12}{ratio}{'' if new.unit == RATIO else f' {new.unit}'}"
