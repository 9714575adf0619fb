"""Any onnxruntime behind the runner protocol, as `tconv.backends.onnxruntime` asks it. The argument is the dialect."""

import inspect
import re
import sys

import onnxruntime
from runner_protocol import Refused, Unsupported, serve

# A release that does not know an opset or a version of the format does not refuse the call: it has not got there yet.
_NOT_YET = re.compile(
    r"opset \d+ is under development|unsupported model IR version|unknown model file format version", re.IGNORECASE
)
_NOT_IMPLEMENTED = ("NotImplemented", "NOT_IMPLEMENTED")
_REFUSALS = ("InvalidGraph", "InvalidArgument", "InvalidProtobuf", "Fail", "INVALID_GRAPH", "INVALID_ARGUMENT", "FAIL")
# Before 1.0 every error is a RuntimeError, and its message has the kind.
_KIND = re.compile(r"\[ONNXRuntimeError\] : \d+ : ([A-Z_ ]+) :")


def answer(model, inputs):
    """Load the model, run it, and return the output."""
    try:
        session = _session(model)
        feeds = {node.name: array for node, array in zip(session.get_inputs(), inputs)}
        return session.run(None, feeds)[0]
    except Exception as error:
        message = str(error).strip().partition("\n")[0]
        kind = type(error).__name__
        named = _KIND.search(message)
        if kind == "RuntimeError" and named:
            kind = named.group(1)
        if kind in _NOT_IMPLEMENTED or _NOT_YET.search(message):
            raise Unsupported(message)
        if kind in _REFUSALS:
            raise Refused(message)
        raise


def _session(model):
    options = onnxruntime.SessionOptions()
    # Old releases do not have them all.
    for name, value in (("intra_op_num_threads", 1), ("inter_op_num_threads", 1), ("log_severity_level", 4)):
        if hasattr(options, name):
            setattr(options, name, value)
    if "providers" in inspect.signature(onnxruntime.InferenceSession.__init__).parameters:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return onnxruntime.InferenceSession(model, options)


if __name__ == "__main__":
    serve("onnxruntime", onnxruntime.__version__, sys.argv[1], answer)
