"""What a dialect says about a case, for the page: call, geometry and expectation, independent of the answers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, assert_never

from tconv.cases.call import express
from tconv.cases.layouts import data_shape
from tconv.expectation.expected import NotApplicable, Refuse, Values
from tconv.expectation.problem import share_problem
from tconv.records.record import CallSummary
from tconv.reports.case_details import node_lines
from tconv.reports.page.blocks import Table
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.expectation.expected import Candidate, Expectation
    from tconv.records.record import Record
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
        # Several runs have the same cases.
        self._find = cache(find)
        # The key is the id of an expectation, which cases share, and the layout. The value keeps the expectation alive.
        self._expected: dict[tuple[int, DataFormat], tuple[Expectation, Row]] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    def number(self, record: Record, dialect: Dialect) -> int:
        """Return the number of a record's problem, from 1; 0 if nothing is known of it."""
        key = record.case, record.dialect
        if key not in self._numbers:
            row = self._row(record, dialect)
            self._numbers[key] = self.table.append(row) + 1 if row else 0
        return self._numbers[key]

    def _row(self, record: Record, dialect: Dialect) -> Row:
        if (case := self._find(record.case)) is None:
            # The case is not in this corpus.
            return _call(record.call) if record.call else {}
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
            **_call(CallSummary.of(call)),
            "graph": tuple(node_lines(call.graph)) if call.graph else None,
            **of_text,
            "dtype": None if "refusal" in of_text else dtype,
            "about": case.about or None,
            "clause": "; ".join(cite.clause for cite in case.cites if cite.dialect == dialect.name) or None,
        }


def _call(call: CallSummary) -> Row:
    """Return a call: attributes, inputs, layouts."""
    attributes = {f"attribute {name}": str(value) for name, value in call.attributes.items()}
    inputs = {f"input {at}": (name, str(shape), dtype) for at, (name, shape, dtype) in enumerate(call.inputs)}
    return attributes | inputs | {"layouts": (call.data_format, call.filter_format)}


def _expected(expected: Values | Refuse, call: Call) -> Row:
    """Return the expected value, and what else the text allows; or the refusal."""
    match expected:
        case Refuse(violation, stated):
            return {"refusal": (violation.constraint, str(violation), stated)}
        case Values(primary, disputed, refusals):
            x, w = call.written.x.shape, call.written.w.shape
            out_channels = w[1] * primary.geometry.groups
            return {
                **{name: getattr(primary.geometry, name) for name in _GEOMETRY},
                "batch": x[0],
                "channels": x[1],
                "out_channels": out_channels,
                "added": _added(call),
                "shape": tuple(data_shape((x[0], out_channels, *primary.geometry.output), call.data_format)),
                "disputed": tuple(map(_disputed, disputed)) or None,
                "refusals": tuple(map(str, refusals)) or None,
            }
        case _:
            assert_never(expected)


def _disputed(candidate: Candidate) -> tuple[object, ...]:
    """Return the readings that give an output, its pads and its size; readings that belong together are one entry."""
    names = tuple(readings for readings in (candidate.readings, *candidate.alike) if readings)
    return names, candidate.geometry.pads_begin, candidate.geometry.output


def _added(call: Call) -> Ints:
    """Return by how much output_padding makes each axis longer; empty if other attributes decide the size."""
    attributes = call.written.attributes
    explicit = attributes.output_shape is None and attributes.auto_pad == AutoPad.EXPLICIT
    return call.written.per_axis("output_padding") if explicit else ()
