"""Run a node on a runtime among its neighbours, cut out of the model.

No text bounds the error of a graph with real weights. So the output is compared with two others: that of onnx's
evaluator, in which tconv's reference computes the node, and that of the runtime without optimisations. A person
should look at a difference. If all neighbours keep integers exact, weights and data become small integers. Then a
difference that only optimisations cause is wrong.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tconv.backends.outcome import Crashed, Produced, TimedOut, in_words
from tconv.cases.case import Case, Operand
from tconv.cases.operands import NUMPY_TYPES
from tconv.execution.whole_models import run_model
from tconv.expectation.expected import Values, expect
from tconv.expectation.truth import Truth
from tconv.porting.model_calls import OPERATOR, attributes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.backends import Outcome
    from tconv.dialects import Dialect
    from tconv.execution.asking import Asking
    from tconv.porting.model import Model
    from tconv.porting.model_calls import ModelCall
    from tconv.vocabulary import Array

STEPS = 3
"""The number of steps before the operator, and behind it, to the nodes that are cut out with it."""
_EXACT: Final = frozenset(
    {"Add", "Concat", "Conv", OPERATOR, "Flatten", "Identity", "Max", "MaxPool", "Mul", "Pad", "Relu", "Reshape",
     "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"}
)  # fmt: skip
"""Operators with integer outputs for integer inputs."""
_EVALUATED = 21
"""The operator set that onnx's evaluator uses. Before 19 it has no QuantizeLinear, and before 14 its
BatchNormalization takes the variance for another value (onnx 1.23.2)."""
_LARGEST = 2.0**24
_LINE = 2.0**-10
"""Values may differ by this part of the largest output before a person should look; no text gives a bound."""
_NUMBERS = {np.dtype(t) for t in (np.float32, np.float16, np.float64)}
_BYTES = {np.dtype(t) for t in (np.uint8, np.int8)}


@dataclass(frozen=True, slots=True)
class Cut:
    """A node and its neighbours, cut out of a model.

    Attributes:
        model: the nodes, with the weights that they need.
        inputs: the input arrays by name.
        kinds: the operators of its nodes, in order.
        exact: the same nodes with integers for weights and data; None if they do not stay exact.
        steps: the largest scale of a QuantizeLinear in it; a rounding may move a value by this much.
    """

    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    kinds: tuple[str, ...]
    exact: Cut | None = None
    steps: float = 0.0


@dataclass(frozen=True, slots=True)
class Compared:
    """The result for a cut.

    Attributes:
        answer: the answer for the node.
        says: the reason, in a sentence.
    """

    answer: Literal["safe", "to look at", "unsafe"]
    says: str


def compare(model: Model, call: ModelCall, asking: Asking, options: Mapping[str, str]) -> Compared | str:
    """Return what a runtime computes for a node among its neighbours, or why it was not run.

    Args:
        model: the model, with all sizes.
        call: the node.
        asking: how to run the runtime.
        options: the options with which it changes a graph less; empty if it has none.
    """
    if len(call.scope) > 1:
        return "it is in a branch or a loop, and is asked alone"
    cut = _cut(model, call)
    if isinstance(cut, str):
        return cut
    exact = cut.exact or cut
    try:
        expected = evaluate(exact.model, exact.inputs, call.dialect)
    except Exception as error:  # noqa: BLE001 - onnx's evaluator may raise any exception
        return f"onnx's evaluator does not evaluate its neighbours: {' '.join(str(error).split())[:200]}"
    whole = exact.model.SerializeToString(), exact.inputs, call.dialect.name
    usual = run_model(asking, *whole)
    plainer: Outcome | None = None
    if _differs(usual, expected, exact, is_exact=cut.exact is not None) and options:
        plainer = run_model(replace(asking, options={**asking.options, **options}), *whole)
    return _judged(usual, plainer, expected, exact, " → ".join(cut.kinds), is_exact=cut.exact is not None)


def _judged(
    usual: Outcome, plainer: Outcome | None, expected: Array, cut: Cut, kinds: str, *, is_exact: bool
) -> Compared:
    difference = _differs(usual, expected, cut, is_exact=is_exact)
    if not difference:
        how = "exactly, on integers" if is_exact else "but for roundings"
        return Compared("safe", f"{kinds} gives what onnx's evaluator gives, {how}")
    right_without = plainer is not None and not _differs(plainer, expected, cut, is_exact=is_exact)
    without = (
        "; without optimisations it is right"
        if right_without
        else "; the same without optimisations"
        if plainer
        else ""
    )
    certain = isinstance(usual, Crashed | TimedOut) or (is_exact and right_without and isinstance(usual, Produced))
    return Compared("unsafe" if certain else "to look at", f"{kinds}: {difference}{without}")


def _differs(outcome: Outcome, expected: Array, cut: Cut, *, is_exact: bool) -> str:
    """Return how an outcome differs from the expected one, in a sentence; empty if it does not."""
    if not isinstance(outcome, Produced):
        return in_words(outcome)
    if outcome.array.shape != expected.shape:
        return f"the output is {list(outcome.array.shape)}, and onnx's evaluator gives {list(expected.shape)}"
    got, wanted = outcome.array.astype(np.float64), expected.astype(np.float64)
    if not got.size:
        return ""
    largest = float(np.abs(wanted).max())
    line = 0.0 if is_exact else max(_LINE * largest, 1.01 * cut.steps)
    far = ~(np.abs(got - wanted) <= line)
    if not far.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(far)[0])
    return f"{int(far.sum())} of {far.size} elements differ; {list(first)} is {got[first]:g}, not {wanted[first]:g}"


def _cut(model: Model, call: ModelCall) -> Cut | str:
    """Return a node with its neighbours, or why there are none."""
    graph, node = model.proto.graph, call.node
    if node is None:
        return "it is of no model"
    nodes = list(graph.node)
    makers = {output: n for n, each in enumerate(nodes) for output in each.output if output}
    if node.output[0] not in makers:
        return "it is in a branch or a loop, and is asked alone"
    own = makers[node.output[0]]
    users: dict[str, list[int]] = {}
    for n, each in enumerate(nodes):
        for name in each.input:
            users.setdefault(name, []).append(n)
    constants = {name for each in nodes for name in each.input if name and _is_constant(model, name, makers, nodes)}
    behind = _reached([own], lambda n: (u for output in nodes[n].output for u in users.get(output, ())), nodes)
    end = max(behind)
    before = _reached(
        [end, own], lambda n: (makers[i] for i in nodes[n].input if i in makers and i not in constants), nodes
    )
    # Nodes that do not lead to the end are left out, so there is one output.
    wanted, chosen = [end], set()
    while wanted:
        n = wanted.pop()
        if n in chosen or n not in (behind | before):
            continue
        chosen.add(n)
        wanted += [makers[i] for i in nodes[n].input if i in makers and i not in constants]
    if own not in chosen:
        return "its output is not used by a neighbour"
    kept = [nodes[n] for n in sorted(chosen)]
    # The nodes that make their constants stay: a runtime may treat a filter behind DequantizeLinear in its own way.
    making, names = set(), [name for node in kept for name in node.input if name in constants]
    while names:
        name = names.pop()
        if name in makers and makers[name] not in making:
            making.add(makers[name])
            names += nodes[makers[name]].input
    return _made(model, kept, [nodes[n] for n in sorted(making)], nodes[end].output[0], call.dialect)


def _reached(start: Sequence[int], following: Any, nodes: Sequence[onnx.NodeProto]) -> set[int]:  # noqa: ANN401
    """Return the numbers of the nodes that can be reached in `STEPS` steps, except nodes with a subgraph."""
    found, last = set(start), set(start)
    for _ in range(STEPS):
        last = {n for each in last for n in following(each) if not any(a.HasField("g") for a in nodes[n].attribute)}
        found |= last
    return found


def _is_constant(model: Model, name: str, makers: Mapping[str, int], nodes: Sequence[onnx.NodeProto]) -> bool:
    """Return whether a tensor follows from constants alone."""
    if name not in makers:
        return name in model.constants
    inputs = [i for i in nodes[makers[name]].input if i]
    return nodes[makers[name]].op_type == "Constant" or (
        bool(inputs) and all(_is_constant(model, i, makers, nodes) for i in inputs)
    )


def _made(
    model: Model, kept: Sequence[onnx.NodeProto], making: Sequence[onnx.NodeProto], output: str, dialect: Dialect
) -> Cut | str:
    """Return the cut with these nodes, and its inputs."""
    made = {name for node in kept for name in node.output}
    known = {
        value.name: value.type.tensor_type for value in (*model.shaped.graph.value_info, *model.shaped.graph.input)
    }
    weights: dict[str, Array] = {}
    feeds: dict[str, Array] = {}
    for name in dict.fromkeys(name for node in kept for name in node.input if name and name not in made):
        constant = model.constant(name, (model.proto.graph,))
        if constant is not None:
            weights[name] = constant
            continue
        if name not in known or not known[name].HasField("shape"):
            return f"the sizes of {name!r} before it are not known"
        shape = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in known[name].shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(known[name].elem_type)
        if 0 in shape or dtype not in _NUMBERS | _BYTES:
            return f"{name!r} before it has {'sizes that are not known' if 0 in shape else f'the type {dtype}'}"
        feeds[name] = _integers(name, shape, dtype, 100 if dtype in _BYTES else 4)
    if not feeds:
        return "its neighbours need no data"
    kinds = tuple(node.op_type for node in kept)
    scales = [
        float(np.max(weights[n.input[1]])) for n in kept if n.op_type == "QuantizeLinear" and n.input[1] in weights
    ]
    made |= {name for node in making for name in node.output}
    needed = {name for node in (*making, *kept) for name in node.input if name} - made - feeds.keys()
    read = {name: model.constant(name, (model.proto.graph,)) for name in sorted(needed)}
    own = {name: array for name, array in read.items() if array is not None}
    part = _model(model, [*making, *kept], own, feeds, output)
    cut = Cut(part, feeds, kinds, steps=max(scales, default=0.0))
    if _EXACT.issuperset(kinds) and all(array.dtype in _NUMBERS for array in feeds.values()):
        integers = {
            name: _integers(name, array.shape, array.dtype, 2) if array.dtype in _NUMBERS else array
            for name, array in weights.items()
        }
        small = {name: np.clip(array, -2, 2) for name, array in feeds.items()}
        exact = Cut(_model(model, kept, integers, small, output), small, kinds)
        magnitudes = {name: np.abs(array) if array.dtype in _NUMBERS else array for name, array in integers.items()}
        most = Cut(_model(model, kept, magnitudes, small, output), {n: np.abs(a) for n, a in small.items()}, kinds)
        if _is_small(most, dialect):
            cut = replace(cut, exact=exact)
    return cut


def _is_small(cut: Cut, dialect: Dialect) -> bool:
    """Return whether the sums of absolute values, which bound the sums of the integers, are exact in f32."""
    try:
        return float(np.max(evaluate(cut.model, cut.inputs, dialect), initial=0.0)) <= _LARGEST
    except Exception:  # noqa: BLE001 - as above: then real weights are used
        return False


def _integers(name: str, shape: Sequence[int], dtype: Any, span: int) -> Array:  # noqa: ANN401 - a numpy type
    """Return small integers, the same at each call."""
    seed = np.random.default_rng(list(name.encode()))
    low = 0 if np.dtype(dtype).kind == "u" else -span
    return seed.integers(low, span + 1, shape).astype(dtype)


def _model(
    model: Model,
    nodes: Sequence[onnx.NodeProto],
    weights: Mapping[str, Array],
    feeds: Mapping[str, Array],
    output: str,
) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
    ]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "part", inputs, [onnx.ValueInfoProto(name=output)], constants)
    made = helper.make_model(graph, opset_imports=model.proto.opset_import, ir_version=max(model.proto.ir_version, 4))
    typed = onnx.shape_inference.infer_shapes(made)
    known = [value for value in typed.graph.output if value.type.tensor_type.elem_type]
    if known:
        # At most type and rank of the output are declared: the runtime has to find the sizes.
        rank = (
            [None] * len(known[0].type.tensor_type.shape.dim) if known[0].type.tensor_type.HasField("shape") else None
        )
        value = helper.make_tensor_value_info(output, known[0].type.tensor_type.elem_type, rank)
    else:
        value = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
    made.graph.output[0].CopyFrom(value)
    return made


def evaluate(model: onnx.ModelProto, inputs: Mapping[str, Array], dialect: Dialect) -> Array:
    """Return the first output of a model by onnx's evaluator, with tconv's reference for the operator."""
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - it loads 200 modules

    with suppress(Exception):  # as above: a model that cannot be converted is evaluated unchanged
        model = onnx.version_converter.convert_version(model, _EVALUATED)
    evaluator = ReferenceEvaluator(model, new_ops=list(_operators(dialect)))
    # Functions of the evaluator may compute with infinities.
    with np.errstate(all="ignore"):
        outputs: Any = evaluator.run(None, dict(inputs))
    return np.asarray(outputs[0])


def _operators(of: Dialect) -> Iterator[type]:
    from onnx.reference.op_run import OpRun  # noqa: PLC0415 - as above

    def run(self: Any, x: Array, w: Array, b: Array | None = None, **_: Any) -> tuple[Array]:  # noqa: ANN401
        dtype = next(dtype for dtype, numpy in NUMPY_TYPES.items() if numpy == x.dtype)
        operands = {"x": x, "w": w} | ({} if b is None else {"b": b})
        of_role = {role: Operand(array.shape, dtype) for role, array in operands.items()}
        case = Case("node", attributes_of(self.onnx_node, of), of_role["x"], of_role["w"], of_role.get("b"))
        expected = expect(case, of)
        if isinstance(expected, Values):
            return (Truth(operands, dtype).compute_values(expected.primary.geometry).astype(x.dtype),)
        raise ValueError(f"the text gives no value: {expected.violation}")

    yield type(OPERATOR, (OpRun,), {"op_domain": "", "_run": run})
