"""A line of code for a ported call: for torch, or for TensorFlow, whose converter turns it into TFLite's operation.

The operands x, w and b, and the output y, have the layouts of the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.cases.call import express

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tconv.porting.port import Port, PortedCase


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
