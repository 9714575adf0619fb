"""How a script without tconv asks a runtime: for each backend that ships, the Python that leads to its output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tconv.errors import UsageError
from tconv.export import asking_with_arrays as of_arrays

if TYPE_CHECKING:
    from tconv.expectation.problem import Problem

DEFAULT = "onnxruntime"


@dataclass(frozen=True, slots=True)
class Snippet:
    """The Python that asks a runtime.

    Attributes:
        modules: what it imports; the first one has the version.
        lines: from `model`, an `onnx.ModelProto`, and `feeds`, arrays by the names of its inputs, or from the arrays
            under the dialect's names for them, to `y`, the output as an array in the call's layout.
        refusals: the names of the exceptions that are refusals.
        of_model: whether it needs `model` and `feeds`.
        shape_only: whether only shape and type of `y` mean anything.
        hint: what a reader has to replace; empty where nothing is.
        stands_in: whether onnxruntime stands there for a runtime that only the reader can ask.
        version: the expression for the runtime's version; empty for that of the first module.
    """

    modules: tuple[str, ...]
    lines: tuple[str, ...]
    refusals: tuple[str, ...]
    of_model: bool = True
    shape_only: bool = False
    hint: str = ""
    stands_in: bool = False
    version: str = ""


_ONNXRUNTIME = Snippet(
    ("onnxruntime",),
    (
        "options = onnxruntime.SessionOptions()",
        "options.log_severity_level = 4",
        'providers = ["CPUExecutionProvider"]',
        "session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=providers)",
        "y = session.run(None, feeds)[0]",
    ),
    ("InvalidGraph", "InvalidArgument", "InvalidProtobuf", "Fail"),
)
_EVALUATED = Snippet(
    ("onnx", "onnx.reference"),
    ("y = np.asarray(onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0])",),
    ("ValidationError", "InferenceError"),
)


def _inferred(*, strict: bool) -> Snippet:
    return Snippet(
        ("onnx", "onnx.shape_inference"),
        (
            'model.graph.output[0].type.tensor_type.ClearField("shape")',
            f"inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode={strict})",
            "output = inferred.graph.output[0].type.tensor_type",
            "dtype = onnx.helper.tensor_dtype_to_np_dtype(output.elem_type)",
            "y = np.empty([dim.dim_value for dim in output.shape.dim], dtype)",
        ),
        ("ValidationError", "InferenceError"),
        shape_only=True,
    )


_OF_MODELS = {
    DEFAULT: _ONNXRUNTIME,
    "onnx-reference": replace(
        _EVALUATED, lines=("onnx.checker.check_model(model, full_check=True)", *_EVALUATED.lines)
    ),
    "onnx-reference-unchecked": _EVALUATED,
    "onnx-shape-inference": _inferred(strict=True),
    "onnx-shape-inference-lenient": _inferred(strict=False),
    "openvino-onnx": Snippet(
        ("openvino",),
        (
            "core = openvino.Core()",
            'ov_model = core.read_model(model.SerializeToString(), b"")',
            *of_arrays.openvino_inference("feeds.values()"),
        ),
        ("RuntimeError",),
    ),
    "opencv": Snippet(
        ("cv2",),
        (
            "network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))",
            "for name, array in feeds.items():",
            "    network.setInput(np.ascontiguousarray(array), name)",
            "y = np.array(network.forward())",
        ),
        ("error",),
    ),
    "tract": Snippet(
        ("tract", "pathlib", "tempfile"),
        (
            'path = pathlib.Path(tempfile.mkdtemp()) / "model.onnx"',
            "path.write_bytes(model.SerializeToString())",
            "loaded = tract.onnx().load(path)",
            "for index, array in enumerate(feeds.values()):",
            '    sizes = "".join(f"{size}," for size in array.shape)',
            '    loaded.set_input_fact(index, f"{sizes}{array.dtype.kind}{8 * array.itemsize}")',
            "y = np.array(loaded.into_model().into_runnable().run(list(feeds.values()))[0].to_numpy())",
        ),
        ("TractError",),
        version="tract.version()",
    ),
}
_OF_ARRAYS = {
    "torch": (("torch",), of_arrays.torch, ("RuntimeError",)),
    "jax": (("jax",), of_arrays.jax, ("TypeError", "ValueError")),
    "openvino": (("openvino", "openvino.opset1"), of_arrays.openvino, ("RuntimeError",)),
}
FIRST_DIALECT = {
    "openvino": "openvino/ConvolutionBackpropData-1",
    "litert": "tflite/TransposeConv",
    "onednn": "onednn/ConvTranspose-1",
    "onednn-backward-data": "onednn/ConvolutionBackpropData-1",
}
"""The dialect of a backend that speaks none of ONNX's."""


def asking(problem: Problem, backend: str) -> Snippet:
    """Return how a backend is asked; of one that does not ship, or needs tconv, what is to be replaced.

    Args:
        problem: the case in the dialect.
        backend: an installed name, `package.module:attribute` or `exec:COMMAND`.

    Raises:
        UsageError: the backend does not speak the dialect, or is given a geometry, and the call has none.
    """
    if (template := _OF_MODELS.get(backend)) is not None and problem.dialect.opset is not None:
        return template
    spoken = FIRST_DIALECT.get(backend, problem.dialect.name)
    if spoken.partition("/")[0] != problem.dialect.name.partition("/")[0]:
        raise UsageError(
            f"--dialect must be one that {backend} speaks, such as {spoken} (got {problem.dialect.name!r})"
        )
    if backend in _OF_ARRAYS:
        modules, lines_of, refusals = _OF_ARRAYS[backend]
        lines = lines_of(problem)
        if lines is None:
            must = f"must be one that {backend} can be given, with a geometry and declared sizes"
            raise UsageError(f"a case {must} (got {problem.case.id})")
        return Snippet(modules, tuple(lines), refusals, of_model=False)
    if problem.dialect.opset is None:
        names = ", ".join(tensor.name for tensor in problem.call.inputs)
        words = f"y must be the output, in {problem.call.data_format}, for {names} and the attributes above"
        attributes = ", ".join(f"{name}={value!r}" for name, value in problem.call.attributes.items())
        lines = [f"attributes = dict({attributes})", f"raise SystemExit({f'ask the runtime here: {words}'!r})"]
        return Snippet((), tuple(lines), (), of_model=False, hint=f"replace the last of these lines: {words}")
    replaced = f"the {len(_ONNXRUNTIME.lines)} lines below, which ask onnxruntime"
    hint = f"For another runtime replace {replaced}: they make `y`, the output, of `model` and `feeds`."
    return replace(_ONNXRUNTIME, hint=hint, stands_in=True)
