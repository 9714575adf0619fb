"""The report: made once, the same whatever its sentences say, and with a published schema as JSON."""

from __future__ import annotations

import inspect
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest
import yaml
from junitparser import JUnitXml

from made_records import AGREED, CASES, DIFFERED, facts, run_of
from page_blocks import Block
from played_backends import assessment_of, presented, records_of
from tconv import schemas
from tconv.evidence.hypotheses import Explanation, Follows, Misreads, Relates, Rule, Says
from tconv.expectation.truth import Truth
from tconv.gate.assessment import assess
from tconv.gate.status import RULINGS, SEVERITY, Status
from tconv.records.record import Sums
from tconv.reports import (
    annotations,
    cause_sentences,
    causes,
    commands,
    job_summary,
    junit,
    phrases,
    plain,
    red,
    report,
    terminal,
)
from tconv.reports.page.cause_lines import cause_lines
from tconv.reports.page.overview import overviews
from tconv.reports.page.records import record_blocks
from tconv.reports.report import make_report
from tconv.verdict import kinds as ver
from tconv.vocabulary import DType
from test_terminal import everything
from test_wrong_input import GOLDEN, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from conftest import Command
    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.expectation.problem import Problem
    from tconv.gate.assessment import Assessment
    from tconv.vocabulary import Array

SAID = ("what", "text")
"""The keys of the JSON whose values are sentences."""
WORDS = (Rule, Follows, Says, Relates)
"""Parts of causes that write sentences."""
HERE = Path(__file__).parent
FORMS = GOLDEN / "report_forms.yaml"


def test_a_run_with_every_output_makes_one_report(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a baseline too: causes are found once for a status of a run, and once for its baseline."""
    asked = ("run", "examples/onnx/**", "--backend", "wrong_backends:DroppedTap", "-j", "1")
    assert command(*asked, "--output", "old").returncode == 1
    made: list[object] = []
    found: list[object] = []

    def counted(function: Any, calls: list[object], *arguments: object) -> object:  # noqa: ANN401 - any function
        calls.append(arguments)
        return function(*arguments)

    reports, key = report.Report, causes._key
    monkeypatch.setattr(report, "Report", lambda *arguments: counted(reports, made, *arguments))
    # Whoever looks for causes asks of each record whose it is, from wherever the search is imported.
    monkeypatch.setattr(causes, "_key", lambda *arguments: counted(key, found, *arguments))
    outputs = ("--junit", "j.xml", "--summary", "s.md", "--annotate", "--json", "--baseline", "old")
    done = command(*asked, "--output", "new", *outputs)
    assert done.returncode == 1, done.stderr
    assert len(made) == 1
    asked_for = [(id(assessment), member.record.case) for member, _, assessment in found]  # type: ignore[misc]
    assert len({run for run, _ in asked_for}) == 2
    assert len(asked_for) == len(set(asked_for))


def wrong(problem: Problem) -> Array:
    """Return what a runtime computes with a bug for each kind of explanation.

    It crops more at the beginning of planes, takes the filter backwards if there are groups, and doubles the bias.
    """
    assert problem.values is not None
    geometry, operands = problem.values.primary.geometry, dict(problem.truth.operands)
    if (problem.case.attributes.groups or 1) > 1:
        operands["w"] = np.flip(operands["w"], axis=tuple(range(2, operands["w"].ndim)))
    elif len(geometry.output) == 1:
        geometry = replace(geometry, pads_begin=tuple(p + 2 for p in geometry.pads_begin))
    y = Truth(operands, problem.case.x.dtype).compute_values(geometry)
    return presented(problem, y)


def list_members(value: object) -> Iterator[object]:
    match value:
        case dict():
            for key, entry in value.items():
                yield from ((key, said) for said in list_members(entry) if key not in SAID)
        case list():
            for entry in value:
                yield from list_members(entry)
        case _:
            yield value


def look_at(runs: Sequence[Callable[[], Assessment]], before: Sequence[Callable[[], Assessment]]) -> list[object]:
    """Return all that the formats say of runs but for their sentences: groups, kinds, statuses, counts, order, answer.

    The runs are judged anew.
    """
    made = make_report([judge() for judge in runs], [judge() for judge in before])
    suites = JUnitXml.fromstring(junit.text(made).encode())
    results = [[(type(each), each.type) for each in case.result] for suite in suites for case in suite]
    lines = cause_lines(made.runs)
    shown = Block.opened(record_blocks(overviews(made.runs), lines, lambda _: None, lambda *_: None).data)
    commands = [line.partition(" ")[0] for run in made.runs for line in annotations.workflow_commands(run, HERE, None)]
    return [
        list(list_members(plain.results(made))),
        plain.badge(made),
        made.is_red,
        [(line.counts, line.kinds, line.worst, line.members) for line in lines],
        results,
        commands,
        [row.count("|") for row in job_summary.markdown(made).splitlines() if row.startswith("| ")],
        {name: column.tolist() for name, column in shown.arrays.items() if name not in {"phrase", "commands"}},
    ]


def test_nothing_depends_on_a_sentence(
    gate_cases: tuple[Case, ...], corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sentence is another one at each call; statuses, counts, groups, kinds, order and the answer stay the same.

    The gate judges after the sentences are replaced too.
    """
    small = [case for case in gate_cases if case.breaks is None and case.simplicity[1] <= 512][::10]
    records = records_of(wrong, small)
    right = records_of(lambda problem: problem.output, small)  # type: ignore[arg-type, return-value]
    runs = [everything, lambda: assessment_of(records, corpus)]
    before = [everything, lambda: assessment_of(right, corpus)]
    explained = runs[1]().explained
    assert {type(each.what) for each in explained} >= {Follows, Misreads}
    expected = look_at(runs, before)
    tokens = map("token {}".format, count())

    def sentence(function: Any) -> Any:  # noqa: ANN401 - any function
        def said(*arguments: object, **named: object) -> object:
            text = function(*arguments, **named)
            return text and next(tokens) if isinstance(text, str) else [next(tokens) for _ in text]

        return said

    makers = [
        function
        for module in (phrases, red, cause_sentences, commands)
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
    for name in ("where",):
        monkeypatch.setattr(Explanation, name, property(lambda _: next(tokens)))
    assert look_at(runs, before) == expected


def made_runs() -> dict[str, Assessment]:
    environment = {"OPENBLAS_CORETYPE": "Haswell", "DNNL_MAX_CPU_ISA": "AVX2", "ONEDNN_CPU_ISA_HINTS": "A"}
    verdicts: dict[str, ver.Verdict] = {f"a/b/c[s={number}]": DIFFERED for number in range(200)}
    noted = ver.Agreed("bound", ("nan-from-inserted-zeros", "cropped"))
    run = run_of(verdicts | {"a/d/e": ver.TimedOut(2.5), "a/d/f": noted, "a/d/g": ver.BackendError("oh")})
    backend = run.header.backend.model_copy(update={"environment": environment})
    header = run.header.model_copy(update={"backend": backend, "timeout": 2.5})
    sums = Sums(DType.F16, "dense", 2, DType.F16)
    records = [replace(record, sums=sums) if record.case == "a/d/f" else record for record in run.records]
    full = replace(run, header=header, records=records)
    long = "[ONNXRuntimeError] : 1 : FAIL : Node (ConvTranspose) Op (ConvTranspose) " + "of a model " * 20
    messages = {f"a/d{size}/c": f"float32 of 1.{size}: size {size}, rank 4" for size in (8, 9)}
    messages |= {"a/b/c": "shape=[9]", "a/b/c[s=2]": "shape=[np.int64(13), np.int64(10)]"}
    messages |= {f"a/e/{number}": f"{long} has no {what}" for number, what in enumerate(("kernel", "memory"))}
    broken = run_of({case: ver.BackendError(text) for case, text in messages.items()})
    return {
        "messages": assess(broken, None, facts),
        "every status": everything(),
        "green": assess(run_of({CASES[3]: AGREED}), None, facts),
        "failures": assess(full, None, facts),
    }


def test_each_form_of_a_report_is_that_of_its_golden_file(capsys: pytest.CaptureFixture[str]) -> None:
    """On the terminal, in Markdown and in JUnit; read a changed text as somebody who sees a report first."""
    texts = []
    for entry in yaml.safe_load(FORMS.read_text(encoding="utf-8")):
        made = make_report([made_runs()[entry["run"]]])
        match entry["form"]:
            case "markdown":
                texts.append(job_summary.markdown(made))
            case "junit":
                texts.append(junit.text(made).replace("\t", "  "))
            case detail:
                terminal.show(made.runs[0], Path("out/index.html"), detail)
                texts.append(capsys.readouterr().out)
    compare(FORMS, [text.rstrip("\n") for text in texts])


def test_the_json_has_a_schema() -> None:
    schema = schemas.report()
    made = make_report([everything()], [everything()])
    jsonschema.validate(plain.results(made), schema)
    (run,) = plain.results(made)["runs"]
    assert [note["name"] for note in run["record_notes"]] == ["reduced-precision"]
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
