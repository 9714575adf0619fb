"""MLX behind the runner protocol: `mlx.core.conv_transpose1d` to `conv_transpose3d` on the processor, geometry/1.

MLX has NXC data and a filter in OXI, one padding for both sides and no bias. What it cannot say is `unsupported`.
"""

import sys

import mlx.core as mx
import numpy
from runner_protocol import Geometry, Refused, Unsupported, serve

mx.set_default_device(mx.cpu)


def answer(run, arrays):
    """Ask one of the three functions."""
    call = Geometry(run, arrays)
    if call.dtype not in ("f32", "f16"):
        raise Unsupported("the adapter passes f32 and f16")
    if call.rank not in (1, 2, 3):
        raise Unsupported("MLX has conv_transpose1d, 2d and 3d")
    if call.begin != call.end:
        raise Unsupported("one padding for both sides")
    x, w = numpy.moveaxis(call.x, 1, -1), call.w
    if w.ndim == call.rank + 2 and w.shape[0] % max(call.groups, 1) == 0 and call.groups > 0:
        # OXI with groups: the output channels of all groups, and the data's channels of one.
        w = w.reshape((call.groups, w.shape[0] // call.groups) + w.shape[1:])
        w = numpy.moveaxis(numpy.moveaxis(w, 2, 1), 2, -1)
        w = w.reshape((w.shape[0] * w.shape[1],) + w.shape[2:])
    function = (mx.conv_transpose1d, mx.conv_transpose2d, mx.conv_transpose3d)[call.rank - 1]
    lists = (call.strides, call.begin, call.dilations, call.more)
    arguments = [each[0] if call.rank == 1 and len(each) == 1 else tuple(each) for each in lists]
    try:
        y = function(
            mx.array(numpy.ascontiguousarray(x)), mx.array(numpy.ascontiguousarray(w)), *arguments, call.groups
        )
        if call.b is not None:
            y = y + mx.array(call.b)
        mx.eval(y)
    except (ValueError, TypeError, OverflowError) as error:
        # One type of exception for what is invalid, and for what is not implemented.
        raise (Unsupported if "Can only handle groups != 1" in str(error) else Refused)(str(error))
    return call.output(numpy.ascontiguousarray(numpy.moveaxis(numpy.array(y), -1, 1)))


if __name__ == "__main__":
    serve("mlx", mx.__version__, sys.argv[1], answer)
