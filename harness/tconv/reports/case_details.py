"""One case in detail: its call, and for each dialect the expectation and the tolerance of an output."""

from __future__ import annotations

from collections import defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.cases.context import PREFIX
from tconv.cases.layouts import data_shape
from tconv.cases.operands import EXACT_BITS
from tconv.dialects.readings import Combination
from tconv.expectation.bound import SYMBOLS, bound_errors, derive
from tconv.expectation.expected import NotApplicable, Refuse, Values, can_express
from tconv.expectation.problem import Problem
from tconv.expectation.surrounded import Surrounded
from tconv.records.record import CallSummary
from tconv.reports.phrases import attribute_words
from tconv.reports.porting import plain_geometry
from tconv.reports.words import in_graph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.cases.call import Call
    from tconv.cases.case import Case, Operand
    from tconv.cases.graph import Graph
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.truth import Truth

_SHOWN = 24
"""The most elements of an array that are printed."""
_NOT_APPLICABLE = "  not applicable: "
_CALL_LINES = 2
"""The number of lines for a call, before the expectation."""


def of_case(case: Case) -> Iterator[str]:
    """Yield lines about the case itself: id, description, citations, operands, attributes."""
    yield case.id
    if case.about:
        yield f"  {case.about}"
    for cite in case.cites:
        yield f"  cites {cite.dialect}: {cite.clause}"
    if case.breaks:
        yield f"  breaks {case.breaks}, and nothing else"
    for name, operand in (("x", case.x), ("w", case.w), ("b", case.b)):
        if operand is not None:
            yield f"  {name}  {_operand(operand)}"
    yield f"  attributes  {attribute_words(case.attributes.given()) or 'none'}"
    if case.context:
        levels = [f"{axis}={level}" for axis, level in case.context.levels.items()]
        yield f"  context     {', '.join(levels)}: {in_graph(f'{PREFIX}{level}' for level in levels)}"
    for role in ("x", "w", "y"):
        if grid := getattr(case.quantisation, role, None):
            zero_point = "" if grid.zero_point is None else f", zero point {grid.zero_point}"
            yield f"  {role} quanta    scale {', '.join(map(str, grid.scale))}{zero_point}"
    names = {"x": "data", "w": "filter", "b": "bias"}
    sources = ", ".join(f"{names.get(role, role)} as {source}" for role, source in case.sources.items())
    yield f"  sizes {case.shapes}, {sources}{', spelt as on the page' if case.spelling == 'page' else ''}"


def in_dialects(case: Case, dialects: Sequence[Dialect]) -> Iterator[tuple[str, list[str]]]:
    """Yield what dialects say about the case, as headings with lines; equal texts appear once.

    Dialects that expect the same follow each other, each with its call, and the common expectation comes below them.
    Lines at the end that are the same for all dialects, such as the tolerance, come last.
    """
    texts = {dialect.name: list(in_dialect(case, dialect))[1:] for dialect in dialects}
    applicable = [dialect.name for dialect in dialects if can_express(case, dialect)]
    distinct = {tuple(texts[name]) for name in applicable}
    backwards = zip(*map(reversed, distinct), strict=False) if len(distinct) > 1 else ()
    shared = sum(1 for _ in takewhile(lambda lines: len(set(lines)) == 1, backwards))
    by_lines: dict[tuple[str, ...], dict[tuple[str, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, lines in texts.items():
        calls = _CALL_LINES if tuple(lines) in distinct else 0
        rest = lines[calls : len(lines) - shared] if calls else lines
        by_lines[tuple(rest)][tuple(lines[:calls])].append(name)
    for expected_lines, by_call in by_lines.items():
        for call, names in by_call.items():
            yield ", ".join(names), [*call, *(expected_lines if len(by_call) == 1 else ())]
        if len(by_call) > 1 and expected_lines:
            yield f"all {sum(map(len, by_call.values()))} of these", list(expected_lines)
    if shared:
        yield "in all that can say it", list(min(distinct)[-shared:])


def as_json(case: Case, dialects: Sequence[Dialect]) -> dict[str, Any]:
    """Return the case, and its call and expectation in each dialect, as JSON values."""
    return {
        "id": case.id,
        "about": case.about,
        "cites": [{"dialect": cite.dialect, "clause": cite.clause} for cite in case.cites],
        "breaks": case.breaks,
        "facts": dict(case.facts),
        "dialects": {dialect.name: _as_json(Problem(case, dialect)) for dialect in dialects},
    }


def _as_json(problem: Problem) -> dict[str, Any]:
    expected = problem.expectation
    if isinstance(expected, NotApplicable):
        return {"not-applicable": expected.reason}
    call = problem.call
    values = {
        "attributes": dict(call.attributes),
        "inputs": [{"name": each.name, "shape": each.shape, "constant": bool(each.constant)} for each in call.inputs],
        "data_format": str(call.data_format),
        "filter_format": str(call.filter_format),
    }
    if isinstance(expected, Refuse):
        return values | {"refusal": {"stated": expected.stated, "because": str(expected.violation)}}
    return values | {
        "candidates": [
            {"readings": each.readings, "shape": data_shape(problem.judged.shape(each.geometry), call.data_format)}
            | plain_geometry(each.geometry)
            for each in expected.candidates
        ],
        "refusals": [str(refusal) for refusal in expected.refusals],
        "exact": problem.judged.exact(expected.primary.geometry),
    }


def in_dialect(case: Case, dialect: Dialect) -> Iterator[str]:
    """Yield lines about the case in one dialect, its name first."""
    yield dialect.name
    problem = Problem(case, dialect)
    expected = problem.expectation
    if isinstance(expected, NotApplicable):
        yield f"{_NOT_APPLICABLE}{expected.reason}"
        return
    yield from _call(problem.call)
    if isinstance(expected, Refuse):
        yield f"  {'expects a refusal' if expected.stated else 'no value exists'}: {expected.violation}"
        return
    if problem.surrounded:
        for gives, kind, words, _ in node_lines(problem.surrounded.graph):
            yield f"  graph       {gives} = {kind}({words})"
        if problem.surrounded.reach:
            least, most = problem.surrounded.reach
            yield "  precision   lost by the model, and not by a runtime: the filter has one scale, and the quanta of"
            yield f"              an output channel reach {least}, those of another {most}"
    yield from _values(problem, expected)


def node_lines(graph: Graph) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each node as output, kind, inputs with attributes (`t0, min=0`), and whether it is the operator."""
    for node in graph.nodes:
        attributes = node.call.attributes if node.call else node.attributes
        words = ", ".join([*node.inputs, *([attribute_words(attributes)] if attributes else [])])
        yield ", ".join(node.outputs), node.kind, words, node.call is not None


def _operand(operand: Operand) -> str:
    source = f"seed {operand.seed}" if operand.data != "values" else _numbers(np.array(operand.values))
    return f"{operand.dtype} {list(operand.shape)} {operand.data} {source}"


def _call(call: Call) -> Iterator[str]:
    said = CallSummary.of(call)
    values = {tensor.name: f" of {list(tensor.values)}" for tensor in call.inputs if tensor.values}
    constants = {tensor.name: " constant" for tensor in call.inputs if tensor.constant}
    inputs = [
        f"{name} {dtype} {shape}{values.get(name, '')}{constants.get(name, '')}" for name, shape, dtype in said.inputs
    ]
    yield f"  call        {attribute_words(said.attributes) or 'no attribute'}"
    yield f"  inputs      {', '.join(inputs)}, in {said.data_format} and {said.filter_format}"


def _values(problem: Problem, expected: Values) -> Iterator[str]:
    truth = problem.judged
    for candidate in expected.candidates:
        under = f"under {Combination(candidate.readings)}" if candidate.readings else "primary reading"
        yield f"  {under}"
        geometry = candidate.geometry
        begin, end = list(geometry.pads_begin), list(geometry.pads_end)
        yield f"    full {list(geometry.full)}, pads_begin {begin}, pads_end {end}, output {list(geometry.output)}"
        shape = data_shape(truth.shape(geometry), problem.call.data_format)
        yield f"    expects {list(shape)}  {_numbers(truth.compute_values(geometry))} in NCX order"
    for reading in problem.disputed_readings:
        yield f"  {reading.name}: {reading.says} [{reading.cites}]"
    for refusal in expected.refusals:
        yield f"  a refusal is disputed: {refusal}"
    yield from _tolerance(truth, expected.primary.geometry)


def _tolerance(truth: Truth | Surrounded, geometry: Geometry) -> Iterator[str]:
    if isinstance(truth, Surrounded) and truth.steps:
        yield "  tolerance   one step of the output anywhere: scales, or a factor in fixed point, are rounded"
        return
    if isinstance(truth, Surrounded):
        yield "  tolerance   none: integers times powers of two are exact in every order of operations" + (
            ""
            if truth.exact(geometry)
            else "; but a tie may be rounded either way, and a smooth activation or a rounded normalization may be off"
        )
        return
    if truth.exact(geometry):
        yield f"  tolerance   none: integers, |x|*|w| + |b| adds up to at most 2^{EXACT_BITS[truth.dtype]} everywhere"
        return
    terms = truth.compute_terms(geometry)
    yield f"  tolerance   {derive(truth.dtype)}"
    yield f"              {SYMBOLS}"
    limits = bound_errors(terms, truth.dtype)
    if not np.isfinite(limits.allowed).any():
        return
    allowed = np.where(np.isfinite(limits.allowed), limits.allowed, -np.inf)
    largest = np.unravel_index(int(np.argmax(allowed)), allowed.shape)
    index = ",".join(str(int(i)) for i in largest)
    n = int(terms.count[largest[2:]])
    yield (
        f"              at [{index}], where it is largest: n = {n}, A = {terms.magnitude[largest]:.6g}, "
        f"|actual - {terms.y[largest]:.6g}| <= {limits.allowed[largest]:.3g}, "
        f"remarkable above {limits.warning[largest]:.3g}"
    )


def _numbers(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    flat = values.ravel()
    elements = ", ".join(f"{float(value):.7g}" for value in flat[:_SHOWN])
    return f"[{elements}{', ...' if flat.size > _SHOWN else ''}]"
