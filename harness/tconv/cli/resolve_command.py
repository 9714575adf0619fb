"""`tconv resolve`: sizes and attributes in every dialect, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tconv import api
from tconv.cli import call_options, options
from tconv.cli.output import json_text, write_output
from tconv.dialects import DIALECTS
from tconv.errors import Invalid
from tconv.reports.listing import console, show

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMNS = ("dialect", "reading", "pads_begin", "pads_end", "output", "refusal")
_Row = tuple[str | list[int], ...]


@click.command(name="resolve", cls=call_options.OfSizes, epilog=f"DIALECT is one of {', '.join(DIALECTS)}.")
@call_options.sizes("spatial", "The data's spatial sizes.", required=True)
@call_options.sizes("kernel", "The filter's spatial sizes.", required=True)
@call_options.attributes
@click.option(
    "--dialect", "dialect_name", type=click.Choice(list(DIALECTS)), metavar="DIALECT", help="One dialect; default: all."
)
@options.as_json
def command(
    dialect_name: str | None, auto_pad: str | None, groups: int | None, *, as_json: bool, **lists: list[int] | None
) -> None:
    """Print what each dialect makes of sizes and attributes. A single number is meant for every axis."""
    spatial, kernel = lists.pop("spatial") or [], lists.pop("kernel") or []
    kernel = call_options.for_each_axis("kernel", kernel, len(spatial))
    attributes: dict[str, Any] = {
        name: call_options.single(value) for name, value in lists.items() if value is not None
    }
    names = [dialect_name] if dialect_name else DIALECTS
    attributes |= {"auto_pad": auto_pad, "groups": groups}
    rows = [row for name in names for row in _rows(name, spatial, kernel, attributes)]
    if as_json:
        named = [{key: cell for key, cell in zip(_COLUMNS, row, strict=True) if cell} for row in rows]
        write_output(json_text(named), None)
        return
    shown = [[str(cell) for cell in row] for row in rows]
    show(console(), _COLUMNS, shown)


def _rows(dialect_name: str, spatial: list[int], kernel: list[int], attributes: dict[str, Any]) -> Iterator[_Row]:
    """Yield the primary geometry, and that of every disputed reading that gives another one."""
    geometries = []
    for reading in ("", *api.disputed(dialect_name)):
        try:
            geometry = api.resolve(
                spatial=spatial,
                kernel=kernel,
                dialect=dialect_name,
                reading=(reading,) if reading else (),
                **attributes,
            )
        except Invalid as error:
            cells: _Row = ("", "", "", str(error))
        else:
            sizes = (geometry.pads_begin, geometry.pads_end, geometry.output)
            cells = (*map(list, sizes), "")
        if cells not in geometries:
            geometries.append(cells)
            yield dialect_name, reading or "primary", *cells
