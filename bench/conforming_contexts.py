"""Check that a conforming runtime never fails in a context.

Contexts are drawn at random: levels of each axis around a geometry of any kind. They are computed in float32 in ways
that a runtime may choose. Each sum may have any order. Constants may be folded into the filter and the bias. A
BatchNormalization may be a product and a sum. int8 operands may be added in integers and then scaled, with the bias
before or after. An activation may use another formula. A tie of the last Quantize may be rounded either way. If the
judge does not allow an output, it is a false alarm: it is printed, and the exit code is 1. What only moves data, such
as another place for a Slice, changes no bit of an output, and is left out.

Run `python bench/conforming_contexts.py [--count 20000] [--seed 0]`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from float_graphs import DIALECT, Runtime, play_of, replaced
from tconv.backends.outcome import Produced
from tconv.cases.graph import Node
from tconv.corpus.writing import flow, settings
from tconv.expectation.problem import Problem
from tconv.investigation.random_cases import drawn
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from float_graphs import Play
    from tconv.vocabulary import Array


def _bias_behind(play: Play) -> bool:
    """Add the bias after the operator."""
    main = play.main
    if len(main.inputs) < 3 or main.inputs[2] not in play.arrays:  # noqa: PLR2004 - there is a bias
        return False
    rank = len(main.attributes["geometry"].output)
    play.arrays["bias behind"] = play.arrays[main.inputs[2]].reshape(1, -1, *[1] * rank)
    behind = Node("Add", ("without bias", "bias behind"), main.outputs)
    play.put(main, replaced(main, inputs=main.inputs[:2], outputs=("without bias",)), behind)
    play.operator = "without bias"
    return True


def _linear(play: Play, node: Node, channels: int) -> tuple[Array, Array] | None:
    """Return factor and summand for each channel if a node multiplies its first input and adds; None if it does not."""
    if any(name not in play.arrays or name in play.fed for name in node.inputs[1:]):
        return None
    constants = [play.arrays[name] for name in node.inputs[1:]]
    if node.kind == "BatchNormalization":
        scale, shift, mean, variance = constants
        factor = scale / np.sqrt(variance + np.float32(node.attributes["epsilon"]))
        return factor, shift - mean * factor
    if node.kind not in _LINEAR or len(constants) != 1:
        return None
    (constant,) = constants
    if constant.size != 1 and (constant.shape[0] != 1 or constant.size != channels or constant.shape[1] != channels):
        return None
    vector = np.broadcast_to(constant.reshape(-1), (channels,)).astype(np.float32)
    return _LINEAR[node.kind](vector)


_LINEAR: Mapping[str, Callable[[Array], tuple[Array, Array]]] = {
    "Mul": lambda vector: (vector, np.zeros_like(vector)),
    "Div": lambda vector: (1 / vector, np.zeros_like(vector)),
    "Add": lambda vector: (np.ones_like(vector), vector),
    "Sub": lambda vector: (np.ones_like(vector), -vector),
}


def _fold(play: Play) -> bool:
    """Fold the nodes after the operator into its filter and its bias."""
    main, user = play.main, play.only_consumer(play.operator)
    if user is None or user.inputs[0] != play.operator:
        return False
    geometry = main.attributes["geometry"]
    filters = play.arrays.get(main.inputs[1])
    channels = geometry.groups * (filters.shape[1] if filters is not None else 0)
    if filters is None or (found := _linear(play, user, channels)) is None:
        return False
    number = len(play.arrays)
    factor, shift = f"factor {number}", f"shift {number}"
    play.arrays |= {factor: found[0].astype(np.float32), shift: found[1].astype(np.float32)}
    scaled = Node("ScaleFilter", (main.inputs[1], factor), (f"w {number}",), {"groups": geometry.groups})
    nodes, bias = [scaled], shift
    if main.inputs[2:]:
        nodes += [Node("Mul", (main.inputs[2], factor), (f"b {number}",))]
        nodes += [Node("Add", (f"b {number}", shift), (bias := f"b+ {number}",))]
    inputs = (main.inputs[0], scaled.outputs[0], bias)
    play.put(user)
    play.put(main, *nodes, replaced(main, inputs=inputs, outputs=user.outputs))
    play.operator = user.outputs[0]
    return True


def _product_and_sum(play: Play) -> bool:
    """Compute a BatchNormalization as a product and a sum, with constants that are made before."""
    node = next((node for node in play.nodes if node.kind == "BatchNormalization"), None)
    if node is None or (found := _linear(play, node, len(play.arrays[node.inputs[1]]))) is None:
        return False
    shape = (1, -1, *[1] * len(play.main.attributes["geometry"].output))
    names = [f"{name} of {node.outputs[0]}" for name in ("factor", "shift", "product")]
    play.arrays |= {name: array.reshape(shape) for name, array in zip(names, found, strict=False)}
    product = Node("Mul", (node.inputs[0], names[0]), (names[2],))
    play.put(node, product, Node("Add", (names[2], names[1]), node.outputs))
    return True


def _in_integers(play: Play, *, bias_first: bool) -> bool:
    """Add products of quanta in integers, and multiply by the scales afterwards."""
    main = play.main
    makers = [play.maker(name) for name in main.inputs]
    if any(made is None or made.kind != "Dequantize" for made in makers[:2]):
        return False
    x, w = (made for made in makers[:2] if made is not None)
    geometry = main.attributes["geometry"]
    channels = geometry.groups * play.arrays[w.inputs[0]].shape[1]
    scales = play.arrays[x.inputs[1]] * np.resize(play.arrays[w.inputs[1]], channels)
    rank = len(geometry.output)
    play.arrays["scales"] = scales.reshape(1, -1, *[1] * rank).astype(np.float32)
    integers = [
        Node("Integers", (made.inputs[0], made.inputs[2]), (f"{made.outputs[0]} in integers",)) for made in (x, w)
    ]
    inputs = tuple(node.outputs[0] for node in integers)
    behind = [Node("Float", ("sum",), ("sum as float",)), Node("Mul", ("sum as float", "scales"), main.outputs)]
    if len(makers) > 2:  # noqa: PLR2004 - there is a bias
        made = makers[2]
        if bias_first and made is not None and made.kind == "Dequantize":
            integers.append(Node("Integers", (made.inputs[0], made.inputs[2]), ("bias in integers",), {"axis": 0}))
            inputs = (*inputs, "bias in integers")
        else:
            shape = (1, -1, *[1] * rank)
            behind[-1] = replaced(behind[-1], outputs=("scaled",))
            behind += [Node("Reshape", (main.inputs[2],), ("bias shaped",), {"shape": shape})]
            behind += [Node("Add", ("scaled", "bias shaped"), main.outputs)]
    play.put(main, *integers, replaced(main, inputs=inputs, outputs=("sum",)), *behind)
    play.operator = "sum"
    return True


def _last(**attributes: Any) -> Callable[[Play], bool]:  # noqa: ANN401 - as an operation has them
    """Return a way to round in the last Quantize."""

    def round_so(play: Play) -> bool:
        last = play.maker(play.output)
        if last is None or last.kind != "Quantize":
            return False
        play.put(last, replaced(last, attributes=attributes))
        return True

    return round_so


WAYS: Mapping[str, Callable[[Play], bool]] = {
    "bias behind": _bias_behind,
    "in integers, bias behind": lambda play: _in_integers(play, bias_first=False),
    "in integers, bias first": lambda play: _in_integers(play, bias_first=True),
    "BatchNormalization as product and sum": _product_and_sum,
    "folded": _fold,
    "folded again": _fold,
    "Quantize multiplies": _last(multiplies=True),
    **{f"ties {rounding}": _last(rounding=rounding) for rounding in ("away", "up", "down")},
}
"""Transformations that a compiler may do, by name."""


def alarms(seed: int, count: int, done: Counter[str]) -> Iterator[tuple[Problem, list[str], ver.Verdict]]:
    """Yield contexts whose conforming output is not allowed, with the compiler's transformations and the verdict.

    Args:
        seed: the seed for the contexts and the ways.
        count: the number of contexts.
        done: counts the transformations.
    """
    for case in islice(drawn(seed, DIALECT, contexts=True), count):
        random = Random(f"{seed} {case.id}")  # noqa: S311 - random but repeatable
        problem = Problem(case, DIALECT)
        if problem.surrounded is None:
            done["neutral"] += 1
            continue
        play = play_of(problem)
        ways = [name for name in WAYS if random.random() < 1 / 2 and WAYS[name](play)]
        done.update(["in a context", *ways])
        y = Runtime(random).run(play)
        verdict = judge(problem, Produced(y), DType.F32)
        if not isinstance(verdict, ver.Allowed):
            yield problem, ways, verdict


def main() -> int:
    """Draw, judge, print; return 1 if there is a false alarm."""
    parser = argparse.ArgumentParser(description="Whether a conforming runtime fails in a context.")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    done = Counter[str]()
    found = list(alarms(arguments.seed, arguments.count, done))
    for problem, ways, verdict in found:
        print(f"ALARM {flow(settings(problem.case))} {', '.join(ways)}: {verdict}")
    print(f"{arguments.count:,} contexts: {dict(done)}; false alarms {len(found)}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
