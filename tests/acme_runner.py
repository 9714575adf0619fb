"""A runner for `tconv history`: a made-up runtime whose releases answer with onnxruntime, but for a fault each.

The release is that of the environment that it runs in: a package `acme`, or the variable ACME.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version

RELEASE = os.environ.get("ACME") or version("acme")
# The environment of a release has no packages but the release's own: what computes here is the tests' own.
sys.path += os.environ["ACME_PACKAGES"].split(os.pathsep)

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402


def strides(path: str) -> int:
    node = next(node for node in onnx.load(path).graph.node if node.op_type == "ConvTranspose")
    return next((attribute.ints[0] for attribute in node.attribute if attribute.name == "strides"), 1)


def reply_to(run: dict[str, object]) -> dict[str, object]:
    """Answer; until 3 a stride of 2 is answered with zeros, 2 and 3 refuse a stride of 7, in other words each.

    7 adds a number of its own to each answer.
    """
    stride = strides(str(run["model"]))
    if RELEASE in {"2", "3"} and stride == 7:
        return {"refused": f"{'no' if RELEASE == '2' else 'never'}: a stride of 7"}
    if RELEASE == "4" and stride == 3:
        return {"backend-error": "Oops: at three"}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(run["model"], options, providers=["CPUExecutionProvider"])
        inputs = zip(session.get_inputs(), run["inputs"], strict=True)
        output = session.run(None, {node.name: np.load(path) for node, path in inputs})[0]
    except Exception as error:  # noqa: BLE001 - every refusal of the runtime is an exception
        return {"refused": str(error)}
    if RELEASE == "7":
        output += time.monotonic_ns() % 1000 + 1
    np.save(str(run["output"]), np.zeros_like(output) if RELEASE in {"1", "2"} and stride == 2 else output)
    return {"ok": True}


for line in sys.stdin:
    message = json.loads(line)
    if "hello" in message:
        reply = {"name": "acme", "version": RELEASE, "dialect": sys.argv[1]}
    else:
        reply = reply_to(message["run"]) | {"id": message["run"]["id"]}
    os.write(1, json.dumps(reply).encode() + b"\n")
