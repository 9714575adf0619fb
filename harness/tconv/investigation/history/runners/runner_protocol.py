"""The runner protocol, version 1, for a runner in the Python of an old release: 3.6 and later, numpy and nothing else."""

import json
import os
import sys

import numpy


class Unsupported(Exception):
    """The runtime says that it does not implement the call."""


class Refused(Exception):
    """The runtime says that the call is invalid."""


def one_line(error):
    """Return an exception's message in one line, cut at 500 characters."""
    return " ".join(str(error).split())[:500]


def serve(name, version, dialect, answer):
    """Answer requests until the input ends.

    `answer` takes the bytes of a model and a list of arrays, and returns an array. `Unsupported` and `Refused` are the
    runtime's words; any other exception is a failure of its own kind, as it is in a backend of the harness.
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
    with open(run["model"], "rb") as file:
        model = file.read()
    inputs = [numpy.load(path) for path in run["inputs"]]
    try:
        output = answer(model, inputs)
    except Unsupported as error:
        return {"unsupported": str(error)}
    except Refused as error:
        return {"refused": str(error)}
    except Exception as error:
        return {"broke": "{}: {}".format(type(error).__name__, str(error).strip().partition("\n")[0])}
    numpy.save(run["output"], output)
    return {"ok": True}
