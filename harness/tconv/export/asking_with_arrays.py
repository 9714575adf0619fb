"""The Python that asks runtimes which are called with arrays, and not with a model of ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.backends.outcome import Refused
from tconv.backends.resolved_call import geometry_of, own_padding
from tconv.cases.layouts import inverse, permutation
from tconv.vocabulary import DataFormat, DType, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.call import Call, Input
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.problem import Problem


def torch(problem: Problem) -> list[str] | None:
    """Return the lines for torch; None where the call has no geometry, or declares no sizes."""
    call, geometry = problem.call, _geometry(problem.call)
    if geometry is None or not 1 <= call.rank <= _MOST_AXES:
        return None
    bf16 = call.dtype is DType.BF16
    lines = [f"x = {_torch_tensor(_ncx(call), bf16=bf16)}", f"w = {_torch_tensor(_iox(call), bf16=bf16)}"]
    lines += [f"b = {_torch_tensor(_name(call, 'b'), bf16=bf16)}"] if _has_bias(call) else []
    arguments = f"stride={geometry.strides}, dilation={geometry.dilations}, groups={geometry.groups}"
    function = f"torch.nn.functional.conv_transpose{call.rank}d"
    if (added := own_padding(geometry)) is not None:
        bias = "b" if _has_bias(call) else "None"
        lines.append(
            f"y = {function}(x, w, {bias}, padding={geometry.pads_begin}, output_padding={added}, {arguments})"
        )
    else:
        pads = list(zip(geometry.pads_begin, geometry.pads_end, strict=True))
        zeros = [max(-pad, 0) for ends in reversed(pads) for pad in ends]
        window = ", ".join(
            f"{max(begin, 0)}:{max(begin, 0) + size}" for (begin, _), size in zip(pads, geometry.output, strict=True)
        )
        lines.append(f"y = {function}(x, w, None, {arguments})")
        lines += [f"y = torch.nn.functional.pad(y, {zeros})"] if any(zeros) else []
        lines.append(f"y = y[:, :, {window}]")
        lines += [f"y = y + b.reshape({[-1, *[1] * call.rank]})"] if _has_bias(call) else []
    lines += [] if call.data_format is DataFormat.NCX else [f"y = y.permute({_back(call)})"]
    last = "y.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)" if bf16 else "y.contiguous().numpy()"
    return [*lines, f"y = {last}"]


def jax(problem: Problem) -> list[str] | None:
    """Return the lines for jax; None where the call has no geometry, or declares no sizes."""
    call, geometry = problem.call, _geometry(problem.call)
    if geometry is None:
        return None
    spans = [(k - 1) * d for k, d in zip(geometry.kernel, geometry.dilations, strict=True)]
    pads = [(s - b, s - e) for s, b, e in zip(spans, geometry.pads_begin, geometry.pads_end, strict=True)]
    channels, out_channels, *kernel = call.written.w.shape
    groups, spatial = geometry.groups, "".join(map(str, range(call.rank)))
    lines = [
        'jax.config.update("jax_enable_x64", True)',
        f"w = {_iox(call)}.reshape({[groups, channels // groups, out_channels, *kernel]})",
        f"w = np.flip(np.moveaxis(w, 2, 1), axis={tuple(range(3, 3 + call.rank))})",
        f"w = w.reshape({[groups * out_channels, channels // groups, *kernel]})",
        f"x, strides, pads = {_ncx(call)}, {(1,) * call.rank}, {pads}",
        f"options = dict(lhs_dilation={geometry.strides}, rhs_dilation={geometry.dilations})",
        f'axes = ("NC{spatial}", "OI{spatial}", "NC{spatial}")',
        f"options |= dict(dimension_numbers=axes, feature_group_count={groups}, precision=jax.lax.Precision.HIGHEST)",
        "y = np.asarray(jax.lax.conv_general_dilated(x, w, strides, pads, **options))",
    ]
    lines += [f"y = y + {_name(call, 'b')}.reshape({[-1, *[1] * call.rank]})"] if _has_bias(call) else []
    return [*lines, *([] if call.data_format is DataFormat.NCX else [f"y = y.transpose({_back(call)})"])]


def openvino_inference(fed: str) -> tuple[str, ...]:
    """Return the lines from `core` and `ov_model` to `y`.

    Args:
        fed: the expression for the arrays that are fed, in order.
    """
    return (
        "def tensor(array):",
        "    array = np.array(array, order='C')",
        "    if str(array.dtype) != 'bfloat16':",
        "        return openvino.Tensor(array)",
        "    return openvino.Tensor(array.view(np.uint16), openvino.Shape(array.shape), openvino.Type.bf16)",
        'settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}',
        'request = core.compile_model(ov_model, "CPU", settings).create_infer_request()',
        f"for index, array in enumerate({fed}):",
        "    request.set_input_tensor(index, tensor(array))",
        "request.infer()",
        "y = np.array(request.get_output_tensor(0).data)",
        "if request.get_output_tensor(0).element_type == openvino.Type.bf16:",
        "    y = np.frombuffer(y.tobytes(), __import__('ml_dtypes').bfloat16).reshape(y.shape)",
    )


def openvino(problem: Problem) -> list[str] | None:
    """Return the lines for OpenVINO's own operations; None where the dialect is not one of theirs."""
    call = problem.call
    if not call.dialect.name.startswith("openvino/"):
        return None
    grouped = call.dialect.name.endswith("GroupConvolutionBackpropData-1")
    function = f"{'group_' if grouped else ''}convolution_backprop_data"
    inference = openvino_inference(f"[{', '.join(tensor.name for tensor in call.inputs if not tensor.constant)}]")
    lines = ["op = openvino.opset1", *inference[:5], "parameters = []"]
    for tensor in call.inputs:
        lines += _openvino_node(tensor, call)
    x, w = (f"{_name(call, role)}_node" for role in ("x", "w"))
    if call.data_format is not DataFormat.NCX:
        lines.append(f"{x} = op.transpose({x}, op.constant(np.array({permutation(call.data_format, call.rank)})))")
    lines += _openvino_filter(call, w, grouped=grouped)
    attributes = {name: list(v) if isinstance(v, tuple) else v for name, v in call.attributes.items()}
    arguments = "".join(f", {name}={value!r}" for name, value in attributes.items() if name != "strides")
    size = next((f"{tensor.name}_node" for tensor in call.inputs if tensor.role == "output_shape"), "None")
    lines.append(f"y = op.{function}({x}, {w}, {attributes.get('strides', [])}, {size}{arguments})")
    if call.data_format is not DataFormat.NCX:
        lines.append(f"y = op.transpose(y, op.constant(np.array({_back(call)})))")
    return [*lines, 'ov_model, core = openvino.Model([y], parameters, "one"), openvino.Core()', *inference[5:]]


_MOST_AXES = 3


def _geometry(call: Call) -> Geometry | None:
    geometry = geometry_of(call)
    return None if isinstance(geometry, Refused) or call.shapes != "static" else geometry


def _name(call: Call, role: str) -> str:
    return next(tensor.name for tensor in call.inputs if tensor.role == role)


def _has_bias(call: Call) -> bool:
    return any(tensor.role == "b" for tensor in call.inputs)


def _ncx(call: Call) -> str:
    name = _name(call, "x")
    axes = permutation(call.data_format, call.rank)
    return name if call.data_format is DataFormat.NCX else f"{name}.transpose({axes})"


def _back(call: Call) -> list[int]:
    """Return the axes that bring an output from NCX to the call's layout."""
    return inverse(permutation(call.data_format, call.rank))


def _iox(call: Call) -> str:
    name = _name(call, "w")
    if call.filter_format is FilterFormat.GIOX:
        return f"{name}.reshape({list(call.written.w.shape)})"
    axes = permutation(call.filter_format, call.rank)
    return name if call.filter_format is FilterFormat.IOX else f"{name}.transpose({axes})"


def _torch_tensor(array: str, *, bf16: bool) -> str:
    copied = f"np.array({array}, order='C')"
    return f"torch.from_numpy({copied}.view(np.int16)).view(torch.bfloat16)" if bf16 else f"torch.from_numpy({copied})"


def _openvino_node(tensor: Input, call: Call) -> Iterator[str]:
    """Yield the lines for the node of an input."""
    name = f"{tensor.name}_node"
    if tensor.constant:
        yield f"{name} = openvino.op.Constant(tensor({tensor.name}))"
        return
    symbolic = call.shapes == "symbolic" and tensor.role != "output_shape"
    sizes = [-1] * len(tensor.shape) if symbolic else list(tensor.shape)
    shape = "openvino.PartialShape.dynamic()" if call.shapes == "unranked" else f"openvino.PartialShape({sizes})"
    yield f"{name} = op.parameter({shape}, openvino.Type.{tensor.dtype or 'i64'})"
    yield f"parameters.append({name})"


def _openvino_filter(call: Call, w: str, *, grouped: bool) -> Iterator[str]:
    """Yield the lines that bring the filter into the operation's layout."""
    if call.filter_format not in {FilterFormat.IOX, FilterFormat.GIOX}:
        yield f"{w} = op.transpose({w}, op.constant(np.array({permutation(call.filter_format, call.rank)})))"
    if grouped != (call.filter_format is FilterFormat.GIOX):
        channels, *others = call.written.w.shape
        shape = [call.groups, channels // call.groups, *others] if grouped else [channels, *others]
        yield f"{w} = op.reshape({w}, op.constant(np.array({shape})), special_zero=False)"
