"""OpenVINO on one of its devices: a model of its own operations is compiled and inferred."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from tconv.backends import BackendInfo, Option, onednn_isa
from tconv.backends.openvino_graph import element_type, graph_lines, node_name
from tconv.backends.options import with_defaults
from tconv.backends.outcome import BackendError, Produced, Refused, Unsupported
from tconv.backends.snippet import Snippet, name_of, y_from_ncx
from tconv.cases.layouts import permutation
from tconv.shown_texts import one_line
from tconv.vocabulary import DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import openvino as ov

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call, Input
    from tconv.vocabulary import Array

GROUPED = "openvino/GroupConvolutionBackpropData-1"
_NOT_IMPLEMENTED = ("Unsupported operation of type", "CPU plug-in doesn't support")


@cache
def _options() -> tuple[Option, ...]:
    import openvino as ov

    return (
        Option("device", "the device that models are compiled for", "CPU", tuple(ov.Core().available_devices)),
        # By default f32 models are computed in bf16 on processors that have it.
        Option(
            "inference_precision",
            "the hint INFERENCE_PRECISION_HINT; dynamic gives none",
            "f32",
            ("f32", "f16", "bf16", "dynamic"),
        ),
        Option("threads", "INFERENCE_NUM_THREADS", "1", range(1, 1025)),
        Option(
            "lp_transforms_mode", "LP_TRANSFORMS_MODE: whether quantised graphs become int8", "yes", ("yes", "no"), "no"
        ),
        Option("snippets_mode", "SNIPPETS_MODE: whether nodes are joined to one", "yes", ("yes", "no"), "no"),
    )


class OpenVino:
    """A model of one operation, by default on the CPU in the precision of the operands.

    Args:
        options: values of `OPTIONS`, by name.
    """

    name = "openvino"
    DIALECTS: tuple[str, ...] = ("openvino/ConvolutionBackpropData-1", GROUPED)
    OPTIONS = staticmethod(_options)

    def __init__(self, **options: str) -> None:
        import openvino as ov

        from tconv.backends import openvino_nodes

        self._openvino, self._nodes = ov, openvino_nodes
        chosen = with_defaults(self.OPTIONS(), options)
        self.core = ov.Core()
        self._device, hint = chosen["device"], chosen["inference_precision"]
        self._settings: dict[str, str | int] = {"NUM_STREAMS": 1}
        if self._device == "CPU":
            self._settings["INFERENCE_NUM_THREADS"] = int(chosen["threads"])
        if chosen["lp_transforms_mode"] == "no":
            self._settings["LP_TRANSFORMS_MODE"] = "NO"
        if chosen["snippets_mode"] == "no":
            self._settings["SNIPPETS_MODE"] = "DISABLE"
        if hint != "dynamic":
            self._settings["INFERENCE_PRECISION_HINT"] = hint

    def info(self) -> BackendInfo:
        """Return OpenVINO's version and settings."""
        version = str(self._openvino.__version__)
        device = str(self.core.get_property(self._device, "FULL_DEVICE_NAME"))
        settings = {name.lower(): str(value) for name, value in self._settings.items()}
        # It reads the variables of the oneDNN inside it (seen in 2026.4.1 with ONEDNN_VERBOSE=all), but does not report
        # the resulting instruction set.
        simd = onednn_isa.limit(os.environ)
        environment = {"device": device, "build": version} | settings
        return BackendInfo(self.name, version.partition("-")[0], self.DIALECTS, environment, simd=simd, contexts=True)

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Make the model, compile it, infer. An exception while it is made or compiled is a refusal."""
        if call.shapes != "static":
            # Some of these calls crash the process, but often only during a later case. After many runs, it crashes
            # during this one.
            for _ in range(self.repetitions(call)):
                self._run(call, arrays)
        return self._run(call, arrays)

    def repetitions(self, call: Call) -> int:
        """Return how often a call without declared sizes is run before: more than 0 if it may write outside memory."""
        # In a graph, a wrong output size may lead to tensors that do not fit.
        return 2 if call.graph else 8 if 0 in call.inputs[0].shape else 0

    def model(self, call: Call, arrays: Mapping[str, Array]) -> ov.Model:
        """Return the model of a call.

        Raises:
            RuntimeError: the runtime refuses it.
        """
        return self._nodes.model_of(call, arrays)

    @staticmethod
    def snippet(call: Call) -> Snippet:
        """Return the code that computes a call without tconv."""
        fed = f"[{', '.join(tensor.name for tensor in call.inputs if not tensor.constant)}]"
        lines = (*TENSOR, *model_lines(call), "core = openvino.Core()", *inference(fed, call))
        return Snippet(("openvino", *_sets(call)), lines, ("RuntimeError",), of_model=False)

    def _run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        try:
            model = self.model(call, arrays)
        except RuntimeError as error:
            return Refused(one_line(str(error)))
        try:
            compiled = self.core.compile_model(model, self._device, self._settings)
        except RuntimeError as error:
            message = one_line(str(error))
            return (Unsupported if any(words in message for words in _NOT_IMPLEMENTED) else Refused)(message)
        try:
            executed = self._nodes.executed(compiled) if call.graph else ()
            return Produced(self._nodes.inferred(compiled, call.feeds(arrays).values()), executed=executed)
        except RuntimeError as error:
            # If the model does not have all sizes, wrong sizes can be refused only here.
            return (BackendError if _has_sizes(call) else Refused)(one_line(str(error)))


def _has_sizes(call: Call) -> bool:
    """Return whether the model has all sizes: declared ones, and output_shape as a constant."""
    return call.shapes == "static" and all(tensor.constant for tensor in call.inputs if tensor.role == "output_shape")


TENSOR = (
    "def tensor(array):",
    "    array = np.array(array, order='C')",
    "    if str(array.dtype) != 'bfloat16':",
    "        return openvino.Tensor(array)",
    "    return openvino.Tensor(array.view(np.uint16), openvino.Shape(array.shape), openvino.Type.bf16)",
)
"""The lines of the function `tensor`, which `inference` needs."""


def inference(fed: str, call: Call) -> tuple[str, ...]:
    """Return the lines from `core`, `ov_model` and `tensor` to `y`.

    Args:
        fed: the expression for the input arrays, in order.
        call: the call.
    """
    # A graph that writes outside its memory crashes in the second inference at the earliest.
    is_repeated = call.graph is not None and call.shapes != "static"
    return (
        'settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}',
        'request = core.compile_model(ov_model, "CPU", settings).create_infer_request()',
        f"for index, array in enumerate({fed}):",
        "    request.set_input_tensor(index, tensor(array))",
        *(["for _ in range(3):", "    request.infer()"] if is_repeated else ["request.infer()"]),
        "y = np.array(request.get_output_tensor(0).data)",
        "if request.get_output_tensor(0).element_type == openvino.Type.bf16:",
        "    y = np.frombuffer(y.tobytes(), __import__('ml_dtypes').bfloat16).reshape(y.shape)",
    )


def _sets(call: Call) -> tuple[str, ...]:
    """Return the modules of the operation sets of a call."""
    return ("openvino.opset1", "openvino.opset13") if call.graph else ("openvino.opset1",)


def model_lines(call: Call) -> Iterator[str]:
    """Yield the lines from the arrays (named as their tensors) and `tensor` to `ov_model`."""
    yield f"op = {_sets(call)[-1]}"
    yield "parameters = []"
    for tensor in call.inputs:
        yield from _node(tensor, call)
    if call.graph is not None:
        yield from graph_lines(call.graph, call.inputs, _in_graph)
    else:
        yield from _alone(call)
    yield 'ov_model = openvino.Model(y, parameters, "one")'


def _alone(call: Call) -> Iterator[str]:
    """Yield the lines for the operator alone."""
    x = node_name(name_of(call, "x"))
    if call.data_format is not DataFormat.NCX:
        x = f"op.transpose({x}, op.constant(np.array({permutation(call.data_format, call.rank)})))"
    size = node_name(name) if (name := name_of(call, "output_shape")) else "None"
    yield f"y = {_operator(call, x, node_name(name_of(call, 'w')), size)}"
    yield from y_from_ncx(call, "y = op.transpose(y, op.constant(np.array(AXES)))")
    yield "y = [y]"


def _in_graph(call: Call, x: str, w: str, *computed: str) -> str:
    """Return the expression for the operator in a graph: its output_shape is a constant if it is not computed."""
    sizes = computed or [
        f"op.constant(np.array({list(part.values)}))" for part in call.inputs if part.role == "output_shape"
    ]
    return _operator(call, x, w, *(sizes or ["None"]))


def _operator(call: Call, x: str, w: str, size: str) -> str:
    attributes = {name: list(v) if isinstance(v, tuple) else v for name, v in call.attributes.items()}
    arguments = "".join(f", {name}={value!r}" for name, value in attributes.items() if name != "strides")
    function = f"{'group_' if call.dialect.name == GROUPED else ''}convolution_backprop_data"
    return f"openvino.opset1.{function}({x}, {_filter(call, w)}, {attributes.get('strides', [])}, {size}{arguments})"


def _node(tensor: Input, call: Call) -> Iterator[str]:
    """Yield the lines for the node of an input."""
    name = node_name(tensor.name)
    if tensor.constant:
        yield f"{name} = openvino.op.Constant(tensor({tensor.name}))"
        return
    symbolic = call.shapes == "symbolic" and tensor.role != "output_shape"
    sizes = [-1] * len(tensor.shape) if symbolic else list(tensor.shape)
    shape = "openvino.PartialShape.dynamic()" if call.shapes == "unranked" else f"openvino.PartialShape({sizes})"
    yield f"{name} = op.parameter({shape}, {element_type(tensor.dtype)})"
    yield f"parameters.append({name})"


def _filter(call: Call, w: str) -> str:
    """Return the expression for the filter in the operation's layout."""
    if call.filter_format not in {FilterFormat.IOX, FilterFormat.GIOX}:
        w = f"op.transpose({w}, op.constant(np.array({permutation(call.filter_format, call.rank)})))"
    # Only the filter of the grouped operation has an axis for groups.
    grouped = call.dialect.name == GROUPED
    if grouped == (call.filter_format is FilterFormat.GIOX):
        return w
    channels, *others = call.written.w.shape
    shape = [call.groups, channels // call.groups, *others] if grouped else [channels, *others]
    return f"op.reshape({w}, op.constant(np.array({shape})), special_zero=False)"
