"""`tconv resolve`: sizes and attributes in every dialect, side by side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tconv import api
from tconv.cli import options
from tconv.cli.output import json_text, published
from tconv.dialects import DIALECTS
from tconv.errors import Invalid, UsageError
from tconv.reports.listing import console, show
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COLUMNS = ("dialect", "reading", "pads_begin", "pads_end", "output", "refusal")
_LIST = re.compile(r"-?[0-9]{1,9}(?:[,x]-?[0-9]{1,9})*")


_Row = tuple[str | list[int], ...]
_Command = TypeVar("_Command", bound="Callable[..., Any]")


class _Sizes(click.ParamType[list[int]]):
    name = "N[,N...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:  # noqa: ANN401
        if isinstance(value, list):
            return value
        if not _LIST.fullmatch(str(value)):
            self.fail(f"must be integers such as 2 or 2,3 (got {value!r})", param, ctx)
        return [int(part) for part in re.split("[,x]", str(value))]


def _sizes(name: str, text: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    return click.option(f"--{name.replace('_', '-')}", name, type=_Sizes(), required=required, help=text)


@click.command(name="resolve")
@_sizes("spatial", "The data's spatial sizes.", required=True)
@_sizes("kernel", "The filter's spatial sizes.", required=True)
@_sizes("strides", "Strides.")
@_sizes("dilations", "Dilations.")
@_sizes("pads_begin", "Padding at the beginning.")
@_sizes("pads_end", "Padding at the end.")
@_sizes("output_padding", "Output padding.")
@_sizes("output_shape", "The output's spatial sizes.")
@click.option("--auto-pad", type=click.Choice([mode.value for mode in AutoPad]), default=None, help="The padding mode.")
@click.option("--groups", type=int, default=None, help="The number of groups.")
@click.option(
    "--dialect", "dialect_name", type=click.Choice(list(DIALECTS)), default=None, help="One dialect; default: all."
)
@options.as_json
def command(
    dialect_name: str | None, auto_pad: str | None, groups: int | None, *, as_json: bool, **lists: list[int] | None
) -> None:
    """Print what each dialect makes of sizes and attributes. A single number is meant for every axis."""
    spatial, kernel = lists.pop("spatial") or [], lists.pop("kernel") or []
    kernel = kernel * len(spatial) if len(kernel) == 1 else kernel
    if len(kernel) != len(spatial):
        raise UsageError(f"--kernel must have {len(spatial)} sizes, as --spatial (got {len(kernel)})")
    given: dict[str, Any] = {
        name: value[0] if len(value) == 1 else value for name, value in lists.items() if value is not None
    }
    names = [dialect_name] if dialect_name else DIALECTS
    given |= {"auto_pad": auto_pad, "groups": groups}
    rows = [row for name in names for row in _rows(name, spatial, kernel, given)]
    if as_json:
        named = [{key: cell for key, cell in zip(_COLUMNS, row, strict=True) if cell} for row in rows]
        published(json_text(named), None)
        return
    shown = [[str(cell) for cell in row] for row in rows]
    show(console(), _COLUMNS, shown)


def _rows(dialect_name: str, spatial: list[int], kernel: list[int], given: dict[str, Any]) -> Iterator[_Row]:
    """Yield the primary geometry, and that of every disputed reading that gives another one."""
    geometries = []
    for reading in ("", *api.disputed(dialect_name)):
        try:
            geometry = api.resolve(
                spatial=spatial, kernel=kernel, dialect=dialect_name, reading=(reading,) if reading else (), **given
            )
        except Invalid as error:
            cells: _Row = ("", "", "", str(error))
        else:
            sizes = (geometry.pads_begin, geometry.pads_end, geometry.output)
            cells = (*map(list, sizes), "")
        if cells not in geometries:
            geometries.append(cells)
            yield dialect_name, reading or "primary", *cells
