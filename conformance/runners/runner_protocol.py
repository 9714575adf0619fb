"""The runner protocol, version 1, for a runner in any Python from 3.6 on, with numpy and nothing else."""

import json
import os
import sys

import numpy


class Unsupported(Exception):
    """The runtime says that it does not implement the call."""


class Refused(Exception):
    """The runtime says that the call is invalid."""


class BackendError(Exception):
    """The runtime fails in these words, which are no verdict on the call."""


def one_line(error):
    """Return an exception's message in one line."""
    return " ".join(str(error).split())


class Geometry:
    """A call of geometry/1 that has static sizes: its arrays in NCX and IOX, and a list for each attribute.

    `strides`, `dilations`, `begin`, `end` and `more` (output_padding) have the entries that the call has, or one for each
    axis. A list of another length is passed on: the runtime has to refuse it.
    """

    def __init__(self, run, arrays):
        if run["shapes"] != "static":
            raise Unsupported("arrays have sizes, and no symbols")
        self.run, self.dtype, self.groups = run, run["dtype"], run["groups"]
        self.x, self.w, self.b = arrays["data"], arrays["filter"], arrays.get("bias")
        self.rank = self.x.ndim - 2
        if run["data_format"] != "NCX":
            self.x = _canonical(self.x, run["data_format"], self.rank)
        if run["filter_format"] != "IOX":
            self.w = _canonical(self.w, run["filter_format"], self.rank)
        attributes = run["attributes"]
        self.strides, self.dilations = (list(attributes.get(key, [1] * self.rank)) for key in ("strides", "dilations"))
        self.begin, self.end, self.more = (
            list(attributes.get(key, [0] * self.rank)) for key in ("pads_begin", "pads_end", "output_padding")
        )
        lists = (self.strides, self.dilations, self.begin, self.end, self.more)
        self.whole = all(len(each) == self.rank for each in lists)

    def crop(self, y):
        """Return an NCX output that the runtime gave without pads, cropped and extended by what is asked for."""
        ends = [(begin, end - more) for begin, end, more in zip(self.begin, self.end, self.more)]
        y = numpy.pad(y, [(0, 0), (0, 0)] + [(max(-begin, 0), max(-end, 0)) for begin, end in ends])
        return y[
            (Ellipsis,)
            + tuple(slice(max(begin, 0), size - max(end, 0)) for (begin, end), size in zip(ends, y.shape[2:]))
        ]

    def output(self, y):
        """Return an NCX output in the layout of the call."""
        layout = self.run["data_format"]
        if layout == "NCX":
            return y
        axes = _axes(layout, y.ndim - 2)
        return numpy.ascontiguousarray(y.transpose(sorted(range(len(axes)), key=axes.__getitem__)))


def _axes(layout, rank):
    """Return the axes that transpose an array of a layout to NCX, IOX or GIOX."""
    axes, at = {}, 0
    for letter in layout:
        width = rank if letter == "X" else 1
        axes[letter] = list(range(at, at + width))
        at += width
    canonical = "NCX" if "N" in layout else "GIOX" if "G" in layout else "IOX"
    return [axis for letter in canonical for axis in axes[letter]]


def _canonical(array, layout, rank):
    array = array.transpose(_axes(layout, rank))
    if "G" in layout:
        array = array.reshape((array.shape[0] * array.shape[1],) + array.shape[2:])
    return numpy.ascontiguousarray(array)


def serve(name, version, dialect, answer):
    """Answer requests until the input ends.

    For ONNX dialects `answer` takes the bytes of a model and a list of arrays, for others the request and the arrays by
    name; it returns an array. `Unsupported` and `Refused` are the runtime's words; any other exception is a failure of
    its own kind, as it is in a backend of the harness.
    """
    # What a runtime prints must not come between the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        message = json.loads(line.decode("utf-8"))
        if "hello" in message:
            reply = {"name": name, "version": version, "dialect": dialect}
        else:
            reply = dict(_reply(message["run"], answer), id=message["run"]["id"])
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _reply(run, answer):
    if "model" in run:
        with open(run["model"], "rb") as file:
            asked = file.read()
        inputs = [numpy.load(path) for path in run["inputs"]]
    else:
        asked, inputs = run, {name: numpy.load(path) for name, path in run["inputs"].items()}
    try:
        output = answer(asked, inputs)
    except Unsupported as error:
        return {"unsupported": str(error)}
    except Refused as error:
        return {"refused": str(error)}
    except BackendError as error:
        return {"backend-error": str(error)}
    except Exception as error:
        return {"backend-error": "{}: {}".format(type(error).__name__, str(error).strip().partition("\n")[0])}
    numpy.save(run["output"], output)
    return {"ok": True}
