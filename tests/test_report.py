"""The report: made once, the same whatever its sentences say, and with a published schema as JSON."""

from __future__ import annotations

import inspect
import sys
from itertools import count
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from played_backends import assessment_of, presented, records_of
from tconv import schemas
from tconv.expectation.truth import Truth
from tconv.gate.status import RULINGS, SEVERITY, Status
from tconv.learning.judged_calls import Condition
from tconv.learning.lesson import Lesson, Rule
from tconv.learning.named_conditions import Misread
from tconv.learning.shared_facts import Shared
from tconv.learning.symptoms import Symptom
from tconv.reports import phrases, plain, red, report
from tconv.reports.page.cause_lines import cause_lines
from tconv.reports.report import make_report
from test_terminal import everything

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conftest import Command
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.expectation.problem import Problem
    from tconv.gate.assessment import Assessment
    from tconv.vocabulary import Array

SAID = ("what", "text")
"""The keys of the JSON whose values are sentences."""
WORDS = (Condition, Lesson, Rule, Shared, Symptom)
"""Parts of causes that write sentences."""


def test_a_run_with_every_output_makes_one_report(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a baseline too: causes are found once for a status of a run, and once for its baseline."""
    asked = ("run", "examples/onnx/**", "--backend", "wrong_backends:DroppedTap", "-j", "1")
    assert command(*asked, "--output", "old").returncode == 1
    made: list[object] = []
    found: list[object] = []

    def counted(function: Any, calls: list[object], *arguments: object) -> object:  # noqa: ANN401 - any function
        calls.append(arguments)
        return function(*arguments)

    reports, find = report.Report, report.find_causes
    monkeypatch.setattr(report, "Report", lambda *arguments: counted(reports, made, *arguments))
    monkeypatch.setattr(report, "find_causes", lambda *arguments: counted(find, found, *arguments))
    outputs = ("--junit", "j.xml", "--summary", "s.md", "--annotate", "--json", "--baseline", "old")
    done = command(*asked, "--output", "new", *outputs)
    assert done.returncode == 1, done.stderr
    assert len(made) == 1
    assert len(found) == len(set(map(repr, found)))


def wrong(problem: Problem) -> Array:
    """Return what a runtime computes that crops more at the beginning of lines, and takes a filter backwards."""
    assert problem.values is not None
    geometry, w = problem.values.primary.geometry, problem.truth.operands["w"]
    if len(geometry.output) == 1:
        w = w[..., ::-1]
    y = Truth(dict(problem.truth.operands) | {"w": w}, problem.case.x.dtype).compute_values(geometry)
    return presented(problem, y) * (2 if (problem.case.attributes.groups or 1) > 1 else 1)


def without_sentences(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON value without its sentences; of lists the order is left out, as sentences may decide ties."""
    if isinstance(value, dict):
        return {key: without_sentences(entry) for key, entry in value.items() if key not in SAID}
    if isinstance(value, list):
        return sorted((without_sentences(entry) for entry in value), key=repr)
    return value


def shown(assessments: Iterable[Assessment], before: Iterable[Assessment]) -> Any:  # noqa: ANN401 - JSON and more
    """Return all that a report says but for its sentences."""
    made = make_report(list(assessments), list(before))
    lines = [(line.counts, line.kinds, line.worst, sorted(line.members)) for line in cause_lines(made.runs)]
    return without_sentences(plain.results(made)), plain.badge(made), made.is_red, sorted(lines, key=repr)


def test_nothing_depends_on_a_sentence(
    gate_cases: tuple[Case, ...], corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sentence is another one at each call; statuses, counts, groups, kinds and the answer stay the same."""
    small = [case for case in gate_cases if case.breaks is None and case.simplicity[1] <= 512][::40]
    runs = [everything(), assessment_of(records_of(wrong, small), corpus)]
    before = [everything(), assessment_of(records_of(lambda problem: problem.output, small), corpus)]  # type: ignore[arg-type, return-value]
    expected = shown(runs, before)
    assert any(cause["kinds"] == ["differed"] for run in expected[0]["runs"] for cause in run["causes"])
    tokens = map("token {}".format, count())

    def sentence(function: Any) -> Any:  # noqa: ANN401 - any function
        def said(*arguments: object, **named: object) -> object:
            text = function(*arguments, **named)
            return text and next(tokens) if isinstance(text, str) else [next(tokens) for _ in text]

        return said

    makers = [
        function
        for module in (phrases, red)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and inspect.signature(function).return_annotation in {"str", "list[str]", "Iterator[str]"}
        and function is not red.name_of
    ]
    assert len(makers) > 15
    replaced = {function: sentence(function) for function in makers}
    for module in [module for name, module in sys.modules.items() if name.startswith("tconv.")]:
        for name, value in list(vars(module).items()):
            if inspect.isfunction(value) and value in replaced:
                monkeypatch.setattr(module, name, replaced[value])
    for cls in WORDS:
        monkeypatch.setattr(cls, "__str__", lambda _: next(tokens))
    monkeypatch.setattr(Misread, "exceptions", property(lambda _: next(tokens)))
    assert shown(runs, before) == expected


def test_the_json_has_a_schema() -> None:
    """Every report follows it, and it notices another format."""
    schema = schemas.report()
    made = make_report([everything()], [everything()])
    jsonschema.validate(plain.results(made), schema)
    broken = plain.results(made) | {"format": 2}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)


def test_causes_stand_by_severity_and_then_by_count() -> None:
    """On the terminal, in JSON and on the page; a crash of one case stands before wrong values of many."""
    made = make_report([everything()])
    kinds = [cause["kinds"] for cause in plain.results(made)["runs"][0]["causes"] if cause["status"] == "failed"]
    severities = [min(map(SEVERITY.index, of)) for of in kinds]
    assert severities == sorted(severities)
    assert kinds[0] == ["crashed"]
    on_page = [list(line.kinds) for line in cause_lines(made.runs) if line.total[Status.FAILED]]
    assert on_page == kinds
    failing = {kind for kind in RULINGS if kind not in {"agreed", "disputed", "not-applicable"}}
    assert set(SEVERITY) == failing
