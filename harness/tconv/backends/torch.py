"""PyTorch's conv_transpose1d, 2d and 3d; tests compare the reference with it, in float64.

A call in torch's own dialect is passed on as it is. For another dialect the geometry is resolved first. If torch's
padding, output_padding and bias can express it, they are used. If not, as for pads that differ from side to side, the
output is cropped and the bias is added here, and the answer is marked `cropped`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from tconv.backends import BackendInfo, Option
from tconv.backends.options import with_defaults
from tconv.backends.outcome import Produced, Refused, Unsupported
from tconv.backends.resolved_call import ALL_DIALECT_NAMES, geometry_for_arrays, own_padding
from tconv.backends.snippet import Snippet, name_of, w_in_iox, x_in_ncx, y_from_ncx
from tconv.cases.layouts import from_ncx, to_iox, to_ncx
from tconv.dialects.rules import QUESTIONS
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch

    from tconv.backends.outcome import Outcome
    from tconv.cases.call import Call
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array


_OWN = "torch/conv_transpose"
_MOST_AXES = 3

_SWITCH = ("off", "on")
_OF_CUDA = (
    Option("tf32", "whether cuDNN may round f32 operands to TF32, which is torch's default", "on", _SWITCH),
    Option("cudnn", "whether cuDNN is used", "on", _SWITCH),
    Option("cudnn_benchmark", "whether cuDNN measures which algorithm is the fastest", "off", _SWITCH),
    Option("cudnn_deterministic", "whether cuDNN takes deterministic algorithms alone", "off", _SWITCH),
)


def _options() -> tuple[Option, ...]:
    import torch

    cuda = tuple(f"cuda:{index}" for index in range(torch.cuda.device_count()))
    devices = ("cpu", *(("cuda",) if cuda else ()), *cuda, *(("mps",) if torch.backends.mps.is_available() else ()))
    return (
        Option("device", "where it computes", "cpu", devices),
        Option("threads", "threads of an operator on the CPU", "1", range(1, 1025)),
        Option("mkldnn", "whether oneDNN is used on the CPU", "on", _SWITCH),
        Option(
            "mkldnn_fp32_precision", "what oneDNN may round f32 operands to", "none", ("none", "ieee", "tf32", "bf16")
        ),
        *(_OF_CUDA if torch.cuda.is_available() else ()),
    )


class Torch:
    """torch, by default on the CPU, on one thread.

    Args:
        options: values of `OPTIONS`, by name; options of cuDNN exist if torch has a CUDA device.
    """

    DIALECTS = (_OWN, *(name for name in ALL_DIALECT_NAMES if name != _OWN))
    OPTIONS = staticmethod(_options)

    def __init__(self, **options: str) -> None:
        import torch

        chosen = with_defaults(self.OPTIONS(), options)
        self._torch, self._chosen, self._device = torch, chosen, torch.device(chosen["device"])
        torch.set_num_threads(int(chosen["threads"]))
        torch.backends.mkldnn.set_flags(_enabled=chosen["mkldnn"] == "on")
        torch.backends.mkldnn.conv.fp32_precision = chosen["mkldnn_fp32_precision"]
        if torch.cuda.is_available():
            torch.backends.cudnn.allow_tf32 = chosen["tf32"] == "on"
            torch.backends.cudnn.enabled = chosen["cudnn"] == "on"
            torch.backends.cudnn.benchmark = chosen["cudnn_benchmark"] == "on"
            torch.backends.cudnn.deterministic = chosen["cudnn_deterministic"] == "on"

    def info(self) -> BackendInfo:
        """Return torch's version and settings."""
        return BackendInfo(
            "torch",
            self._torch.__version__,
            self.DIALECTS,
            {
                **self._chosen,
                "cpu": self._torch.backends.cpu.get_cpu_capability(),
                "padding": "torch's own, and its output_padding and bias; an answer marked 'cropped' is without them",
            },
            QUESTIONS,
        )

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        """Run one call: unchanged in torch's own dialect, with a resolved geometry in others."""
        if call.dialect.name == _OWN and call.shapes == "static":
            return self._as_written(call, arrays)
        geometry = geometry_for_arrays(call)
        if isinstance(geometry, Refused | Unsupported):
            return geometry
        if not 1 <= call.rank <= _MOST_AXES:
            return Unsupported(f"torch has no conv_transpose for {call.rank} spatial axes")
        x = self._tensor(to_ncx(arrays["x"], call.data_format))
        w = self._tensor(to_iox(arrays["w"], call.filter_format))
        b = self._tensor(arrays["b"]) if "b" in arrays else None
        run = partial(self._operator(call.rank), x, w, stride=geometry.strides, dilation=geometry.dilations)
        added = own_padding(geometry)
        try:
            if added is not None:
                y = run(b, padding=geometry.pads_begin, output_padding=added, groups=geometry.groups)
                return Produced(from_ncx(self._array(y), call.data_format))
            y = self._cropped(run(None, groups=geometry.groups), geometry)
        except RuntimeError as error:
            return Refused(str(error).strip())
        y = y if b is None else y + b.reshape(-1, *(1,) * call.rank)
        return Produced(from_ncx(self._array(y), call.data_format), ("cropped",))

    @staticmethod
    def snippet(call: Call) -> Snippet | None:
        """Return the code that computes a call without tconv; None if it has no geometry, or declares no sizes."""
        geometry = geometry_for_arrays(call)
        if isinstance(geometry, Refused | Unsupported) or not 1 <= call.rank <= _MOST_AXES:
            return None
        bf16 = call.dtype is DType.BF16
        operands = {"x": x_in_ncx(call), "w": w_in_iox(call)} | ({"b": b} if (b := name_of(call, "b")) else {})
        lines = [f"{name} = {_tensor_of(array, bf16=bf16)}" for name, array in operands.items()]
        arguments = f"stride={geometry.strides}, dilation={geometry.dilations}, groups={geometry.groups}"
        function = f"torch.nn.functional.conv_transpose{call.rank}d"
        if (added := own_padding(geometry)) is not None:
            padding = f"padding={geometry.pads_begin}, output_padding={added}"
            lines.append(f"y = {function}(x, w, {'b' if b else None}, {padding}, {arguments})")
        else:
            zeros, window = _crop(geometry)
            lines.append(f"y = {function}(x, w, None, {arguments})")
            lines += [f"y = torch.nn.functional.pad(y, {zeros})"] if any(zeros) else []
            lines.append(f"y = y[:, :, {', '.join(f'{axis.start}:{axis.stop}' for axis in window)}]")
            lines += [f"y = y + b.reshape({[-1, *[1] * call.rank]})"] if b else []
        lines += y_from_ncx(call, "y = y.permute(AXES)")
        last = "view(torch.int16).numpy().view(ml_dtypes.bfloat16)" if bf16 else "numpy()"
        return Snippet(("torch",), (*lines, f"y = y.contiguous().{last}"), ("RuntimeError",), of_model=False)

    def _as_written(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:
        x, w = to_ncx(arrays["x"], call.data_format), to_iox(arrays["w"], call.filter_format)
        operands = [self._tensor(array) for array in (x, w, *([arrays["b"]] if "b" in arrays else []))]
        # For no or four spatial axes, the function for one or three is called.
        operator = self._operator(min(max(call.rank, 1), _MOST_AXES))
        try:
            return Produced(from_ncx(self._array(operator(*operands, **call.attributes)), call.data_format))
        except (RuntimeError, TypeError, ValueError) as error:
            return Refused(str(error).strip())

    def _array(self, tensor: torch.Tensor) -> Array:
        torch = self._torch
        tensor = tensor.cpu().contiguous()
        if tensor.dtype is torch.bfloat16:
            bits: Array = tensor.view(torch.int16).numpy()
            return bits.view(ml_dtypes.bfloat16)
        array: Array = tensor.numpy()
        return array

    def _cropped(self, unpadded: torch.Tensor, geometry: Geometry) -> torch.Tensor:
        """Add zeros for negative pads, then crop for positive ones.

        This order is needed: a pad at one end may be larger than the axis without the zeros at the other end.
        """
        zeros, window = _crop(geometry)
        enlarged = self._torch.nn.functional.pad(unpadded, zeros) if any(zeros) else unpadded
        return enlarged[(..., *window)]

    def _operator(self, rank: int) -> Callable[..., torch.Tensor]:
        operator: Callable[..., torch.Tensor] = getattr(self._torch.nn.functional, f"conv_transpose{rank}d")
        return operator

    def _tensor(self, array: Array) -> torch.Tensor:
        torch = self._torch
        # The order of the axes in memory is kept, as torch chooses kernels by it.
        copy = array.copy(order="K")
        if copy.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(copy.view(np.int16)).view(torch.bfloat16).to(self._device)
        return torch.from_numpy(copy).to(self._device)


def _tensor_of(array: str, *, bf16: bool) -> str:
    """Return the expression for the tensor of an expression for an array."""
    copied = f"np.array({array}, order='C')"
    return f"torch.from_numpy({copied}.view(np.int16)).view(torch.bfloat16)" if bf16 else f"torch.from_numpy({copied})"


def _crop(geometry: Geometry) -> tuple[list[int], list[slice]]:
    """Return the zeros to add, the last axis first as in torch's padding, and the window of each axis."""
    pads = list(zip(geometry.pads_begin, geometry.pads_end, strict=True))
    zeros = [max(-pad, 0) for ends in reversed(pads) for pad in ends]
    starts = [max(begin, 0) for begin in geometry.pads_begin]
    return zeros, [slice(start, start + size) for start, size in zip(starts, geometry.output, strict=True)]
