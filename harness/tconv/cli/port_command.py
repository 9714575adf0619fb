"""`tconv port`: what to write in another text so that the output of a call stays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tconv.api.arguments import attributes_of, sizes_of
from tconv.cases.case import Case, Operand
from tconv.cli import call_options, options
from tconv.cli.output import json_text, print_text, write_output
from tconv.dialects import DIALECTS, Dialect, find_dialect
from tconv.errors import Invalid, UsageError
from tconv.porting.model_calls import ModelCall, calls_of
from tconv.porting.port import Port, ported
from tconv.reports import porting
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIALECT = click.Choice(list(DIALECTS))


@click.command(name="port", epilog=f"DIALECT is one of {', '.join(DIALECTS)}.")
@click.option(
    "--from", "source", type=_DIALECT, metavar="DIALECT", help="The dialect of the call; a model says its own."
)
@click.option("--to", "target", type=_DIALECT, metavar="DIALECT", required=True, help="The dialect to which it goes.")
@click.option("--model", type=click.Path(path_type=Path), help="Every ConvTranspose of an ONNX model.")
@options.model_sizes
@call_options.sizes("spatial", "The data's spatial sizes.")
@call_options.sizes("kernel", "The filter's spatial sizes.")
@call_options.attributes
@click.option("--bias", is_flag=True, help="There is a bias.")
@click.option(
    "--dtype",
    type=click.Choice([word.value for word in DType]),
    default="f32",
    help="The element type.",
)
@click.option("--data-format", type=click.Choice([word.value for word in DataFormat]), help="Default: the dialect's.")
@click.option(
    "--filter-format", type=click.Choice([word.value for word in FilterFormat]), help="Default: the dialect's."
)
@click.option("--reading", help="A disputed reading that the source's runtime follows.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, a list with an entry for each call.")
def command(
    source: str | None,
    target: str,
    model: Path | None,
    sizes: dict[str, int],
    reading: str | None,
    *,
    as_json: bool,
    **values: Any,  # noqa: ANN401 - the values of the attributes' options
) -> int:
    """Print what to write in another dialect so that the output of a call stays.

    The call is given by sizes and attributes, or by an ONNX model whose every ConvTranspose is one. What is proposed is
    proven: both texts are resolved, and their geometries are equal. Exits with 1 where a call cannot be ported.
    """
    calls = list(_calls(source, model, sizes, values))
    results = [(call, _result(call, find_dialect(target), reading)) for call in calls]
    if as_json:
        write_output(json_text([_entry(call, result) for call, result in results]), None)
    else:
        print_text("\n\n".join("\n".join(_block(call, result, target)) for call, result in results))
    return int(any(isinstance(result, str) or result.written is None for _, result in results))


def _calls(
    source: str | None, model: Path | None, sizes: dict[str, int], values: dict[str, Any]
) -> Iterator[ModelCall]:
    written = {name: value for name, value in values.items() if value not in (None, False) and name != "dtype"}
    if model is not None:
        if source or written:
            first = "--from" if source else f"--{next(iter(written)).replace('_', '-')}"
            raise UsageError(f"--model must stand without {first}: the model says it; leave one of the two out")
        yield from calls_of(model, sizes)
        return
    needed = {"--from": source, "--spatial": written.get("spatial"), "--kernel": written.get("kernel")}
    if source is None or None in needed.values():
        lacking = " and ".join(name for name, value in needed.items() if value is None)
        raise UsageError(f"a call must have --from, --spatial and --kernel, or be of a --model (got no {lacking})")
    if sizes:
        raise UsageError("--size must stand beside --model (got it without); write the sizes with --spatial")
    dialect = find_dialect(source)
    yield ModelCall("", dialect, _case(values))


def _case(values: dict[str, Any]) -> Case:
    """Return a call with one channel a group; the other sizes change nothing."""
    spatial = sizes_of("spatial", values["spatial"])
    kernel = sizes_of("kernel", call_options.for_each_axis("kernel", values["kernel"], len(spatial)))
    lists = {name: call_options.single(value) for name, value in values.items()}
    attributes = attributes_of(lists, len(spatial))
    layouts = {name: values[name] for name in ("data_format", "filter_format")}
    groups, dtype = max(attributes.groups or 1, 1), DType(values["dtype"])
    x, w = Operand((1, groups, *spatial), dtype), Operand((groups, 1, *kernel), dtype)
    return Case("call", replace(attributes, **layouts), x, w, Operand((groups,), dtype) if values["bias"] else None)


def _result(call: ModelCall, target: Dialect, reading: str | None) -> Port | str:
    """Return what gives a call's output in the target, or why nothing is known of it."""
    if call.case is None:
        return call.unknown
    try:
        return ported(call.case, call.dialect, target, reading)
    except Invalid as error:
        return f"{call.dialect} gives no value for it: {error}"


def _block(call: ModelCall, result: Port | str, target: str) -> Iterator[str]:
    if call.name:
        yield call.name
    if isinstance(result, str):
        yield porting.heading(call.dialect.name, target)
        yield f"  cannot be ported: {result}"
    else:
        yield from porting.lines(result)


def _entry(call: ModelCall, result: Port | str) -> dict[str, Any]:
    entry = {"cannot": result} if isinstance(result, str) else porting.plain(result)
    return {"name": call.name} | entry
