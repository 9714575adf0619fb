"""`tconv resolve`: sizes and attributes in every dialect, side by side."""

from __future__ import annotations

from typing import Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from tconv import api
from tconv.cli import call_options
from tconv.dialects import DIALECTS
from tconv.errors import Invalid
from tconv.reports.terminal import console


@click.command(name="resolve")
@call_options.sizes("spatial", "The data's spatial sizes.", required=True)
@call_options.sizes("kernel", "The filter's spatial sizes.", required=True)
@call_options.attributes
@click.option(
    "--dialect", "dialect_name", type=click.Choice(list(DIALECTS)), default=None, help="One dialect; default: all."
)
def command(dialect_name: str | None, auto_pad: str | None, groups: int | None, **lists: list[int] | None) -> None:
    """Print what each dialect makes of sizes and attributes. A single number is meant for every axis."""
    spatial, kernel = lists.pop("spatial") or [], lists.pop("kernel") or []
    kernel = call_options.for_each_axis("kernel", kernel, len(spatial))
    given: dict[str, Any] = {name: call_options.single(value) for name, value in lists.items() if value is not None}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("dialect", "pads_begin", "pads_end", "output", "reading"):
        table.add_column(column, overflow="fold")
    for name in [dialect_name] if dialect_name else DIALECTS:
        _add_rows(table, name, spatial, kernel, given | {"auto_pad": auto_pad, "groups": groups})
    console().print(table)


def _add_rows(table: Table, dialect_name: str, spatial: list[int], kernel: list[int], given: dict[str, Any]) -> None:
    """Add the primary geometry, and that of every disputed reading that gives another one."""
    geometries = []
    for reading in ("", *api.disputed(dialect_name)):
        try:
            geometry = api.resolve(
                spatial=spatial, kernel=kernel, dialect=dialect_name, reading=(reading,) if reading else (), **given
            )
        except Invalid as error:
            cells: tuple[str, ...] = ("", "", f"refused: {error}")
        else:
            cells = tuple(str(list(sizes)) for sizes in (geometry.pads_begin, geometry.pads_end, geometry.output))
        if cells not in geometries:
            geometries.append(cells)
            table.add_row(*map(Text, ("" if reading else dialect_name, *cells, reading or "primary")))
