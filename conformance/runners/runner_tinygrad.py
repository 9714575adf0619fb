"""tinygrad behind the runner protocol: its reader of ONNX models, or `Tensor.conv_transpose2d` for geometry/1.

Its device for the processor needs clang on PATH. If there is none, its emulator PYTHON computes the same kernels.
"""

import os
import shutil
import sys
import tempfile

# A confined process may write nowhere else.
os.environ["XDG_CACHE_HOME"] = os.environ["HOME"] = os.environ.get("TMPDIR", "/tmp")
os.environ.setdefault("DEV", "CPU" if shutil.which("clang") else "PYTHON")
os.environ.setdefault("CACHELEVEL", "0")

import importlib.metadata

import numpy
from runner_protocol import Geometry, Refused, Unsupported, serve
from tinygrad import Tensor
from tinygrad.nn.onnx import OnnxRunner

_TYPES = {"f32": numpy.float32, "f16": numpy.float16, "f64": numpy.float64}


def geometry(run, arrays):
    """Ask Tensor.conv_transpose2d, which takes any number of axes, and pads on each side."""
    call = Geometry(run, arrays)
    if call.dtype not in _TYPES:
        raise Unsupported("numpy has no bfloat16 that tinygrad reads")
    # The last axis first, two pads each.
    pads = [pad for pair in list(zip(call.begin, call.end))[::-1] for pad in pair]
    bias = None if call.b is None else Tensor(call.b)
    try:
        y = Tensor(call.x).conv_transpose2d(
            Tensor(call.w), bias, call.groups, tuple(call.strides), tuple(call.dilations), tuple(pads), tuple(call.more)
        )
        y = y.numpy()
    except (ValueError, RuntimeError, AssertionError, IndexError, ZeroDivisionError) as error:
        raise Refused(str(error))
    return call.output(y)


def model(run, inputs):
    """Read and run an ONNX model."""
    try:
        # Since 0.14 it reads files alone.
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(run)
            file.flush()
            runner = OnnxRunner(file.name)
        feeds = dict(zip(runner.graph_inputs, map(Tensor, inputs)))
        return next(iter(runner(feeds).values())).numpy()
    except NotImplementedError as error:
        raise Unsupported(str(error))
    except (ValueError, RuntimeError, AssertionError, IndexError, ZeroDivisionError) as error:
        raise Refused(str(error))


if __name__ == "__main__":
    serve(
        "tinygrad",
        importlib.metadata.version("tinygrad"),
        sys.argv[1],
        geometry if sys.argv[1] == "geometry/1" else model,
    )
