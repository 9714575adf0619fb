"""Confirm what `tconv audit --json` says, with onnx, numpy and the runtimes alone: it imports nothing from tconv.

A node is run alone, with the model's own attributes, first on integers, then with the model's own filter. `safe` is
confirmed if the output is that of the pads and size printed for the text. A reading is confirmed if the output is
that of its pads and size, and a refusal if the runtime refuses. Any other unsafe answer is confirmed if the output is
not the text's. A statement about neighbours is confirmed by the whole model: its first output must be the same as
onnxruntime's without optimisations.

Run `tconv audit MODELS... --json > AUDIT`, then `python bench/confirming.py AUDIT`. The exit code is 1 if something
is not confirmed.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = re.compile(r"output (\[[-0-9, ]*\]), pads (\[[-0-9, ]*\])")
REFUSED = {"refused-valid", "crashed", "backend-error", "unsupported"}
PART = 2.0**-7
"""The outputs of whole models may differ by this part of the largest value; no text bounds the difference."""


def of_onnxruntime(model: onnx.ModelProto, feeds: dict[str, Any], *, plain: bool = False) -> Any:
    """Return the first output."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def of_openvino(model: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    """Return the first output."""
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(
        core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    return np.array(compiled(list(feeds.values()))[0])


def of_opencv(model: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    """Return the first output."""
    import cv2

    network = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, array in feeds.items():
        network.setInput(array, name)
    return np.array(network.forward(model.graph.output[0].name))


def of_tract(model: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    """Return the first output."""
    import tract

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model.SerializeToString())
        loaded = tract.onnx().load(path)
        for index, array in enumerate(feeds.values()):
            loaded.set_input_fact(index, ",".join((*map(str, array.shape), "f32")))
        return np.array(loaded.into_model().into_runnable().run(list(feeds.values()))[0].to_numpy())


RUNTIMES = {"onnxruntime": of_onnxruntime, "openvino-onnx": of_openvino, "opencv": of_opencv, "tract": of_tract}


def nodes_of(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Yield the transposed convolutions, including those in branches."""
    for node in graph.node:
        if node.op_type == "ConvTranspose":
            yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def filter_of(model: onnx.ModelProto, name: str) -> Any:
    """Return the value of a filter that is computed from constants."""
    made = {output: node for node in model.graph.node for output in node.output}
    kept, wanted = [], [name]
    while wanted:
        node = made.get(wanted.pop())
        if node is not None and node not in kept:
            kept.append(node)
            wanted += node.input
    ordered = [node for node in model.graph.node if node in kept]
    graph = helper.make_graph(ordered, "w", [], [onnx.ValueInfoProto(name=name)], model.graph.initializer)
    if not ordered:
        return next(numpy_helper.to_array(t) for t in model.graph.initializer if t.name == name)
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])).run(None, {})[0]


def summed(x: Any, w: Any, node: onnx.NodeProto, output: list[int], begins: list[int]) -> Any:
    """Return the output by its definition: each product is added to its output element."""
    of = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    rank, groups = x.ndim - 2, of.get("group", 1)
    strides, dilations = (of.get(name) or [1] * rank for name in ("strides", "dilations"))
    reach = [
        (n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(x.shape[2:], strides, w.shape[2:], dilations, strict=True)
    ]
    full = np.zeros((x.shape[0], w.shape[1] * groups, *reach))
    for taps in product(*map(range, w.shape[2:])):
        places = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(taps, dilations, x.shape[2:], strides, strict=True)
        )
        parts = [np.einsum("nc...,co->no...", data, of_tap) for data, of_tap in
                 zip(np.split(x, groups, 1), np.split(w[(..., *taps)], groups, 0), strict=True)]  # fmt: skip
        full[:, :, *places] += np.concatenate(parts, 1)
    y = np.zeros((*full.shape[:2], *output))
    ends = [min(f, b + o) for f, b, o in zip(reach, begins, output, strict=True)]
    inside = full[:, :, *(slice(max(b, 0), max(e, 0)) for b, e in zip(begins, ends, strict=True))]
    y[:, :, *(slice(max(-b, 0), max(-b, 0) + n) for b, n in zip(begins, inside.shape[2:], strict=True))] = inside
    return y


def alone(model: onnx.ModelProto, node: onnx.NodeProto, w: Any, x: Any) -> onnx.ModelProto:
    """Return a model of one node without its bias."""
    one = helper.make_node("ConvTranspose", ["x", "w"], ["y"])
    one.attribute.extend(node.attribute)
    value = helper.make_tensor_value_info
    is_open = any(not dim.dim_value for of in model.graph.input for dim in of.type.tensor_type.shape.dim)
    sizes = [f"size{axis}" for axis in range(x.ndim)] if is_open else x.shape
    graph = helper.make_graph(
        [one], "alone", [value("x", 1, sizes)], [value("y", 1, [None] * x.ndim)], [numpy_helper.from_array(w, "w")]
    )
    own = [entry for entry in model.opset_import if entry.domain in {"", "ai.onnx"}]
    return helper.make_model(graph, opset_imports=own, ir_version=8)


def tried(runtime: str, model: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    """Return the output, or the error. Do not pass a model that crashes the runtime: it would end this process."""
    try:
        return RUNTIMES[runtime](model, feeds)
    except Exception as error:
        return error


def judged(model: onnx.ModelProto, entry: dict[str, Any], finding: dict[str, Any], random: np.random.Generator) -> bool:
    """Return whether a statement about a node alone is confirmed."""
    names = [node for node in nodes_of(model.graph) if (node.name or node.output[0]) == entry["node"]]
    node = names[0]
    w = np.asarray(filter_of(model, node.input[1]), np.float32)
    if finding["by"] == "integers":
        w = random.integers(-8, 9, w.shape).astype(np.float32)
    says = next(
        of["data"] for of in entry["findings"] if of["kind"] == "valid" and of["data"].startswith(finding["data"])
    )
    stated = finding["says"] if finding["kind"] == "reading" else says
    output, pads = (json.loads(text) for text in SIZES.findall(stated)[0])
    x = random.integers(-8, 9, json.loads(finding["data"])).astype(np.float32)
    got = tried(finding["runtime"].partition(" ")[0], alone(model, node, w, x), {"x": x})
    if isinstance(got, Exception):
        return finding["kind"] in REFUSED
    wanted = summed(x.astype(np.float64), w.astype(np.float64), node, output, pads[: len(output)])
    most = summed(np.abs(x.astype(np.float64)), np.abs(w.astype(np.float64)), node, output, pads[: len(output)])
    bound = 0.0 if finding["by"] == "integers" else 2.0**-16 * most
    same = got.shape == wanted.shape and bool((np.abs(got - wanted) <= bound).all())
    return same if finding["answer"] == "safe" or finding["kind"] == "reading" else not same


def whole(model: onnx.ModelProto, sizes: dict[str, int], runtime: str, random: np.random.Generator) -> bool:
    """Return whether a whole model has the same output on a runtime as on onnxruntime without optimisations."""
    fed = onnx.ModelProto()
    fed.CopyFrom(model)
    constants = {tensor.name for tensor in fed.graph.initializer}
    feeds = {}
    for value in fed.graph.input:
        if value.name not in constants:
            for dim in value.type.tensor_type.shape.dim:
                dim.dim_value = dim.dim_value or sizes.get(dim.dim_param, 1)
            feeds[value.name] = random.standard_normal(
                [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            ).astype(np.float32)
    del fed.graph.output[1:]
    del fed.graph.value_info[:]
    for dim in fed.graph.output[0].type.tensor_type.shape.dim:
        dim.Clear()
    wanted, got = of_onnxruntime(fed, feeds, plain=True), tried(runtime, fed, feeds)
    steps = [float(numpy_helper.to_array(t).max()) for t in fed.graph.initializer
             if any(n.op_type == "QuantizeLinear" and n.input[1] == t.name for n in fed.graph.node)]  # fmt: skip
    if isinstance(got, Exception) or got.shape != wanted.shape:
        return False
    return bool(np.abs(got - wanted).max() <= max(PART * np.abs(wanted).max(), 1e-6, 2 * max(steps, default=0.0)))


def main(path: Path) -> int:
    """Print the number of confirmed statements, and the statements that are not confirmed."""
    random, counts, failed = np.random.default_rng(49), Counter[str](), 0
    for entry in json.loads(path.read_text(encoding="utf-8"))["models"]:
        model = onnx.load(entry["model"])
        name, compared = Path(entry["model"]).name, set()
        for node in entry["nodes"]:
            for finding in node["findings"]:
                runtime = finding["runtime"].partition(" ")[0]
                if not finding["answer"] or runtime not in RUNTIMES or finding["by"] == "known":
                    continue
                if finding["by"] == "neighbourhood":
                    alone_safe = all(
                        of["answer"] == "safe"
                        for each in entry["nodes"]
                        for of in each["findings"]
                        if of["runtime"] == finding["runtime"] and of["answer"] and of["by"] != "known"
                    )
                    if runtime in compared or not alone_safe:
                        continue
                    compared.add(runtime)
                    right = whole(model, node["sizes"], runtime, random) == (finding["answer"] == "safe")
                elif finding["kind"] == "crashed":
                    counts["not asked, as it ends the process"] += 1
                    continue
                else:
                    right = judged(model, node, finding, random)
                how = "the whole model" if finding["by"] == "neighbourhood" else finding["by"]
                what = f"{runtime}: {finding['answer']}, by {how}"
                counts[f"{what}: {'confirmed' if right else 'NOT confirmed'}"] += 1
                if not right:
                    failed += 1
                    print(f"not confirmed: {name} {node['node']}: {finding}")
    for what, count in sorted(counts.items()):
        print(f"{count:4} {what}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
