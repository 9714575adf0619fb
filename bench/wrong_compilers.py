"""Measure how many wrong graph compilers are found in the contexts of the gate tier.

A wrong compiler is drawn from a grammar: a wrong rewrite, which is done at each match of its pattern in a graph, and a
condition on the case. It computes all other nodes in float32, and an operator alone correctly. It dies if a context
is judged as a failure. Only compilers are drawn that rewrite something in one of many random contexts. Each survivor
is printed with its reason. The share that dies in rows that cover only pairs is printed too.

Run `python bench/wrong_compilers.py [--count 200] [--seed 46] [--small] [--no-pairs]`. The exit code is 1 if fewer than
95 of a hundred die.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, islice, product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from conforming_contexts import pad_in_the_operator
from float_graphs import Runtime, play_of, replaced
from tconv.backends.outcome import Produced
from tconv.cases.graph import Node
from tconv.corpus import Corpus
from tconv.dialects import find_dialect
from tconv.expectation.problem import Problem
from tconv.expectation.sums import sums
from tconv.investigation.random_cases import drawn
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from float_graphs import Play
    from tconv.cases.case import Case
    from tconv.corpus.sweep import Sweep
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Array

    Rewrite = Callable[[Play], bool]
    Change = Callable[[Play, Node], bool]

LEAST = 95
"""The least number of a hundred that must die."""
DIALECT = find_dialect("onnx/ConvTranspose-22")
POOL = 4000
"""The number of random contexts; a compiler must rewrite something in one of them."""
_ALWAYS = 0.3
"""The part of the compilers without a condition."""
ADDING, SCALING = ("Add", "Sub"), ("Mul", "Div")
ARITHMETIC = (*ADDING, *SCALING, "Max", "BatchNormalization")
ACTIVATIONS = ("Relu", "Clip", "LeakyRelu", "PRelu", "HardSigmoid", "Sigmoid", "Tanh", "Elu", "HardSwish")
NORMAL = ("bn_scale", "bn_shift", "bn_mean", "bn_variance")
VECTORS = ("mul", "add", "sub", "max", *NORMAL, "slope", "B", "B_more", "b_scale")
"""Constants that may have an entry for each channel."""
EARLY = "adds to the buffer of an earlier run of this size"
"""The only rewrite that no graph shows: buffers of earlier runs are not cleared."""


@dataclass(frozen=True)
class Question:
    """A context: its case, its problem, the operator's geometry, and its graph, which is copied before a rewrite."""

    case: Case
    problem: Problem
    geometry: Geometry
    play: Play


@dataclass(frozen=True)
class Compiler:
    """A wrong compiler: rewrite and condition in words, the rewriting function, and a test for the condition.

    A rewrite returns whether its pattern occurs.
    """

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
    return Question(case, problem, problem.values.primary.geometry, play_of(problem))


# What rewrites need to know about a graph.


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


def _found(play: Play, kinds: Iterable[str], *, behind: bool = False) -> list[Node]:
    """Return the nodes of some kinds; with `behind`, only those behind the operator."""
    names, wanted = _behind(play), set(kinds)
    return [node for node in play.nodes if node.kind in wanted and (not behind or names & set(node.inputs))]


def _geometry(play: Play) -> Geometry:
    geometry: Geometry = play.main.attributes["geometry"]
    return geometry


def _last(play: Play, kind: str) -> Node | None:
    last = play.maker(play.output)
    return last if last is not None and last.kind == kind else None


# The kinds of rewrites: each function returns one.


def _nodes(kinds: Iterable[str], change: Change, *, behind: bool = False) -> Rewrite:
    """Change each node of some kinds, one after the other."""

    def rewrite(play: Play) -> bool:
        done = False
        for node in _found(play, kinds, behind=behind):
            current = play.maker(node.outputs[0])
            if current is not None and current.kind == node.kind:
                done = change(play, current) or done
        return done

    return rewrite


def _attributes(
    kind: str, made: Callable[[Mapping[str, Any]], Mapping[str, Any]], *, behind: bool = False, last: bool = False
) -> Rewrite:
    """Change the attributes of each node of a kind; with `last`, only of the last one."""

    def change(play: Play, node: Node) -> bool:
        if last and node.outputs[0] != play.output:
            return False
        new = made(node.attributes)
        play.put(node, replaced(node, attributes=new))
        return any(node.attributes.get(name) != value for name, value in new.items())

    return _nodes([kind], change, behind=behind)


def _inputs(kind: str, made: Callable[[Play, Node], Sequence[str]], *, behind: bool = False) -> Rewrite:
    """Change the inputs of each node of a kind."""

    def change(play: Play, node: Node) -> bool:
        inputs = tuple(made(play, node))
        play.put(node, replaced(node, inputs=inputs))
        return inputs != node.inputs

    return _nodes([kind], change, behind=behind)


def _array(name: str, made: Callable[[Array, int], Array], least: int = 1, *, fed: bool = False) -> Rewrite:
    """Change a constant with at least `least` entries; `made` gets it and the number of groups."""

    def rewrite(play: Play) -> bool:
        array = play.arrays.get(name)
        # The scales of a bias have an entry for each channel, even if all are equal.
        if array is None or array.size < least or (name in play.fed and not fed):
            return False
        play.arrays[name] = made(array, _geometry(play).groups).astype(array.dtype).reshape(array.shape)
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


def _swap(second: str) -> Change:
    def change(play: Play, node: Node) -> bool:
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

    return change


def _filter_scales(factors: Callable[[Array, int], Array]) -> Rewrite:
    """Multiply the filter by other scales for the channels of all groups."""

    def rewrite(play: Play) -> bool:
        made, groups = play.maker(play.main.inputs[1]), _geometry(play).groups
        scales = play.arrays.get("w_scale", np.array(0))
        if made is None or made.kind != "Dequantize" or groups == 1 or scales.size == 1:
            return False
        play.arrays |= {"factors": factors(scales, groups).astype(np.float32), "one": np.array(1, np.float32)}
        quanta = replaced(made, inputs=(made.inputs[0], "one", *made.inputs[2:]), outputs=("W unscaled",))
        play.put(made, quanta, Node("ScaleFilter", ("W unscaled", "factors"), made.outputs, {"groups": groups}))
        return True

    return rewrite


def _along(axis: int) -> Change:
    """Let a constant vary along another axis than the channels."""

    def change(play: Play, node: Node) -> bool:
        sizes = (len(play.arrays["X"]), 0, *_geometry(play).output)
        name = next((name for name in node.inputs if name in play.arrays and name not in play.fed), "")
        at, call = axis % len(sizes), play.main.call
        channels = _geometry(play).groups * call.written.w.shape[1] if call is not None else 0
        if not name or play.arrays[name].size != channels or channels == 1:
            return False
        shape = [sizes[at] if place == at else 1 for place in range(len(sizes))]
        play.arrays[f"{name} elsewhere"] = np.resize(play.arrays[name], sizes[at]).reshape(shape)
        play.put(node, replaced(node, inputs=tuple(f"{name} elsewhere" if of == name else of for of in node.inputs)))
        return True

    return change


def _scales_along(axis: int) -> Change:
    def change(play: Play, node: Node) -> bool:
        if node.inputs[1] != "w_scale" or play.arrays["w_scale"].ndim == 0:
            return False
        play.put(node, replaced(node, attributes={"axis": axis % play.arrays["W"].ndim}))
        return True

    return change


def _earlier_part(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    starts, ends = attributes["starts"], attributes["ends"]
    return {
        "starts": tuple(max(0, start - 1) for start in starts),
        "ends": tuple(end - (start > 0) for start, end in zip(starts, ends, strict=True)),
    }


def _first_part(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    sizes = np.subtract(attributes["ends"], attributes["starts"]).tolist()
    return {"starts": (0,) * len(sizes), "ends": tuple(sizes)}


def _spatial_axes(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    batch, first, *others = attributes["axes"]
    return {"axes": (batch, others[0], first, *others[1:]) if others[1:] else attributes["axes"]}


def _zero_of(kind: str) -> Rewrite:
    """Use zero point 0 for the data, in either Quantize or Dequantize."""

    def inputs(play: Play, node: Node) -> Sequence[str]:
        zero_point = play.arrays.get("x_zero_point", np.array(0))
        if node.inputs[-1] != "x_zero_point" or not zero_point.any():
            return node.inputs
        play.arrays["zero"] = np.zeros_like(zero_point)
        return (*node.inputs[:-1], "zero")

    return _inputs(kind, inputs)


def _sign(name: str) -> Rewrite:
    """Read stored quanta as the type with the other sign."""
    other = {np.dtype(np.int8): np.uint8, np.dtype(np.uint8): np.int8}

    def rewrite(play: Play) -> bool:
        array = play.arrays.get(name, np.zeros(0))
        play.arrays[name] = array.view(other.get(array.dtype, array.dtype))
        return array.dtype in other

    return rewrite


def _fused_pad(moved: Callable[[Array, Geometry], Array]) -> Rewrite:
    """Fuse a Pad into the operator, and move the output wrongly: `moved` returns the distance for each axis."""

    def rewrite(play: Play) -> bool:
        pad, before = play.maker(play.main.inputs[0]), _geometry(play)
        if not pad_in_the_operator(play) or pad is None:
            return False
        main, fused = play.main, _geometry(play)
        begin = np.array(pad.attributes["begin"][2:])
        pads = tuple((np.array(before.pads_begin) + moved(begin, before)).tolist())
        play.put(main, replaced(main, attributes={"geometry": replace(fused, pads_begin=pads)}))
        return pads != fused.pads_begin

    return rewrite


def _rounds_before(what: str, place: str) -> Rewrite:
    def rewrite(play: Play) -> bool:
        last, nodes = _last(play, what), _found(play, [place], behind=True)
        if last is None or not nodes:
            return False
        node = nodes[0]
        data = _data_of(play, node)
        first = Node(what, (data, *last.inputs[1:]), ("half",), {"to": "f16"} if what == "Cast" else last.attributes)
        back = Node("Cast", ("half",), ("rounded",), {"to": "f32"})
        back = back if what == "Cast" else Node("Dequantize", ("half", *last.inputs[1:]), ("rounded",))
        inputs = tuple("rounded" if name == data else name for name in node.inputs)
        play.put(node, first, back, replaced(node, inputs=inputs))
        return True

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
    """Return the pairs of constants with the same size and type in some graph, whose swap changes the result."""
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


def _gaps(kind: str) -> Rewrite:
    """Apply what follows the sums only to elements that a tap reaches."""

    def rewrite(play: Play) -> bool:
        main, geometry = play.main, _geometry(play)
        ones = np.ones((1, geometry.groups, *geometry.spatial))
        reached = sums(ones, np.ones((geometry.groups, 1, *geometry.kernel)), None, geometry)[:, :1] > 0
        user = play.only_consumer(play.operator)
        # For zero, the result is zero.
        needs_bias = kind == "bias" or (kind in ACTIVATIONS and kind not in {"HardSigmoid", "Sigmoid"})
        if reached.all() or (needs_bias and not main.inputs[2:]):
            return False
        if kind == "bias":
            without = replaced(main, inputs=main.inputs[:2], outputs=("without bias",))
            play.put(main, without, replaced(main, attributes={"only": reached, "else": "without bias"}))
            return True
        if user is None or user.kind != kind:
            return False
        play.put(user, replaced(user, attributes={"only": reached, "else": play.operator}))
        return True

    return rewrite


def _quantised_filter(steps: float) -> Rewrite:
    def rewrite(play: Play) -> bool:
        data, w = play.maker(play.main.inputs[0]), play.arrays.get("W")
        is_quantised = _last(play, "Quantize") is not None and data is not None and data.kind == "Dequantize"
        if not is_quantised or w is None or "W" in play.fed or w.dtype != np.float32:
            return False
        scale = np.abs(w).max() / np.float32(steps)
        play.arrays["W"] = (np.rint(w / scale) * scale).astype(np.float32)
        return True

    return rewrite


# The grammar: kinds of rewrites, the weight of each kind, and its rewrites by their words.

_OF_VECTORS: Mapping[str, Callable[[Array, int], Array]] = {
    "takes the first entry for all": lambda v, _: np.full_like(v, v.flat[0]),
    "takes the entries one channel further": lambda v, _: np.roll(v.reshape(-1), -1),
    "takes the first entry for the last": lambda v, _: np.append(v.reshape(-1)[:-1], v.flat[0]),
    "takes the entries in reverse": lambda v, _: v.reshape(-1)[::-1],
}
_OF_GROUPS: Mapping[str, Callable[[Array, int], Array]] = {
    "first group's": lambda v, groups: np.tile(v.reshape(groups, -1)[0], groups),
    "interleaved": lambda v, groups: v.reshape(groups, -1).T,
}
_OF_SCALES: Mapping[str, Callable[[Array, int], Array]] = {
    "first group's": lambda v, groups: np.append(v, np.ones(v.size * (groups - 1))),
    "interleaved": np.repeat,
}
_OF_ZERO_POINTS: Mapping[str, Callable[[Array, int], Array]] = {
    "takes 0": lambda z, _: np.zeros_like(z),
    "takes its negative": lambda z, _: -z.astype(np.float32),
    "takes one more": lambda z, _: z.astype(np.float32) + 1,
}
_MOVED: Mapping[str, Callable[[Array, Geometry], Array]] = {
    "sign": lambda b, g: b * g.strides,
    "no stride": lambda b, _: -b,
    "other side": lambda b, _: 0 * b,
    "dilation": lambda b, g: -b * g.dilations,
    "first axis alone": lambda b, g: -b * g.strides * (np.arange(len(b)) == 0),
    "last axis alone": lambda b, g: -b * g.strides * (np.arange(len(b)) == len(b) - 1),
}


def _both(pads: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(np.add(pads["begin"], pads["end"]).tolist())


_PADS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "all at the end": lambda a: {"begin": (0,) * len(a["begin"]), "end": _both(a)},
    "all at the beginning": lambda a: {"begin": _both(a), "end": (0,) * len(a["end"])},
    "begin and end exchanged": lambda a: {"begin": a["end"], "end": a["begin"]},
    "edge": lambda _: {"mode": "edge"},
}  # fmt: skip
_WRONG_VALUES = [
    ("LeakyRelu", "alpha", 0.01), ("HardSigmoid", "alpha", 0.2), ("HardSigmoid", "beta", 0.0),
    ("Clip", "min", 0.0), ("Clip", "max", 6.0), ("Clip", "max", np.inf), ("Clip", "min", -np.inf),
    ("BatchNormalization", "epsilon", 0.0), ("BatchNormalization", "epsilon", 1e-5),
]  # fmt: skip
_NORMAL: Mapping[str, Rewrite] = {
    **{way: _array(f"bn_{way}", lambda v, _: np.zeros_like(v)) for way in ("shift", "mean")},
    **{way: _array(f"bn_{way}", lambda v, _: np.ones_like(v)) for way in ("scale", "variance")},
    "mean's sign": _array("bn_mean", lambda v, _: -v),
    "root": _array("bn_variance", lambda v, _: (v + np.float32(2**-10)) ** 2),
}
_ADDED: Mapping[str, Callable[[str], Rewrite]] = {
    "is taken as zero": lambda name: _array(name, lambda v, _: np.zeros_like(v), fed=True),
    "is added twice": lambda name: _array(name, lambda v, _: v * 2, fed=True),
    "is read from the first item": lambda name: _array(name, lambda v, _: np.broadcast_to(v[:1], v.shape), fed=True),
}
_IN_PLACE = {
    **{kind: [kind] for kind in ("Relu", "Add", "Quantize")},
    "any": [*ARITHMETIC, *ACTIVATIONS, "Quantize"],
}
# Rounding commutes with monotonic functions that keep the grid, and with powers of two that f16 has.
_ROUNDED = [
    *product(["Quantize", "Cast"], (*ADDING, "BatchNormalization")),
    *product(["Quantize"], (*SCALING, "LeakyRelu", "PRelu", "HardSigmoid", "Sigmoid", "Tanh")),
]


@cache
def families() -> Mapping[str, tuple[int, Mapping[str, Rewrite]]]:
    """Return the weight of each kind of rewrite, and its rewrites by their words."""
    return {
        "drop": (3, {
            "drops bias": _without_bias,
            **{f"drops {kind}": _nodes([kind], _drop) for kind in (*_IN_PLACE["any"], "Conv", "Cast")},
        }),
        "swap": (4, {
            f"swaps {first} and {second}": _nodes([first], _swap(second), behind=True)
            for first, second in product((*ARITHMETIC, *ACTIVATIONS), repeat=2) if _differ(first, second)
        }),
        "channel": (3, {
            f"{way} of {name}": _array(name, made, 2)
            for (way, made), name in product(_OF_VECTORS.items(), (*VECTORS, "w_scale"))
        }),
        "groups": (3, {
            **{
                f"takes {way} entries of {name} in all groups": _per_group(name, made)
                for (way, made), name in product(_OF_GROUPS.items(), VECTORS) if name != "b_scale"
            },
            **{f"takes {way} filter scales in all groups ({turn})": _filter_scales(made)
               for (way, made), turn in product(_OF_SCALES.items(), range(3))},
        }),
        "axis": (3, {
            **{f"Dequantize along axis {axis}": _nodes(["Dequantize"], _scales_along(axis)) for axis in (0, 2, -1)},
            **{
                f"BatchNormalization along axis {axis}": _attributes("BatchNormalization", _with("axis", axis))
                for axis in (0, 2, -1)
            },
            **{
                f"{kind} along axis {axis}": _nodes([kind], _along(axis), behind=True)
                for kind, axis in product(("PRelu", "Add", "Mul", "Sub", "Max"), (0, 2, -1))
            },
        }),
        "part": (3, {
            "Slice from 0": _attributes("Slice", _first_part),
            "Slice of the end": _attributes("Slice", _earlier_part),
            "Split sizes in reverse": _attributes("Split", lambda a: {"sizes": a["sizes"][::-1]}),
            "Concat in reverse": _inputs("Concat", lambda _, node: node.inputs[::-1]),
            "Concat of the first twice": _inputs(
                "Concat", lambda _, node: node.inputs[:1] * len(node.inputs), behind=True
            ),
            "Transpose of spatial axes": _attributes("Transpose", _spatial_axes, behind=True),
        }),
        "zero point": (3, {
            **{
                f"{way} for {name}_zero_point": _array(f"{name}_zero_point", made)
                for (way, made), name in product(_OF_ZERO_POINTS.items(), ("x", "w", "y", "added"))
            },
            **{f"takes 0 in {kind} for x_zero_point": _zero_of(kind) for kind in ("Quantize", "Dequantize")},
        }),
        "sign": (1, {
            f"reads the quanta of {name} with the other sign": _sign(name) for name in ("X", "W", "added")
        }),
        "pad": (3, {
            **{f"Pad: {way}": _fused_pad(moved) for way, moved in _MOVED.items()},
            **{f"Pad: {way}": _attributes("Pad", made) for way, made in _PADS.items()},
        }),
        "rounding": (2, {
            f"the last Quantize: {name} {value}": _attributes("Quantize", _with(name, value), last=True)
            for name, value in (*product(["rounding"], ("truncated", "floor", "ceiling")), ("wraps", True))
        }),
        "rounded early": (3, {
            f"rounds with {what} before {place} too": _rounds_before(what, place) for what, place in _ROUNDED
        }),
        "constants": (4, {f"exchanges {a} and {b}": _exchange(a, b) for a, b in _pairs_of_constants()}),
        "attribute": (2, {
            f"takes {name} {value:g} in {kind}": _attributes(kind, _with(name, value))
            for kind, name, value in _WRONG_VALUES
        }),
        "normalization": (2, {f"folds BatchNormalization without {way}": rewrite for way, rewrite in _NORMAL.items()}),
        "in place": (1, {
            f"{word} in place although another consumer follows": _nodes(kinds, _in_place, behind=True)
            for word, kinds in _IN_PLACE.items()
        }),
        "gaps": (2, {f"{kind} only where a tap reaches": _gaps(kind) for kind in ("bias", *ARITHMETIC, *ACTIVATIONS)}),
        "resize": (1, {"Resize: tiles": _attributes("Resize", lambda a: {"tiles": max(a["scales"]) > 1})}),
        "added": (2, {
            f"the tensor {name} {way}": made(name)
            for (way, made), name in product(_ADDED.items(), ("added", "fixed", "skip"))
        }),
        "memory": (1, {EARLY: lambda _: True}),
        "filter": (1, {
            f"quantises a float filter to its largest / {steps:g}": _quantised_filter(steps) for steps in (127.5, 63.5)
        }),
    }  # fmt: skip


def _with(name: str, value: object) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Return a function that sets an attribute to another value."""
    return lambda _: {name: value}


def _per_group(name: str, made: Callable[[Array, int], Array]) -> Rewrite:
    """Change a vector that has an entry for each channel of several groups."""
    changed = _array(name, made, 2)

    def rewrite(play: Play) -> bool:
        groups, size = _geometry(play).groups, play.arrays.get(name, np.array(0)).size
        return groups > 1 and size % groups == 0 and changed(play)

    return rewrite


def _level(axis: str, *levels: str) -> Callable[[Question], bool]:
    return lambda each: getattr(each.case.context, axis) in levels


def _channels(each: Question) -> int:
    return int(each.case.w.shape[1]) * each.geometry.groups


CONDITIONS: Mapping[str, Callable[[Question], bool]] = {
    "with groups": lambda each: each.geometry.groups > 1,
    "without groups": lambda each: each.geometry.groups == 1,
    "depthwise": lambda each: 1 < each.geometry.groups == each.case.x.shape[1],
    "if kernel != stride": lambda each: each.geometry.kernel != each.geometry.strides,
    "if kernel == stride": lambda each: each.geometry.kernel == each.geometry.strides,
    "if kernel > stride": lambda each: all(np.greater(each.geometry.kernel, each.geometry.strides)),
    "if kernel < stride": lambda each: any(np.less(each.geometry.kernel, each.geometry.strides)),
    "if strides are 1": lambda each: set(each.geometry.strides) == {1},
    "if strides differ": lambda each: len(set(each.geometry.strides)) > 1,
    "with dilation": lambda each: max(each.geometry.dilations) > 1,
    "with output_padding": lambda each: bool(each.case.attributes.output_padding),
    "with pads": lambda each: any(each.geometry.pads_begin),
    "without pads": lambda each: not any(each.geometry.pads_begin),
    "with SAME": lambda each: str(each.case.attributes.auto_pad).startswith("same"),
    **{f"for rank {rank}": lambda each, rank=rank: len(each.geometry.output) == rank for rank in (1, 2, 3)},
    "with symbolic sizes": lambda each: each.case.shapes == "symbolic",
    "for odd channels": lambda each: _channels(each) % 2 == 1,
    "for channels % 4 != 0": lambda each: _channels(each) % 4 != 0,
    "for more than 2 channels": lambda each: _channels(each) > 2,  # noqa: PLR2004
    "for more items": lambda each: each.case.x.shape[0] > 1,
    "with a bias": lambda each: each.case.b is not None,
    "without a bias": lambda each: each.case.b is None,
    "if data are quantised": lambda each: each.case.context.data != "float",
    "if data are float": _level("data", "float"),
    "if data are int8": _level("data", "int8", "int8-zero-point", "int8-input"),
    "if the filter is quantised": _level("filter", "int8", "int8-per-channel", "uint8"),
    "if the filter is fed": _level("filter", "input"),
    "if the output is quantised": _level("end", "int8", "uint8"),
    "with two consumers": _level("use", "two-consumers", "split-channels"),
    "with an activation": lambda each: each.case.context.activation != "none",
    "with something before": lambda each: each.case.context.before != "none",
    "with arithmetic": lambda each: each.case.context.arithmetic != "none",
    "in front of a Concat": _level("use", "concat-channels", "concat-spatial"),
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
        ((_, rewrites),) = random.choices(kinds, [often for often, _ in kinds])
        what, rewrite = random.choice([*rewrites.items()])
        condition = "always" if random.random() < _ALWAYS else random.choice([*CONDITIONS])
        compiler = Compiler(what, condition, rewrite, CONDITIONS.get(condition, lambda _: True))
        if str(compiler) not in found and any(compiler.rewritten(each) for each in pool()):
            found[str(compiler)] = compiler
    return list(found.values())


def why_alive(compiler: Compiler, questions: Sequence[Question]) -> str | None:
    """Return why a compiler survives; None if it dies."""
    asked, shown = 0, 0
    runtime = Runtime(memory={} if compiler.what == EARLY else None)
    for each in questions:
        if (play := compiler.rewritten(each)) is None:
            continue
        asked += 1
        y = runtime.run(play)
        if not isinstance(judge(each.problem, Produced(y), DType.F32), ver.Allowed):
            return None
        shown += not np.array_equal(y, each.problem.output, equal_nan=True)
    if not asked:
        return "its pattern is in no context"
    return f"its pattern is in {asked} contexts, {shown} had another output, and all were judged as right"


def pairs_alone(sweeps: Iterable[Sweep]) -> list[Question]:
    """Return the contexts of rows that cover every pair but not the triples."""
    cases = [
        sweep.case(row)
        for sweep in sweeps
        if sweep.cover is not None
        for row in replace(sweep, cover=replace(sweep.cover, threes=())).rows().tolist()
    ]
    return [each for each in map(question, cases) if each is not None]


def main() -> int:
    """Draw, run, print; return 1 if too few die."""
    parser = argparse.ArgumentParser(description="How many wrong graph compilers die in contexts.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--small", action="store_true", help="for CI: 60 compilers, in the gate tier alone")
    parser.add_argument("--no-pairs", action="store_true", help="leave out the rows that cover pairs alone")
    arguments: Any = parser.parse_args()
    compilers = draw_some(60 if arguments.small else arguments.count, arguments.seed)
    corpus = Corpus.load()
    gate = [each for case in corpus.cases("gate", ["contexts"]) if (each := question(case)) is not None]
    parts = {"gate": gate}
    if not (arguments.small or arguments.no_pairs):
        parts["pairs alone"] = pairs_alone(corpus.sweeps.values())
    enough = True
    for name, questions in parts.items():
        survivors = {compiler: reason for compiler in compilers if (reason := why_alive(compiler, questions))}
        for compiler, reason in survivors.items():
            print(f"{name}: survives: {compiler}: {reason}")
        dead = len(compilers) - len(survivors)
        share = f"{dead} of {len(compilers)} wrong compilers die ({dead / len(compilers):.1%})"
        print(f"{name}: {share} in {len(questions)} contexts")
        enough = enough and (name != "gate" or 100 * dead >= LEAST * len(compilers))
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
