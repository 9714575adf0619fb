"""Options of `tconv run` that the user's pyproject.toml sets under `[tool.tconv]`; the command line wins."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tconv.errors import UsageError
from tconv.nearest_word import nearest

if TYPE_CHECKING:
    import click

_FILE = "pyproject.toml"
_PATHS = frozenset({"cases", "waivers", "baseline", "output", "junit", "summary"})
"""Options with files; their paths are relative to the folder of pyproject.toml."""


def read_settings(command: click.Command) -> dict[str, Any]:
    """Return the settings of the nearest pyproject.toml, by the names of the command's parameters.

    Raises:
        UsageError: a key is no option, or a backend is a command. A cloned project must not start programs unasked.
    """
    file = next((at for folder in (Path.cwd(), *Path.cwd().parents) if (at := folder / _FILE).is_file()), None)
    if file is None:
        return {}
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
        # Most files of that name are for other tools only.
        table = tomllib.loads(text)["tool"]["tconv"] if "[tool.tconv]" in text else {}
    except OSError:
        return {}
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise UsageError(f"{file}: must be TOML with a table tool.tconv (got: {error})") from None
    known = {name.removeprefix("--"): one for one in command.params for name in one.opts if name.startswith("--")}
    settings: dict[str, Any] = {}
    for key, value in table.items():
        place = f"{file}: tool.tconv.{key}"
        if key not in known:
            raise UsageError(f"{place}: must be an option of tconv run (got {key!r}){nearest(key, known)}")
        several = known[key].multiple
        values = value if isinstance(value, list) else [value]
        if any(isinstance(one, dict | list) for one in values) or (isinstance(value, list) and not several):
            raise UsageError(
                f"{place}: must be a single value{' or a list of them' if several else ''} (got {value!r})"
            )
        if key == "backend" and any(map(_is_program, values)):
            must = "must be no command and no runner of a folder; give it on the command line"
            raise UsageError(f"{place}: {must} (got {value!r})")
        if key in _PATHS:
            values = [one if one == "none" else str(file.parent / str(one)) for one in values]
        settings[str(known[key].name)] = values if several else values[0]
    return settings


def _is_program(backend: object) -> bool:
    """Return whether a backend is a program that the project's own files choose."""
    name = str(backend)
    return name.startswith("exec:") or (name.startswith("runner:") and "/" in name)
