"""A port as text, as JSON values, and as a line of code for torch or TensorFlow.

TensorFlow's converter turns the line into TFLite's operation. In it, the operands x, w and b, and the output y, have
the layouts of the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tconv.cases.call import express
from tconv.reports.phrases import attribute_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.porting.port import Port, PortedCase


def lines(port: Port, computed: str = "", *, every_size: bool = False) -> Iterator[str]:
    """Yield a port as text.

    Args:
        port: the port.
        computed: how the outputs of the runtimes are known; empty if only texts are compared.
        every_size: whether it holds for data of every size.
    """
    yield from _of_source(port)
    if isinstance(port.same_words, str):
        yield _line("same words", f"cannot be said: {port.same_words}")
    else:
        yield _line("same words", _beside(port, port.same_words))
    for reading, geometry in port.same_words_disputed:
        yield _line("", f"by the reading {reading} of the target: {_beside(port, geometry)}")
    if port.written is None:
        yield _line("write", f"nothing: {port.refused or 'the text cannot say it'}")
    else:
        yield from _of_target(port, port.written)
    for sentence in port.besides:
        yield _line("besides", sentence)
    if computed:
        yield _line("by", computed)
    if every_size:
        yield _line("holds", "for every size")


def heading(source: str, target: str) -> str:
    """Return the line above a call: both dialects."""
    return f"{source} → {target}"


def _beside(port: Port, geometry: Geometry) -> str:
    """Return a geometry of the target, and whether it is the same as that of the call."""
    return f"{'the same output' if geometry == port.geometry else 'another output'}: {_geometry(geometry)}"


def _of_source(port: Port) -> Iterator[str]:
    yield heading(str(port.source), str(port.target))
    yield _line("call", _words(port.case, port.source))
    yield _line("gives", _geometry(port.geometry))
    for reading, geometry in port.disputed:
        yield _line("", f"by its reading {reading}: {_geometry(geometry)}; --reading {reading} ports that")


def _of_target(port: Port, way: PortedCase) -> Iterator[str]:
    yield _line("write", _words(way.case, port.target))
    proof = "proven" if way.complete else "nearest"
    yield _line(proof, f"{port.target} gives {_geometry(way.values.primary.geometry)}")
    if then := _then(port, way):
        yield _line("then", then)
    if code := code_of(port, way):
        yield _line("code", code)
    if way.disputed:
        yield _line("beware", f"the text also allows {', '.join(way.disputed)}: see what the runtime does")
    if way.values.open_constraints:
        yield _line("beware", f"the text leaves open, so may refuse: {', '.join(way.values.open_constraints)}")


def recipe_of(port: Port) -> str:
    """Return how to write a call differently in the same text, in one line."""
    way = port.written
    if way is None:
        return f"nothing: {port.refused or 'the text cannot say it'}"
    return "; then ".join(filter(None, [_words(way.case, port.target), _then(port, way)]))


def _then(port: Port, way: PortedCase) -> str:
    """Return what to do with the output of the target; empty if it is complete."""
    if way.complete:
        return ""
    before, behind = list(way.before), list(way.behind)
    if min(*before, *behind) < 0:
        return f"crop the output: {[-b for b in before]} before, {[-b for b in behind]} behind"
    # No tap reaches the elements that are added.
    filling = "0" if port.case.b is None else "0, and only then add the bias"
    filling = filling if way.case.b is None else "the bias of each channel"
    return f"pad the output with {filling}: {before} before, {behind} behind"


def plain(port: Port) -> dict[str, Any]:
    """Return a port as JSON values."""
    way = port.written
    same = port.same_words
    return {
        "from": port.source.name,
        "to": port.target.name,
        "call": values_of(port.case, port.source),
        "gives": plain_geometry(port.geometry),
        "disputed": {reading: plain_geometry(geometry) for reading, geometry in port.disputed},
        "same_words": {"cannot": same} if isinstance(same, str) else plain_geometry(same),
        "same_words_disputed": {reading: plain_geometry(geometry) for reading, geometry in port.same_words_disputed},
        "write": None if way is None else values_of(way.case, port.target),
        "write_gives": None if way is None else plain_geometry(way.values.primary.geometry),
        "code": "" if way is None else code_of(port, way),
        "complete": way is not None and way.complete,
        "refused": port.refused,
        "pad_before": [] if way is None else list(way.before),
        "pad_behind": [] if way is None else list(way.behind),
        "also_allowed": [] if way is None else [*way.disputed, *way.values.open_constraints],
        "besides": list(port.besides),
    }


def values_of(case: Case, dialect: Dialect) -> dict[str, Any]:
    """Return the words of a call with their values, with output_shape even if it is an input."""
    call = express(case, dialect)
    inputs = {tensor.name: tensor.values for tensor in call.inputs if tensor.role == "output_shape"}
    words = {**call.attributes, **inputs}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in words.items()}


def _words(case: Case, dialect: Dialect) -> str:
    return attribute_words(values_of(case, dialect)) or "no attribute"


def plain_geometry(geometry: Geometry) -> dict[str, list[int]]:
    """Return pads and output as JSON values."""
    return {name: list(getattr(geometry, name)) for name in ("pads_begin", "pads_end", "output")}


def _geometry(geometry: Geometry) -> str:
    return ", ".join(f"{name} {value}" for name, value in plain_geometry(geometry).items())


def _line(name: str, text: str) -> str:
    return f"  {name:<11}{text}"


def code_of(port: Port, way: PortedCase) -> str:
    """Return the line; empty if there is none for the target."""
    match port.target.name.partition("/")[0]:
        case "torch":
            return _of_torch(port, way)
        case "tflite":
            return _of_tensorflow(port, way)
        case _:
            return ""


def _layouts(port: Port) -> tuple[str, str]:
    """Return the source's layouts of data and filter."""
    of = port.case.attributes
    return str(of.data_format or port.source.data_format), str(of.filter_format or port.source.filter_format)


def _axes(layout: str, rank: int) -> list[str]:
    """Return the axes of a layout; X stands for all spatial axes."""
    return [axis for letter in layout for axis in ([f"X{n}" for n in range(rank)] if letter == "X" else [letter])]


def _moved(name: str, layout: str, wanted: str, rank: int, form: str) -> str:
    """Return the code of an operand in another layout."""
    before, after = _axes(layout, rank), _axes(wanted, rank)
    return name if before == after else form.format(name, ", ".join(str(before.index(axis)) for axis in after))


def _cuts(sides: Sequence[tuple[int, int]]) -> str:
    """Return slices that crop both sides of each axis; the numbers are negative or 0."""
    return ", ".join(f"{-before or ''}:{behind or ''}" for before, behind in sides)


def _of_torch(port: Port, way: PortedCase) -> str:
    rank, padded = len(way.before), max((*way.before, *way.behind), default=0) > 0
    (of_data, of_filter), form = _layouts(port), "{}.permute({})"
    x = _moved("x", of_data, "NCX", rank, form)
    w = "w.flatten(0, 1)" if of_filter == "GIOX" else _moved("w", of_filter, "IOX", rank, form)
    words = [f"{name}={value}" for name, value in express(way.case, port.target).attributes.items()]
    bias = "b" if port.case.b is not None and not padded else "None"
    code = f"y = torch.nn.functional.conv_transpose{rank}d({', '.join([x, w, bias, *words])})"
    sides = list(zip(way.before, way.behind, strict=True))
    if padded:
        pads = [number for before, behind in reversed(sides) for number in (before, behind)]
        added = f" + b.reshape(-1, {', '.join(['1'] * rank)})" if port.case.b is not None else ""
        code = f"{code}; y = torch.nn.functional.pad(y, {pads}){added}"
    elif not way.complete:
        code = f"{code}[..., {_cuts(sides)}]"
    back = _moved("y", "NCX", of_data, rank, form)
    return code if back == "y" else f"{code}; y = {back}"


def _of_tensorflow(port: Port, way: PortedCase) -> str:
    rank, (of_data, of_filter), form = len(way.before), _layouts(port), "tf.transpose({}, ({}))"
    of, output = way.case.attributes, ", ".join(map(str, way.values.primary.geometry.output))
    channels = f"w.shape[{_axes(of_filter, rank).index('O')}]"
    operands = [
        _moved("x", of_data, "NXC", rank, form),
        _moved("w", of_filter, "XOI", rank, form),
        f"(tf.shape(x)[0], {output}, {channels})",
        str(of.per_axis("strides", rank)),
        '"SAME"' if of.auto_pad == "same_upper" else '"VALID"',
    ]
    code = f"y = tf.nn.conv2d_transpose({', '.join(operands)})"
    sides = list(zip(way.before, way.behind, strict=True))
    if max((*way.before, *way.behind), default=0) > 0:
        code = f"{code}; y = tf.pad(y, {[[0, 0], *map(list, sides), [0, 0]]})"
    elif not way.complete:
        code = f"{code}[:, {_cuts(sides)}]"
    added = " + b" if port.case.b is not None else ""
    back = _moved("y", "NXC", of_data, rank, form)
    return f"{code}{added}" if back == "y" else f"{code}{added}; y = {back}"
