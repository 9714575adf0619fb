"""`tconv backends`: the backends that are installed."""

from __future__ import annotations

from typing import Any

import click

from tconv.backends import names
from tconv.cli import options
from tconv.cli.output import json_text, print_text, write_output
from tconv.errors import BackendMissing
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool

_OPTION = ("name", "meaning", "default", "allowed", "plainer", "named_by")


@click.command(name="backends")
@options.as_json
def command(*, as_json: bool) -> None:
    """Print the installed backends, their versions, the dialects that they speak, and the options that they have."""
    backends = []
    for name in names():
        backend = _found(name)
        backends.append(backend)
        if not as_json:
            _print(backend)
    if as_json:
        write_output(json_text(backends), None)


def _found(name: str) -> dict[str, Any]:
    try:
        with Pool(Asking(name)) as pool:
            return {
                "name": name,
                "version": pool.backend.version,
                "dialect": pool.dialect.name,
                "options": [dict(zip(_OPTION, option, strict=True)) for option in pool.options],
            }
    except BackendMissing as error:
        return {"name": name, "missing": str(error)}


def _print(backend: dict[str, Any]) -> None:
    if "missing" in backend:
        print_text(f"{backend['name']}  not there: {backend['missing']}")
        return
    print_text("  ".join((backend["name"], backend["version"], backend["dialect"])))
    for option in backend["options"]:
        print_text(f"  --option {option['name']}={option['default']}  {option['meaning']}: {option['allowed']}")
