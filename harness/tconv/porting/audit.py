"""The audit of a model: what the text says of each ConvTranspose, what is known of a runtime, and what it does with it.

A node is asked alone, with its own attributes, sizes, filter and bias: first with integers, whose sums are exact in any
order, then with the model's own filter, whose sums have a bound.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np

from tconv.cases.case import Operand
from tconv.cases.operands import NUMPY_TYPES
from tconv.dialects import DIALECTS
from tconv.dialects.geometry import Geometry
from tconv.errors import BackendMissing
from tconv.execution.pool import Pool
from tconv.expectation.expected import LARGEST_OUTPUT, Values, expect
from tconv.expectation.problem import share_problem
from tconv.gate.entries import select_active
from tconv.porting.between_runtimes import Asked
from tconv.porting.fixing import prove
from tconv.porting.known import Known, reading_names
from tconv.porting.model import Model
from tconv.porting.model_calls import with_facts
from tconv.porting.neighbourhood import compare
from tconv.porting.port import ported
from tconv.verdict import kinds as ver
from tconv.verdict.judge import find_geometry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.execution.asking import Asking
    from tconv.gate.status import RecordStatus
    from tconv.porting.model_calls import ModelCall
    from tconv.porting.port import Port, PortedCase
    from tconv.vocabulary import Array

Answer = Literal["safe", "to look at", "not known", "unsafe"]
ANSWERS: tuple[Answer, ...] = ("safe", "to look at", "not known", "unsafe")
"""The answers, the worst last."""
By = Literal["text", "known", "integers", "own filter", "neighbourhood"]
_TRIED = (64, 33, 96, 8)
"""Sizes that stand for those that a model leaves open; the last is for an output_shape that is small."""
_MOST_TRIED = 2
_ASSUMED = 16
"""The spatial sizes of data of which a model says nothing."""
_MOST_VALUES = 2**20
"""Numbers of a filter that are given to a runtime as the model has them."""
_MOST_PRODUCTS = 2**33
"""Products of a call at most; the spatial sizes of larger ones are halved."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found of a node.

    Attributes:
        by: by what it is found.
        runtime: of which runtime; empty for the text.
        answer: what follows for the node; None if nothing follows.
        kind: what it is, in a word: the kind of a verdict, `invalid`, `disputed`, `reading` or `other-text`.
        says: what was found, in a sentence; of a verdict, what is to be said besides.
        verdict: the verdict on what a runtime did; None if it did nothing, or what a reading gives.
        data: the sizes of the data with which it was found; empty for those of the model.
    """

    by: By
    runtime: str
    answer: Answer | None
    kind: str
    says: str
    verdict: ver.Verdict | None = None
    data: str = ""


@dataclass(slots=True)
class NodeAudit:
    """What is found of a node with some sizes of the model.

    Attributes:
        call: the node.
        sizes: the sizes of the model.
        findings: what is found.
        recipe: how to write the node so that every runtime gives what the text says; None if it need not be.
        unproven: why the recipe is of no use; empty if runtimes were seen to give the output.
    """

    call: ModelCall
    sizes: Mapping[str, int]
    findings: list[Finding] = field(default_factory=list)
    recipe: Port | None = None
    unproven: str = ""

    def answer(self, runtime: str) -> tuple[Answer, Finding | None]:
        """Return the answer for a runtime, and the finding that decides it."""
        own = [finding for finding in self.findings if finding.runtime in {runtime, ""}]
        ran = any(finding.by == "integers" for finding in own)
        # What a runtime does says more than what is known of others of its kind.
        decisive = [finding for finding in own if finding.answer and not (ran and finding.by == "known")]
        worst = max(decisive, key=lambda finding: ANSWERS.index(finding.answer or "safe"), default=None)
        if worst is None or (not ran and worst.answer == "to look at"):
            return "not known", worst
        return worst.answer or "not known", worst


@dataclass(frozen=True, slots=True)
class ModelAudit:
    """What is found of a model.

    Attributes:
        path: its file.
        nodes: its nodes, each with the sizes that were taken.
        left_out: sizes that other nodes of the model cannot have, each with what onnx says.
        tried: whether sizes were taken that nobody gave.
        model: the model, with the first of the sizes.
    """

    path: Path
    nodes: Sequence[NodeAudit]
    left_out: Sequence[str]
    tried: bool
    model: Model

    @property
    def recipes(self) -> dict[str, Port]:
        """The recipes that were proven, by the output of their nodes."""
        proven = [node for node in self.nodes if node.recipe and not node.unproven and node.call.node]
        return {node.call.node.output[0]: node.recipe for node in proven if node.call.node and node.recipe}


class Runtime:
    """A runtime that a model is asked about.

    Args:
        asking: how it is asked.
        runs: whether it is run.

    Attributes:
        title: its name, with its version if that is known.
        missing: why it is not run; empty if it is.
        known: what ships about it.
    """

    def __init__(self, asking: Asking, *, runs: bool) -> None:
        self.asking, self._stack = asking, ExitStack()
        self._pools: dict[str, Pool] = {}
        name, _, version = asking.backend.partition("==")
        self.missing = "" if runs else "it was not to be run"
        self.title, self.known = " ".join(filter(None, (name, version))), Known.of(name, version)
        if runs:
            try:
                backend = self.pool(None).backend
            except BackendMissing as error:
                self.missing = str(error)
            else:
                self.title = f"{backend.name} {backend.version}"
                self.known = Known.of(backend.name, backend.version)

    def pool(self, dialect: Dialect | None) -> Pool:
        """Return its workers for a dialect.

        Raises:
            BackendMissing: it is not there.
            DialectError: it does not speak the dialect.
        """
        key = dialect.name if dialect else ""
        if key not in self._pools:
            self._pools[key] = self._stack.enter_context(Pool(replace(self.asking, dialect=dialect)))
        return self._pools[key]

    def close(self) -> None:
        """End its workers."""
        self._stack.close()


def audit(path: Path, sizes: Mapping[str, int], runtimes: Sequence[Runtime]) -> ModelAudit:
    """Return what is found of a model.

    Args:
        path: its file.
        sizes: the sizes of its symbols and axes.
        runtimes: the runtimes that it is to run on.

    Raises:
        FileError: the file is no ONNX model, or has no ConvTranspose.
        UsageError: a size is for none of the model's symbols and axes.
    """
    models, left_out, tried = _with_sizes(path, sizes)
    nodes = []
    for model in models:
        own = [NodeAudit(call, model.sizes, list(_by_text(call))) for call in model.calls(_ASSUMED)]
        for runtime in runtimes:
            for node in own:
                node.findings += _by_known(model, node.call, runtime)
            if not runtime.missing:
                _run(model, own, runtime)
                for node in own:
                    _drop_unseen(node, runtime.title)
                    if model is models[0]:
                        node.findings += _among_neighbours(model, node, runtime)
        for node in own:
            _find_recipe(model, node, runtimes)
        nodes += own
    return ModelAudit(path, nodes, left_out, tried, models[0])


def _find_recipe(model: Model, node: NodeAudit, runtimes: Sequence[Runtime]) -> None:
    """Look for another way to write a node that is valid and unsafe, which every runtime gives."""
    case, dialect = node.call.case, node.call.dialect
    if case is None or not isinstance(expect(case, dialect), Values):
        return
    if all(node.answer(runtime.title)[0] != "unsafe" for runtime in runtimes):
        return
    ends = [Asked(runtime) for runtime in runtimes]

    def accepts(way: PortedCase, target: Dialect) -> str:
        return next(filter(None, (end.accepts(way, target) for end in ends)), "")

    node.recipe = ported(_fitted(case), dialect, dialect, accepts=accepts, pads_first=True)
    asked = [runtime.asking for runtime in runtimes if not runtime.missing]
    node.unproven = prove(node.recipe, model.version, asked) if asked else "no runtime was run"


def _with_sizes(path: Path, sizes: Mapping[str, int]) -> tuple[list[Model], list[str], bool]:
    """Return the model with the sizes that are given, or with some of those that were tried."""
    given = Model(path, sizes)
    if all(call.case for call in given.calls()):
        # A node does not depend on the batch, and its neighbours have to be given one.
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
    """Yield what the model's own text says of a node, and what the same words say in the other texts."""
    if call.case is None:
        yield Finding("text", "", "not known", "unknown", call.unknown)
        return
    expected = expect(call.case, call.dialect)
    if not isinstance(expected, Values):
        yield Finding("text", "", "unsafe", "invalid", f"the text forbids it: {expected.violation}")
        return
    shown = _printed(expected.primary.geometry)
    yield Finding("text", "", None, "valid", "valid", data=f"{list(call.case.x.shape)} gives {shown}")
    for candidate in expected.disputed:
        names = " or ".join(candidate.names)
        yield Finding("text", "", None, "disputed", f"the text also allows {names}: {_printed(candidate.geometry)}")
    for refusal in expected.refusals:
        yield Finding("text", "", None, "disputed", f"the text also allows a refusal: {refusal}")
    yield from _in_other_texts(call.case, call.dialect, expected.primary.geometry)


def _in_other_texts(case: Case, dialect: Dialect, geometry: Geometry) -> Iterator[Finding]:
    """Yield in which other specifications the same words give another output."""
    differing: dict[str, list[str]] = {}
    own = dialect.name.partition("/")[0]
    for name, other in DIALECTS.items():
        if other.name.partition("/")[0] == own:
            continue
        there = expect(replace(case, attributes=replace(case.attributes, kernel_shape=None)), other)
        if isinstance(there, Values) and there.primary.geometry != geometry:
            differing.setdefault(_printed(there.primary.geometry), []).append(name)
    for shown, names in differing.items():
        yield Finding("text", "", None, "other-text", f"the same words in {', '.join(names)}: {shown}")


def _printed(geometry: Geometry) -> str:
    """Return pads and output of a geometry."""
    return f"output {list(geometry.output)}, pads {[*geometry.pads_begin, *geometry.pads_end]}"


def _presented(model: Model, case: Case) -> Case:
    """Return a call as the model has it: a runtime may do something else where a size is open."""
    return with_facts(replace(case, shapes="symbolic" if model.symbolic else "static"))


def _by_known(model: Model, call: ModelCall, runtime: Runtime) -> Iterator[Finding]:
    """Yield what waivers and pins say of a node."""
    if call.case is None:
        return
    case, title = _presented(model, call.case), runtime.title
    for deviation in runtime.known.deviations(case, call.dialect):
        when = f" ({deviation.when})" if deviation.when else ""
        says = f"{deviation.because}{when}"
        if deviation.holds:
            # A waiver may be for more calls than deviate.
            yield Finding("known", title, "to look at", deviation.kind, f"it may deviate: {says}")
        else:
            yield Finding("known", title, None, deviation.kind, f"not in this version: {says}")
    expected, followed = expect(case, call.dialect), runtime.known.followed(case, call.dialect)
    if isinstance(expected, Values) and isinstance(followed, str):
        yield Finding("known", title, "unsafe", "refused-valid", followed)
    if isinstance(expected, Values) and isinstance(followed, Geometry) and followed != expected.primary.geometry:
        yield Finding("known", title, "unsafe", "reading", _by_reading(case, call.dialect, followed))


def _by_reading(case: Case, dialect: Dialect, geometry: Geometry) -> str:
    names = " or ".join(reading_names(case, dialect, geometry))
    return f"it follows another reading, {names}: {_printed(geometry)}"


def _run(model: Model, nodes: Sequence[NodeAudit], runtime: Runtime) -> None:
    """Ask a runtime each node alone, and add what is found."""
    asked: dict[str, tuple[NodeAudit, By, Case]] = {}
    for number, node in enumerate(nodes):
        if node.call.case is None or not isinstance(expect(node.call.case, node.call.dialect), Values):
            continue
        for by, case in _cases(model, node.call):
            name = f"model/node-{number}-{by.replace(' ', '-')}"
            asked[name] = node, by, replace(case, id=name)
    for dialect in dict.fromkeys(node.call.dialect for node, _, _ in asked.values()):
        pool = runtime.pool(dialect)
        records = pool.records([case for node, _, case in asked.values() if node.call.dialect is dialect])
        active = select_active(runtime.known.file, dialect.name, pool.backend)
        for name, record in records.items():
            node, by, case = asked[name]
            member = active.assign_status(record, case.facts)
            node.findings.append(_of_record(runtime.title, by, case, node.call, member))


def _drop_unseen(node: NodeAudit, title: str) -> None:
    """Leave out that a runtime may deviate, if it does not."""
    own = [finding for finding in node.findings if finding.runtime == title and finding.by != "known"]
    if own and all(finding.answer == "safe" for finding in own):
        node.findings = [finding for finding in node.findings if finding.runtime != title or finding in own]


def _among_neighbours(model: Model, node: NodeAudit, runtime: Runtime) -> Iterator[Finding]:
    """Yield what a runtime does with a node among its neighbours, if it is safe alone."""
    if node.answer(runtime.title)[0] != "safe":
        return
    changes = runtime.pool(node.call.dialect).options
    plainer = {name: plain for name, _, _, _, plain, _ in changes if plain and name not in runtime.asking.options}
    found = compare(model, node.call, runtime.asking, plainer)
    if isinstance(found, str):
        yield Finding("neighbourhood", runtime.title, None, "not-asked", f"not asked among its neighbours: {found}")
    else:
        yield Finding("neighbourhood", runtime.title, found.answer, "neighbourhood", found.says)


def _cases(model: Model, call: ModelCall) -> Iterator[tuple[By, Case]]:
    """Yield a node alone with integers, then with its own filter and bias."""
    if call.case is None or call.node is None:
        return
    case = _fitted(call.case)
    # What follows from constants is a constant of the call, and anything else an input.
    w = model.constant(call.node.input[1], call.scope)
    presented = _presented(model, replace(case, filter_source="input" if w is None else "initializer"))
    yield "integers", presented
    if w is None or w.size > _MOST_VALUES or w.shape != case.w.shape:
        return
    b = _bias(model, call, w)
    own_b = case.b and replace(case.b, data="normal")
    if b is not None:
        own_b = _operand(b, Operand(b.shape, case.x.dtype))
    yield "own filter", replace(presented, x=replace(case.x, data="normal"), w=_operand(w, case.w), b=own_b)


def _operand(array: Array, like: Operand) -> Operand:
    values = array.astype(NUMPY_TYPES[like.dtype]).astype(np.float64).ravel().tolist()
    return replace(like, data="values", values=tuple(values))


def _bias(model: Model, call: ModelCall, w: Array) -> Array | None:
    """Return the bias of a node: its own, or that of an Add behind it, which runtimes make one of."""
    node = call.node
    if node is None:
        return None
    channels = w.shape[1] * (call.case.attributes.groups or 1) if call.case else 0
    if len(node.input) > 2 and node.input[2]:  # noqa: PLR2004 - X, W and B
        return model.constant(node.input[2], call.scope)
    users = [user for user in call.scope[-1].node if node.output[0] in user.input]
    if len(users) != 1:
        return None
    (user,) = users
    if user.op_type == "Add":
        (other,) = [name for name in user.input if name != node.output[0]] or [""]
        b = model.constant(other, call.scope) if other else None
        per_channel = (channels, *(1,) * (w.ndim - 2))
        return b.reshape(-1) if b is not None and b.shape in {per_channel, (1, *per_channel)} else None
    if user.op_type == "BatchNormalization" and user.input[0] == node.output[0]:
        scale, shift, mean, variance = (model.constant(name, call.scope) for name in user.input[1:5])
        if scale is None or shift is None or mean is None or variance is None:
            return None
        epsilon = next((a.f for a in user.attribute if a.name == "epsilon"), 1e-5)
        return np.asarray(shift - mean * scale / np.sqrt(variance + epsilon))
    return None


def _fitted(case: Case) -> Case:
    """Return a case whose spatial sizes are halved until it is not too large; with output_shape, as it is."""
    while case.attributes.output_shape is None and max(case.x.shape[2:]) > 2 and _is_large(case):  # noqa: PLR2004
        spatial = list(case.x.shape[2:])
        largest = spatial.index(max(spatial))
        spatial[largest] //= 2
        case = replace(case, x=replace(case.x, shape=(*case.x.shape[:2], *spatial)))
    return case


def _is_large(case: Case) -> bool:
    x, w = case.x.shape, case.w.shape
    strides = case.attributes.per_axis("strides", len(x) - 2)
    reached = (s * (n + k) for s, n, k in zip(strides, x[2:], w[2:], strict=True))
    elements = x[0] * w[1] * (case.attributes.groups or 1) * prod(reached)
    return elements + prod(x) + prod(w) > LARGEST_OUTPUT or prod(x) * prod(w[1:]) > _MOST_PRODUCTS


def _of_record(title: str, by: By, case: Case, call: ModelCall, member: RecordStatus) -> Finding:
    """Return the finding that the record of a node alone is."""
    verdict, data = member.record.verdict, str(list(case.x.shape))
    match verdict:
        case ver.Agreed():
            how = "exactly" if by == "integers" else "within its bound"
            return Finding(by, title, "safe", "agreed", how, data=data)
        case ver.Disputed(rule="refusal", message=message):
            return Finding(
                by, title, "unsafe", "refused-valid", f"it refuses the call, as the text allows: {message}", data=data
            )
        case ver.Disputed():
            geometry = find_geometry(verdict, share_problem(case, call.dialect).expectation)
            says = _by_reading(case, call.dialect, geometry) if geometry else str(verdict.choices)
            return Finding(by, title, "unsafe", "reading", says, data=data)
        case ver.NotApplicable(reason):
            return Finding(by, title, "not known", "not-applicable", reason)
        case ver.Inconclusive():
            return Finding(by, title, "not known", "inconclusive", "its sums have no bound that says anything")
        case _:
            entry = member.waiver or member.declaration
            return Finding(by, title, "unsafe", verdict.kind, f"known: {entry.because}" if entry else "", verdict, data)
