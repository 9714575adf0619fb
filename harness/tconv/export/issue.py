"""A bug report for the maintainers of a runtime: its answer to one case."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.layouts import from_ncx
from tconv.diagnosis.misreadings import meanings
from tconv.dialects import DIALECTS
from tconv.errors import UsageError
from tconv.expectation.expected import NotApplicable, Refuse
from tconv.expectation.problem import Problem
from tconv.export.clauses import clauses
from tconv.export.snippet import asking, snippet
from tconv.records import artifacts
from tconv.records.headers import USUAL_TIMEOUT, cases_option, timeout_option
from tconv.records.record import CallSummary, Record
from tconv.reports.case_details import node_lines
from tconv.reports.commands import reproduce
from tconv.reports.phrases import explanation, phrase
from tconv.reports.templates import environment
from tconv.reports.words import KINDS
from tconv.shown_texts import one_line, printable
from tconv.verdict import kinds as ver
from tconv.vocabulary import DataFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tconv.cases.case import Case
    from tconv.export.snippet import Asked
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.records.headers import BackendHeader
    from tconv.vocabulary import Array

_SHOWN = 256
"""The most elements of an array that a report shows."""


def recorded_issue(assessment: Assessment, member: RecordStatus, find: Callable[[str], Case | None]) -> str | None:
    """Return the report of a failure, made from its record, without running the backend again.

    None if there is nothing to report, if the answer depends on earlier calls, so that the case alone may not show
    it, or if the case is not available.

    Args:
        assessment: the run.
        member: one of its records.
        find: returns the case with an id; None if the corpus has none.
    """
    record, header = member.record, assessment.run.header
    case, dialect = find(record.case), DIALECTS.get(record.dialect)
    if isinstance(record.verdict, ver.Allowed | ver.NotApplicable) or record.varies:
        return None
    if case is None or dialect is None:
        return None
    problem = Problem(case, dialect)
    if isinstance(problem.expectation, NotApplicable):
        return None
    # The explanations that remain after the run's other records. The reader runs the case alone anyway.
    record = replace(record, diagnosis=member.why.explained or record.diagnosis, alone=None)
    actual = artifacts.array(assessment.run.path.parent, record.artifact, "actual")
    found_by = {"tconv": header.tconv} | header.platform
    return issue(problem, record, header.backend, actual, found_by, header.path, header.timeout)


def issue(
    problem: Problem,
    record: Record,
    header: BackendHeader,
    actual: Array | None,
    found_by: Mapping[str, str],
    cases: str = "",
    timeout: float = USUAL_TIMEOUT,
) -> str:
    """Return a report in Markdown; ids and texts of the runtime are formatted as code.

    Args:
        problem: the case in the dialect.
        record: the record of the case.
        header: the backend.
        actual: the wrong output, in NCX; None if there is no output.
        found_by: the versions of tconv, which comes first, and of the libraries that it computes with.
        cases: the value of --cases; empty for tconv's own corpus.
        timeout: the limit for the case, in seconds.
    """
    call, verdict, expected, backend = problem.call, record.verdict, problem.expectation, header.spec or header.name
    says = meanings(problem.dialect)
    if actual is not None:
        # An output of another rank has no layout, and is shown as it was returned.
        actual = from_ncx(actual, call.data_format if actual.ndim == call.rank + 2 else DataFormat.NCX)
    without_tconv = source = None
    # A backend that needs a geometry cannot get a call that has none.
    with suppress(UsageError):
        without_tconv, source = _without_tconv(asking(problem, backend), backend), snippet(problem, backend)
    words = ["tconv", "export", problem.case.id, ".", "--backend", backend, "--dialect", problem.dialect.name]
    text = (
        environment("export")
        .get_template("issue.md.j2")
        .render(
            problem=problem,
            record=record,
            header=header,
            found_by=found_by,
            call=call,
            said=CallSummary.of(call),
            title=KINDS[verdict.kind].title,
            explained=explanation(record, record.why),
            diagnoses={name: says[name] for together in record.why.explained for name in together.names},
            operands=call.operands(problem.arrays),
            node_lines=node_lines,
            refusal=expected if isinstance(expected, Refuse) else None,
            expected=problem.output,
            compared=isinstance(verdict, ver.WrongValues),
            whole=(isinstance(verdict, ver.RefusedValid | ver.BackendError) and verdict.message) or phrase(verdict),
            stderr=isinstance(verdict, ver.Crashed) and verdict.stderr,
            actual=actual,
            clauses=clauses(problem),
            command=reproduce(record, (*header.arguments, *timeout_option(timeout)), cases),
            without_tconv=without_tconv,
            source=source,
            export_command=without_tconv and shlex.join([*words, *cases_option(cases)]),
            shown=_SHOWN,
            code=_code,
            fenced=_fenced,
            full=_full,
        )
    )
    return text.rstrip("\n")


def _without_tconv(asked: Asked, backend: str) -> str:
    """Return the report's text above the Python code that runs the runtime."""
    if asked.stands_in:
        what = f"this asks onnxruntime, and not {_code(backend)}"
        return f"Without tconv, {what}. For another runtime replace the lines that are marked:"
    if asked.hint:
        return "Without tconv, this asks no runtime yet. Replace the line that is marked:"
    return "Without tconv:"


def _full(array: Array) -> str:
    return np.array2string(array, threshold=_SHOWN + 1, floatmode="unique", max_line_width=100, separator=", ")


def _code(text: str) -> str:
    """Return a text as inline code, with more backticks around it than in it."""
    line = one_line(text)
    fence = "`" * (_longest(line) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def _fenced(text: str, language: str = "") -> str:
    """Return a text as a code block. The fence is longer than any in the text, and control characters are escaped."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{printable(text)}\n{fence}"


def _longest(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
