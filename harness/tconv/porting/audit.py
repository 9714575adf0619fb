"""The audit of a model: for each ConvTranspose, what the text says, what is known of a runtime, and what it computes.

A node is run alone, with its own attributes, sizes, filter and bias. The first run is with integers, whose sums are
exact in any order. The second is with the model's own filter, whose sums have an error bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.expectation.expected import Values, expect
from tconv.expectation.surrounded import reach_of_quanta
from tconv.porting.alone import fitted, presented, run_alone
from tconv.porting.findings import Finding, NodeAudit, by_reading, printed
from tconv.porting.fixing import prove
from tconv.porting.model import Model
from tconv.porting.neighbourhood import compare
from tconv.porting.port import ported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.porting.model_calls import ModelCall
    from tconv.porting.port import Port, PortedCase
    from tconv.porting.runtime import Runtime

_TRIED = (64, 33, 96, 8)
"""Sizes to try if a model leaves sizes open; the last is for a small output_shape."""
_MOST_TRIED = 2
_ASSUMED = 16
"""The spatial sizes of data if the model does not give any."""


@dataclass(frozen=True, slots=True)
class ModelAudit:
    """The findings of a model.

    Attributes:
        path: its file.
        nodes: its nodes, once for each set of sizes.
        left_out: sizes that other nodes of the model cannot have, each with onnx's message.
        tried: whether the sizes were chosen by tconv.
        model: the model, with the first set of sizes.
    """

    path: Path
    nodes: Sequence[NodeAudit]
    left_out: Sequence[str]
    tried: bool
    model: Model

    @property
    def recipes(self) -> dict[str, Port]:
        """The proven recipes, by the outputs of their nodes."""
        proven = [node for node in self.nodes if node.recipe and not node.unproven and node.call.node]
        return {node.call.node.output[0]: node.recipe for node in proven if node.call.node and node.recipe}


def audit(path: Path, sizes: Mapping[str, int], runtimes: Sequence[Runtime]) -> ModelAudit:
    """Return the findings of a model.

    Args:
        path: its file.
        sizes: sizes for the model's symbols and axes.
        runtimes: the runtimes to run it on.

    Raises:
        FileError: the file is no ONNX model, or has no ConvTranspose.
        UsageError: a size is for a symbol or axis that the model does not have.
    """
    models, left_out, tried = _with_sizes(path, sizes)
    nodes = []
    for model in models:
        own = list(_nodes(model))
        for runtime in runtimes:
            for node in own:
                node.findings += _by_known(model, node.call, runtime)
            if not runtime.missing:
                run_alone(model, own, runtime)
                for node in own:
                    _drop_unseen(node, runtime.title)
                    if model is models[0]:
                        node.findings += _among_neighbours(model, node, runtime)
        for node in own:
            if model is models[0] and not all(runtime.missing for runtime in runtimes):
                node.findings += _by_scale(model, node.call)
            _find_recipe(model, node, runtimes)
        nodes += own
    return ModelAudit(path, nodes, left_out, tried, models[0])


def _nodes(model: Model) -> Iterator[NodeAudit]:
    """Yield the nodes. The nodes behind one get data of the size that the text gives for it."""
    for number in range(len(model.calls(_ASSUMED))):
        call, known = model.calls(_ASSUMED)[number], model.calls()[number]
        yield NodeAudit(call, model.sizes, list(_by_text(call)))
        if known.case and call.node and isinstance(expected := expect(known.case, call.dialect), Values):
            model.resize(call.node.output[0], expected.primary.geometry.output)


def _find_recipe(model: Model, node: NodeAudit, runtimes: Sequence[Runtime]) -> None:
    """For a node that is valid and unsafe, look for another way to write it that every runtime computes correctly."""
    case, dialect = node.call.case, node.call.dialect
    if case is None or not isinstance(expect(case, dialect), Values):
        return
    if all(node.answer(runtime.title)[0] != "unsafe" for runtime in runtimes):
        return

    def accepts(way: PortedCase, target: Dialect) -> str:
        return next(filter(None, (runtime.accepts(way, target) for runtime in runtimes)), "")

    node.recipe = ported(presented(model, fitted(case)), dialect, dialect, accepts=accepts, pads_first=True)
    asked = [runtime.asking for runtime in runtimes if not runtime.missing]
    node.unproven = prove(node.recipe, model.version, asked) if asked else "no runtime was run"


def _with_sizes(path: Path, sizes: Mapping[str, int]) -> tuple[list[Model], list[str], bool]:
    """Return the model with the given sizes, or with sizes to try if some are open."""
    given = Model(path, sizes)
    if all(call.case for call in given.calls()):
        # A node does not depend on the batch size, but its neighbours need one.
        whole = Model(path, {**sizes, **dict.fromkeys(given.batches, 1)}) if given.batches else given
        return [whole], [f"{_sizes(sizes)}: {given.failing}"] if given.failing and sizes else [], False
    if not given.open:
        return [given], [f"{_sizes(sizes)}: {given.failing}"] if given.failing and sizes else [], False
    models: list[Model] = []
    left_out: list[str] = []
    for size in _TRIED:
        # The first axis is the batch.
        model = Model(path, {**sizes, **{name: 1 if name in given.batches else size for name in given.open}})
        if model.failing and not given.failing:
            left_out.append(f"{_sizes(model.sizes)}: {model.failing}")
        elif len(models) < _MOST_TRIED:
            models.append(model)
    return models or [given], left_out, bool(models)


def _sizes(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={size}" for name, size in sizes.items())


def _by_text(call: ModelCall) -> Iterator[Finding]:
    """Yield what the model's own text says about a node, and what the same words mean in other texts."""
    if call.case is None:
        yield Finding("text", "", "not known", "unknown", call.unknown)
        return
    expected = expect(call.case, call.dialect)
    if not isinstance(expected, Values):
        yield Finding("text", "", "unsafe", "invalid", f"the text forbids it: {expected.violation}")
        return
    shown = printed(expected.primary.geometry)
    yield Finding("text", "", None, "valid", "valid", data=f"{list(call.case.x.shape)} gives {shown}")
    for candidate in expected.disputed:
        names = " or ".join(candidate.names)
        yield Finding("text", "", None, "disputed", f"the text also allows {names}: {printed(candidate.geometry)}")
    for refusal in expected.refusals:
        yield Finding("text", "", None, "disputed", f"the text also allows a refusal: {refusal}")
    yield from _in_other_texts(call.case, call.dialect, expected.primary.geometry)


def _in_other_texts(case: Case, dialect: Dialect, geometry: Geometry) -> Iterator[Finding]:
    """Yield the other specifications in which the same words give another output."""
    differing: dict[str, list[str]] = {}
    own = dialect.name.partition("/")[0]
    for name, other in DIALECTS.items():
        if other.name.partition("/")[0] == own:
            continue
        there = expect(replace(case, attributes=replace(case.attributes, kernel_shape=None)), other)
        if isinstance(there, Values) and there.primary.geometry != geometry:
            differing.setdefault(printed(there.primary.geometry), []).append(name)
    for shown, names in differing.items():
        yield Finding("text", "", None, "other-text", f"the same words in {', '.join(names)}: {shown}")


def _by_known(model: Model, call: ModelCall, runtime: Runtime) -> Iterator[Finding]:
    """Yield what waivers and pins say about a node."""
    if call.case is None:
        return
    case, title = presented(model, call.case), runtime.title
    for deviation in runtime.known.deviations(case, call.dialect):
        when = f" ({deviation.when})" if deviation.when else ""
        says = f"{deviation.because}{when}"
        if deviation.holds:
            # A waiver may cover calls that do not deviate.
            yield Finding("known", title, "to look at", deviation.kind, f"it may deviate: {says}")
        else:
            yield Finding("known", title, None, deviation.kind, f"not in this version: {says}")
    expected, followed = expect(case, call.dialect), runtime.known.followed(case, call.dialect)
    if isinstance(expected, Values) and isinstance(followed, str):
        yield Finding("known", title, "unsafe", "refused-valid", followed)
    if isinstance(expected, Values) and isinstance(followed, Geometry) and followed != expected.primary.geometry:
        yield Finding("known", title, "unsafe", "reading", by_reading(case, call.dialect, followed))


def _by_scale(model: Model, call: ModelCall) -> Iterator[Finding]:
    """Yield a finding if the only scale of a quantised filter is too coarse for a channel; no runtime can fix this."""
    graphs = (model.proto.graph, *call.scope[1:])
    name = call.node.input[1] if call.node else ""
    maker = next((node for graph in graphs for node in graph.node if name in node.output), None)
    if maker is None or maker.op_type != "DequantizeLinear":
        return
    w, scale, *zero_point = (model.constant(each, call.scope) for each in maker.input)
    if w is None or scale is None or scale.size > 1:
        return
    reach = reach_of_quanta(w.astype(np.float64) - sum(float(of.item()) for of in zero_point if of is not None))
    if reach:
        quanta = f"the quanta of an output channel reach {reach[0]}, those of another {reach[1]}"
        says = f"the filter has one scale, and {quanta}: the model loses precision by its scales, and not by a runtime"
        yield Finding("own filter", "", None, "too-few-quanta", says)


def _drop_unseen(node: NodeAudit, title: str) -> None:
    """Remove the findings that the runtime may deviate, if all its runs are safe."""
    own = [finding for finding in node.findings if finding.runtime == title and finding.by != "known"]
    if own and all(finding.answer == "safe" for finding in own):
        node.findings = [finding for finding in node.findings if finding.runtime != title or finding in own]


def _among_neighbours(model: Model, node: NodeAudit, runtime: Runtime) -> Iterator[Finding]:
    """Yield a finding about a node among its neighbours, if the node is safe alone."""
    if node.answer(runtime.title)[0] != "safe":
        return
    changes = runtime.pool(node.call.dialect).options
    plainer = {name: plain for name, _, _, _, plain, _ in changes if plain and name not in runtime.asking.options}
    found = compare(model, node.call, runtime.asking, plainer)
    if isinstance(found, str):
        yield Finding("neighbourhood", runtime.title, None, "not-asked", f"not asked among its neighbours: {found}")
    else:
        yield Finding("neighbourhood", runtime.title, found.answer, "neighbourhood", found.says)
