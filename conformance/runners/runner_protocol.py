"""The runner protocol, version 1, for a runner in the Python of an old release: 3.6 and later, numpy and nothing else."""

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
