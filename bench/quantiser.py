"""Whether onnxruntime executes what its own quantiser writes as the text says, and what is said of scales on axis 0.

Layers of real numbers with the geometries of the gate tier are quantised by `onnxruntime.quantization`, in every format
of 8 bits that it has for the operator. tconv gets a case with the quanta, scales and zero points that the quantiser
chose, and judges what onnxruntime gives for the model. Then the scales of filters per channel are moved to axis 0, as
converters do by mistake: that must be red, and explained in one line.

The format QOperator has no quantised operator: the quantiser leaves it as it is, which is checked.

Run `python bench/quantiser.py [--count 1000000]`. The exit code is 1 if a right model fails, or a moved one is unnamed.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from explaining import Played, described
from tconv.backends.onnx_model import build
from tconv.backends.outcome import Produced
from tconv.cases.context import Context, Grid, Quantisation
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.evidence import Calls, Misreads, answer_of, explain
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.cases.case import Case
    from tconv.records.record import Record
    from tconv.vocabulary import Array

DIALECT = find_dialect("onnx/ConvTranspose-22")
NAME = "scales-along-axis-0"
LARGEST = 2**13
INT8, UINT8 = (QuantType.QInt8, "int8"), (QuantType.QUInt8, "uint8")
FORMATS = ((INT8, INT8, False), (INT8, INT8, True), (UINT8, INT8, False), (UINT8, INT8, True), (UINT8, UINT8, False))
"""Types of data and filter, and whether the filter has a scale for each output channel."""
TYPES = {np.dtype(np.int8): "int8", np.dtype(np.uint8): "uint8"}


class _Feed(CalibrationDataReader):  # type: ignore[misc] # it has no types
    """The data that the quantiser calibrates with."""

    def __init__(self, feed: dict[str, Array]) -> None:
        self._feeds = iter([feed])

    def get_next(self) -> Any:  # noqa: ANN401 - as its class has it
        """Return the next data."""
        return next(self._feeds, None)


@dataclass(frozen=True)
class Quantised:
    """A layer that was quantised.

    Attributes:
        model: what the quantiser wrote.
        case: a case with what it chose.
    """

    model: onnx.ModelProto
    case: Case

    def record(self, played: Played) -> Record:
        """Return the record of what onnxruntime gives for the model."""
        problem = Problem(self.case, DIALECT)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(self.model.SerializeToString(), options, ["CPUExecutionProvider"])
        (y,) = session.run(None, {"X": problem.arrays["X"]})
        quanta = np.rint(y / problem.arrays["y_scale"]) + problem.arrays["y_zero_point"]
        return played.record(self.case, Produced(quanta.astype(problem.judged.dtype)))

    def moved(self) -> Quantised:
        """Return the layer with the scales of the filter along axis 0."""
        model = onnx.ModelProto.FromString(self.model.SerializeToString())
        node = next(node for node in model.graph.node if node.input[0] == "W_quantized")
        next(of for of in node.attribute if of.name == "axis").i = 0
        arrays = _constants(model)
        for name in node.input[1:]:
            vector = np.resize(arrays[name], len(arrays["W_quantized"]))
            tensor = next(of for of in model.graph.initializer if of.name == name)
            tensor.CopyFrom(numpy_helper.from_array(vector, name))
        return Quantised(model, self.case)


def _constants(model: onnx.ModelProto) -> dict[str, Array]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def layers() -> Iterator[Case]:
    """Yield layers of real numbers with the geometries of the gate tier; onnxruntime may refuse some of them."""
    seen = set()
    for case in Corpus.load().cases("gate"):
        problem = Problem(case, DIALECT)
        key = case.attributes, case.x.shape, case.w.shape, case.b is not None
        if (
            case.plain
            and not {case.attributes.data_format, case.attributes.filter_format} - {None, "NCX", "IOX"}
            and case.breaks is None
            and problem.values is not None
            and not problem.values.disputed
            and case.x.dtype == DType.F32
            and key not in seen
            and 0 not in (*case.x.shape, *case.w.shape, *problem.values.primary.geometry.output)
            and case.simplicity[1] <= LARGEST
        ):
            seen.add(key)
            operands = {role: replace(of, data="normal") for role in ("x", "w", "b") if (of := getattr(case, role))}
            yield replace(case, **operands)


def quantised(case: Case, folder: Path) -> Iterator[Quantised]:
    """Yield a layer in every format that the quantiser has for it."""
    problem = Problem(case, DIALECT)
    onnx.save(build(problem.call, problem.arrays), folder / "float.onnx")
    write = partial(quantize_static, folder / "float.onnx", folder / "int8.onnx")
    for (activation, data), (weight, filters), per_channel in FORMATS:
        chosen = {"activation_type": activation, "weight_type": weight, "per_channel": per_channel}
        try:
            write(_Feed(problem.fed), quant_format=QuantFormat.QDQ, **chosen)
        except ValueError:
            # Of a layer in groups the quantiser divides the bias of all of them by the scales of one.
            if per_channel and case.b is not None and (case.attributes.groups or 1) > 1:
                continue
            raise
        model = onnx.load(folder / "int8.onnx")
        context = Context(
            data=data,  # type: ignore[arg-type] # a level
            filter="int8-per-channel" if per_channel else filters,  # type: ignore[arg-type]
            bias="int32" if case.b is not None else "operand",
            end=data,  # type: ignore[arg-type]
        )
        name = f"{case.id}/{data}-{filters}{'-per-channel' * per_channel}"
        yield Quantised(model, _declared(replace(case, id=name, context=context), _constants(model), problem))
    write(_Feed(problem.fed), quant_format=QuantFormat.QOperator)
    (node,) = onnx.load(folder / "int8.onnx").graph.node
    assert node.op_type == "ConvTranspose"


def _declared(case: Case, chosen: Mapping[str, Array], problem: Problem) -> Case:
    """Return a case with the quanta, scales and zero points of a model."""
    scale, zero_point = chosen["X_scale"], chosen["X_zero_point"]
    limits = np.iinfo(zero_point.dtype)
    x = np.clip(np.rint(problem.fed["X"] / scale) + zero_point, limits.min, limits.max)
    quanta = {"x": x, "w": chosen["W_quantized"]} | ({"b": chosen["B_quantized"]} if case.b is not None else {})
    operands = {
        role: replace(getattr(case, role), data="values", values=tuple(map(float, array.reshape(-1))))
        for role, array in quanta.items()
    }
    grids = {
        role: Grid(
            tuple(map(float, chosen[f"{name}_scale"].reshape(-1))), int(chosen[f"{name}_zero_point"].reshape(-1)[0])
        )
        for role, name in (("x", "X"), ("w", "W"), ("y", "Y"))
    }
    return replace(case, quantisation=Quantisation(**grids), **operands)


def main() -> int:
    """Quantise, run, judge, print; return 1 if a right model fails or a moved one is not named."""
    parser = argparse.ArgumentParser(description="onnxruntime's own quantiser, judged.")
    parser.add_argument("--count", type=int, default=10**6, help="layers, evenly chosen")
    count = parser.parse_args().count
    logging.disable(logging.WARNING)
    played, done = Played(), Counter[str]()
    moved: dict[str, tuple[Case, Record]] = {}
    every = [*layers()]
    cases = every[:: max(len(every) // count, 1)][:count]
    with Pool(Asking("onnxruntime")) as pool:
        alone = pool.records(cases)
    right = [case for case in cases if isinstance(alone[case.id].verdict, ver.Agreed)]
    print(f"{len(right):,} of {len(cases):,} layers are right in floating point")
    with TemporaryDirectory() as folder:
        for layer in right:
            for each in quantised(layer, Path(folder)):
                record, format_ = each.record(played), each.case.id.rpartition("/")[2]
                passes = isinstance(record.verdict, ver.Allowed)
                done[f"{format_} {'right' if passes else 'WRONG'}"] += 1
                if not passes:
                    print(f"WRONG {each.case.id}: {record.verdict} {record.diagnosis}")
                if each.case.context.filter == "int8-per-channel" and each.case.w.shape[1] > 1:
                    moved[each.case.id] = each.case, each.moved().record(played)
    for format_, number in sorted(done.items()):
        print(f"{number:5,} {format_}")
    answers = [answer_of(record) for _, record in moved.values()]
    found = explain(Calls(answers, lambda case: moved[case][0] if case in moved else None, DIALECT))
    failures = sum(answer.failure is not None for answer in answers)
    print(f"scales on axis 0: {failures} of {len(moved)} models are red")
    print(*map(described, found), sep="\n")
    is_named = [isinstance(each.what, Misreads) and each.what.name.names == (NAME,) for each in found] == [True]
    return int(not is_named or any("WRONG" in format_ for format_ in done))


if __name__ == "__main__":
    sys.exit(main())
