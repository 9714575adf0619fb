"""A runner for the exec: backend: any onnxruntime since 2019, from Python 3.6 on."""

import json
import sys

import numpy
import onnxruntime


def reply_to(run):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(run["model"], options, providers=["CPUExecutionProvider"])
        feeds = {node.name: numpy.load(path) for node, path in zip(session.get_inputs(), run["inputs"])}
        numpy.save(run["output"], session.run(None, feeds)[0])
    except Exception as error:  # every refusal of onnxruntime is an exception; its class gives the kind
        kind = "unsupported" if type(error).__name__ == "NotImplemented" else "refused"
        return {kind: str(error)}
    return {"ok": True}


for line in sys.stdin:
    message = json.loads(line)
    if "hello" in message:
        reply = {"name": "onnxruntime", "version": onnxruntime.__version__, "dialect": "onnx/ConvTranspose-11"}
    else:
        reply = dict(reply_to(message["run"]), id=message["run"]["id"])
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
