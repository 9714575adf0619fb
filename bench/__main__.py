"""All benches, one after the other, as text and as JSON.

If something that a bench measures is not installed, such as torch for the reference, it says so and is left out.

Run `python bench [--small] [--only NAME]... [--json FILE] [--against FILE]`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from command import MISSING, compared, saved

BENCHES = (
    "floor",
    "whole",
    "reference",
    "explaining",
    "page",
)
HERE = Path(__file__).parent


def main() -> int:
    """Run, print, write; return 1 if a bench failed."""
    parser = argparse.ArgumentParser(prog="python bench", description="All benches.")
    parser.add_argument("--small", action="store_true", help="some seconds' worth each, for CI; bands of ratios hold")
    parser.add_argument("--only", action="append", choices=BENCHES, metavar="NAME", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="figures of an earlier run, to be set next to these"
    )
    arguments = parser.parse_args()
    earlier = saved(arguments.against) if arguments.against else {}
    findings, failed = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only or BENCHES:
            file = Path(folder) / f"{name}.json"
            command = [sys.executable, str(HERE / f"{name}.py"), "--json", str(file), *["--small"] * arguments.small]
            code = subprocess.run(command, check=False).returncode
            if file.exists():
                findings |= saved(file)
            failed += [name] * (code not in (0, MISSING))
    if arguments.json:
        values = {name: of_bench.json() for name, of_bench in findings.items()}
        arguments.json.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    if arguments.against:
        print(compared(earlier, findings))
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
