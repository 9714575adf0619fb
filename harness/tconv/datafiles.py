"""Where the project's data files are."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parent.parent
_IN_CHECKOUT = {"cases": _CHECKOUT / "cases", "waivers": _CHECKOUT / "conformance" / "waivers"}


def data_folder(name: str) -> Path:
    """Return the folder of `cases` or `waivers`: in an installed package beside the code, else in the checkout."""
    installed = _PACKAGE / "data" / name
    return installed if installed.is_dir() else _IN_CHECKOUT[name]
