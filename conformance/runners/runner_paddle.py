"""Paddle behind the runner protocol, geometry/1: `paddle.nn.functional.conv1d_transpose` to `conv3d_transpose`.

They take pads on each side, and bias.
"""

import sys

import numpy
import paddle
from paddle.nn import functional
from runner_protocol import Geometry, Refused, Unsupported, serve


def answer(run, arrays):
    """Ask one of the three functions."""
    call = Geometry(run, arrays)
    if call.dtype not in ("f32", "f64"):
        raise Unsupported("the adapter passes f32 and f64")
    if call.rank not in (1, 2, 3):
        raise Unsupported("Paddle has conv1d_transpose, conv2d_transpose and conv3d_transpose")
    function = (functional.conv1d_transpose, functional.conv2d_transpose, functional.conv3d_transpose)[call.rank - 1]
    if not call.whole:
        # It takes a short list for other axes' too, and its checks are of the numbers alone.
        raise Unsupported("a list has an entry for each axis")
    if any(more >= max(s, d) for more, s, d in zip(call.more, call.strides, call.dilations)):
        raise Unsupported("output_padding is below stride or dilation")
    if min(call.begin + call.end + call.more) < 0:
        raise Unsupported("pads and output_padding are not negative")
    if call.begin == call.end:
        pads = call.begin
    else:
        pads = [pad for pair in zip(call.begin, call.end) for pad in pair]
    bias = None if call.b is None else paddle.to_tensor(call.b)
    try:
        y = function(
            paddle.to_tensor(call.x),
            paddle.to_tensor(call.w),
            bias,
            stride=call.strides,
            padding=pads,
            output_padding=call.more,
            groups=call.groups,
            dilation=call.dilations,
        )
        return call.output(y.numpy())
    except NotImplementedError as error:
        raise Unsupported(_first(error))
    except (ValueError, RuntimeError, TypeError, OSError, IndexError, AssertionError) as error:
        raise Refused(_first(error))


def _first(error):
    """Return what an error says, without its traces of calls."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "Error:" in line or "Hint" in line), lines[-1] if lines else "")


if __name__ == "__main__":
    serve("paddle", paddle.__version__, sys.argv[1], answer)
