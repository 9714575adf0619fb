"""Whether runtimes execute what real quantisers write as the text says, and what is said of scales on the wrong axis.

Layers of real numbers with all geometries of the gate tier that a text has words for are quantised, in every format of
8 bits that the quantiser has for the operator. tconv gets a case with the quanta, scales and zero points that it chose,
and judges what the runtime gives for the quantiser's model. Then the scales of filters per channel are moved to the
axis of the input channels, as converters do by mistake. The output channels of a filter differ in their range, as those
of trained ones do, so that their scales differ too.

- `onnxruntime`: `onnxruntime.quantization.quantize_static`. Moved scales must be red, and explained in one line.
- `tflite`: TensorFlow's converter, run by LiteRT with each of its sets of kernels. Moved scales must be refused, as its
  text has them along the output channels. `tox -e converter` has TensorFlow.

Run `python bench/quantiser.py [onnxruntime|tflite] [--count 1000000]`. The exit code is 1 if a right model fails, or a
moved one is neither explained nor refused.
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
"""So many models with moved scales are explained, at most three times as many."""
FACTORS = (1.0, 0.5, 0.25)
"""How large the filters of output channels are, one after the other: no two neighbours have the same scale."""


class Tensor(NamedTuple):
    """What a quantiser made of a tensor: quanta, in NCX and IOX, of which an output has none; scales and zero point."""

    quanta: Array | None
    scale: Array
    zero_point: Array


class Model(NamedTuple):
    """A layer that was quantised.

    Attributes:
        format: of what kind it is, for the table.
        case: a case with what the quantiser chose.
        outcome: what the runtime gives for the quantiser's model.
        moved: the same with the filter's scales along the input channels; None if it has one scale.
    """

    format: str
    case: Case
    outcome: Outcome
    moved: Outcome | None


def layers(dialect: Dialect) -> Iterator[Case]:
    """Yield a layer of real numbers for each geometry of the gate tier that a dialect has words for."""
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
    """Return a case with what a quantiser made of a layer.

    Args:
        name: of its format.
        layer: the layer.
        tensors: data, filter, perhaps bias, and output, by their roles.
        is_fed: whether quanta of the data are fed, and not numbers.
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
    """Return whether no product reaches an output, so that no scale of a filter matters."""
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
            # All of them have the same cause, and to look for one takes longer than all else.
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
