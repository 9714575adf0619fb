"""A bug report for the maintainers of a runtime: its answer to one case."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.layouts import from_ncx
from tconv.diagnosis.misreadings import meanings
from tconv.dialects import DIALECTS
from tconv.errors import UsageError
from tconv.expectation.expected import NotApplicable, Refuse
from tconv.expectation.problem import Problem
from tconv.export.asking import asking
from tconv.export.clauses import clauses
from tconv.export.snippet import snippet
from tconv.records import artifacts
from tconv.records.headers import USUAL_TIMEOUT, cases_option, timeout_option
from tconv.reports.case_details import node_lines
from tconv.reports.phrases import explanation, phrase, reproduce
from tconv.reports.templates import escaped
from tconv.shown_texts import one_line, printable
from tconv.verdict import kinds as ver
from tconv.vocabulary import DataFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tconv.cases.case import Case
    from tconv.export.asking import Asked
    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.records.headers import BackendHeader
    from tconv.records.record import Record
    from tconv.vocabulary import Array

_SHOWN = 256
"""The most elements of an array that a report shows."""
_INSTALLED_BY = (
    "on no index of packages: 'pip install .' in a clone of its repository, or 'pip install FILE' with the wheel that "
    "'pip wheel --no-deps .' makes there"
)
"""How the reader of a report installs tconv."""
TITLES = {
    "differed": "gives wrong values",
    "imprecise": "gives values that are less exact than sums are",
    "wrong-shape": "gives an output of the wrong shape",
    "wrong-dtype": "gives an output of the wrong type",
    "refused-valid": "refuses a valid call",
    "accepted-invalid": "answers an invalid call",
    "inconclusive": "gives values that no bound can test",
    "unsupported": "does not implement a valid call",
    "crashed": "dies",
    "timed-out": "does not answer",
    "unstable": "answers the same call differently",
    "backend-error": "fails",
}
"""The words for a runtime in a report's title, for each kind of failure."""


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
    command = reproduce(record, (*header.arguments, *timeout_option(timeout)), cases)
    return "\n".join(_markdown(problem, record, header, actual, found_by, command, cases))


def _markdown(
    problem: Problem,
    record: Record,
    header: BackendHeader,
    actual: Array | None,
    found_by: Mapping[str, str],
    command: str,
    cases: str,
) -> Iterator[str]:
    explained = explanation(record, record.why)
    why = f", {escaped(explained)}" if record.diagnosis else ""
    yield f"# {escaped(header.title)}: {problem.dialect.name} {TITLES[record.verdict.kind]}{why}"
    yield from _section("Versions", _versions(header, found_by))
    yield from _section("Call", _call(problem))
    yield from _section("Expected", _expected(problem))
    yield from _section("Actual", _actual(problem, record, actual))
    yield from _section("Clause", _clauses(problem))
    if explained:
        says = meanings(problem.dialect)
        names = dict.fromkeys(name for together in record.diagnosis for name in together.names)
        prefix = "The output is " if record.diagnosis else "No known misreading is found: "
        sentences = (f"- {name}: {says[name]}" for name in names)
        yield from _section("Diagnosis", [f"{prefix}{escaped(explained)}.", *sentences])
    yield from _section("How to reproduce", _reproduction(problem, header, command, cases))


def _section(title: str, lines: Iterator[str] | list[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "", *lines)


def _versions(header: BackendHeader, found_by: Mapping[str, str]) -> Iterator[str]:
    yield f"- {_code(header.title)}"
    for name, value in (header.environment | header.machine).items():
        yield f"  - {escaped(name)}: {_code(value)}"
    yield f"- found by tconv ({_INSTALLED_BY})"
    for name, value in found_by.items():
        yield f"  - {escaped(name)}: {_code(value)}"


def _call(problem: Problem) -> Iterator[str]:
    yield f"{_code(problem.dialect.name)} with"
    yield ""
    for name, value in problem.call.attributes.items():
        yield f"- attribute {_code(f'{name} = {list(value) if isinstance(value, tuple) else value}')}"
    for tensor in problem.call.inputs:
        declaration = f"{tensor.name} {tensor.dtype or 'integers'} {list(tensor.shape)}"
        yield f"- {'constant' if tensor.constant else 'input'} {_code(declaration)}"
    if problem.call.graph is not None:
        yield "- in this graph, of which the attributes above are the operator's:"
        for gives, kind, words in node_lines(problem.call.graph):
            yield f"  - {_code(f'{gives} = {kind}({words})')}"
    yield f"- data in {problem.call.data_format}, filter in {problem.call.filter_format}"
    declared = {"static": "with static sizes", "symbolic": "with symbolic sizes", "unranked": "without any shape"}
    yield f"- declared {declared[problem.call.shapes]}"
    for tensor in problem.call.inputs:
        array = np.array(tensor.values) if tensor.role not in problem.arrays else problem.arrays[tensor.role]
        if array.size <= _SHOWN:
            yield from ("", f"{tensor.name} =", "", _fenced(_full(array)))
        else:
            yield from ("", f"{tensor.name} has {array.size} elements, too many to be shown here.")


def _expected(problem: Problem) -> Iterator[str]:
    expected = problem.output
    if isinstance(problem.expectation, Refuse):
        yield "A refusal." if problem.expectation.stated else "No value exists; a refusal is the only answer."
    if expected is None:
        return
    yield f"{problem.judged.dtype} {list(expected.shape)} in {problem.call.data_format}"
    if expected.size <= _SHOWN:
        yield from ("", _fenced(_full(expected)))
    if allowed := list(problem.also_allowed()):
        yield from ("", "The text also allows, and this is none of that either:", "")
        yield from (f"- {escaped(alternative)}" for alternative in allowed)


def _actual(problem: Problem, record: Record, actual: Array | None) -> Iterator[str]:
    compared = isinstance(record.verdict, ver.WrongValues)
    yield f"{record.verdict.kind}{', with the index in NCX' if compared else ''}:"
    yield ""
    whole = record.verdict.message if isinstance(record.verdict, ver.RefusedValid | ver.BackendError) else ""
    yield _fenced(whole or phrase(record.verdict))
    if isinstance(record.verdict, ver.Crashed) and record.verdict.stderr:
        yield from ("", "It printed at last:", "", _fenced(record.verdict.stderr))
    if actual is not None:
        # An output of another rank has no layout, and is shown as it was returned.
        layout = problem.call.data_format if actual.ndim == problem.call.rank + 2 else DataFormat.NCX
        actual = from_ncx(actual, layout)
        yield from ("", f"{list(actual.shape)}, as it came")
        if actual.size <= _SHOWN:
            yield from ("", _fenced(_full(actual)))


def _clauses(problem: Problem) -> Iterator[str]:
    yield f"Text: {_code(problem.dialect.text)}"
    yield ""
    yield from (f"- {escaped(clause)}" for clause in clauses(problem))


def _reproduction(problem: Problem, header: BackendHeader, command: str, cases: str) -> Iterator[str]:
    yield from ("With tconv:", "", _fenced(command, "sh"), "")
    backend = header.spec or header.name
    try:
        asked = asking(problem, backend)
    except UsageError:
        # The backend needs a geometry, which this call does not have.
        return
    if (source := snippet(problem, backend)) is not None:
        yield from (_without_tconv(asked, backend), "", _fenced(source, "python"))
    else:
        words = ["tconv", "export", problem.case.id, ".", "--backend", backend, "--dialect", problem.dialect.name]
        yield from ("The arrays are too large for a report; this writes them with a script:", "")
        yield _fenced(shlex.join([*words, *cases_option(cases)]), "sh")


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
