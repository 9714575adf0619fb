"""How many wrong graph compilers die in the contexts of the gate tier.

A wrong compiler is drawn from a grammar: a wrong rewrite, which is done wherever its pattern is in a graph, and a
condition on the case. It computes everything else in float32, and the operator alone correctly. It dies if a context is
judged as a failure. Only compilers are drawn that rewrite something in one of many random contexts. Every survivor is
printed with its reason, and the share that dies in rows that cover pairs alone.

Run `python bench/wrong_compilers.py [--count 200] [--seed 46] [--small] [--no-pairs]`. The exit code is 1 if less than
95 of a hundred die.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, islice
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from conforming_contexts import fold, pad_in_the_operator, pad_of_quanta
from float_graphs import Runtime, play_of, replaced
from tconv.backends.outcome import Produced
from tconv.cases.graph import OPERATOR, Node
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

LEAST = 95
"""How many of a hundred must die."""
DIALECT = find_dialect("onnx/ConvTranspose-22")
POOL = 4000
"""In one of so many random contexts a compiler must rewrite something."""
Rewrite = tuple[str, "Callable[[Play], bool]"]

_ALWAYS = 0.3
"""How many compilers have no condition."""
ADDING, SCALING = ("Add", "Sub"), ("Mul", "Div")
ARITHMETIC = (*ADDING, *SCALING, "Max", "BatchNormalization")
ACTIVATIONS = ("Relu", "Clip", "LeakyRelu", "PRelu", "HardSigmoid", "Sigmoid", "Tanh", "Elu", "HardSwish")
HOMOGENEOUS = ("Relu", "LeakyRelu", "PRelu")
"""Activations that commute with a positive factor."""
ADDENDS = {"B", "B_more", "add"}
"""Constants that may be exchanged, as all of them are added to the same."""
OF_ZERO = ("HardSigmoid", "Sigmoid")
"""Activations of which zero is not zero."""
VECTORS = (
    "mul",
    "add",
    "sub",
    "max",
    "bn_scale",
    "bn_shift",
    "bn_mean",
    "bn_variance",
    "slope",
    "B",
    "B_more",
    "b_scale",
)
"""Constants that may have an entry for each channel."""


@dataclass(frozen=True)
class Compiler:
    """A wrong compiler.

    Attributes:
        what: its rewrite in words.
        condition: its condition in words.
        rewrite: rewrites a graph; returns whether the pattern is there.
        holds: whether the condition holds for a case.
        is_stateful: whether buffers of earlier runs are not cleared.
    """

    what: str
    condition: str
    rewrite: Callable[[Play], bool]
    holds: Callable[[Question], bool]
    is_stateful: bool = False

    def __str__(self) -> str:
        return f"{self.what}, {self.condition}"

    def rewritten(self, question: Question) -> Play | None:
        """Return the graph that the compiler makes; None if it leaves it as it is."""
        if not self.holds(question):
            return None
        play = question.play.copy()
        return play if self.rewrite(play) else None


@dataclass(frozen=True)
class Question:
    """A context.

    Attributes:
        case: the case.
        problem: the problem.
        geometry: of the operator.
        play: its graph, which is copied before it is rewritten.
    """

    case: Case
    problem: Problem
    geometry: Geometry
    play: Play


def question(case: Case) -> Question | None:
    """Return what is asked of a context; None for an operator alone."""
    problem = Problem(case, DIALECT)
    if problem.surrounded is None or problem.values is None:
        return None
    return Question(case, problem, problem.values.primary.geometry, play_of(problem))


# What a rewrite needs to know of a graph.


def _behind(play: Play) -> set[str]:
    """Return the names of what depends on the operator."""
    names = {play.operator}
    for node in play.nodes:
        if names & set(node.inputs):
            names |= set(node.outputs)
    return names


def _data_of(play: Play, node: Node) -> str:
    """Return the input that a node passes on if it is dropped: what depends on the operator, or what a node makes."""
    behind, made = _behind(play), {name for each in play.nodes for name in each.outputs}
    return next((name for names in (behind, made) for name in node.inputs if name in names), node.inputs[0])


def _each(play: Play, kinds: Iterable[str], *, behind: bool = False) -> list[Node]:
    """Return the nodes of some kinds, perhaps only those behind the operator."""
    names, wanted = _behind(play), set(kinds)
    return [node for node in play.nodes if node.kind in wanted and (not behind or names & set(node.inputs))]


def _constant(play: Play, name: str) -> bool:
    return name in play.arrays and name not in play.fed


def _channels(play: Play) -> int:
    geometry = play.main.attributes["geometry"]
    w = play.arrays.get("W")
    return 0 if w is None else geometry.groups * int(_filter_outputs(play))


def _filter_outputs(play: Play) -> int:
    call = play.main.call
    assert call is not None
    return int(call.written.w.shape[1])


def _everywhere(play: Play, nodes: Sequence[Node], change: Callable[[Node], bool]) -> bool:
    """Change nodes, each as it is after the changes before; return whether one was changed."""
    done = False
    for node in nodes:
        current = play.maker(node.outputs[0])
        if current is not None and current.kind == node.kind:
            done = change(current) or done
    return done


# The rewrites: each function draws one.


def _drop(random: Random) -> Rewrite:
    kind = random.choice([*ARITHMETIC, *ACTIVATIONS, "Conv", "bias", "Cast", "Quantize"])

    def rewrite(play: Play) -> bool:
        if kind == "bias":
            main = play.main
            play.put(main, replaced(main, inputs=main.inputs[:2]))
            return len(main.inputs) > 2  # noqa: PLR2004 - it had a bias

        def change(node: Node) -> bool:
            is_last = kind == "Quantize" and node.outputs[0] == play.output
            if is_last or (kind == "Cast" and not _behind(play) & set(node.inputs)):
                return False
            data = _data_of(play, node)
            play.put(node)
            play.rename(node.outputs[0], data)
            return True

        return _everywhere(play, _each(play, [kind]), change)

    return f"drops {kind}", rewrite


def _commute(first: str, second: str) -> bool:
    pair = {first, second}
    if first == second or pair <= set(ADDING) or pair <= set(SCALING) or pair <= {"Max", "Relu", "Clip"}:
        return True
    return bool(pair & set(SCALING)) and bool(pair & set(HOMOGENEOUS))


def _swap(random: Random) -> Rewrite:
    kinds = [*ARITHMETIC, *ACTIVATIONS]
    pairs = [(a, b) for a in kinds for b in kinds if not _commute(a, b) and not (a in ACTIVATIONS and b != "Add")]
    first, second = random.choice(pairs)

    def rewrite(play: Play) -> bool:
        def change(node: Node) -> bool:
            user = play.only_consumer(node.outputs[0])
            if user is None or user.kind != second:
                return False
            if node.inputs[0] in play.arrays and node.inputs[-1] in play.arrays:
                return False
            data = _data_of(play, node)
            (middle,), (last,) = node.outputs, user.outputs
            earlier = tuple(data if name == middle else name for name in user.inputs)
            later = tuple(middle if name == data else name for name in node.inputs)
            play.put(user, replaced(node, inputs=later, outputs=(last,)))
            play.put(node, replaced(user, inputs=earlier, outputs=(middle,)))
            if play.operator == middle:
                raise AssertionError
            return True

        return _everywhere(play, _each(play, [first], behind=True), change)

    return f"swaps {first} and {second}", rewrite


def _activation_first(random: Random) -> Rewrite:
    kind = random.choice(ACTIVATIONS)

    def rewrite(play: Play) -> bool:
        found = _each(play, [kind], behind=True)
        if not found or found[0].inputs[0] == play.operator or len(play.consumers(play.operator)) != 1:
            return False
        node = found[0]
        main = play.main
        play.put(node)
        play.rename(node.outputs[0], node.inputs[0])
        first = replaced(node, inputs=("sums", *node.inputs[1:]), outputs=main.outputs)
        play.put(main, replaced(main, outputs=("sums",)), first)
        play.operator = "sums"
        return True

    return f"fuses {kind} before the arithmetic", rewrite


def _bias_later(random: Random) -> Rewrite:
    kinds = random.choice([("Mul", "Div"), ("BatchNormalization",), *((kind,) for kind in ACTIVATIONS)])

    def rewrite(play: Play) -> bool:
        main = play.main
        user = play.only_consumer(play.operator)
        if len(main.inputs) < 3 or user is None or user.kind not in kinds:  # noqa: PLR2004 - it has a bias
            return False
        shape = (1, -1, *[1] * len(main.attributes["geometry"].output))
        bias = Node("Reshape", main.inputs[2:], ("bias shaped",), {"shape": shape})
        without = replaced(user, outputs=("without bias",))
        play.put(user, without, bias, Node("Add", ("without bias", "bias shaped"), user.outputs))
        play.put(main, replaced(main, inputs=main.inputs[:2]))
        return True

    return f"adds the bias behind {' and '.join(kinds)}", rewrite


def _changes_vector(
    random: Random, ways: Mapping[str, Callable[[Array, int, int], Array]], names: Sequence[str] = VECTORS
) -> Rewrite:
    way, name = random.choice([*ways]), random.choice(names)

    def rewrite(play: Play) -> bool:
        if not _constant(play, name):
            return False
        array = play.arrays[name]
        is_uniform = name == "b_scale" and not play.arrays.get("w_scale", np.array(0)).ndim
        if array.size < 2 or is_uniform:  # noqa: PLR2004 - no vector
            return False
        geometry = play.main.attributes["geometry"]
        changed = ways[way](array.reshape(-1), geometry.groups, array.size // geometry.groups)
        if changed is array:
            return False
        play.arrays[name] = changed.reshape(array.shape).astype(array.dtype)
        return True

    return f"{way} of {name}", rewrite


def _same_channel(random: Random) -> Rewrite:
    ways: dict[str, Callable[[Array, int, int], Array]] = {
        "takes the first entry for all": lambda v, _, __: np.full_like(v, v[0]),
        "takes the entries one channel further": lambda v, _, __: np.roll(v, -1),
        "takes the first entry for the last": lambda v, _, __: np.append(v[:-1], v[0]),
        "takes the entries in reverse": lambda v, _, __: v[::-1],
    }
    return _changes_vector(random, ways, [*VECTORS, "w_scale"])


def _forgotten_groups(random: Random) -> Rewrite:
    way, name = (
        random.choice(["first group's", "interleaved"]),
        random.choice([*VECTORS, "w_scale", "w_scale", "w_scale"]),
    )

    def rewrite(play: Play) -> bool:
        groups = play.main.attributes["geometry"].groups
        if groups == 1 or not _constant(play, name) or play.arrays[name].size < 2:  # noqa: PLR2004 - no vector
            return False
        array = play.arrays[name]
        if name == "w_scale":
            made = play.maker(play.main.inputs[1])
            assert made is not None
            factors = (
                np.repeat(array, groups)
                if way == "interleaved"
                else np.append(array, np.ones(array.size * (groups - 1), np.float32))
            )
            play.arrays["factors"] = factors.astype(np.float32)
            play.arrays["one"] = np.array(1, np.float32)
            inputs = (made.inputs[0], "one", *made.inputs[2:])
            quanta = replaced(made, inputs=inputs, outputs=("W unscaled",))
            scaled = Node("ScaleFilter", ("W unscaled", "factors"), made.outputs, {"groups": groups})
            play.put(made, quanta, scaled)
            return True
        vector = array.reshape(-1)
        share = vector.size // groups
        if share * groups != vector.size or name == "b_scale":
            return False
        of_groups = vector.reshape(groups, share)
        changed = np.tile(of_groups[0], groups) if way == "first group's" else of_groups.T.reshape(-1)
        play.arrays[name] = changed.reshape(array.shape)
        return share > 1 or way == "first group's"

    return f"takes {way} entries of {name} in all groups", rewrite


def _wrong_axis(random: Random) -> Rewrite:
    kind = random.choice(["BatchNormalization", "PRelu", "Add", "Mul", "Sub", "Max", "Dequantize"])
    axis = random.choice([0, 2, -1])

    def rewrite(play: Play) -> bool:
        def change(node: Node) -> bool:
            if kind == "Dequantize":
                if node.inputs[1] != "w_scale" or play.arrays["w_scale"].ndim == 0:
                    return False
                play.put(node, replaced(node, attributes={"axis": 0 if axis == 0 else axis % play.arrays["W"].ndim}))
                return True
            ndim = len(play.main.attributes["geometry"].output) + 2
            if kind == "BatchNormalization":
                play.put(node, replaced(node, attributes={"axis": axis % ndim}))
                return True
            name = next((name for name in node.inputs if _constant(play, name)), None)
            if name is None or play.arrays[name].size < 2 or play.arrays[name].size != _channels(play):  # noqa: PLR2004
                return False
            size = (play.main.attributes["geometry"].output)[axis % ndim - 2] if axis else len(play.arrays.get("X", ()))
            shape = [size if place == axis % ndim else 1 for place in range(ndim)]
            play.arrays[f"{name} elsewhere"] = np.resize(play.arrays[name], size).reshape(shape)
            inputs = tuple(f"{name} elsewhere" if each == name else each for each in node.inputs)
            play.put(node, replaced(node, inputs=inputs))
            return True

        return _everywhere(play, _each(play, [kind], behind=kind != "Dequantize"), change)

    return f"{kind} along axis {axis}", rewrite


def _part(random: Random) -> Rewrite:  # noqa: C901 - a case for each way
    way = random.choice(
        ["Slice from 0", "Slice of the end", "Split sizes in reverse", "Concat in reverse", "Concat along another axis",
         "Concat of the first twice", "Reshape of channels last", "Transpose of spatial axes"]
    )  # fmt: skip

    def change(play: Play, node: Node) -> bool:  # noqa: C901 - as above
        attributes = dict(node.attributes)
        match way:
            case "Slice from 0":
                sizes = [
                    end - start for start, end in zip(node.attributes["starts"], node.attributes["ends"], strict=True)
                ]
                attributes |= {"starts": (0,) * len(sizes), "ends": tuple(sizes)}
            case "Slice of the end":
                if "shared" in node.inputs[0]:
                    return False
                attributes |= {
                    "starts": tuple(max(0, start - 1) for start in node.attributes["starts"]),
                    "ends": tuple(
                        end - (start > 0)
                        for start, end in zip(node.attributes["starts"], node.attributes["ends"], strict=True)
                    ),
                }
            case "Split sizes in reverse":
                attributes["sizes"] = node.attributes["sizes"][::-1]
            case "Concat in reverse" | "Concat of the first twice":
                if len(node.inputs) < 2:  # noqa: PLR2004 - nothing to exchange
                    return False
                first, second = node.inputs
                inputs = (second, first) if way == "Concat in reverse" else (first, first)
                play.put(node, replaced(node, inputs=inputs))
                return True
            case "Concat along another axis":
                maker = play.maker(node.inputs[-1])
                if node.outputs[0] not in _behind(play) or (maker is not None and maker.kind == "Split"):
                    return False
                attributes["axis"] = 2 if node.attributes["axis"] == 1 else 1
            case "Reshape of channels last":
                if node.outputs[0] not in _behind(play):
                    return False
                rank = len(play.main.attributes["geometry"].output)
                last = Node("Transpose", node.inputs, ("channels last",), {"axes": (0, *range(2, rank + 2), 1)})
                play.put(node, last, replaced(node, inputs=("channels last",)))
                return True
            case "Transpose of spatial axes":
                axes = node.attributes["axes"]
                if node.outputs[0] not in _behind(play) or len(axes) < 4:  # noqa: PLR2004 - two spatial axes
                    return False
                attributes["axes"] = (axes[0], axes[2], axes[1], *axes[3:])
        play.put(node, replaced(node, attributes=attributes))
        return attributes != node.attributes

    kind = way.partition(" ")[0]
    return way, lambda play: _everywhere(play, _each(play, [kind]), lambda node: change(play, node))


def _zero_point(random: Random) -> Rewrite:
    name = random.choice(["x_zero_point", "w_zero_point", "y_zero_point", "added_zero_point"])
    way = random.choice(
        ["takes 0", "takes its negative", "takes 0 in Quantize", "takes 0 in Dequantize", "takes one more"]
    )

    def rewrite(play: Play) -> bool:
        if name not in play.arrays:
            return False
        zero_point = play.arrays[name]
        values = {
            "takes its negative": -zero_point.astype(np.float32),
            "takes one more": zero_point.astype(np.float32) + 1,
        }
        play.arrays["zero point"] = values.get(way, np.zeros_like(zero_point))
        kinds = {way.split()[-1]} & {"Quantize", "Dequantize"} or {"Quantize", "Dequantize"}
        if way.endswith("tize") and name != "x_zero_point":
            return False

        def change(node: Node) -> bool:
            if node.inputs[-1] != name:
                return False
            play.put(node, replaced(node, inputs=(*node.inputs[:-1], "zero point")))
            return bool(zero_point.any()) or way == "takes one more"

        return _everywhere(play, _each(play, kinds), change)

    return f"{way} for {name}", rewrite


def _sign(random: Random) -> Rewrite:
    name = random.choice(["X", "W", "added"])

    def rewrite(play: Play) -> bool:
        node = next((node for node in _each(play, ["Dequantize"]) if node.inputs[0] == name), None)
        source = name
        if name == "X" and node is None:
            made = next((node for node in _each(play, ["Quantize"]) if node.outputs[0] != play.output), None)
            if made is None:
                return False
            other = {"uint8": "int8", "int8": "uint8"}[made.attributes["dtype"]]
            # The quanta that it makes are of the right type, and are read as of the other.
            user = play.only_consumer(made.outputs[0])
            assert user is not None
            play.put(user, Node("Reinterpret", made.outputs, ("quanta of the other sign",), {"dtype": other}),
                     replaced(user, inputs=("quanta of the other sign", *user.inputs[1:])))  # fmt: skip
            return True
        if node is None or play.arrays[source].dtype.itemsize != 1:
            return False
        array = play.arrays[source]
        play.arrays[source] = array.view(np.uint8 if array.dtype == np.int8 else np.int8)
        return True

    return f"reads the quanta of {name} with the other sign", rewrite


def _pad(random: Random) -> Rewrite:
    way = random.choice(
        ["sign", "no stride", "other side", "dilation", "first axis alone", "last axis alone", "all at the end",
         "all at the beginning", "edge", "begin and end exchanged"]
    )  # fmt: skip

    def rewrite(play: Play) -> bool:
        def change(node: Node) -> bool:
            begin, end = node.attributes["begin"], node.attributes["end"]
            both = tuple(b + e for b, e in zip(begin, end, strict=True))
            none = (0,) * len(both)
            made = {
                "all at the end": {"begin": none, "end": both},
                "all at the beginning": {"begin": both, "end": none},
                "begin and end exchanged": {"begin": end, "end": begin},
                "edge": {"mode": "edge"},
            }[way]
            play.put(node, replaced(node, attributes=made))
            return any(made.get(side, ()) != node.attributes[side] for side in ("begin", "end"))

        if way in {"all at the end", "all at the beginning", "edge", "begin and end exchanged"}:
            return _everywhere(play, _each(play, ["Pad"]), change)
        wrong = play.main.attributes["geometry"]
        pad = play.maker(play.main.inputs[0])
        if not pad_in_the_operator(play) or pad is None:
            return False
        fused = play.main.attributes["geometry"]
        begin = pad.attributes["begin"][2:]
        last = len(begin) - 1
        moved = {
            "sign": [b * s for b, s in zip(begin, wrong.strides, strict=True)],
            "no stride": [-b for b in begin],
            "other side": [0 for b in begin],
            "dilation": [-b * d for b, d in zip(begin, wrong.dilations, strict=True)],
            "first axis alone": [
                -b * s * (at == 0) for at, (b, s) in enumerate(zip(begin, wrong.strides, strict=True))
            ],
            "last axis alone": [
                -b * s * (at == last) for at, (b, s) in enumerate(zip(begin, wrong.strides, strict=True))
            ],
        }[way]
        pads = tuple(p + m for p, m in zip(wrong.pads_begin, moved, strict=True))
        main = play.main
        play.put(main, replaced(main, attributes={"geometry": replace(fused, pads_begin=pads)}))
        return pads != fused.pads_begin

    return f"Pad: {way}", rewrite


def _pads_zero(random: Random) -> Rewrite:
    side = random.choice(["before Dequantize", "behind Quantize"])

    def rewrite(play: Play) -> bool:
        pads = _each(play, ["Pad"])
        is_fed = bool(pads) and play.maker(pads[0].inputs[0]) is not None
        if not pads or is_fed != (side == "before Dequantize") or not pad_of_quanta(play):
            return False
        (pad,) = _each(play, ["Pad"])
        had = bool(pad.attributes["value"])
        play.put(pad, replaced(pad, attributes={"value": 0}))
        return had

    return f"pads quanta {side} with 0", rewrite


def _rounding(random: Random) -> Rewrite:
    way = random.choice(["truncated", "floor", "ceiling", "wraps"])

    def rewrite(play: Play) -> bool:
        last = play.maker(play.output)
        if last is None or last.kind != "Quantize":
            return False
        play.put(last, replaced(last, attributes={"wraps": True} if way == "wraps" else {"rounding": way}))
        return True

    return f"the last Quantize: {way}", rewrite


def _rounded_early(random: Random) -> Rewrite:
    what = random.choice(["Quantize", "Cast"])
    # Rounding commutes with what is monotonic and keeps the grid, and with powers of two that f16 has.
    places = (*ADDING, "BatchNormalization")
    more = (*SCALING, "LeakyRelu", "PRelu", "HardSigmoid", "Sigmoid", "Tanh")
    place = random.choice([*places, *(more if what == "Quantize" else ())])

    def rewrite(play: Play) -> bool:
        last = play.maker(play.output)
        if last is None or last.kind != ("Cast" if what == "Cast" else "Quantize"):
            return False
        nodes = _each(play, [place], behind=True)
        if not nodes:
            return False
        node = nodes[0]
        data = _data_of(play, node)
        inputs = tuple("rounded" if name == data else name for name in node.inputs)
        play.put(node, *_rounds(last, data, "rounded", what), replaced(node, inputs=inputs))
        return True

    return f"rounds with {what} before {place} too", rewrite


def _rounds(last: Node, name: str, made: str, what: str) -> list[Node]:
    if what == "Cast":
        return [Node("Cast", (name,), ("half",), {"to": "f16"}), Node("Cast", ("half",), (made,), {"to": "f32"})]
    return [
        Node("Quantize", (name, *last.inputs[1:]), ("quanta",), last.attributes),
        Node("Dequantize", ("quanta", *last.inputs[1:]), (made,)),
    ]


def _constants(random: Random) -> Rewrite:
    first, second = random.choice(_pairs_of_constants())

    def rewrite(play: Play) -> bool:
        arrays = play.arrays
        if not (_constant(play, first) and _constant(play, second)):
            return False
        a, b = arrays[first], arrays[second]
        if not _alike(a, b):
            return False
        arrays[first], arrays[second] = b.reshape(a.shape), a.reshape(b.shape)
        return True

    return f"exchanges {first} and {second}", rewrite


@cache
def _pairs_of_constants() -> list[tuple[str, str]]:
    """Return the pairs of constants that may be of one size and type in a graph."""
    found: set[tuple[str, str]] = set()
    for each in pool():
        arrays = {name: array for name, array in each.play.arrays.items() if name not in each.play.fed}
        for first, second in combinations(sorted(arrays), 2):
            a, b = arrays[first], arrays[second]
            is_vector = {name in VECTORS or name.startswith("w_") for name in (first, second)}
            if _alike(a, b) and not {first, second} <= ADDENDS and (len(is_vector) == 1 or not a.ndim):
                found.add((first, second))
    return sorted(found)


def _alike(first: Array, second: Array) -> bool:
    """Return whether constants may be taken for each other: scales, zero points, or vectors and tensors of one size."""
    shapes = [[size for size in array.shape if size != 1] for array in (first, second)]
    is_scalar = first.ndim == second.ndim == 0
    return first.dtype == second.dtype and shapes[0] == shapes[1] and (is_scalar or first.size > 1)


def _attribute(random: Random) -> Rewrite:
    kind, name, value = random.choice(
        [("LeakyRelu", "alpha", 0.01), ("HardSigmoid", "alpha", 0.2), ("HardSigmoid", "beta", 0.0),
         ("Clip", "min", 0.0), ("Clip", "max", 6.0), ("Clip", "max", np.inf), ("Clip", "min", -np.inf),
         ("BatchNormalization", "epsilon", 0.0), ("BatchNormalization", "epsilon", 1e-5)]
    )  # fmt: skip

    def rewrite(play: Play) -> bool:
        found = _each(play, [kind])
        for node in found:
            play.put(node, replaced(node, attributes={name: value}))
        return bool(found)

    return f"takes {name} {value:g} in {kind}", rewrite


def _normalization(random: Random) -> Rewrite:
    way = random.choice(["shift", "mean", "scale", "variance", "mean's sign", "root"])

    def rewrite(play: Play) -> bool:
        if "bn_scale" not in play.arrays:
            return False
        arrays = play.arrays
        match way:
            case "shift" | "mean":
                arrays[f"bn_{way}"] = np.zeros_like(arrays[f"bn_{way}"])
            case "scale" | "variance":
                arrays[f"bn_{way}"] = np.ones_like(arrays[f"bn_{way}"])
            case "mean's sign":
                arrays["bn_mean"] = -arrays["bn_mean"]
            case "root":
                arrays["bn_variance"] = (arrays["bn_variance"] + np.float32(2**-10)) ** 2
        return True

    return f"folds BatchNormalization without {way}", rewrite


def _shared(random: Random) -> Rewrite:
    way = random.choice(["merges operators", "folds into the shared filter", "reverses the shared filter"])

    def rewrite(play: Play) -> bool:
        others = [node for node in play.nodes if node.kind == OPERATOR and node.outputs[0] != play.operator]
        others = [node for node in others if node.inputs[1] == play.main.inputs[1]]
        if not others:
            return False
        (other,) = others
        w = other.inputs[1]
        match way:
            case "merges operators":
                user = play.only_consumer(other.outputs[0])
                assert user is not None
                sizes = play.main.attributes["geometry"].output
                middle = tuple(size // 2 for size in sizes)
                attributes = {"starts": middle, "ends": tuple(at + 1 for at in middle)}
                play.put(user, replaced(user, inputs=(play.operator,), attributes=attributes))
                play.put(other)
            case "folds into the shared filter":
                return fold(play, into=(other,))
            case "reverses the shared filter":
                rank = len(play.main.attributes["geometry"].output)
                node = Node("Reverse", (w,), ("reversed",), {"axes": tuple(range(2, rank + 2))})
                play.put(other, node, replaced(other, inputs=(other.inputs[0], "reversed", *other.inputs[2:])))
        return True

    return way, rewrite


def _beside(random: Random) -> Rewrite:
    way = random.choice(["takes the first filter for both", "takes the second filter for both", "reuses the buffer"])

    def rewrite(play: Play) -> bool:
        if "W_beside" not in play.arrays:
            return False
        other = next(node for node in play.nodes if "W_beside" in node.inputs)
        main = play.main
        if way == "takes the first filter for both":
            play.put(other, replaced(other, inputs=main.inputs))
        elif way == "takes the second filter for both":
            play.put(main, replaced(main, inputs=(main.inputs[0], "W_beside", *main.inputs[2:])))
        else:
            play.put(other, replaced(other, attributes={"overwrites": play.operator}))
        return True

    return f"of two operators {way}", rewrite


def _in_place(random: Random) -> Rewrite:
    kind = random.choice(["Relu", "Add", "Quantize", "any"])

    def rewrite(play: Play) -> bool:
        def change(node: Node) -> bool:
            name = _data_of(play, node)
            if len(play.consumers(name)) < 2 or (name == play.operator and node.kind == OPERATOR):  # noqa: PLR2004
                return False
            later = play.nodes[play.nodes.index(node) + 1 :]
            if not any(name in each.inputs for each in later) and node.outputs[0] != play.output:
                return False
            play.put(node, replaced(node, attributes={"overwrites": name}))
            return any(name in each.inputs for each in later)

        kinds = {*ARITHMETIC, *ACTIVATIONS, "Quantize"} if kind == "any" else {kind}
        return _everywhere(play, _each(play, kinds, behind=True), change)

    return f"{kind} in place although another consumer follows", rewrite


def _gaps(random: Random) -> Rewrite:
    kind = random.choice(["bias", *ARITHMETIC, *ACTIVATIONS])

    def rewrite(play: Play) -> bool:
        main = play.main
        geometry = main.attributes["geometry"]
        ones = np.ones((1, geometry.groups, *geometry.spatial))
        reached = sums(ones, np.ones((geometry.groups, 1, *geometry.kernel)), None, geometry)[:, :1] > 0
        if reached.all():
            return False
        if kind == "bias":
            if len(main.inputs) < 3:  # noqa: PLR2004 - it has no bias
                return False
            without = replaced(main, inputs=main.inputs[:2], outputs=("without bias",))
            play.put(main, without, replaced(main, attributes={"only": reached, "else": "without bias"}))
            return True
        user = play.only_consumer(play.operator)
        needs_bias = kind in ACTIVATIONS and kind not in OF_ZERO
        if user is None or user.kind != kind or (needs_bias and len(main.inputs) < 3):  # noqa: PLR2004 - no bias
            return False
        play.put(user, replaced(user, attributes={"only": reached, "else": play.operator}))
        return True

    return f"{kind} only where a tap reaches", rewrite


def _resize(random: Random) -> Rewrite:
    way = random.choice(["tiles", "first axis alone"])

    def rewrite(play: Play) -> bool:
        nodes = _each(play, ["Resize"])
        if way == "tiles":
            for node in nodes:
                play.put(node, replaced(node, attributes={"tiles": True}))
        else:
            return False
        return any(scale > 1 for node in nodes for scale in node.attributes["scales"])

    return f"Resize: {way}", rewrite


def _added(random: Random) -> Rewrite:  # noqa: C901 - a case for each way
    way = random.choice(
        ["is taken as zero", "is added twice", "is not dequantised", "is read from the first item", "is the sum itself"]
    )
    name = random.choice(["added", "added", "fixed", "skip"])

    def rewrite(play: Play) -> bool:  # noqa: C901 - as above
        if name not in play.arrays:
            return False
        arrays = play.arrays
        match way:
            case "is taken as zero":
                arrays[name] = np.zeros_like(arrays[name])
            case "is added twice":
                if name == "skip":
                    return False
                arrays[name] = arrays[name] * 2
            case "is not dequantised":
                if f"{name}_scale" not in arrays:
                    return False
                arrays[f"{name}_scale"] = np.array(1, np.float32)
                arrays[f"{name}_zero_point"] = np.zeros_like(arrays[f"{name}_zero_point"])
            case "is read from the first item":
                if len(arrays[name]) < 2:  # noqa: PLR2004 - one item
                    return False
                arrays[name] = np.broadcast_to(arrays[name][:1], arrays[name].shape)
            case "is the sum itself":
                node = next(node for node in play.nodes if name in node.inputs)
                data = _data_of(play, node)
                if f"{name}_scale" in arrays or name == data:
                    return False
                play.put(node, replaced(node, inputs=tuple(data if each == name else each for each in node.inputs)))
        return True

    return f"the tensor {name} {way}", rewrite


def _quantised_filter(random: Random) -> Rewrite:
    steps = random.choice([127.5, 127.0, 63.5])

    def rewrite(play: Play) -> bool:
        last, data = play.maker(play.output), play.maker(play.main.inputs[0])
        is_quantised = last is not None and last.kind == "Quantize" and data is not None and data.kind == "Dequantize"
        if not is_quantised or not _constant(play, "W") or play.arrays["W"].dtype != np.float32:
            return False
        w = play.arrays["W"]
        scale = np.abs(w).max() / np.float32(steps)
        play.arrays["W"] = (np.rint(w / scale) * scale).astype(np.float32)
        return True

    return f"quantises a float filter to its largest / {steps:g}", rewrite


def _stale(_: Random) -> Rewrite:
    return "adds to the buffer of an earlier run of this size", lambda _: True


FAMILIES: Mapping[Callable[[Random], Rewrite], int] = {
    _drop: 3, _swap: 4, _activation_first: 2, _bias_later: 2, _same_channel: 3, _forgotten_groups: 3, _wrong_axis: 3,
    _part: 3, _zero_point: 3, _sign: 1, _pad: 3, _pads_zero: 1, _rounding: 2, _rounded_early: 3, _constants: 4,
    _attribute: 2, _normalization: 2, _shared: 2, _beside: 1, _in_place: 1, _gaps: 2, _resize: 1, _added: 2, _stale: 1,
    _quantised_filter: 1,
}  # fmt: skip
"""What draws a rewrite, and how often."""


def _level(axis: str, *levels: str) -> Callable[[Question], bool]:
    return lambda each: getattr(each.case.context, axis) in levels


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
    "for odd channels": lambda each: each.case.w.shape[1] * each.geometry.groups % 2 == 1,
    "for channels % 4 != 0": lambda each: each.case.w.shape[1] * each.geometry.groups % 4 != 0,
    "for more than 2 channels": lambda each: each.case.w.shape[1] * each.geometry.groups > 2,  # noqa: PLR2004
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
}  # fmt: skip


def draw(random: Random) -> Compiler:
    """Draw a wrong compiler, whether its pattern occurs or not."""
    family = random.choices([*FAMILIES], [*FAMILIES.values()])[0]
    what, rewrite = family(random)
    names = [*CONDITIONS]
    condition = "always" if random.random() < _ALWAYS else random.choice(names)
    holds = CONDITIONS.get(condition, lambda _: True)
    return Compiler(what, condition, rewrite, holds, is_stateful=family is _stale)


@cache
def pool() -> list[Question]:
    """Return the random contexts in one of which a compiler must rewrite something."""
    cases = islice(drawn(46, DIALECT, contexts=True), POOL)
    return [each for each in map(question, cases) if each is not None]


def draw_some(count: int, seed: int) -> list[Compiler]:
    """Draw different compilers whose pattern occurs."""
    random = Random(seed)  # noqa: S311 - chance that can be repeated
    found: dict[str, Compiler] = {}
    while len(found) < count:
        compiler = draw(random)
        if str(compiler) not in found and any(compiler.rewritten(each) for each in pool()):
            found[str(compiler)] = compiler
    return list(found.values())


def why_alive(compiler: Compiler, questions: Sequence[Question]) -> str | None:
    """Return why a compiler survives; None if it dies."""
    asked, shown = 0, 0
    runtime = Runtime(memory={} if compiler.is_stateful else None)
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
    """Return the contexts of rows that hold every pair and not the triples."""
    cases = [
        sweep.case(row)
        for sweep in sweeps
        if sweep.cover is not None
        for row in replace(sweep, cover=replace(sweep.cover, threes=())).rows().tolist()
    ]
    return [each for each in map(question, cases) if each is not None]


def main() -> int:
    """Draw, ask, print; return 1 if too few die."""
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
