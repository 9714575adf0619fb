"""Check that models of onnxruntime's quantiser are judged as right.

Layers of real numbers are quantised, in every 8-bit format that the quantiser has for the operator. They have all
geometries of the gate tier that a text can express. A case for tconv has the quantiser's quanta, scales and zero
points, and tconv judges onnxruntime's output for the quantiser's model. The output channels of a filter differ in their
range, as in trained filters, so their scales differ too.

Its QOperator format has no operator for a transposed convolution: the quantiser leaves it unchanged.

Run `python bench/quantiser.py [--count 1000000]`. The exit code is 1 if a model fails.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_static

from tconv.backends.onnx_model import build
from tconv.backends.outcome import Produced
from tconv.cases.case import Case
from tconv.cases.context import Context, Grid, Quantisation
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.vocabulary import Array

DIALECT = find_dialect("onnx/ConvTranspose-22")
INT8, UINT8 = QuantType.QInt8, QuantType.QUInt8
FORMATS = ((INT8, INT8), (UINT8, INT8), (UINT8, UINT8))
"""Types of data and filter. The quantiser refuses int8 data with a uint8 filter."""
FACTORS = (1.0, 0.5, 0.25)
"""Factors for the filters of successive output channels: no two neighbours have the same scale."""


def layers() -> Iterator[Case]:
    """Yield a layer of real numbers for each geometry of the gate tier that the dialect can express."""
    seen = set()
    for case in Corpus.load().cases("gate"):
        operands = {role: replace(of, data="normal", dtype=DType.F32) for role in "xwb" if (of := getattr(case, role))}
        attributes = replace(case.attributes, data_format=None, filter_format=None)
        layer = Case(case.id, attributes, **operands)
        values = Problem(layer, DIALECT).values
        if case.breaks is None and values is not None and not values.disputed and not values.refusals:
            geometry = values.primary.geometry
            key = geometry, case.x.shape, case.w.shape, case.b is not None
            if key not in seen and 0 not in (*case.x.shape, *case.w.shape, *geometry.output):
                seen.add(key)
                yield layer


def models(layer: Case) -> Iterator[tuple[Case, Produced]]:
    """Yield a case for every format that the quantiser has for a layer, and onnxruntime's outcome for its model.

    The case has the quantiser's values, and its id ends with the format.
    """
    problem = Problem(layer, DIALECT)
    x, w = problem.operands["x"], problem.operands["w"]
    largest = np.abs(w).max(axis=(0, *range(2, w.ndim)), keepdims=True)
    factors = np.resize(np.float32(FACTORS), w.shape[1]).reshape(largest.shape)
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        onnx.save(build(problem.call, {**problem.operands, "w": w / largest * factors}), source)
        for data, filters in FORMATS:
            for per_channel in (False, True):
                # The data for the quantiser's calibration, and then None.
                feed = SimpleNamespace(get_next=iter([{"X": x}, None]).__next__)
                try:
                    quantize_static(
                        source, target, feed,
                        activation_type=data, weight_type=filters, per_channel=per_channel,
                    )  # fmt: skip
                except ValueError:
                    # In a layer with groups, the quantiser divides the bias of all groups by the scales of one.
                    if per_channel and layer.b is not None and (layer.attributes.groups or 1) > 1:
                        continue
                    raise
                yield _model(layer, x, onnx.load(target))


def _model(layer: Case, x: Array, model: onnx.ModelProto) -> tuple[Case, Produced]:
    chosen = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    grids = {
        role.lower(): Grid(tuple(map(float, chosen[f"{role}_scale"].flat)), int(chosen[f"{role}_zero_point"].flat[0]))
        for role in "XWY"
    }
    zero_point, quanta = chosen["X_zero_point"], {"w": chosen["W_quantized"]}
    limits = np.iinfo(zero_point.dtype)
    quanta["x"] = np.clip(np.rint(x / chosen["X_scale"]) + zero_point, limits.min, limits.max)
    if layer.b is not None:
        quanta["b"] = chosen["B_quantized"]
    data, filters, is_per_channel = zero_point.dtype.name, quanta["w"].dtype.name, len(grids["w"].scale) > 1
    context = Context(
        data=data,
        filter="int8-per-channel" if filters == "int8" and is_per_channel else filters,
        bias="int32" if layer.b is not None else "operand",
        end=data,
    )
    operands = {
        role: replace(getattr(layer, role), data="values", values=tuple(map(float, array.flat)))
        for role, array in quanta.items()
    }
    name = f"{layer.id}/{data}-{filters}{'-per-channel' * bool(chosen['W_scale'].ndim)}"
    case = replace(layer, id=name, context=context, quantisation=Quantisation(**grids), **operands)
    return case, _run(model, x, chosen)


def _run(model: onnx.ModelProto, x: Array, chosen: Mapping[str, Array]) -> Produced:
    """Return the quanta of onnxruntime's output for a model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # onnxruntime warns about a wrong shape that it declares itself for an output with one spatial axis.
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    (real,) = session.run(None, {"X": x})
    zero_point = chosen["Y_zero_point"]
    return Produced((np.rint(real / chosen["Y_scale"]) + zero_point).astype(zero_point.dtype))


def main() -> int:
    """Quantise, run, judge, print; return 1 if a model fails."""
    parser = argparse.ArgumentParser(description="What onnxruntime's quantiser writes, judged.")
    parser.add_argument("--count", type=int, default=10**6, help="layers, evenly chosen")
    count = parser.parse_args().count
    logging.disable(logging.WARNING)
    every = [*layers()]
    cases = every[:: max(len(every) // count, 1)][:count]
    with Pool(Asking("onnxruntime")) as pool:
        alone = pool.records(cases)
    right = [case for case in cases if isinstance(alone[case.id].verdict, ver.Agreed)]
    print(f"{len(right):,} of {len(cases):,} layers are right in floating point", flush=True)
    done = Counter[str]()
    for case, outcome in (model for layer in right for model in models(layer)):
        verdict = judge(Problem(case, DIALECT), outcome, DType.F32)
        done[f"{case.id.rpartition('/')[2]} {verdict.kind}"] += 1
        if not isinstance(verdict, ver.Agreed):
            print(f"WRONG {case.id}: {verdict}", flush=True)
    print(*(f"{number:6,} {format_}" for format_, number in sorted(done.items())), sep="\n")
    return int(not all(kind.endswith(" agreed") for kind in done))


if __name__ == "__main__":
    sys.exit(main())
