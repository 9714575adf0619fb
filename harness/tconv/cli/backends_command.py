"""`tconv backends`: the backends that are installed, and the runners that ship."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tconv.backends import names
from tconv.backends.environments import engines
from tconv.cli import options
from tconv.cli.output import json_text, print_text, write_output
from tconv.datafiles import data_folder
from tconv.errors import BackendMissing
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.records.record_file import header_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPTION = ("name", "meaning", "default", "allowed", "plainer", "named_by")


@click.command(name="backends")
@options.as_json
def command(*, as_json: bool) -> None:
    """Print the installed backends, their versions, the dialects that they speak, and the options that they have.

    Behind them are the runtimes that tconv installs when they are asked, with the date of their records that ship.
    """
    backends = []
    for name in names():
        backend = _found(name)
        backends.append(backend)
        if not as_json:
            _print(backend)
    for runner in _runners():
        backends.append(runner)
        if not as_json:
            words = f"records of {runner['recorded']}" if runner["recorded"] else "no records"
            print_text("  ".join((runner["name"], runner["version"], runner["dialect"], runner["runtime"], words)))
    if as_json:
        write_output(json_text(backends), None)


def _runners() -> Iterator[dict[str, Any]]:
    """Yield the runners with their runtimes, and when the newest records of each that ship were made."""
    dates: dict[str, str] = {}
    for path in data_folder("records").glob("*.jsonl.xz"):
        header = header_in(path)
        dates[header.backend.name] = max(dates.get(header.backend.name, ""), header.started[: len("2026-11-27")])
    for name, row in engines().items():
        about = {"version": str(row["version"]), "dialect": row["dialects"][0], "runtime": row["runtime"]}
        yield {"name": f"runner:{name}", **about, "recorded": dates.get(name)}


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
