"""Make models with transposed convolutions by exporters: torch's two, tf2onnx, paddle2onnx, onnxruntime's quantiser.

The models are not committed, and CI does not run this: it needs gigabytes. Run it in three environments: one with
torch, onnxscript and onnxruntime, one with tensorflow-cpu and tf2onnx, one with paddlepaddle and paddle2onnx. Exporters
that are not installed are left out. `bench/confirming.py` confirms what `tconv audit` says about the models, with the
runtimes alone.

    python bench/exporters.py FOLDER
"""

from __future__ import annotations

import argparse
import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

SEED = 49


def of_torch(folder: Path) -> None:
    """Write the models of torch's exporters, and two of them quantised by onnxruntime."""
    import torch
    from torch import nn

    torch.manual_seed(SEED)

    class UNet(nn.Module):
        """The end of a U-Net: bias, BatchNormalization, ReLU, Concat."""

        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Conv2d(3, 8, 3, 2, 1)
            self.up = nn.Sequential(nn.ConvTranspose2d(8, 6, 4, 2, 1), nn.BatchNorm2d(6), nn.ReLU())
            self.last = nn.ConvTranspose2d(9, 2, 3, 2, 1, output_padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.last(torch.cat([self.up(torch.relu(self.down(x))), x], 1)))

    class Vocoder(nn.Module):
        """The end of a vocoder: one axis, long kernels, and a depthwise kernel."""

        def __init__(self) -> None:
            super().__init__()
            self.one = nn.ConvTranspose1d(16, 8, 16, 8, 4)
            self.two = nn.ConvTranspose1d(8, 8, 4, 2, 1, groups=8)
            self.end = nn.Conv1d(8, 1, 7, padding=3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            leaky = nn.functional.leaky_relu
            return torch.tanh(self.end(leaky(self.two(leaky(self.one(x), 0.1)), 0.1)))

    class Volume(nn.Module):
        """A segmentation of volumes with a dilated filter."""

        def __init__(self) -> None:
            super().__init__()
            self.up = nn.ConvTranspose3d(4, 3, 2, 2)
            self.holes = nn.ConvTranspose3d(3, 2, (3, 1, 2), 1, (2, 0, 1), dilation=2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.holes(torch.relu(self.up(x)))

    class Tied(nn.Module):
        """One filter that two operators use."""

        def __init__(self) -> None:
            super().__init__()
            self.up = nn.ConvTranspose2d(4, 4, 4, 2, 1, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.up(torch.relu(self.up(x)))

    class Branch(nn.Module):
        """Another node in each branch of an If."""

        def __init__(self) -> None:
            super().__init__()
            self.two = nn.ConvTranspose2d(3, 2, 3, 2, 1, output_padding=1)
            self.four = nn.ConvTranspose2d(3, 2, 4, 2, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.sum() > 0:
                return self.two(x)
            return self.four(x)

    square = {2: "height", 3: "width"}
    made = {
        "unet": (UNet(), (1, 3, 16, 16), {0: "batch", **square}),
        "vocoder": (Vocoder(), (1, 16, 10), {2: "frames"}),
        "volume": (Volume(), (1, 4, 3, 4, 5), {}),
        "tied": (Tied(), (1, 4, 6, 7), {}),
        "branch": (torch.jit.script(Branch()), (1, 3, 6, 7), {}),
    }
    for name, (module, shape, axes) in made.items():
        x, path = torch.randn(shape), folder / f"torch-{name}.onnx"
        dynamic = {"x": axes} if axes else None
        torch.onnx.export(
            module.eval(), (x,), path, dynamo=False, opset_version=17, input_names=["x"], output_names=["y"],
            dynamic_axes=dynamic,
        )  # fmt: skip
    if find_spec("onnxscript"):
        batch, height, width = (torch.export.Dim(n, min=2, max=64) for n in ("batch", "half_height", "half_width"))
        shapes = ({0: batch, 2: 2 * height, 3: 2 * width},)
        path = folder / "torch-unet-dynamo.onnx"
        torch.onnx.export(
            UNet().eval(), (torch.randn(4, 3, 16, 16),), path, dynamo=True, dynamic_shapes=shapes, external_data=True
        )
    quantise(folder)


def quantise(folder: Path) -> None:
    """Write a model twice in int8, with onnxruntime's quantiser: one scale for a filter, and one for each channel."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        """Three random batches."""

        def __init__(self) -> None:
            random = np.random.default_rng(SEED)
            self._batches = iter([{"x": random.standard_normal((1, 4, 6, 7)).astype(np.float32)} for _ in range(3)])

        def get_next(self) -> dict[str, object] | None:
            """Return the next batch."""
            return next(self._batches, None)

    for name, per_channel in (("tensor", False), ("channel", True)):
        quantize_static(
            folder / "torch-tied.onnx", folder / f"quantised-{name}.onnx", Reader(), quant_format=QuantFormat.QDQ,
            per_channel=per_channel, activation_type=QuantType.QInt8 if per_channel else QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )  # fmt: skip


def of_tensorflow(folder: Path) -> None:
    """Write tf2onnx models of Keras layers: SAME with a stride above the kernel, VALID, and a given output size."""
    import tensorflow as tf
    import tf2onnx

    tf.random.set_seed(SEED)
    layers = tf.keras.layers
    same = tf.keras.Sequential(
        [tf.keras.Input((5, 5, 3), 1), layers.Conv2DTranspose(5, 2, 4, padding="same"), layers.ReLU()]
    )
    decoder = tf.keras.Sequential(
        [
            tf.keras.Input((5, 6, 6)),
            layers.Conv2DTranspose(4, 3, 2, padding="same", activation="relu"),
            layers.Conv2DTranspose(2, (2, 3), (2, 3), padding="valid"),
        ]
    )
    w = tf.Variable(tf.random.normal((3, 3, 4, 6)))

    def sized(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.conv2d_transpose(x, w, (1, 9, 10, 4), (2, 2), "SAME")

    for name, function, shape, opset in (
        ("keras-same", same, (1, 5, 5, 3), 17),
        ("keras-decoder", decoder, (None, 5, 6, 6), 17),
        ("sized", sized, (1, None, None, 6), 13),
    ):
        spec = [tf.TensorSpec(shape, tf.float32, name="x")]
        graph = tf.function(lambda x, function=function: function(x), input_signature=spec)
        tf2onnx.convert.from_function(graph, spec, opset=opset, output_path=str(folder / f"tf2onnx-{name}.onnx"))


def of_paddle(folder: Path) -> None:
    """Write paddle2onnx models: SAME with a stride above the kernel, and an output_size, which the exporter loses."""
    import paddle
    import paddle2onnx
    from paddle import nn

    class Same(nn.Layer):
        """SAME, then a symmetric padding."""

        def __init__(self) -> None:
            super().__init__()
            self.up = nn.Conv2DTranspose(3, 5, 2, stride=4, padding="SAME")
            self.last = nn.Conv2DTranspose(5, 2, 3, stride=2, padding=1)

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            return self.last(nn.functional.relu(self.up(x)))

    class Sized(nn.Layer):
        """An output of 12x12 for data of 5x5."""

        def __init__(self) -> None:
            super().__init__()
            self.up = nn.Conv2DTranspose(3, 5, 3, stride=2)

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            return self.up(x, output_size=[12, 12])

    for name, layer in (("same", Same()), ("sized", Sized())):
        layer.eval()
        spec = [paddle.static.InputSpec([1, 3, 5, 5], "float32", "x")]
        with TemporaryDirectory() as saved:
            path = f"{saved}/{name}"
            paddle.jit.save(paddle.jit.to_static(layer, input_spec=spec, full_graph=True), path)
            paddle2onnx.export(
                f"{path}.json", f"{path}.pdiparams", str(folder / f"paddle-{name}.onnx"), opset_version=13
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    into = parser.parse_args().folder
    into.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    if find_spec("torch"):
        of_torch(into)
    if find_spec("tf2onnx"):
        of_tensorflow(into)
    if find_spec("paddle2onnx"):
        of_paddle(into)
