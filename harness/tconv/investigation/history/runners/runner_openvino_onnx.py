"""Any OpenVINO since 2022 on ONNX models, as `tconv.backends.openvino_onnx` asks it. The argument is the dialect."""

import sys

import numpy
from runner_protocol import Refused, Unsupported, one_line, serve

try:
    import openvino as ov

    ov.Core  # before 2023.1 the package itself has nothing
except AttributeError:
    import openvino.runtime as ov

_NOT_IMPLEMENTED = ("Unsupported operation of type", "CPU plug-in doesn't support")
# By default f32 models are computed in bf16 on processors that have it.
_SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
_REPETITIONS = 64


def answer(model, inputs):
    """Read the model, compile it for the CPU, infer, and return the output."""
    if any(0 in array.shape[2:] for array in inputs) and not _is_static(model):
        # The process dies of these calls, but often during a later case, which would be blamed. Run many times, it
        # dies during this one.
        for _ in range(_REPETITIONS):
            _output(model, inputs)
    return _output(model, inputs)


def _is_static(model):
    try:
        return all(port.get_partial_shape().is_static for port in _CORE.read_model(model, b"").inputs)
    except RuntimeError:
        return True


def _output(model, inputs):
    try:
        read = _CORE.read_model(model, b"")
        static = all(port.get_partial_shape().is_static for port in read.inputs)
        compiled = _CORE.compile_model(read, "CPU", _SETTINGS)
    except RuntimeError as error:
        message = one_line(error)
        raise (Unsupported if any(words in message for words in _NOT_IMPLEMENTED) else Refused)(message)
    try:
        return _inferred(compiled, inputs)
    except RuntimeError as error:
        # Sizes that the model does not have are not known before: what is wrong with them is refused here.
        if static:
            raise RuntimeError(one_line(error))
        raise Refused(one_line(error))


def _inferred(compiled, inputs):
    request = compiled.create_infer_request()
    for index, array in enumerate(inputs):
        request.set_input_tensor(index, _tensor(array, compiled.inputs[index]))
    output = compiled.outputs[0]
    if output.get_partial_shape().is_static:
        # Full of NaN, so that elements which the runtime does not write are noticed.
        tensor = ov.Tensor(output.get_element_type(), output.get_shape())
        tensor.data.view(numpy.uint8)[...] = 0xFF
        request.set_output_tensor(0, tensor)
    request.infer()
    result = request.get_output_tensor(0)
    if result.element_type == ov.Type.bf16:
        return numpy.frombuffer(numpy.array(result.data).tobytes(), numpy.uint16).reshape(tuple(result.shape))
    return numpy.array(result.data)


def _tensor(array, port):
    array = array if array.flags.c_contiguous else numpy.ascontiguousarray(array)
    if array.dtype == numpy.uint16 and port.get_element_type() == ov.Type.bf16:
        return ov.Tensor(array, ov.Shape(array.shape), ov.Type.bf16)
    return ov.Tensor(array.copy())


_CORE = ov.Core()

if __name__ == "__main__":
    version = ov.__version__ if hasattr(ov, "__version__") else ov.get_version()
    serve("openvino-onnx", str(version).partition("-")[0], sys.argv[1], answer)
