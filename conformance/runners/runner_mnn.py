"""MNN behind the runner protocol: its converter of ONNX models, and `MNN.nn` on the processor.

The converter is asked through the module that MNN's own tool calls: to import that tool runs `pip install`. The output of
one axis comes with a second axis of one element, which is dropped.
"""

import os
import sys
import tempfile

import _tools
import MNN
import MNN.expr as expr
import MNN.nn as nn
import numpy
from runner_protocol import BackendError, Refused, Unsupported, serve

_NAMES = ("X", "W", "B")


def answer(model, inputs):
    """Convert the model, load it, and run it."""
    if any(array.dtype.name not in ("float32", "int64") for array in inputs):
        raise Unsupported("the adapter passes f32")
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.mnn")
        with open(source, "wb") as file:
            file.write(model)
        _tools.mnnconvert(
            ["mnnconvert", "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "tconv"]
        )
        if not os.path.exists(target):
            raise Refused("the converter writes no model")
        config = {"backend": 0, "numThread": 1, "precision": "high"}
        module = nn.load_module_from_file(target, [], [], **config)
    info = module.get_info()
    feeds = []
    for array, wanted in zip(inputs, info["inputs"]):
        kind = expr.int if array.dtype.name == "int64" else expr.float
        array = array.astype(numpy.int32 if kind == expr.int else numpy.float32)
        feeds.append(expr.const(array, list(array.shape), expr.NCHW, kind))
    try:
        (y,) = module.forward(feeds)
    except (ValueError, RuntimeError) as error:
        raise BackendError(str(error))
    y = expr.convert(y, expr.NCHW)
    array = numpy.array(y.read(), copy=True)
    if array.ndim == 4 and inputs and inputs[0].ndim == 3:
        array = array[..., 0]
    return array


if __name__ == "__main__":
    serve("mnn", MNN.version(), sys.argv[1], answer)
