"""ncnn behind the runner protocol, geometry/1: a net of one Deconvolution layer, of one to three axes.

Its data has no batch, so the samples are asked one by one. The layers' own output_padding and pads on each side are used.
Weights are written O, I, K in each group, as ncnn's converter does.
"""

import os
import sys
import tempfile

import ncnn
import numpy
from runner_protocol import BackendError, Geometry, Refused, Unsupported, serve

_LAYERS = {1: "Deconvolution1D", 2: "Deconvolution", 3: "Deconvolution3D"}
# The numbers of a layer's parameters for x, y and z; ncnn's text is docs/developer-guide/operators.md.
_KEYS = {
    "taps": (1, 11, 21),
    "dilations": (2, 12, 22),
    "strides": (3, 13, 23),
    "begin": (4, 14, 24),
    "end": (15, 16, 17),
    "more": (18, 19, 20),
}


def answer(run, arrays):
    """Write the net, load it, and ask it for each sample."""
    call = Geometry(run, arrays)
    if call.dtype != "f32":
        raise Unsupported("the adapter asks for f32 alone")
    if call.rank not in _LAYERS:
        raise Unsupported("ncnn has deconvolutions of one to three axes")
    if not call.whole or call.w.ndim != call.x.ndim or call.groups < 1:
        raise Unsupported("a net has one number for each axis, and no group of 0")
    if 0 in call.x.shape or 0 in call.w.shape or min(call.begin + call.end + call.more) < 0:
        raise Unsupported("a net has no size of 0 and no negative pad")
    if max(call.strides + call.dilations) >= 2**31:
        raise Unsupported("a net's numbers have 32 bits")
    outputs = call.w.shape[1] * call.groups
    if call.x.shape[1] != call.w.shape[0] or call.w.shape[0] % call.groups:
        raise Unsupported("a net has the channels of its data from its weights")
    if call.b is not None and call.b.shape != (outputs,):
        raise Unsupported("a net has as many numbers of the bias as outputs")
    parameters = {0: outputs, 5: int(call.b is not None), 6: call.w.size}
    lists = dict(vars(call), taps=call.w.shape[2:])
    for name, keys in _KEYS.items():
        parameters.update(zip(keys, list(lists[name])[::-1]))
    layer = _LAYERS[call.rank]
    if call.groups > 1:
        layer = layer.replace("Deconvolution", "DeconvolutionDepthWise")
        parameters[7] = call.groups
    w = call.w.reshape((call.groups, -1) + call.w.shape[1:]).swapaxes(1, 2)
    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    with tempfile.TemporaryDirectory() as folder:
        param, weights = os.path.join(folder, "net.param"), os.path.join(folder, "net.bin")
        with open(param, "w") as file:
            words = " ".join("{}={}".format(*pair) for pair in sorted(parameters.items()))
            file.write("7767517\n2 2\nInput x 0 1 x\n{} y 1 1 x y {}\n".format(layer, words))
        with open(weights, "wb") as file:
            # A number that says that weights in f32 follow; a bias has none.
            file.write(
                bytes(4) + w.astype("<f4").tobytes() + (b"" if call.b is None else call.b.astype("<f4").tobytes())
            )
        if net.load_param(param) or net.load_model(weights):
            raise Refused("the net cannot be loaded")
    samples = []
    for sample in call.x:
        with net.create_extractor() as extractor:
            extractor.input("x", ncnn.Mat(numpy.ascontiguousarray(sample)).clone())
            code, y = extractor.extract("y")
            if code == -100:
                raise Unsupported("a Mat without elements is an error, -100")
            if code:
                raise BackendError("extract must return 0 (got {})".format(code))
            samples.append(numpy.array(y))
    return call.output(numpy.stack(samples))


if __name__ == "__main__":
    serve("ncnn", ncnn.__version__, sys.argv[1], answer)
