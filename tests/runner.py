"""A child process for `exec:` that speaks the runner protocol, and misbehaves on one case as its argument says.

Its replies come from onnxruntime; it misbehaves on the case with stride 7.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime


def reply_to(run: dict[str, object]) -> dict[str, object]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(run["model"], options, providers=["CPUExecutionProvider"])
        inputs = zip(session.get_inputs(), run["inputs"], strict=True)
        np.save(run["output"], session.run(None, {node.name: np.load(path) for node, path in inputs})[0])
    except Exception as error:  # noqa: BLE001 - every refusal of the runtime is an exception
        return {"id": run["id"], "refused": str(error)}
    return {"id": run["id"], "ok": True}


def misbehave(how: str, run: dict[str, object]) -> None:
    """Reply in a way that the protocol does not have, or not at all."""
    case_id = run["id"]
    if how == "stalls":
        time.sleep(60)
    if how == "exits":
        os.write(2, b"the runner gives up\n")
        os._exit(3)
    if how == "aborts":
        os.abort()
    text = {
        "other-id": json.dumps({"id": "another", "ok": True}) + "\n",
        "no-file": json.dumps({"id": case_id, "ok": True}) + "\n",
        "long-header": json.dumps({"id": case_id, "ok": True}) + "\n",
        "no-json": "all is well\n",
        "no-object": "[1]\n",
        "no-answer": json.dumps({"id": case_id, "maybe": True}) + "\n",
        "floods": "x" * (3 * 2**20),
        "twice": (json.dumps({"id": case_id, "refused": "no"}) + "\n") * 2,
        "half-a-line": '{"id": "case',
        "deep": "[" * 200_000 + "]" * 200_000 + "\n",
    }[how]
    if how == "pickle":
        np.save(str(run["output"]), np.array([{}], dtype=object), allow_pickle=True)
    if how == "long-header":
        with Path(str(run["output"])).open("wb") as file:
            file.write(b"\x93NUMPY\x02\x00" + (900 * 2**20).to_bytes(4, "little"))
            file.truncate(2**30)
    os.write(1, text.encode())
    if how == "half-a-line":
        os._exit(0)


def stride(run: dict[str, object]) -> int:
    node = next(n for n in onnx.load(str(run["model"])).graph.node if n.op_type == "ConvTranspose")
    return next((a.ints[0] for a in node.attribute if a.name == "strides"), 1)


def confirmation(how: str, options: dict[str, str] | None) -> dict[str, object]:
    """Return what a hello says of the options that it was asked for; a deaf runner ignores them."""
    if options is None or how == "deaf":
        return {}
    return {"refused": "threads must be a number"} if options.get("threads") == "many" else {"options": options}


def main() -> None:
    how, harmed = sys.argv[1], False
    for line in sys.stdin:
        message = json.loads(line)
        if harmed:
            os.abort()
        harmed = how == "harmed" and "run" in message and stride(message["run"]) == 7
        if "hello" in message:
            if how == "mute":
                return
            hello = {"name": "runner", "version": "1", "dialect": "onnx/ConvTranspose-22"}
            reply = {} if how == "rude" else hello | confirmation(how, message["hello"].get("options"))
        elif how not in {"right", "deaf", "harmed"} and stride(message["run"]) == 7:
            misbehave(how, message["run"])
            continue
        else:
            reply = reply_to(message["run"])
        os.write(1, json.dumps(reply).encode() + b"\n")


if __name__ == "__main__":
    main()
