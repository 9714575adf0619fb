"""The graph of a call in Python, by OpenVINO's operation set 13: tconv runs the same lines that it exports.

Quantised graphs are as NNCF writes them. Quantize and Dequantize of data are one FakeQuantize of 256 levels. Convert,
Subtract and Multiply follow integer constants. A Quantize without a Dequantize is FakeQuantize and Convert, as the ONNX
frontend writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tconv.vocabulary import Quantised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tconv.cases.call import Input
    from tconv.cases.graph import Graph, Node
    from tconv.vocabulary import DType

_TYPES = {Quantised.INT8: "i8", Quantised.UINT8: "u8", Quantised.INT32: "i32"}
_RANGES = {Quantised.INT8: (-128, 127), Quantised.UINT8: (0, 255)}
_LEVELS = 256


def element_type(dtype: DType | Quantised | None) -> str:
    """Return the expression for an element type; None is the type of sizes."""
    return f"openvino.Type.{_TYPES[dtype] if isinstance(dtype, Quantised) else dtype or 'i64'}"


def node_name(tensor: str) -> str:
    """Return the variable of a tensor's node; the tensor's own name is the variable of its array."""
    return f"{tensor}_node"


def graph_lines(graph: Graph, inputs: Sequence[Input], operator: Callable[..., str]) -> Iterator[str]:
    """Yield the lines from the nodes of inputs and constants to `y`, the outputs of the graph.

    Args:
        graph: the graph.
        inputs: its inputs and constants.
        operator: returns the expression for the operator, with the call, and the variables of data, filter and sizes.
    """
    makers = {name: node for node in graph.nodes for name in node.outputs}
    ranks = {tensor.name: len(tensor.shape) for tensor in inputs}
    for node in graph.nodes:
        if node.call is not None:
            made = operator(node.call, *map(node_name, node.inputs))
        else:
            made = expression(node, makers, ranks)
        names = "".join(f"{node_name(name)}, " for name in node.outputs)
        yield f"{names}= {made}.outputs()"
    yield f"y = [{', '.join(map(node_name, (graph.output, *graph.also)))}]"


def expression(node: Node, makers: Mapping[str, Node], ranks: Mapping[str, int]) -> str:
    """Return the expression for an operation.

    Args:
        node: the operation, which is not the operator itself.
        makers: the node that makes each tensor, except inputs and constants.
        ranks: the number of axes of inputs and constants.
    """
    attributes = {name: list(value) if isinstance(value, tuple) else value for name, value in node.attributes.items()}
    nodes = [node_name(name) for name in node.inputs]
    match node.kind:
        case "Quantize":
            dtype = Quantised(node.attributes["dtype"])
            low, high = (f"np.float32({limit})" for limit in _RANGES[dtype])
            return f"op.convert({_fake_quantize(node, low, high)}, {element_type(dtype)})"
        case "Dequantize":
            made = makers.get(node.inputs[0])
            if made is not None:
                # With the Quantize before it, it is one operation.
                return _fake_quantize(made, *_limits(made, *node.inputs[1:]))
            return _dequantize(node, ranks)
        case "Conv":
            rank = ranks[node.inputs[1]] - 2
            attributes |= {"ones": [1] * rank, "zeros": [0] * rank}
        case "Resize":
            axes = [axis for axis, scale in enumerate(attributes["scales"]) if scale != 1] or [2]
            attributes |= {"axes": axes, "scales": [attributes["scales"][axis] for axis in axes]}
        case "Slice":
            attributes["steps"] = [1] * len(attributes["axes"])
    return TEMPLATES[node.kind].format(x=nodes, c=node.inputs, all=", ".join(nodes), **attributes)


def _limits(quantize: Node, scale: str, zero_point: str) -> Iterator[str]:
    """Yield the smallest and the largest value of a quantised type, dequantised, as constants."""
    for limit in _RANGES[Quantised(quantize.attributes["dtype"])]:
        yield f"op.constant((np.float32({limit}) - {zero_point}.astype(np.float32)) * {scale})"


def _fake_quantize(quantize: Node, low: str, high: str) -> str:
    x, scale, zero_point = quantize.inputs
    limits = ", ".join(_limits(quantize, scale, zero_point))
    return f"op.fake_quantize({node_name(x)}, {limits}, {low}, {high}, {_LEVELS})"


def _dequantize(node: Node, ranks: Mapping[str, int]) -> str:
    quanta, scale, zero_point = node.inputs
    shape = [1] * ranks[quanta]
    if ranks[scale] == 1:
        shape[node.attributes.get("axis", 1)] = -1
    x, zero = (
        f"op.convert({tensor}, openvino.Type.f32)"
        for tensor in (node_name(quanta), f"op.constant({zero_point}.reshape({shape}))")
    )
    return f"op.multiply(op.subtract({x}, {zero}), op.constant({scale}.reshape({shape})))"


def _array(words: str) -> str:
    return f"op.constant(np.array({words}))"


_F32 = "op.constant(np.float32({}))"
TEMPLATES: Mapping[str, str] = {
    "Add": "op.add({all})",
    "Sub": "op.subtract({all})",
    "Mul": "op.multiply({all})",
    "Div": "op.divide({all})",
    "Max": "op.maximum({all})",
    "Relu": "op.relu({all})",
    "Clip": "op.clamp({all}, {min}, {max})",
    "LeakyRelu": "op.prelu({all}, op.constant(np.array([{alpha}], np.float32)))",
    "HardSigmoid": f"op.hard_sigmoid({{all}}, {_F32.format('{alpha}')}, {_F32.format('{beta}')})",
    # By the page, the slopes of channels are a vector.
    "PRelu": "op.prelu({x[0]}, op.constant({c[1]}.reshape(-1)))",
    "Shape": "op.shape_of({all})",
    "Sigmoid": "op.sigmoid({all})",
    "Tanh": "op.tanh({all})",
    "Elu": "op.elu({all}, {alpha})",
    "HardSwish": "op.hswish({all})",
    "BatchNormalization": "op.batch_norm_inference({all}, {epsilon})",
    "Conv": "op.convolution({all}, {ones}, {zeros}, {zeros}, {ones})",
    "Pad": f"op.pad({{all}}, {_array('{begin}')}, {_array('{end}')}, 'constant', {_F32.format(0)})",
    "Resize": (
        "op.interpolate({all}, op.constant(np.array({scales}, np.float32)), 'nearest', 'scales', "
        f"coordinate_transformation_mode='asymmetric', nearest_mode='floor', axes={_array('{axes}')})"
    ),
    "Slice": f"op.slice({{all}}, {', '.join(_array(f'{{{name}}}') for name in ('starts', 'ends', 'steps', 'axes'))})",
    "Split": f"op.variadic_split({{all}}, {_array('{axis}')}, {_array('{sizes}')})",
    "Cast": "op.convert({all}, openvino.Type.{to})",
    "Concat": "op.concat([{all}], {axis})",
    "Transpose": f"op.transpose({{all}}, {_array('{axes}')})",
    "Reshape": f"op.reshape({{all}}, {_array('{shape}')}, special_zero=False)",
}
"""The expression of each operation, with its inputs `x`, their arrays `c` and its attributes."""
OPERATIONS = frozenset({*TEMPLATES, "Quantize", "Dequantize"})
