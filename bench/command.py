"""The command line that all benches have in common, and how often a ratio may leave its band."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from compare import compared, saved

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from figures import Findings

ATTEMPTS = 3
"""A ratio that leaves its band so often in a row is no accident of a busy machine."""
MISSING = 3
"""The exit code of a bench that lacks what it measures."""


def run(name: str, measured: Callable[[argparse.Namespace], Findings], parser: argparse.ArgumentParser) -> int:
    """Measure and print; return 1 where the same ratio leaves its band three times in a row at the small size.

    Args:
        name: of the bench, as it stands in JSON.
        measured: measures, with the arguments of the command line.
        parser: with the bench's own arguments.
    """
    parser.add_argument("--small", action="store_true", help="some seconds' worth, for CI; bands of ratios hold here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="figures of an earlier run, to be set beside these"
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
    """End a bench that lacks what it measures, with a sentence.

    Raises:
        SystemExit: always.
    """
    sys.stderr.write(f"{what}\n")
    sys.exit(MISSING)
