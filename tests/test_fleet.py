"""The simulation of a fleet grows as its figures say: by the units that it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "bench" / "fleet.py"


def figures(folder: Path, *arguments: str) -> dict[str, float]:
    """Run the simulation and return its figures."""
    file = folder / "fleet.json"
    subprocess.run([sys.executable, str(SCRIPT), *arguments, "--json", str(file)], check=True, capture_output=True)
    values = json.loads(file.read_text(encoding="utf-8"))["fleet"]["figures"]
    return {name: value["median"] for name, value in values.items()}


def test_cost_and_storage_grow_with_releases_and_hours_fall_with_cores(tmp_path: Path) -> None:
    """Twice the releases are twice the work; more cores are never slower, and no run is faster than its own client."""
    arguments = ("--cases", "1000000", "--client-ms", "0.3", "--gate-ms", "0.65")
    small, large = (figures(tmp_path, "--releases", count, *arguments) for count in ("10", "20"))
    assert large["core hours"] == 2 * small["core hours"]
    assert large["records, storage"] == 2 * small["records, storage"]
    hours = [value for name, value in small.items() if name.endswith("until all is run")]
    assert hours == sorted(hours, reverse=True)
    assert hours[-1] >= 1_000_000 * (0.3 + 0.65) / 3.6e6


def test_the_first_that_breaks_is_named_first(tmp_path: Path) -> None:
    """The memory of the report is the first limit; with pages of 456 bytes a record, the page is."""
    assert "memory" in next(name for name in figures(tmp_path) if name.startswith("breaks, 1:"))
    large_page = figures(tmp_path, "--page-bytes", "456")
    assert "page" in next(name for name in large_page if name.startswith("breaks, 1:"))
