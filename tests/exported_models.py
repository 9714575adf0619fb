"""Models with transposed convolutions, in the forms that exporters give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

FLOAT = TensorProto.FLOAT
_RANDOM = 49


def weights(*shape: int, dtype: Any = np.float32) -> Any:  # noqa: ANN401 - an array of any type
    """Return weights as training leaves them: small, of both signs, the same at each call."""
    return (np.random.default_rng([_RANDOM, *shape]).standard_normal(shape) * 0.2).astype(dtype)


def constant(name: str, array: Any) -> onnx.TensorProto:  # noqa: ANN401 - as above
    return numpy_helper.from_array(np.asarray(array), name)


def up(x: str, w: str, y: str, *more: str, **attributes: Any) -> onnx.NodeProto:  # noqa: ANN401 - values of attributes
    """Return a ConvTranspose that is named after its output."""
    return helper.make_node("ConvTranspose", [x, w, *more], [y], name=f"up_{y}", **attributes)


def made(
    nodes: Sequence[onnx.NodeProto],
    constants: Sequence[onnx.TensorProto],
    shape: Sequence[int | str],
    opset: int,
    output: str = "y",
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    """Return a model with the input x and one output."""
    graph = helper.make_graph(
        list(nodes),
        "main_graph",
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info(output, FLOAT, None)],
        list(constants),
    )
    imports = [helper.make_opsetid("", opset), *([helper.make_opsetid("own", 1)] if functions else [])]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=8)


def decoder() -> onnx.ModelProto:
    """Return what torch exports of a U-Net's end: symbols, biases, ReLU, Concat."""
    nodes = [
        helper.make_node("Conv", ["x", "enc.w"], ["a"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        up("b", "up1.w", "c", "up1.b", kernel_shape=[4, 4], strides=[2, 2], pads=[1, 1, 1, 1], group=1),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Concat", ["d", "x"], ["e"], axis=1),
        up("e", "up2.w", "y", "up2.b", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
    ]
    constants = [
        constant("enc.w", weights(8, 3, 3, 3)),
        constant("up1.w", weights(8, 6, 4, 4)),
        constant("up1.b", weights(6)),
        constant("up2.w", weights(9, 2, 3, 3)),
        constant("up2.b", weights(2)),
    ]
    return made(nodes, constants, ["batch", 3, "height", "width"], 17)


def paddle() -> onnx.ModelProto:
    """Return what paddle2onnx makes of a text detector's head: Constant nodes, Add for the bias, BatchNormalization."""
    node = helper.make_node
    nodes = [
        *(
            node("Constant", [], [name], value=constant("", array))
            for name, array in (
                ("w0", weights(12, 8, 2, 2)),
                ("b0", weights(1, 8, 1, 1)),
                ("w1", weights(8, 1, 2, 2)),
                ("s", np.abs(weights(8)) + 1),
                ("m", weights(8, 1).reshape(8)),
                ("v", np.abs(weights(8, 2)[:, 0]) + 1),
            )
        ),
        up("x", "w0", "a", strides=[2, 2], kernel_shape=[2, 2], dilations=[1, 1], pads=[0, 0, 0, 0], group=1),
        node("Add", ["a", "b0"], ["b"]),
        node("BatchNormalization", ["b", "s", "m", "m", "v"], ["c"]),
        node("Relu", ["c"], ["d"]),
        up("d", "w1", "e", strides=[2, 2], kernel_shape=[2, 2]),
        node("Sigmoid", ["e"], ["y"]),
    ]
    return made(nodes, [], ["p2o.DynamicDimension.0", 12, "p2o.DynamicDimension.1", "p2o.DynamicDimension.2"], 12)


def keras_same() -> onnx.ModelProto:
    """Return SAME with a stride above the kernel, between the Transposes of a Keras model."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"], perm=[0, 3, 1, 2]),
        up("a", "w", "b", strides=[4, 4], auto_pad="SAME_UPPER"),
        helper.make_node("Transpose", ["b"], ["y"], perm=[0, 2, 3, 1]),
    ]
    return made(nodes, [constant("w", weights(3, 5, 2, 2))], [1, 5, 5, 3], 13)


def keras_output_shape() -> onnx.ModelProto:
    """Return what tf2onnx makes of Conv2DTranspose: output_shape, and a filter behind a Transpose."""
    nodes = [
        helper.make_node("Transpose", ["kernel"], ["w"], perm=[3, 2, 0, 1]),
        up("x", "w", "y", strides=[2, 2], output_shape=[10, 10], auto_pad="SAME_UPPER"),
    ]
    return made(nodes, [constant("kernel", weights(3, 3, 4, 6))], [1, 6, 5, 5], 11)


def quantised(*, per_channel: bool, largest: int = 127) -> onnx.ModelProto:
    """Return a model between QuantizeLinear and DequantizeLinear, its filter in int8.

    Args:
        per_channel: whether its filter has a scale for each output channel.
        largest: the largest quantum of its first output channel.
    """
    w = np.random.default_rng(_RANDOM).integers(-127, 128, (6, 4, 4, 4)).astype(np.int8)
    w[:, 0] = np.clip(w[:, 0], -largest, largest)
    scale = (np.abs(weights(4)) / 20 + 0.01).astype(np.float32) if per_channel else np.float32(0.02)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xf"]),
        helper.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["w"], **({"axis": 1} if per_channel else {})),
        up("xf", "w", "a", "b", strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "ys", "yz"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"]),
    ]
    constants = [
        constant("wq", w),
        constant("ws", scale),
        constant("wz", np.zeros(np.shape(scale), np.int8)),
        constant("b", weights(4, 3)[:, 0]),
        *(constant(name, np.float32(value)) for name, value in (("xs", 0.05), ("ys", 0.1))),
        *(constant(name, np.array(0, np.uint8 if per_channel else np.int8)) for name in ("xz", "yz")),
    ]
    return made(nodes, constants, [1, 6, 8, 8], 17)


def shared_filter() -> onnx.ModelProto:
    """Return two nodes with one filter, behind an Identity, as weight tying is exported."""
    nodes = [
        helper.make_node("Identity", ["w"], ["tied"]),
        up("x", "w", "a", strides=[2], pads=[1, 1]),
        up("a", "tied", "y", strides=[1], dilations=[2]),
    ]
    return made(nodes, [constant("w", weights(4, 4, 5))], ["N", 4, "time"], 16)


def in_branch() -> onnx.ModelProto:
    """Return a node in each branch of an If, whose filter belongs to the graph outside."""
    branches = {
        name: helper.make_graph(
            [up("x", "w", f"of_{name}", strides=[s, s])],
            name,
            [],
            [helper.make_tensor_value_info(f"of_{name}", FLOAT, None)],
        )
        for name, s in (("then_branch", 2), ("else_branch", 3))
    }
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["y"], **branches),
    ]
    return made(nodes, [constant("w", weights(3, 2, 3, 3)), constant("zero", np.float32(0))], [1, 3, 6, 7], 17)


def in_function() -> onnx.ModelProto:
    """Return a node inside of a function that is called twice, as torch's newer exporter has modules."""
    body = [up("data", "filter", "result", strides=[2, 2], pads=[0, 1, 1, 0])]
    function = helper.make_function("own", "Up", ["data", "filter"], ["result"], body, [helper.make_opsetid("", 18)])
    nodes = [
        helper.make_node("Up", ["x", "w0"], ["a"], domain="own"),
        helper.make_node("Up", ["a", "w1"], ["y"], domain="own"),
    ]
    constants = [constant("w0", weights(3, 6, 2, 3)), constant("w1", weights(6, 1, 3, 2))]
    return made(nodes, constants, [2, 3, 5, 6], 18, functions=[function])


def vocoder() -> onnx.ModelProto:
    """Return the end of a vocoder: one axis, long kernels, groups."""
    nodes = [
        up("x", "w0", "a", "b0", strides=[8], pads=[4, 4]),
        helper.make_node("LeakyRelu", ["a"], ["c"], alpha=0.1),
        up("c", "w1", "y", strides=[2], group=4, pads=[1, 1]),
    ]
    constants = [constant("w0", weights(16, 8, 16)), constant("b0", weights(8)), constant("w1", weights(8, 1, 4))]
    return made(nodes, constants, [1, 16, "frames"], 9)


def volume() -> onnx.ModelProto:
    """Return a segmentation of volumes with a half-precision filter behind a Cast."""
    nodes = [
        helper.make_node("Cast", ["half"], ["w"], to=FLOAT),
        up("x", "w", "y", strides=[2, 2, 2], kernel_shape=[2, 2, 2]),
    ]
    return made(nodes, [constant("half", weights(4, 3, 2, 2, 2, dtype=np.float16))], [1, 4, 3, 4, 5], 22)


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "decoder": decoder,
    "paddle": paddle,
    "keras-same": keras_same,
    "keras-output-shape": keras_output_shape,
    "quantised": lambda: quantised(per_channel=False),
    "quantised-channels": lambda: quantised(per_channel=True),
    "shared": shared_filter,
    "branch": in_branch,
    "function": in_function,
    "vocoder": vocoder,
    "volume": volume,
}
"""The models by name."""


def write(name: str, folder: Path) -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(MODELS[name](), path)
    return path
