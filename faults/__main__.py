"""Faults and hostile input, injected and counted: `python faults [CAMPAIGN]... [--count N] [--seed N]`.

A fault is held where the command ends in time with a documented exit code, without a traceback, without a control
character in what it prints, leaves no process and no file behind, writes nothing outside, and, where it is a run,
neither loses nor doubles a record. Ends with 1 where a fault was not held.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

CAMPAIGNS = (
    "processes",
    "surroundings",
    "children",
    "case_files",
    "records",
    "strings",
    "soak",
    "environments",
)


def main() -> int:
    """Run campaigns, print what each comes to, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=f"of {', '.join(CAMPAIGNS)}; default: all")
    parser.add_argument("--count", type=int, default=100, help="faults of each campaign that draws them by chance")
    parser.add_argument("--seed", type=int, default=14)
    chosen = parser.parse_args()
    injected = broke = 0
    for name in chosen.campaigns or CAMPAIGNS:
        for tally in import_module(name).campaigns(chosen.count, chosen.seed):
            injected, broke = injected + tally.injected, broke + len(tally.broke)
            print(tally, flush=True)
            for line in tally.broke:
                print(f"  {line}", flush=True)
    print(f"all: {injected - broke} of {injected} held")
    return int(broke > 0)


if __name__ == "__main__":
    sys.exit(main())
