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

import runner  # noqa: E402


def reply_to(run: dict[str, object]) -> dict[str, object]:
    """Answer; until 3 a stride of 2 is answered with zeros, 2 and 3 refuse a stride of 7, in other words each.

    7 adds a number of its own to each answer.
    """
    stride, answer = runner.stride(run), {"id": run["id"]}
    if RELEASE in {"2", "3"} and stride == 7:
        return answer | {"refused": f"{'no' if RELEASE == '2' else 'never'}: a stride of 7"}
    if RELEASE == "4" and stride == 3:
        return answer | {"backend-error": "Oops: at three"}
    reply, path = runner.reply_to(run), str(run["output"])
    if "ok" in reply and RELEASE == "7":
        np.save(path, np.load(path) + (time.monotonic_ns() % 1000 + 1))
    if "ok" in reply and RELEASE in {"1", "2"} and stride == 2:
        np.save(path, np.zeros_like(np.load(path)))
    return reply


for line in sys.stdin:
    message = json.loads(line)
    hello = {"name": "acme", "version": RELEASE, "dialect": sys.argv[1]}
    os.write(1, json.dumps(hello if "hello" in message else reply_to(message["run"])).encode() + b"\n")
