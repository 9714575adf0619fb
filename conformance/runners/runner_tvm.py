"""TVM behind the runner protocol: its importer of ONNX models into Relax, compiled for the processor by LLVM."""

import sys

import numpy
import onnx
import tvm
from runner_protocol import BackendError, Refused, Unsupported, serve
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def answer(model, inputs):
    """Import the model, compile it, and run it."""
    if any(array.dtype == numpy.uint16 for array in inputs):
        raise Unsupported("numpy has no bfloat16 that TVM reads")
    try:
        module = from_onnx(onnx.load_from_string(model), keep_params_in_input=False)
        executable = tvm.compile(module, tvm.target.Target("llvm"))
    except (NotImplementedError, tvm.error.OpNotImplemented) as error:
        raise Unsupported(_first(error))
    except (ValueError, TypeError, KeyError, AssertionError, IndexError) as error:
        raise Refused(_first(error))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    try:
        y = machine["main"](*(tvm.runtime.tensor(array, device=tvm.cpu()) for array in inputs))
    except (ValueError, TypeError) as error:
        raise BackendError(_first(error))
    return y.numpy()


def _first(error):
    """Return what an error says: its first line is where it was raised, its last line what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "{}: {}".format(type(error).__name__, lines[-1] if lines else "")


if __name__ == "__main__":
    serve("tvm", tvm.__version__, sys.argv[1], answer)
