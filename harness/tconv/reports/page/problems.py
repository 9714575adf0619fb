"""What a dialect says about a case, for the page: call, geometry and expectation, independent of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from tconv.cases.call import express
from tconv.cases.layouts import data_shape
from tconv.expectation.expected import NotApplicable, Refuse, Values
from tconv.expectation.problem import share_problem
from tconv.reports.case_details import node_lines
from tconv.reports.page import figures
from tconv.reports.page.tables import Table
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.expected import Candidate, Expectation
    from tconv.records.record import CallSummary, Record
    from tconv.vocabulary import DataFormat, Ints

    Row = dict[str, Any]

_GEOMETRY = ("spatial", "kernel", "strides", "dilations", "pads_begin", "output", "groups")
"""The integers for the drawing of a case; only Python has the rules for them."""


class Problems:
    """The problems of a page's records, once for each dialect and all runs.

    Args:
        find: returns the case with an id; None if the corpus does not have it.
    """

    def __init__(self, find: Callable[[str], Case | None]) -> None:
        self.table = Table()
        self._find = find
        # The key is the id of an expectation, which cases share, and the layout. The value keeps the expectation alive.
        self._expected: dict[tuple[int, DataFormat], tuple[Expectation, Row]] = {}
        self._cases: dict[str, Case | None] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, record: Record, dialect: Dialect) -> int:
        """Return the number of a record's problem, from 1; 0 if nothing is known of it."""
        key = record.case, record.dialect
        if key not in self._numbers:
            row = self._row(record, dialect)
            self._numbers[key] = self.table.append(row) + 1 if row else 0
        return self._numbers[key]

    def _row(self, record: Record, dialect: Dialect) -> Row:
        if record.case not in self._cases:
            self._cases[record.case] = self._find(record.case)
        case = self._cases[record.case]
        if case is None:
            return _recorded(record.call) if record.call else {}
        problem = share_problem(case, dialect)
        expected = problem.expectation
        if isinstance(expected, NotApplicable):
            return {"notApplicable": expected.reason}
        # The problem does not store the call: for thousands of cases that would need much memory.
        call = problem.surrounded.call if problem.surrounded else express(case, dialect, problem.signature)
        key = id(expected), call.data_format
        _, of_text = self._expected.get(key) or self._expected.setdefault(key, (expected, _expected(expected, call)))
        # If a refusal is expected, no output is, so there is no type.
        dtype = problem.judged.dtype if problem.surrounded else call.dtype
        return {
            **_call(call),
            **of_text,
            "dtype": None if "refusal" in of_text else dtype,
            "about": case.about or None,
            "clause": "; ".join(cite.clause for cite in case.cites if cite.dialect == dialect.name) or None,
        }


def _recorded(call: CallSummary) -> Row:
    """Return the call from its record, because the case is not in this corpus."""
    row: Row = {f"attribute {name}": figures.text(value) for name, value in call.attributes.items()}
    for place, (name, shape, dtype) in enumerate(call.inputs):
        row[f"input {place}"] = (name, figures.integers(shape), dtype)
    return row | {"layouts": (call.data_format, call.filter_format)}


def _call(call: Call) -> Row:
    """Return a call: attributes, inputs, layouts, and the nodes of its graph, each with whether it is the operator."""
    row: Row = {f"attribute {name}": figures.text(value) for name, value in call.attributes.items()}
    for place, tensor in enumerate(call.inputs):
        row[f"input {place}"] = (tensor.name, figures.integers(tensor.shape), tensor.dtype or "i64")
    row["layouts"] = (call.data_format, call.filter_format)
    if call.graph is not None:
        nodes = zip(call.graph.nodes, node_lines(call.graph), strict=True)
        row["graph"] = tuple((*line, node.call is not None) for node, line in nodes)
    return row


def _expected(expected: Values | Refuse, call: Call) -> Row:
    """Return the expected value, and what else the text allows; or the refusal."""
    match expected:
        case Refuse(violation, stated):
            return {"refusal": (violation.constraint, str(violation), stated)}
        case Values(primary, disputed, refusals):
            batch, channels, out_channels = _sizes(primary.geometry, call)
            return {
                **{name: getattr(primary.geometry, name) for name in _GEOMETRY},
                "batch": batch,
                "channels": channels,
                "out_channels": out_channels,
                "added": _added(call),
                "shape": tuple(data_shape((batch, out_channels, *primary.geometry.output), call.data_format)),
                "disputed": tuple((_names(c), *_window(c.geometry)) for c in disputed) or None,
                "refusals": tuple(map(str, refusals)) or None,
            }
        case _:
            assert_never(expected)


def _names(candidate: Candidate) -> tuple[tuple[str, ...], ...]:
    """Return the readings that give an output; readings that belong together are one entry."""
    return tuple(readings for readings in (candidate.readings, *candidate.alike) if readings)


def _window(geometry: Geometry) -> tuple[object, ...]:
    return geometry.pads_begin, geometry.output


def _sizes(geometry: Geometry, call: Call) -> Ints:
    """Return the batch size, and the channels of data and output."""
    x, w = call.written.x.shape, call.written.w.shape
    return x[0], x[1], w[1] * geometry.groups


def _added(call: Call) -> Ints:
    """Return by how much output_padding makes each axis longer; empty if other attributes decide the size."""
    attributes = call.written.attributes
    explicit = attributes.output_shape is None and attributes.auto_pad == AutoPad.EXPLICIT
    return call.written.per_axis("output_padding") if explicit else ()
