"""executorch behind the runner protocol: torch's conv_transpose1d to 3d, exported, and run by its portable kernels.

executorch has no words of its own: each call is torch's, unchanged. What torch.export refuses, torch refuses, and not
executorch's runtime; the messages tell them apart.
"""

import importlib.metadata
import os
import sys
import warnings

import numpy
import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime
from runner_protocol import BackendError, Geometry, Refused, Unsupported, serve
from torch._export.verifier import SpecViolationError

# What the runtime prints before it ends the process is read from the end of standard error.
warnings.simplefilter("ignore")
torch.set_num_threads(1)
_FUNCTIONS = [getattr(torch.nn.functional, "conv_transpose{}d".format(rank)) for rank in (1, 2, 3)]


class _Model(torch.nn.Module):
    """One call; its constants are buffers, and its other operands are inputs."""

    def __init__(self, attributes, constants, names):
        super().__init__()
        self.attributes, self.names = attributes, names
        for name, tensor in constants.items():
            self.register_buffer("constant_" + name, tensor)

    def forward(self, *inputs):
        operands = dict(zip(self.names, inputs))
        x, w, b = (operands.get(name, getattr(self, "constant_" + name, None)) for name in ("input", "weight", "bias"))
        # For no or four spatial axes, the function for one or three is called.
        return _FUNCTIONS[min(max(x.ndim - 2, 1), 3) - 1](x, w, b, **self.attributes)


def answer(run, arrays, lower=lambda edge: edge):
    """Export the call, `lower` its graph, and execute it."""
    call = Geometry(run, {"data": arrays["input"], "filter": arrays["weight"], "bias": arrays.get("bias")})
    operands = {"input": _tensor(call.x), "weight": _tensor(call.w)}
    if call.b is not None:
        operands["bias"] = _tensor(call.b)
    constants = {name: operands.pop(name) for name in run["constants"]}
    inputs = tuple(operands.values())
    try:
        exported = torch.export.export(_Model(run["attributes"], constants, list(operands)).eval(), inputs)
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise Refused("torch.export: {}".format(_first(str(error))))
    try:
        program = lower(to_edge(exported)).to_executorch()
    except SpecViolationError as error:
        raise Refused(_first(str(error)))
    printed = os.fstat(2).st_size
    try:
        y = Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)[0]
    except RuntimeError as error:
        code, message = str(error), _printed(printed)
        if "0x10" in code or "Expect input tensor to be 3-D or 4-D" in message:
            raise Unsupported(message)
        raise (Refused if "0x12" in code or "invalid_parameter" in message else BackendError)(message or code)
    y = y.contiguous()
    return call.output(y.view(torch.int16).numpy().view(numpy.uint16) if y.dtype == torch.bfloat16 else y.numpy())


def _tensor(array):
    """Return the tensor of an array; the protocol has the bits of bfloat16 as uint16."""
    if array.dtype == numpy.uint16:
        tensor = torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(array)
    # numpy gives an array without elements any strides, which torch's own tensors never have: executorch dies of them.
    return tensor.clone(memory_format=torch.contiguous_format)


def _printed(start):
    """Return the first line that the runtime printed: its exceptions have a code alone. tconv's stderr is a file."""
    text = os.pread(2, os.fstat(2).st_size - start, start).decode("utf-8", "replace")
    # XNNPACK looks for an ARM processor when it is first called.
    return _first("\n".join(line for line in text.splitlines() if not line.startswith("[cpuinfo")).partition("] ")[2])


def _first(text):
    return text.strip().partition("\n")[0]


def version():
    """Return the release of executorch."""
    return importlib.metadata.version("executorch")


if __name__ == "__main__":
    serve("executorch", version(), sys.argv[1], answer)
