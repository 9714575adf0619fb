"""`tconv show`: what each text expects, of a case or of sizes and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tconv.api.reference import disputed, resolve
from tconv.cli import options
from tconv.cli.output import json_text, print_text, printing, write_output
from tconv.corpus import Corpus
from tconv.dialects import DIALECTS, find_dialect
from tconv.errors import Invalid, UsageError
from tconv.reports import case_details
from tconv.reports.listing import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_COLUMNS = ("dialect", "reading", "pads_begin", "pads_end", "output", "refusal")
_Row = tuple[str | list[int], ...]


@click.command(name="show", epilog=f"DIALECT is one of {', '.join(DIALECTS)}.")
@click.argument("case_id", metavar="[CASE]", required=False)
@options.axis_sizes("spatial", "The data's spatial sizes.")
@options.axis_sizes("kernel", "The filter's spatial sizes.")
@options.call_attributes
@click.option("--dialect", "dialect_name", metavar="DIALECT", help="Only this dialect; default: all.")
@options.cases
@options.as_json
def command(
    case_id: str | None,
    dialect_name: str | None,
    cases: Path | None,
    *,
    as_json: bool,
    **written: Any,  # noqa: ANN401 - the values of the options of sizes and attributes
) -> None:
    """Print the expected result of CASE in each dialect, or the geometry of a call.

    With CASE: the call, the geometry, the readings, the expected result, and how the tolerance is computed. Dialects
    with the same result are printed together.

    With --spatial, --kernel and attributes: the output size and the pads, for each reading that changes them. A single
    number is used for every axis.
    """
    given = {name: value for name, value in written.items() if value is not None}
    dialect_names = [find_dialect(dialect_name).name] if dialect_name else list(DIALECTS)
    if case_id is not None:
        if given:
            first = f"--{next(iter(given)).replace('_', '-')}"
            raise UsageError(f"there must be CASE, or sizes and attributes (got {case_id!r} and {first})")
        _show_case(Corpus.load(cases), case_id, dialect_names, as_json=as_json)
        return
    if lacking := [f"--{name}" for name in ("spatial", "kernel") if name not in given]:
        raise UsageError(f"there must be CASE, or --spatial and --kernel (got no {' and no '.join(lacking)})")
    if cases is not None:
        raise UsageError("--cases needs CASE (got sizes)")
    _show_geometries(given, dialect_names, as_json=as_json)


def _show_case(corpus: Corpus, case_id: str, dialect_names: Sequence[str], *, as_json: bool) -> None:
    case, dialects = corpus.case(case_id), [DIALECTS[name] for name in dialect_names]
    if as_json:
        write_output(json_text(case_details.as_json(case, dialects)), None)
        return
    with printing():
        for line in case_details.of_case(case):
            print_text(line)
        for heading, lines in case_details.in_dialects(case, dialects):
            print_text(f"\n{heading}")
            for line in lines:
                print_text(line)


def _show_geometries(given: dict[str, Any], dialect_names: Sequence[str], *, as_json: bool) -> None:
    spatial = given.pop("spatial")
    kernel = options.for_each_axis("kernel", given.pop("kernel"), len(spatial))
    attributes = {name: options.single(value) for name, value in given.items()}
    rows = [row for name in dialect_names for row in _rows(name, spatial, kernel, attributes)]
    if as_json:
        named = [{key: cell for key, cell in zip(_COLUMNS, row, strict=True) if cell} for row in rows]
        write_output(json_text(named), None)
        return
    show(_COLUMNS, [[str(cell) for cell in row] for row in rows])


def _rows(dialect_name: str, spatial: list[int], kernel: list[int], attributes: dict[str, Any]) -> Iterator[_Row]:
    """Yield the primary geometry, and the geometry of each disputed reading that differs."""
    geometries = []
    for reading in ("", *disputed(dialect_name)):
        try:
            geometry = resolve(
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
