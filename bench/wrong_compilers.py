"""Measure how many wrong graph compilers are found in the contexts of the gate tier.

A wrong compiler is drawn from a grammar: a wrong rewrite, which is done at each match of its pattern in a graph, and a
condition on the case. It computes all other nodes in float32, and an operator alone correctly. It dies if a context
is judged as a failure. Only compilers are drawn that rewrite something in one of many random contexts. Each survivor
is printed with its reason.

Run `python bench/wrong_compilers.py [--count 200] [--seed 46]`. The exit code is 1 if fewer than 95 of a hundred die.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations, islice, product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from float_graphs import DIALECT, Runtime, play_of, replaced
from tconv.backends.outcome import Produced
from tconv.corpus import Corpus
from tconv.expectation.problem import Problem
from tconv.expectation.reference import definition
from tconv.investigation.random_cases import drawn
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from float_graphs import Play
    from tconv.cases.case import Case
    from tconv.cases.graph import Node
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array

    Rewrite = Callable[[Play], bool]
    """Rewrites a graph; returns whether its pattern occurs."""
    Change = Callable[[Play, Node], bool]
    Changed = Callable[[Mapping[str, Any]], Mapping[str, Any]]

LEAST = 95
"""The least number of a hundred that must die."""
POOL = 4000
"""The number of random contexts; a compiler must rewrite something in one of them."""
_ALWAYS = 0.3
"""The part of the compilers without a condition."""
ADDING, SCALING = ("Add", "Sub"), ("Mul", "Div")
ARITHMETIC = (*ADDING, *SCALING, "Max", "BatchNormalization")
ACTIVATIONS = ("Relu", "Clip", "LeakyRelu", "PRelu", "HardSigmoid", "Sigmoid", "Tanh", "Elu", "HardSwish")
VECTORS = (
    *("mul", "add", "sub", "max", "bn_scale", "bn_shift", "bn_mean", "bn_variance", "slope"),
    *("B", "B_more", "b_scale", "w_scale"),
)
"""Constants that may have an entry for each channel."""


@dataclass(frozen=True)
class Question:
    """A context: its problem, the operator's geometry, and its graph, which is copied before a rewrite."""

    problem: Problem
    geometry: Geometry
    play: Play


@dataclass(frozen=True)
class Compiler:
    """A wrong compiler: rewrite and condition in words, the rewriting function, and a test for the condition."""

    what: str
    condition: str
    rewrite: Rewrite
    holds: Callable[[Question], bool]

    def __str__(self) -> str:
        return f"{self.what}, {self.condition}"

    def rewritten(self, question: Question) -> Play | None:
        """Return the compiler's graph; None if it does not change the graph."""
        if not self.holds(question):
            return None
        play = question.play.copy()
        return play if self.rewrite(play) else None


def question(case: Case) -> Question | None:
    """Return the question for a context; None for an operator alone."""
    problem = Problem(case, DIALECT)
    if problem.surrounded is None or problem.values is None:
        return None
    return Question(problem, problem.values.primary.geometry, play_of(problem))


def _behind(play: Play) -> set[str]:
    """Return the names of tensors that depend on the operator."""
    names = {play.operator}
    for node in play.nodes:
        if names & set(node.inputs):
            names |= set(node.outputs)
    return names


def _data_of(play: Play, node: Node) -> str:
    """Return the input that remains if a node is dropped: one that depends on the operator, or one made by a node."""
    behind, made = _behind(play), {name for each in play.nodes for name in each.outputs}
    return next((name for names in (behind, made) for name in node.inputs if name in names), node.inputs[0])


def _geometry(play: Play) -> Geometry:
    geometry: Geometry = play.main.attributes["geometry"]
    return geometry


# The kinds of rewrites: each function returns one.


def _nodes(kinds: Iterable[str], change: Change, *, behind: bool = False) -> Rewrite:
    """Change each node of some kinds, one after the other; with `behind`, only those behind the operator."""
    wanted = set(kinds)

    def rewrite(play: Play) -> bool:
        done, names = False, _behind(play)
        for node in [node for node in play.nodes if node.kind in wanted and (not behind or names & set(node.inputs))]:
            current = play.maker(node.outputs[0])
            if current is not None and current.kind == node.kind:
                done = change(play, current) or done
        return done

    return rewrite


def _attributes(kind: str, changed: Changed, *, behind: bool = False, last: bool = False) -> Rewrite:
    """Change the attributes of each node of a kind; with `last`, only of the last node."""

    def change(play: Play, node: Node) -> bool:
        if last and node.outputs[0] != play.output:
            return False
        new = changed(node.attributes)
        play.put(node, replaced(node, attributes=new))
        return any(node.attributes.get(name) != value for name, value in new.items())

    return _nodes([kind], change, behind=behind)


def _inputs(changed: Callable[[tuple[str, ...]], tuple[str, ...]], play: Play, node: Node) -> bool:
    inputs = changed(node.inputs)
    play.put(node, replaced(node, inputs=inputs))
    return inputs != node.inputs


def _array(name: str, changed: Callable[[Array], Array], least: int = 1) -> Rewrite:
    """Change a constant with at least `least` entries."""

    def rewrite(play: Play) -> bool:
        array = play.arrays.get(name)
        if array is None or array.size < least or name in play.fed:
            return False
        play.arrays[name] = changed(array).astype(array.dtype).reshape(array.shape)
        return not np.array_equal(play.arrays[name], array)

    return rewrite


def _drop(play: Play, node: Node) -> bool:
    is_last = node.kind == "Quantize" and node.outputs[0] == play.output
    if is_last or (node.kind == "Cast" and not _behind(play) & set(node.inputs)):
        return False
    data = _data_of(play, node)
    play.put(node)
    play.rename(node.outputs[0], data)
    return True


def _without_bias(play: Play) -> bool:
    main = play.main
    play.put(main, replaced(main, inputs=main.inputs[:2]))
    return main.inputs[2:] != ()


def _differ(first: str, second: str) -> bool:
    """Return whether two operations can occur in this order, and a swap changes the result."""
    pair = {first, second}
    if len(pair) == 1 or pair <= set(ADDING) or pair <= set(SCALING) or pair <= {"Max", "Relu", "Clip"}:
        return False
    commute = pair & set(SCALING) and pair & {"Relu", "LeakyRelu", "PRelu"}
    return not commute and not (first in ACTIVATIONS and second != "Add")


def _swap(second: str, play: Play, node: Node) -> bool:
    user = play.only_consumer(node.outputs[0])
    if user is None or user.kind != second or {node.inputs[0], node.inputs[-1]} <= play.arrays.keys():
        return False
    data = _data_of(play, node)
    (middle,), (last,) = node.outputs, user.outputs
    earlier = tuple(data if name == middle else name for name in user.inputs)
    later = tuple(middle if name == data else name for name in node.inputs)
    play.put(user, replaced(node, inputs=later, outputs=(last,)))
    play.put(node, replaced(user, inputs=earlier, outputs=(middle,)))
    return True


def _pad_in_the_operator(play: Play) -> bool:
    """Replace a Pad before the operator: crop less at the beginning, by as much as its zeros moved the output."""
    pad = play.maker(play.main.inputs[0])
    if pad is None or pad.kind != "Pad" or any(pad.attributes[side][1] for side in ("begin", "end")):
        return False
    if play.only_consumer(pad.outputs[0]) is None:
        return False
    geometry = _geometry(play)
    begin, end = pad.attributes["begin"][2:], pad.attributes["end"][2:]
    spatial = tuple(size - b - e for size, b, e in zip(geometry.spatial, begin, end, strict=True))
    moved = tuple(p - b * s for p, b, s in zip(geometry.pads_begin, begin, geometry.strides, strict=True))
    fused = replace(geometry, spatial=spatial, pads_begin=moved)
    inputs = (pad.inputs[0], *play.main.inputs[1:])
    play.put(play.main, replaced(play.main, inputs=inputs, attributes={"geometry": fused}))
    play.put(pad)
    return True


def _fused_pad(moved: Callable[[Array, Geometry], Array]) -> Rewrite:
    """Fuse a Pad into the operator, and move the output wrongly: `moved` returns the distance for each axis."""

    def rewrite(play: Play) -> bool:
        pad, before = play.maker(play.main.inputs[0]), _geometry(play)
        if not _pad_in_the_operator(play) or pad is None:
            return False
        main, fused = play.main, _geometry(play)
        begin = np.array(pad.attributes["begin"][2:])
        pads = tuple((np.array(before.pads_begin) + moved(begin, before)).tolist())
        play.put(main, replaced(main, attributes={"geometry": replace(fused, pads_begin=pads)}))
        return pads != fused.pads_begin

    return rewrite


def _exchange(first: str, second: str) -> Rewrite:
    def rewrite(play: Play) -> bool:
        a, b = (play.arrays.get(name) if name not in play.fed else None for name in (first, second))
        if a is None or b is None or not _alike(a, b):
            return False
        play.arrays |= {first: b.reshape(a.shape), second: a.reshape(b.shape)}
        return True

    return rewrite


@cache
def _pairs_of_constants() -> list[tuple[str, str]]:
    """Return the pairs of constants with the same size and type in some graph, whose exchange changes the result."""
    found: set[tuple[str, str]] = set()
    for each in pool():
        arrays = {name: array for name, array in each.play.arrays.items() if name not in each.play.fed}
        for first, second in combinations(sorted(arrays), 2):
            is_vector = {name in VECTORS or name.startswith("w_") for name in (first, second)}
            is_sum = {first, second} <= {"B", "B_more", "add"}
            if _alike(arrays[first], arrays[second]) and not is_sum and (len(is_vector) == 1 or not arrays[first].ndim):
                found.add((first, second))
    return sorted(found)


def _alike(first: Array, second: Array) -> bool:
    """Return whether constants can be confused: scales, zero points, or vectors and tensors of one size."""
    shapes = [[size for size in array.shape if size != 1] for array in (first, second)]
    is_scalar = first.ndim == second.ndim == 0
    return first.dtype == second.dtype and shapes[0] == shapes[1] and (is_scalar or first.size > 1)


def _in_place(play: Play, node: Node) -> bool:
    name, later = _data_of(play, node), play.nodes[play.nodes.index(node) + 1 :]
    is_needed = any(name in each.inputs for each in later)
    if is_needed:
        play.put(node, replaced(node, attributes={"overwrites": name}))
    return is_needed


def _only_in_reach(kind: str, play: Play) -> bool:
    """Apply what follows the sums only to elements that a tap reaches."""
    main, geometry = play.main, _geometry(play)
    ones = np.ones((1, geometry.groups, *geometry.spatial))
    reached = definition(ones, np.ones((geometry.groups, 1, *geometry.kernel)), None, geometry)[:, :1] > 0
    user = play.only_consumer(play.operator)
    # For zero, the result of most activations is zero.
    needs_bias = kind in ACTIVATIONS and kind not in {"HardSigmoid", "Sigmoid"} and not main.inputs[2:]
    if reached.all() or needs_bias or user is None or user.kind != kind:
        return False
    play.put(user, replaced(user, attributes={"only": reached, "else": play.operator}))
    return True


# The grammar: rewrites by their words, in kinds that are drawn equally often.

_OF_VECTORS: Mapping[str, Callable[[Array], Array]] = {
    "takes the first entry for all": lambda v: np.full_like(v, v.flat[0]),
    "takes the entries one channel further": lambda v: np.roll(v.reshape(-1), -1),
    "takes the first entry for the last": lambda v: np.append(v.reshape(-1)[:-1], v.flat[0]),
    "takes the entries in reverse": lambda v: v.reshape(-1)[::-1],
}
_OF_ZERO_POINTS: Mapping[str, Callable[[Array], Array]] = {
    "takes 0": np.zeros_like,
    "takes its negative": lambda z: -z.astype(np.float32),
    "takes one more": lambda z: z.astype(np.float32) + 1,
}
_MOVED: Mapping[str, Callable[[Array, Geometry], Array]] = {
    "sign": lambda b, g: b * g.strides,
    "no stride": lambda b, _: -b,
    "other side": lambda b, _: 0 * b,
    "dilation": lambda b, g: -b * g.dilations,
    "first axis alone": lambda b, g: -b * g.strides * (np.arange(len(b)) == 0),
    "last axis alone": lambda b, g: -b * g.strides * (np.arange(len(b)) == len(b) - 1),
}
_PADS: Mapping[str, Changed] = {
    "all at the end": lambda a: {"begin": (0,) * len(a["begin"]), "end": tuple(np.add(a["begin"], a["end"]).tolist())},
    "begin and end exchanged": lambda a: {"begin": a["end"], "end": a["begin"]},
    "edge": lambda _: {"mode": "edge"},
}
_WRONG_VALUES = [
    *[("LeakyRelu", "alpha", 0.01), ("HardSigmoid", "alpha", 0.2), ("HardSigmoid", "beta", 0.0)],
    *[("Clip", "min", 0.0), ("Clip", "max", 6.0), ("Clip", "max", np.inf), ("Clip", "min", -np.inf)],
    *[("BatchNormalization", "epsilon", 0.0), ("BatchNormalization", "epsilon", 1e-5)],
    *product(["BatchNormalization"], ["axis"], (0, 2, -1)),
]
_NORMAL: Mapping[str, Rewrite] = {
    **{way: _array(f"bn_{way}", np.zeros_like) for way in ("shift", "mean")},
    **{way: _array(f"bn_{way}", np.ones_like) for way in ("scale", "variance")},
    "mean's sign": _array("bn_mean", np.negative),
    "root": _array("bn_variance", lambda v: (v + np.float32(2**-10)) ** 2),
}
_IN_PLACE = (*ARITHMETIC, *ACTIVATIONS, "Quantize")


def _first_part(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    sizes = np.subtract(attributes["ends"], attributes["starts"]).tolist()
    return {"starts": (0,) * len(sizes), "ends": tuple(sizes)}


def _spatial_axes(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    batch, first, *others = attributes["axes"]
    return {"axes": (batch, others[0], first, *others[1:]) if others[1:] else attributes["axes"]}


def _with(name: str, value: object) -> Changed:
    """Return a function that sets an attribute to another value."""
    return lambda _: {name: value}


@cache
def families() -> Mapping[str, Mapping[str, Rewrite]]:
    """Return the rewrites of each kind by their words."""
    return {
        "drop": {
            "drops bias": _without_bias,
            **{f"drops {kind}": _nodes([kind], _drop) for kind in (*_IN_PLACE, "Conv", "Cast")},
        },
        "swap": {
            f"swaps {first} and {second}": _nodes([first], partial(_swap, second), behind=True)
            for first, second in product((*ARITHMETIC, *ACTIVATIONS), repeat=2) if _differ(first, second)
        },
        "channel": {
            f"{way} of {name}": _array(name, changed, 2)
            for (way, changed), name in product(_OF_VECTORS.items(), VECTORS)
        },
        "part": {
            "Slice from 0": _attributes("Slice", _first_part),
            "Split sizes in reverse": _attributes("Split", lambda a: {"sizes": a["sizes"][::-1]}),
            "Concat in reverse": _nodes(["Concat"], partial(_inputs, lambda names: names[::-1])),
            "Concat of the first twice": _nodes(
                ["Concat"], partial(_inputs, lambda names: names[:1] * len(names)), behind=True
            ),
            "Transpose of spatial axes": _attributes("Transpose", _spatial_axes, behind=True),
            "Resize: tiles": _attributes("Resize", lambda a: {"tiles": max(a["scales"]) > 1}),
        },
        "zero point": {
            f"{way} for {name}_zero_point": _array(f"{name}_zero_point", changed)
            for (way, changed), name in product(_OF_ZERO_POINTS.items(), ("x", "w", "y", "added"))
        },
        "pad": {
            **{f"Pad: {way}": _fused_pad(moved) for way, moved in _MOVED.items()},
            **{f"Pad: {way}": _attributes("Pad", changed) for way, changed in _PADS.items()},
        },
        "rounding": {
            f"the last Quantize: {name} {value}": _attributes("Quantize", _with(name, value), last=True)
            for name, value in (*product(["rounding"], ("truncated", "floor", "ceiling")), ("wraps", True))
        },
        "constants": {f"exchanges {a} and {b}": _exchange(a, b) for a, b in _pairs_of_constants()},
        "attribute": {
            f"takes {name} {value:g} in {kind}": _attributes(kind, _with(name, value))
            for kind, name, value in _WRONG_VALUES
        },
        "normalization": {f"folds BatchNormalization without {way}": rewrite for way, rewrite in _NORMAL.items()},
        "in place": {
            f"{kind} in place although another consumer follows": _nodes([kind], _in_place, behind=True)
            for kind in _IN_PLACE
        },
        "gaps": {
            f"{kind} only where a tap reaches": partial(_only_in_reach, kind) for kind in (*ARITHMETIC, *ACTIVATIONS)
        },
    }  # fmt: skip


CONDITIONS: Mapping[str, Callable[[Question], bool]] = {
    "with groups": lambda each: each.geometry.groups > 1,
    "without groups": lambda each: each.geometry.groups == 1,
    "if kernel == stride": lambda each: each.geometry.kernel == each.geometry.strides,
    "if kernel > stride": lambda each: all(np.greater(each.geometry.kernel, each.geometry.strides)),
    "if strides differ": lambda each: len(set(each.geometry.strides)) > 1,
    "with dilation": lambda each: max(each.geometry.dilations) > 1,
    "with pads": lambda each: any(each.geometry.pads_begin),
    "with SAME": lambda each: str(each.problem.case.attributes.auto_pad).startswith("same"),
    **{f"for rank {rank}": lambda each, rank=rank: len(each.geometry.output) == rank for rank in (1, 2, 3)},
    "with symbolic sizes": lambda each: each.problem.case.shapes == "symbolic",
    "for odd channels": lambda each: each.problem.case.w.shape[1] * each.geometry.groups % 2 == 1,
    "with a bias": lambda each: each.problem.case.b is not None,
    "if data are quantised": lambda each: each.problem.case.context.data != "float",
    "if data are float": lambda each: each.problem.case.context.data == "float",
    "if the output is quantised": lambda each: each.problem.case.context.end in {"int8", "uint8"},
    "with two consumers": lambda each: each.problem.case.context.use in {"two-consumers", "split-channels"},
    "with an activation": lambda each: each.problem.case.context.activation != "none",
}


@cache
def pool() -> list[Question]:
    """Return the random contexts; a compiler must rewrite something in one of them."""
    cases = islice(drawn(46, DIALECT, contexts=True), POOL)
    return [each for each in map(question, cases) if each is not None]


def draw_some(count: int, seed: int) -> list[Compiler]:
    """Draw different compilers whose pattern occurs."""
    random = Random(seed)  # noqa: S311 - random but repeatable
    found: dict[str, Compiler] = {}
    kinds = [*families().values()]
    while len(found) < count:
        what, rewrite = random.choice([*random.choice(kinds).items()])
        condition = "always" if random.random() < _ALWAYS else random.choice([*CONDITIONS])
        compiler = Compiler(what, condition, rewrite, CONDITIONS.get(condition, lambda _: True))
        if str(compiler) not in found and any(compiler.rewritten(each) for each in pool()):
            found[str(compiler)] = compiler
    return list(found.values())


def why_alive(compiler: Compiler, questions: Sequence[Question]) -> str | None:
    """Return why a compiler survives; None if it dies."""
    asked, shown = 0, 0
    for each in questions:
        if (play := compiler.rewritten(each)) is None:
            continue
        asked += 1
        y = Runtime().run(play)
        if not isinstance(judge(each.problem, Produced(y), DType.F32), ver.Allowed):
            return None
        shown += not np.array_equal(y, each.problem.output, equal_nan=True)
    if not asked:
        return "its pattern is in no context"
    return f"its pattern is in {asked} contexts, {shown} had another output, and all were judged as right"


def main() -> int:
    """Draw, run, print; return 1 if too few die."""
    parser = argparse.ArgumentParser(description="How many wrong graph compilers die in contexts.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=46)
    arguments = parser.parse_args()
    compilers = draw_some(arguments.count, arguments.seed)
    gate = [each for case in Corpus.load().cases("gate", ["contexts"]) if (each := question(case)) is not None]
    survivors = {compiler: reason for compiler in compilers if (reason := why_alive(compiler, gate))}
    for compiler, reason in survivors.items():
        print(f"survives: {compiler}: {reason}")
    dead = len(compilers) - len(survivors)
    print(f"{dead} of {len(compilers)} wrong compilers die ({dead / len(compilers):.1%}) in {len(gate)} contexts")
    return int(100 * dead < LEAST * len(compilers))


if __name__ == "__main__":
    sys.exit(main())
