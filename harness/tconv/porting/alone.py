"""Run each node of a model alone on a runtime: with integers, then with the model's own filter and bias."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.expected import LARGEST_OUTPUT, Values, expect
from tconv.expectation.problem import share_problem
from tconv.gate.entries import select_active
from tconv.porting.findings import Finding, by_reading
from tconv.porting.model_calls import with_facts
from tconv.verdict import kinds as ver
from tconv.verdict.judge import find_geometry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.cases.case import Case, Operand
    from tconv.gate.status import RecordStatus
    from tconv.porting.findings import By, NodeAudit
    from tconv.porting.model import Model
    from tconv.porting.model_calls import ModelCall
    from tconv.porting.runtime import Runtime
    from tconv.vocabulary import Array

_MOST_VALUES = 2**20
"""The most numbers of a filter for which a runtime gets the model's own filter."""
_MOST_PRODUCTS = 2**33
"""The most products of a call; the spatial sizes of larger calls are halved."""


def presented(model: Model, case: Case) -> Case:
    """Return a call with the model's static or open sizes: if a size is open, a runtime may compute something else."""
    return with_facts(replace(case, shapes="symbolic" if model.symbolic else "static"))


def run_alone(model: Model, nodes: Sequence[NodeAudit], runtime: Runtime) -> None:
    """Run each node alone on a runtime, and add the findings."""
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


def _cases(model: Model, call: ModelCall) -> Iterator[tuple[By, Case]]:
    """Yield a node alone with integers, then with its own filter and bias."""
    if call.case is None or call.node is None:
        return
    case = fitted(call.case)
    # If the filter follows from constants, it is a constant of the call. If not, it is an input.
    w = model.constant(call.node.input[1], call.scope)
    as_it_is = presented(model, replace(case, filter_source="input" if w is None else "initializer"))
    yield "integers", as_it_is
    if w is None or w.size > _MOST_VALUES or w.shape != case.w.shape:
        return
    b = model.constant(call.node.input[2], call.scope) if case.b else None
    if case.b and b is not None and b.shape != case.b.shape:
        return
    own_b = case.b and (replace(case.b, data="normal") if b is None else _operand(b, case.b))
    yield "own filter", replace(as_it_is, x=replace(case.x, data="normal"), w=_operand(w, case.w), b=own_b)


def _operand(array: Array, like: Operand) -> Operand:
    values = array.astype(NUMPY_TYPES[like.dtype]).astype(np.float64).ravel().tolist()
    return replace(like, data="values", values=tuple(values))


def fitted(case: Case) -> Case:
    """Return a case with spatial sizes halved until it is small enough; a case with output_shape does not change."""
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
    """Return the finding that follows from the record of a node alone."""
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
            says = by_reading(case, call.dialect, geometry) if geometry else str(verdict.choices)
            return Finding(by, title, "unsafe", "reading", says, data=data)
        case ver.NotApplicable(reason):
            return Finding(by, title, "not known", "not-applicable", reason)
        case ver.Inconclusive():
            return Finding(by, title, "not known", "inconclusive", "its sums have no bound that says anything")
        case _:
            entry, record = member.waiver or member.declaration, member.record
            named = " or ".join(map(str, record.diagnosis))
            said = (
                f"known: {entry.because}" if entry else "",
                named and f"this is the output of {named}",
                record.described,
            )
            return Finding(by, title, "unsafe", verdict.kind, "; ".join(filter(None, said)), verdict, data)
