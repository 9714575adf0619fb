"""Any OpenVINO since 2022 on its own operations, as `tconv.backends.openvino` asks it. The argument is the dialect."""

import sys

import numpy
from openvino_on_cpu import output, ov, tensor, version
from runner_protocol import serve

try:
    from openvino import op, opset1
except ImportError:  # before 2025
    from openvino.runtime import op, opset1

_GROUPED = "openvino/GroupConvolutionBackpropData-1"
# bfloat16 comes as bit patterns.
_TYPES = {"float32": ov.Type.f32, "float16": ov.Type.f16, "uint16": ov.Type.bf16, "float64": ov.Type.f64}
_REPETITIONS = 8


def answer(run, arrays):
    """Build a model of the operation, compile it for the CPU, infer, and return the output."""
    # x, w and perhaps output_shape, in the operation's order.
    inputs = list(arrays.items())
    fed = [array for name, array in inputs if name not in run["constants"]]

    # A size that is fed is not known before either.
    static = run["shapes"] == "static" and all(name in run["constants"] for name, _ in inputs[2:])

    def built():
        return _model(run, inputs), static

    if run["shapes"] != "static" and 0 in inputs[0][1].shape:
        # Some of these calls write outside their memory, and the process dies of it during a later case, which
        # would be blamed. Run several times, it dies during this one.
        for _ in range(_REPETITIONS):
            output(built, fed)
    return output(built, fed)


def _model(run, inputs):
    parameters, nodes = [], []
    for place, (name, array) in enumerate(inputs):
        of_sizes = place == 2
        element_type = ov.Type.i64 if of_sizes else _TYPES[array.dtype.name]
        if name in run["constants"]:
            nodes.append(op.Constant(tensor(array, element_type)))
        else:
            nodes.append(opset1.parameter(_declared(array, run["shapes"], of_sizes), element_type))
            parameters.append(nodes[-1])
    x, w = nodes[:2]
    rank = inputs[0][1].ndim - 2
    if run["data_format"] == "NXC":
        x = _transposed(x, [0, rank + 1] + list(range(1, rank + 1)))
    y = _operation(run, x, _canonical(run, w, inputs[1][1].shape, rank), nodes[2] if nodes[2:] else None)
    if run["data_format"] == "NXC":
        y = _transposed(y, [0] + list(range(2, rank + 2)) + [1])
    return ov.Model([y], parameters, "tconv")


def _declared(array, shapes, of_sizes):
    if shapes == "unranked":
        return ov.PartialShape.dynamic()
    # The number of axes is no symbol, and so the length of output_shape is none.
    symbolic = shapes == "symbolic" and not of_sizes
    return ov.PartialShape([-1] * array.ndim if symbolic else list(array.shape))


def _transposed(node, order):
    return opset1.transpose(node, opset1.constant(numpy.array(order)))


def _canonical(run, w, shape, rank):
    """Return the filter in IOX, or in GIOX for the grouped operation."""
    grouped = run["dialect"] == _GROUPED
    if run["filter_format"] == "XOI":
        w = _transposed(w, [rank + 1, rank] + list(range(rank)))
        shape = shape[:-3:-1] + shape[:rank]
    if grouped == (run["filter_format"] == "GIOX"):
        return w
    groups = run["groups"]
    if grouped:
        shape = [groups, shape[0] // groups] + list(shape[1:])
    else:
        shape = [shape[0] * shape[1]] + list(shape[2:])
    return opset1.reshape(w, opset1.constant(numpy.array(shape)), special_zero=False)


def _operation(run, x, w, output_shape):
    operation = (
        opset1.group_convolution_backprop_data if run["dialect"] == _GROUPED else opset1.convolution_backprop_data
    )
    attributes = dict(run["attributes"])
    strides = attributes.pop("strides", [])
    return operation(x, w, strides, output_shape, **attributes)


if __name__ == "__main__":
    serve("openvino", version(), sys.argv[1], answer)
