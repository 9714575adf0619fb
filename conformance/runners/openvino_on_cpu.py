"""Any OpenVINO since 2022 on its CPU: a model compiled and run, in words of the runner protocol."""

import numpy
from runner_protocol import BackendError, Refused, Unsupported, one_line

try:
    import openvino as ov

    ov.Core  # before 2023.1 the package itself has nothing
except AttributeError:
    import openvino.runtime as ov

CORE = ov.Core()
_NOT_IMPLEMENTED = ("Unsupported operation of type", "CPU plug-in doesn't support")
# By default f32 models are computed in bf16 on processors that have it.
_SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}


def version():
    """Return the version without the build."""
    return str(ov.__version__ if hasattr(ov, "__version__") else ov.get_version()).partition("-")[0]


def output(make, inputs):
    """Return the output of a model for its inputs.

    `make` returns the model, and whether all its sizes are declared; a RuntimeError of it is a refusal.
    """
    try:
        model, static = make()
        compiled = CORE.compile_model(model, "CPU", _SETTINGS)
    except RuntimeError as error:
        message = one_line(error)
        raise (Unsupported if any(words in message for words in _NOT_IMPLEMENTED) else Refused)(message)
    try:
        return _inferred(compiled, inputs)
    except RuntimeError as error:
        # Sizes that the model does not have are not known before: what is wrong with them is refused here.
        raise (BackendError if static else Refused)(one_line(error))


def _inferred(compiled, inputs):
    request = compiled.create_infer_request()
    for index, array in enumerate(inputs):
        request.set_input_tensor(index, tensor(array, compiled.inputs[index].get_element_type()))
    result = compiled.outputs[0]
    if result.get_partial_shape().is_static:
        # Full of NaN, so that elements which the runtime does not write are noticed.
        unwritten = ov.Tensor(result.get_element_type(), result.get_shape())
        unwritten.data.view(numpy.uint8)[...] = 0xFF
        request.set_output_tensor(0, unwritten)
    request.infer()
    result = request.get_output_tensor(0)
    if result.element_type == ov.Type.bf16:
        return numpy.frombuffer(numpy.array(result.data).tobytes(), numpy.uint16).reshape(tuple(result.shape))
    return numpy.array(result.data)


def tensor(array, element_type):
    """Return an array as a tensor; bfloat16 comes as bit patterns."""
    array = array if array.flags.c_contiguous else numpy.ascontiguousarray(array)
    if array.dtype == numpy.uint16 and element_type == ov.Type.bf16:
        return ov.Tensor(array, ov.Shape(array.shape), ov.Type.bf16)
    return ov.Tensor(array.copy())
