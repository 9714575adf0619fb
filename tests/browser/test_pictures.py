"""The script that makes the pictures of the README still makes them, of a small run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "bench" / "pictures.py"
SHIPPED = SCRIPT.parents[1] / "docs" / "pictures"
PNG = b"\x89PNG"


def test_the_script_makes_the_pictures_that_ship(tmp_path: Path) -> None:
    """Each view in each scheme, all of them different, and no picture ships that the script does not make."""
    words = ["--backend", "onnx-reference", "--output", str(tmp_path), "strides-dilations/grid/**"]
    subprocess.run([sys.executable, str(SCRIPT), *words], check=True, stdout=subprocess.DEVNULL)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(made) == {path.name for path in SHIPPED.iterdir()}
    assert len(set(made.values())) == len(made)
    assert all(content.startswith(PNG) for content in made.values())
