"""The campaigns of faults, in their short versions: every fault is held."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from small_corpus import environment

FAULTS = Path(__file__).parent.parent / "faults"


@pytest.mark.parametrize(
    ("campaign", "count"),
    [
        pytest.param("case_files", 10, marks=pytest.mark.thorough),
        ("records", 6),
        ("strings", 1),
        pytest.param("processes", 1, marks=pytest.mark.thorough),
        ("children", 2),
        pytest.param("files", 2, marks=pytest.mark.thorough),
        pytest.param("meanwhile", 1, marks=pytest.mark.thorough),
    ],
)
def test_every_fault_of_a_campaign_is_held(campaign: str, count: int) -> None:
    """No traceback, no hang, no process or file left, no control character, and an exit code that is documented."""
    assert_held(campaign, count)


def test_runs_one_after_another_are_alike() -> None:
    """Two in one process: the same records, and no handle, process or file is left by either."""
    assert_held("soak", 2)


def assert_held(campaign: str, count: int) -> None:
    """Run so many rounds of a campaign, and let the test fail where a fault is not held."""
    command = [sys.executable, str(FAULTS), campaign, "--count", str(count)]
    done = subprocess.run(command, env=environment(), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " held" in done.stdout.splitlines()[-1]
