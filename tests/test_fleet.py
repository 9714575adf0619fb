"""The simulation of a fleet grows as its figures say: by the units that it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT = Path(__file__).parent.parent / "bench" / "fleet.py"


def figures(folder: Path, *arguments: str) -> Mapping[str, Any]:
    """Run the simulation and return its figures."""
    file = folder / "fleet.json"
    subprocess.run([sys.executable, str(SCRIPT), *arguments, "--json", str(file)], check=True, capture_output=True)
    values: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return values


def test_cost_and_storage_grow_with_releases_and_hours_fall_with_cores(tmp_path: Path) -> None:
    """Twice the releases are twice the work; more cores are never slower, and no run is faster than its own client."""
    small, large = figures(tmp_path, "--releases", "10"), figures(tmp_path, "--releases", "20")
    assert large["cost"]["core_hours"] == 2 * small["cost"]["core_hours"]
    assert large["storage"]["records"] == 2 * small["storage"]["records"]
    hours = list(small["hours"].values())
    assert hours == sorted(hours, reverse=True)
    units = small["units"]
    assert hours[-1] >= units["cases"] * (units["client_ms"] + units["gate_ms"]) / 3.6e6


def test_the_first_that_breaks_is_named_first(tmp_path: Path) -> None:
    """With pages of a byte a record, the memory of the report is the first limit."""
    assert "page" in figures(tmp_path)["breaks"][0][1]
    assert "memory" in figures(tmp_path, "--page-bytes", "1")["breaks"][0][1]
