"""The folders of the project's data files."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parent.parent
_IN_CHECKOUT = {"cases": _CHECKOUT / "cases"} | {
    name: _CHECKOUT / "conformance" / name for name in ("records", "runners", "unwaived", "waivers")
}


def data_folder(name: str) -> Path:
    """Return a folder of data: that of the installed package, or that of the checkout.

    Args:
        name: `cases`, `records`, `runners`, `unwaived` or `waivers`.
    """
    installed = _PACKAGE / "data" / name
    return installed if installed.is_dir() else _IN_CHECKOUT[name]
