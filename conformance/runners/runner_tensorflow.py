"""TensorFlow behind the runner protocol, geometry/1: `tf.nn.conv1d_transpose` to `conv3d_transpose` on the processor.

They have NXC data and a filter in XOI, no output_padding and no groups. Their padding is VALID, SAME or, of two axes, a list
of pads on each side. What they cannot say is `unsupported`: the adapter asks for VALID, or for the list of pads.
"""

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy
import tensorflow as tf
from runner_protocol import Geometry, Refused, Unsupported, serve

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def answer(run, arrays):
    """Ask one of the three functions."""
    call = Geometry(run, arrays)
    if call.dtype not in ("f32", "f64", "f16"):
        raise Unsupported("numpy has no bfloat16 that the adapter passes")
    if call.rank not in (1, 2, 3):
        raise Unsupported("TensorFlow has conv1d_transpose, conv2d_transpose and conv3d_transpose")
    if not call.whole or call.w.ndim != call.x.ndim:
        raise Unsupported("a list has an entry for each axis, and a filter has the axes of its data")
    if call.groups != 1:
        raise Unsupported("no groups")
    padded = any(call.begin + call.end)
    if padded and call.rank != 2:
        raise Unsupported("pads are a list of two axes alone")
    if min(call.begin + call.end) < 0:
        raise Unsupported("a pad is not negative")
    if any(more and not 0 <= more < stride for more, stride in zip(call.more, call.strides)):
        # The forward convolution over the output must give the size of the data.
        raise Unsupported("output_padding is not negative and below stride")
    # The caller names the size of the output, and output_padding by it.
    sizes = [
        (size - 1) * s + (k - 1) * d + 1 + more - begin - end
        for size, k, s, d, begin, end, more in zip(
            call.x.shape[2:], call.w.shape[2:], call.strides, call.dilations, call.begin, call.end, call.more
        )
    ]
    function = (tf.nn.conv1d_transpose, tf.nn.conv2d_transpose, tf.nn.conv3d_transpose)[call.rank - 1]
    padding = [[0, 0], *map(list, zip(call.begin, call.end)), [0, 0]] if padded else "VALID"
    try:
        y = function(
            numpy.moveaxis(call.x, 1, -1),
            numpy.moveaxis(call.w, (0, 1), (-1, -2)),
            [call.x.shape[0], *sizes, call.w.shape[1]],
            call.strides,
            padding,
            dilations=call.dilations,
        )
        if call.b is not None:
            y = tf.nn.bias_add(y, call.b)
    except tf.errors.UnimplementedError as error:
        raise Unsupported(_first(error))
    except (tf.errors.OpError, ValueError, TypeError, OverflowError) as error:
        message = _first(error)
        known = ("yet support dilation", "dilation rates other than 1", "not supported", "only supports")
        raise (Unsupported if any(words in message for words in known) else Refused)(message)
    return call.output(numpy.ascontiguousarray(numpy.moveaxis(y.numpy(), -1, 1)))


def _first(error):
    """Return what an error says, without the names of functions that stand before or behind it."""
    return re.sub(r"\{\{.*?\}\}|\[Op:.*", "", str(error).strip().partition("\n")[0]).strip() or type(error).__name__


if __name__ == "__main__":
    serve("tensorflow", tf.__version__, sys.argv[1], answer)
