"""The versions that a verdict depends on besides the backend's: of what judges."""

from __future__ import annotations

import platform
from importlib.metadata import version

import numpy as np


def versions() -> dict[str, str]:
    """Return the versions of Python, numpy and onnx in this process."""
    return {"python": platform.python_version(), "numpy": np.__version__, "onnx": version("onnx")}
