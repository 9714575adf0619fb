"""`tconv backends`: the installed backends, and the runners that ship with tconv."""

from __future__ import annotations

from typing import Any

import click

from tconv.backends import names
from tconv.backends.engine_names import ENGINES, engine_name
from tconv.backends.environments import engines
from tconv.cli import options
from tconv.cli.output import json_text, print_text, write_output
from tconv.datafiles import data_folder
from tconv.errors import BackendMissing
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.records.record_file import header_in
from tconv.reports.site.engines import in_order

_OPTION = ("name", "meaning", "default", "allowed", "plainer", "named_by")


@click.command(name="backends")
@options.as_json
def command(*, as_json: bool) -> None:
    """Print the installed backends with their versions, dialects and options.

    Below them are the runtimes that tconv can install, by `tconv run --backend NAME`. The last lines have the release
    and the date of the records that come with tconv.
    """
    backends = []
    for name in names():
        backend = _found(name)
        backends.append(backend)
        if not as_json:
            _print(backend)
    for name, row in engines().items():
        about = {"version": str(row["version"]), "dialect": row["dialects"][0], "runtime": row["runtime"]}
        backends.append({"name": f"runner:{name}", **about})
        if not as_json:
            print_text("  ".join((f"runner:{name}", *about.values())))
    records = _records()
    for backend in backends:
        backend["engine"], _ = engine_name(backend["name"].removeprefix("runner:"))
        backend["recorded"] = records.get(backend["engine"], ("", None))[1]
    if as_json:
        write_output(json_text(backends), None)
        return
    print_text(f"\n{len(ENGINES)} engines, {len(records)} of them with records:")
    for key, name in ENGINES.items():
        version, day = records.get(key, ("", None))
        print_text("  ".join(filter(None, (name, version, f"records of {day}" if day else "no records"))))


def _records() -> dict[str, tuple[str, str]]:
    """Return the release and the day of the newest records that ship, by engine."""
    found: dict[str, tuple[str, str]] = {}
    for path in (file for name in ("records", "unwaived") for file in data_folder(name).glob("*.jsonl.xz")):
        header = header_in(path)
        key, _ = engine_name(header.backend.name)
        # If several have the same day, the newest release: older ones are there for comparison.
        day, release = header.started[: len("2026-11-27")], header.backend.version
        found[key] = max(found.get(key, ("", "")), (release, day), key=lambda each: (each[1], in_order(each[0])))
    return found


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
