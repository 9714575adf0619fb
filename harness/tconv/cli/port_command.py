"""`tconv port`: how to write a call in another dialect so that its output stays the same."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tconv.api.arguments import attributes_of, sizes_of
from tconv.backends import shipped
from tconv.cases.case import Case, Operand
from tconv.cli import options
from tconv.cli.output import json_text, print_text, write_output
from tconv.dialects import DIALECTS, Dialect, find_dialect
from tconv.errors import Invalid, UsageError
from tconv.execution.asking import Asking
from tconv.porting.model import Model
from tconv.porting.model_calls import ModelCall
from tconv.porting.port import Port, is_of_every_size, ported
from tconv.porting.runtime import Runtime
from tconv.reports import porting
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASSUMED = 16
"""Assumed for data sizes that are not given."""


class _Dialect(click.ParamType[str]):
    name = "DIALECT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """Return the name of a dialect; for a specification without an operator, its newest one."""
        _ = param, ctx
        of_text = [name for name in DIALECTS if name.partition("/")[0] == value]
        return of_text[-1] if value in {"torch", "tflite"} and of_text else find_dialect(str(value)).name


_DIALECT = _Dialect()


@click.command(name="port", epilog=f"DIALECT is one of {', '.join(DIALECTS)}.")
@click.option(
    "--from", "source", type=_DIALECT, metavar="DIALECT", help="The dialect of the call. A model needs no --from."
)
@click.option("--to", "target", type=_DIALECT, metavar="DIALECT", help="The dialect to write the call in.")
@click.option("--from-runtime", metavar="NAME[==VERSION]", help="Port the output that this runtime gives.")
@click.option("--to-runtime", metavar="NAME[==VERSION]", help="Write a call for which this runtime gives the output.")
@click.option("--model", type=click.Path(path_type=Path), help="An ONNX model: port each ConvTranspose in it.")
@options.model_sizes
@options.axis_sizes("spatial", "The data's spatial sizes.")
@options.axis_sizes("kernel", "The filter's spatial sizes.")
@options.call_attributes
@click.option("--bias", is_flag=True, help="The call has a bias.")
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
@click.option("--reading", help="A disputed reading that the call follows in its own dialect.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, a list with an entry for each call.")
def command(
    source: str | None,
    target: str | None,
    from_runtime: str | None,
    to_runtime: str | None,
    model: Path | None,
    sizes: dict[str, int],
    reading: str | None,
    *,
    as_json: bool,
    **values: Any,  # noqa: ANN401 - the values of the attributes' options
) -> int:
    """Print the call in another dialect that gives the same output.

    Give the sizes and attributes of a call, or an ONNX model. tconv proves that both texts give the same geometry. With
    --from-runtime and --to-runtime, it also uses what these runtimes compute in place of their texts. It runs an
    installed runtime; for other runtimes it uses its own pins and waivers. The exit code is 1 if a call cannot be
    ported.
    """
    source = source or (None if model or not from_runtime else _spoken(from_runtime))
    target = target or (_spoken(to_runtime) if to_runtime else None)
    if target is None:
        raise UsageError("there must be --to or --to-runtime (got neither)")
    with ExitStack() as stack:
        ends = [
            stack.enter_context(closing(Runtime(Asking(name), runs=True))) if name else None
            for name in (from_runtime, to_runtime)
        ]
        loaded = _model(model, source, sizes, values) if model else None
        answers = []
        for call, every in _calls(source, loaded, sizes, values):
            answers.append(answer := _answer(call, find_dialect(target), reading, *ends, every_only=every))
            if loaded and call.node and isinstance(result := answer[1], Port) and not every:
                # The nodes behind it get the size of its output.
                loaded.resize(call.node.output[0], result.geometry.output)
    if as_json:
        write_output(json_text([_entry(*answer) for answer in answers]), None)
    else:
        print_text("\n\n".join("\n".join(_block(*answer, target)) for answer in answers))
    return int(any(isinstance(result, str) or result.written is None for _, result, _, _ in answers))


def _spoken(runtime: str) -> str:
    """Return the first dialect of a runtime."""
    name = runtime.partition("==")[0]
    if (backend := shipped(name)) is None:
        raise UsageError(f"a runtime must be one that ships, or have its dialect named (got {name!r})")
    return str(backend.DIALECTS[0])


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, False) and name != "dtype"}


def _model(path: Path, source: str | None, sizes: dict[str, int], values: dict[str, Any]) -> Model:
    if source or (written := _given(values)):
        first = "--from" if source else f"--{next(iter(written)).replace('_', '-')}"
        raise UsageError(f"--model must stand without {first}: the model says it; leave one of the two out")
    return Model(path, sizes)


def _calls(
    source: str | None, model: Model | None, sizes: dict[str, int], values: dict[str, Any]
) -> Iterator[tuple[ModelCall, bool]]:
    """Yield the calls, each with whether its sizes are assumed: then the answer must hold for every size."""
    written = _given(values)
    if model is not None:
        for number in range(len(model.calls())):
            # The calls are listed anew: the answer for an earlier one may have changed the sizes.
            call, assumed = model.calls()[number], model.calls(_ASSUMED)[number]
            of_every = call.case is None and assumed.case is not None and not assumed.case.attributes.output_shape
            yield (replace(assumed, unknown=call.unknown), True) if of_every else (call, False)
        return
    of_every = written.get("spatial") is None and written.get("output_shape") is None
    if of_every and written.get("kernel"):
        written["spatial"] = values["spatial"] = [_ASSUMED] * len(written["kernel"])
    needed = {"--from": source, "--spatial": written.get("spatial"), "--kernel": written.get("kernel")}
    if source is None or None in needed.values():
        lacking = " and ".join(name for name, value in needed.items() if value is None)
        raise UsageError(f"a call must have --from, --spatial and --kernel, or be of a --model (got no {lacking})")
    if sizes:
        raise UsageError("--size needs --model (got it without); write the sizes with --spatial")
    unknown = "what is written depends on the sizes: give --spatial"
    yield ModelCall("", find_dialect(source), _case(values), unknown), of_every


def _case(values: dict[str, Any]) -> Case:
    """Return a call with one channel for each group; other numbers of channels change nothing."""
    spatial = sizes_of("spatial", values["spatial"])
    kernel = sizes_of("kernel", options.for_each_axis("kernel", values["kernel"], len(spatial)))
    lists = {name: options.single(value) for name, value in values.items()}
    attributes = attributes_of(lists, len(spatial))
    layouts = {name: values[name] for name in ("data_format", "filter_format")}
    groups, dtype = max(attributes.groups or 1, 1), DType(values["dtype"])
    x, w = Operand((1, groups, *spatial), dtype), Operand((groups, 1, *kernel), dtype)
    return Case("call", replace(attributes, **layouts), x, w, Operand((groups,), dtype) if values["bias"] else None)


def _answer(
    call: ModelCall,
    target: Dialect,
    reading: str | None,
    source_end: Runtime | None,
    target_end: Runtime | None,
    *,
    every_only: bool,
) -> tuple[ModelCall, Port | str, str, bool]:
    """Return the call, its port or why there is none, how it is known, and whether the port holds for all sizes."""

    def again(case: Case) -> Port:
        followed = source_end.gives(case, call.dialect) if source_end else None
        if isinstance(followed, str):
            raise _RefusedError(followed)
        accepts = target_end.accepts if target_end else (lambda *_: "")
        return ported(case, call.dialect, target, reading, followed=followed, accepts=accepts)

    computed = "; ".join(end.basis for end in (source_end, target_end) if end)
    if call.case is None:
        return call, call.unknown, "", False
    try:
        result = again(call.case)
        every = is_of_every_size(result, again)
    except Invalid as error:
        return call, f"{call.dialect} gives no value for it: {error}", "", False
    except _RefusedError as error:
        return call, str(error), "", False
    return (call, call.unknown, "", False) if every_only and not every else (call, result, computed, every)


class _RefusedError(UsageError):
    """The source's runtime returns no output for a call."""


def _block(call: ModelCall, result: Port | str, computed: str, every: bool, target: str) -> Iterator[str]:  # noqa: FBT001
    if call.name:
        yield call.name
    if isinstance(result, str):
        yield porting.heading(call.dialect.name, target)
        yield f"  cannot be ported: {result}"
    else:
        yield from porting.lines(result, computed, every_size=every)


def _entry(call: ModelCall, result: Port | str, computed: str, every: bool) -> dict[str, Any]:  # noqa: FBT001
    entry = {"cannot": result} if isinstance(result, str) else porting.plain(result)
    return {"name": call.name, "by": computed, "every_size": every} | entry
