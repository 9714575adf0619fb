"""Where the project's data files are: the one function that knows."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_SOURCE = {
    "cases": ("cases", _PACKAGE.parent.parent / "cases"),
    "waivers": ("waivers_data", _PACKAGE.parent.parent / "conformance" / "waivers"),
}


def data_folder(name: str) -> Path:
    """Return the folder of `cases` or `waivers`: in an installed package beside the code, else in the checkout."""
    packaged, checkout = _SOURCE[name]
    installed = _PACKAGE / packaged
    return installed if installed.is_dir() else checkout
