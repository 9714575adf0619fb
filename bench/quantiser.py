"""Check that runtimes execute quantisers' models as the text says, and that scales on a wrong axis are noticed.

Layers of real numbers are quantised, in every 8-bit format that the quantiser has for the operator. They have all
geometries of the gate tier that a text can express. A case for tconv has the quantiser's quanta, scales and zero
points, and tconv judges the runtime's output for the quantiser's model. Then the scales of filters per channel are
moved to the axis of the input channels, as converters do by mistake. The output channels of a filter differ in their
range, as in trained filters, so their scales differ too.

- `onnxruntime`: `onnxruntime.quantization.quantize_static`. Moved scales must be red, and explained in one line.
- `tflite`: TensorFlow's converter, run by LiteRT with each of its sets of kernels. Moved scales must be refused: the
  text has them along the output channels. `tox -e converter` has TensorFlow.

Run `python bench/quantiser.py [onnxruntime|tflite] [--count 1000000]`. The exit code is 1 if a right model fails, or
if a moved one is not explained and not refused.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from explaining import Played, described
from tconv.cases.case import Case
from tconv.cases.context import Context, Grid, Quantisation
from tconv.corpus import Corpus
from tconv.evidence import Calls, Misreads, answer_of, explain
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.expectation.problem import Problem
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.backends.outcome import Outcome
    from tconv.dialects import Dialect
    from tconv.records.record import Record
    from tconv.vocabulary import Array

NAME = "scales-along-axis-0"
NAMED = 100
"""The number of models with moved scales that are explained; there may be up to three times as many."""
FACTORS = (1.0, 0.5, 0.25)
"""Factors for the filters of successive output channels: no two neighbours have the same scale."""


class Tensor(NamedTuple):
    """A quantised tensor: quanta in NCX and IOX, which an output does not have; scales and zero point."""

    quanta: Array | None
    scale: Array
    zero_point: Array


class Model(NamedTuple):
    """A quantised layer.

    Attributes:
        format: its format, for the table.
        case: a case with the quantiser's values.
        outcome: the runtime's outcome for the quantiser's model.
        moved: the same with the filter's scales along the input channels; None if it has one scale.
    """

    format: str
    case: Case
    outcome: Outcome
    moved: Outcome | None


def layers(dialect: Dialect) -> Iterator[Case]:
    """Yield a layer of real numbers for each geometry of the gate tier that a dialect can express."""
    seen = set()
    for case in Corpus.load().cases("gate"):
        operands = {role: replace(of, data="normal", dtype=DType.F32) for role in "xwb" if (of := getattr(case, role))}
        attributes = replace(case.attributes, data_format=None, filter_format=None)
        layer = Case(case.id, attributes, **operands)
        values = Problem(layer, dialect).values
        if case.breaks is None and values is not None and not values.disputed and not values.refusals:
            geometry = values.primary.geometry
            key = geometry, case.x.shape, case.w.shape, case.b is not None
            if key not in seen and 0 not in (*case.x.shape, *case.w.shape, *geometry.output):
                seen.add(key)
                yield layer


def declared(name: str, layer: Case, tensors: Mapping[str, Tensor], *, is_fed: bool) -> Case:
    """Return a case with the quantiser's values for a layer.

    Args:
        name: the name of its format.
        layer: the layer.
        tensors: data, filter, bias if there is one, and output, by their roles.
        is_fed: whether the data is fed as quanta; if not, as real numbers.
    """
    data, filters = (str(tensors[role].quanta.dtype) for role in "xw")
    context = Context(
        data="int8-input" if is_fed else data,
        filter="int8-per-channel" if filters == "int8" and tensors["w"].scale.size > 1 else filters,
        bias="int32" if layer.b is not None else "operand",
        end=data,
    )
    operands = {
        role: replace(getattr(layer, role), data="values", values=tuple(map(float, tensor.quanta.flat)))
        for role, tensor in tensors.items()
        if tensor.quanta is not None
    }
    grids = {
        role: Grid(tuple(map(float, tensors[role].scale.reshape(-1))), int(tensors[role].zero_point.reshape(-1)[0]))
        for role in "xwy"
    }
    return replace(layer, id=f"{layer.id}/{name}", context=context, quantisation=Quantisation(**grids), **operands)


def quantised(cases: Sequence[Case], quantiser: Any) -> Iterator[Model]:  # noqa: ANN401 - a module
    """Yield the models of layers."""
    for case in cases:
        problem = Problem(case, quantiser.DIALECT)
        w = problem.operands["w"]
        largest = np.abs(w).max(axis=(0, *range(2, w.ndim)), keepdims=True)
        factors = np.resize(np.float32(FACTORS), w.shape[1]).reshape(largest.shape)
        yield from quantiser.models(problem, {**problem.operands, "w": w / largest * factors})


def is_of_nothing(problem: Problem) -> bool:
    """Return whether no product reaches an output, so the filter's scales do not matter."""
    assert problem.values is not None
    terms = problem.truth.compute_terms(problem.values.primary.geometry)
    return bool((terms.count <= (problem.case.b is not None)).all())


def main() -> int:
    """Quantise, run, judge, print; return 1 if a right model fails or moved scales are not named."""
    parser = argparse.ArgumentParser(description="What real quantisers write, judged.")
    parser.add_argument("quantiser", nargs="?", default="onnxruntime", choices=("onnxruntime", "tflite"))
    parser.add_argument("--count", type=int, default=10**6, help="layers, evenly chosen")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    quantiser, done, moved = import_module(f"quantiser_{arguments.quantiser}"), Counter[str](), Counter[str]()
    dialect, played = quantiser.DIALECT, Played(quantiser.DIALECT)
    every = [*layers(dialect)]
    cases = every[:: max(len(every) // arguments.count, 1)][: arguments.count]
    with Pool(Asking(quantiser.BACKEND)) as pool:
        alone = pool.records(cases)
    right = [case for case in cases if isinstance(alone[case.id].verdict, ver.Agreed)]
    print(f"{len(right):,} of {len(cases):,} layers are right in floating point", flush=True)
    named: dict[str, tuple[Case, Record]] = {}
    for model in quantised(right, quantiser):
        problem = Problem(model.case, dialect)
        verdict = judge(problem, model.outcome, DType.F32)
        done[f"{model.format} {verdict.kind}"] += 1
        if not isinstance(verdict, ver.Agreed):
            print(f"WRONG {model.case.id}: {verdict}", flush=True)
        if model.moved is not None:
            verdict = judge(problem, model.moved, DType.F32)
            is_equal = isinstance(verdict, ver.Agreed) and is_of_nothing(problem)
            moved["without any product" if is_equal else verdict.kind] += 1
            # All of them have the same cause, and looking for a cause takes longest.
            if isinstance(verdict, ver.WrongOutput) and moved[verdict.kind] % max(len(right) // NAMED, 1) == 0:
                named[model.case.id] = model.case, played.record(model.case, model.moved)
    for format_, number in sorted(done.items()):
        print(f"{number:6,} {format_}")
    print(f"scales along the input channels: {dict(moved)}; causes of {len(named)}:")
    answers = [answer_of(record) for _, record in named.values()]
    found = explain(Calls(answers, lambda case: named[case][0] if case in named else None, dialect))
    print(*map(described, found), sep="\n")
    is_named = [isinstance(each.what, Misreads) and each.what.name.names == (NAME,) for each in found]
    is_right = all(kind.endswith(" agreed") for kind in done)
    return int(not is_right or not quantiser.notices(moved) or is_named != [True] * bool(named))


if __name__ == "__main__":
    sys.exit(main())
