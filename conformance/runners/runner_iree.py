"""IREE behind the runner protocol: its importer of ONNX models, compiled for the processor, in this process.

IREE's own tool runs onnx's shape inference before the importer. It is left out: what it refuses, IREE has not refused.
"""

import importlib.metadata
import os
import sys
import tempfile

import numpy
import onnx
from iree import runtime
from iree.compiler import ir
from iree.compiler.api import Invocation, Output, Session, Source
from iree.compiler.extras import onnx_importer
from runner_protocol import BackendError, Refused, Unsupported, serve

_FLAGS = (
    "--iree-input-type=onnx",
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)


def answer(model, inputs):
    """Import the model, compile it, and run it."""
    if any(array.dtype == numpy.uint16 for array in inputs):
        raise Unsupported("numpy has no bfloat16 that IREE reads")
    proto = onnx.load_from_string(model)
    context = ir.Context()
    try:
        with context, ir.Location.unknown():
            info = onnx_importer.ModelInfo(proto)
            module = info.create_module(context=context).operation
            onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
            text = module.get_asm()
    except (onnx_importer.OnnxImportError, ValueError, ir.MLIRError) as error:
        raise Refused(_first(error))
    config = runtime.Config("local-sync")
    compiled = runtime.VmModule.copy_buffer(config.vm_instance, _compiled(text))
    context = runtime.SystemContext(config=config)
    context.add_vm_module(compiled)
    function = context.modules[compiled.name][proto.graph.name]
    try:
        return numpy.array(function(*inputs).to_host())
    except (RuntimeError, ValueError) as error:
        raise BackendError(_first(error))


def _compiled(text):
    """Return a module's bytes. What is wrong with it, the compiler prints to standard error."""
    session = Session()
    session.set_flags(*_FLAGS)
    invocation = Invocation(session)
    invocation.enable_console_diagnostics()
    source = Source.wrap_buffer(session, text.encode() + b"\0")
    kept = os.dup(2)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 2)
        try:
            done = invocation.parse_source(source) and invocation.execute()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        printed.seek(0)
        lines = printed.read().decode("utf-8", "replace").splitlines()
    if not done:
        message = next((line for line in lines if "error:" in line), "the compiler says nothing").partition("error: ")[
            2
        ]
        raise (Unsupported if "failed to legalize" in message else Refused)(message)
    output = Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    return bytes(output.map_memory())


def _first(error):
    return "{}: {}".format(type(error).__name__, str(error).strip().partition("\n")[0])


if __name__ == "__main__":
    serve("iree", importlib.metadata.version("iree-base-compiler"), sys.argv[1], answer)
