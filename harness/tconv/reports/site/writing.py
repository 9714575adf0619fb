"""The files of the site: pages, the same content as JSON, and the data for its script."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tconv import __version__
from tconv.dialects import DIALECTS, NoWord
from tconv.dialects.geometry import Geometry, resolve
from tconv.dialects.rules import QUESTIONS
from tconv.expectation.expected import Values, expect
from tconv.gate.status import FAILING
from tconv.reports import atomic_write, phrases, plain
from tconv.reports.between_runs.transitions import MEANINGS
from tconv.reports.page.overview import waiver_facts
from tconv.reports.report import Report
from tconv.reports.site import texts
from tconv.reports.site.drawings import Window, draw
from tconv.reports.site.engines import OUTCOMES, list_engines, outcome_of
from tconv.reports.site.questions import FIELDS, LABELS, describe, list_questions
from tconv.reports.templates import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from markupsafe import Markup

    from tconv.cases.case import Case
    from tconv.gate.waivers import Waiver
    from tconv.reports.site.engines import Engine, SiteRun
    from tconv.reports.site.questions import Asked, Question

KINDS = {
    "use": "What may be used",
    "rule": "What the texts answer differently",
    "open": "Is a call answered if this does not hold?",
}
QUANTITIES = {
    "size": "the size",
    "pads_begin": "the padding at the beginning",
    "stride": "the stride",
    "dilation": "the dilation",
}
_MOST_ENDS = 40
_TRIED = 200
"""The number of calls to try for a drawing: the one with most answers is drawn."""
_ONNX = DIALECTS["onnx/ConvTranspose-22"]


@dataclass(frozen=True)
class Finding:
    """A known deviation of an engine, with the runs that show it.

    Attributes:
        key: its permanent address below `findings/`.
        waiver: the deviation.
        runs: the runs that show it.
        count: the number of cases.
    """

    key: str
    waiver: Waiver
    runs: Sequence[SiteRun]
    count: int


def write(report: Report, cases: Sequence[Case], find: Callable[[str], Case | None], folder: Path) -> int:
    """Write the site and return the number of its pages. Files with other names stay in the folder.

    Args:
        report: the runs; several releases of an engine are compared.
        cases: the cases for drawings, and for the comparison of texts.
        find: returns the case with an id; None if the corpus does not have it.
        folder: the folder of the site.
    """
    return _Site(list_engines(report.runs, find), cases, folder).write()


class _Site:
    def __init__(self, engines: Sequence[Engine], cases: Sequence[Case], folder: Path) -> None:
        self.engines, self.cases, self.folder = engines, cases, folder
        self.index: list[tuple[str, str, str]] = []
        self.findings = {engine.key: _findings(engine) for engine in engines}
        days = sorted({run.date for engine in engines for run in engine.runs})
        dates = f"Records of {days[0]} to {days[-1]}." if len(days) > 1 else f"Records of {' '.join(days)}."
        self.everywhere = {
            "engines": engines,
            "questions": list_questions(),
            "outcomes": OUTCOMES,
            "dates": dates,
            "made_by": __version__,
            "ends": {engine.key: len(list(engine.ends)) for engine in engines},
            "findings": self.findings,
        }

    def write(self) -> int:
        for name in ("site.css", "site.js"):
            atomic_write.write(self.folder / name, files(__package__).joinpath(name).read_text(encoding="utf-8"))
        self._page("calls", "I have this call", "what each engine makes of it", fields=FIELDS, labels=LABELS)
        self._page("changes", "Changes", "from release to release", meanings=MEANINGS)
        self._page("findings", "Findings", "deviations, crashes, hangs, segfault, SIGSEGV")
        self._page(
            "texts",
            "The texts",
            "from text to text, contradictions, port",
            passages=list(texts.passages(self.cases)),
            contradictions=texts.contradictions(),
        )
        for engine in self.engines:
            self._engine(engine)
        for question in list_questions():
            self._question(question)
        # The first page comes last: a folder without it is not complete.
        self._page("index", "Transposed convolution", "all engines and questions", kinds=KINDS)
        pages = len(self.index)
        for engine in self.engines:
            for comparison in engine.changes:
                self.index.append((comparison.title, "change", f"changes.html#{engine.key}"))
        for question in list_questions():
            for engine in self.engines:
                _, words = engine.first.cell(question)
                self.index.append(
                    (f"{engine.name}: {question.title}", words, f"questions/{question.key}.html#{engine.key}")
                )
        self._script("index", self.index)
        self._script("calls", self._calls())
        return pages

    def _page(self, name: str, title: str, kind: str, template: str = "", values: Any = None, **context: Any) -> None:  # noqa: ANN401 - what its template and JSON take
        address = f"{name}.html"
        if values is not None:
            atomic_write.write(self.folder / f"{name}.json", json.dumps(values, indent=1, ensure_ascii=False) + "\n")
            context["json"] = f"{name.rpartition('/')[2]}.json"
        page = environment("reports/site/templates").get_template(f"{template or name}.html.j2")
        text = page.render(**self.everywhere, title=title, up="../" * name.count("/"), **context)
        atomic_write.write(self.folder / address, text)
        self.index.append((title, kind, address))

    def _script(self, name: str, values: object) -> None:
        text = json.dumps(values, separators=(",", ":"))
        atomic_write.write(self.folder / f"{name}.js", f"(window.TCONV ??= {{}}).{name} = {text};\n")

    def _engine(self, engine: Engine) -> None:
        badge = plain.badge(Report([run.report for run in engine.current]))
        atomic_write.write(self.folder / "engines" / f"{engine.key}.badge.json", json.dumps(badge) + "\n")
        ends = list(engine.ends)
        self._page(
            f"engines/{engine.key}",
            engine.name,
            f"engine, {engine.first.version}",
            "engine",
            {
                "name": engine.name,
                "runs": [_about(run) | {"outcomes": run.total} for run in engine.runs],
                "answers": {q.key: {run.title: _answer(run, q) for run in engine.current} for q in list_questions()},
                "rules": [{"run": run.title, "rule": str(line)} for run in engine.current for line in run.rules],
                "findings": [finding.key for finding in self.findings[engine.key]],
                "crashes": [member.record.case for _, member in ends],
            },
            engine=engine,
            badge=badge,
            pads_alone=isinstance(engine.first.dialect.spelling.attributes["auto_pad"], NoWord),
            rules=[(run, line) for run in engine.current for line in run.rules],
            quantities=QUANTITIES,
            failing=[
                (run, [cause for status in FAILING for cause in run.report.causes.get(status, ())])
                for run in engine.current
            ],
            deviations=self.findings[engine.key],
            ends_shown=ends[:_MOST_ENDS],
            more_ends=max(0, len(ends) - _MOST_ENDS),
            phrase=phrases.headline,
            contexts=[
                line for run in engine.current for line in phrases.contexts_executed(run.report.assessment.statuses)
            ],
        )
        for finding in self.findings[engine.key]:
            facts = waiver_facts(finding.waiver)
            spec = finding.runs[0].report.assessment.run.header.backend.spec or finding.runs[0].backend
            values = facts | {
                "engine": engine.name,
                "seen in": [_about(run) for run in finding.runs],
                "count": finding.count,
            }
            self._page(
                f"findings/{finding.key}",
                finding.waiver.because,
                f"finding, {engine.name}",
                "finding",
                values,
                engine=engine,
                finding=finding,
                facts=facts,
                spec=spec,
            )

    def _question(self, question: Question) -> None:
        said = texts.answers(question)
        example, drawing, caption = self._drawing(question)
        self._page(
            f"questions/{question.key}",
            question.title,
            "question",
            "question",
            {
                "asks": question.asks,
                "texts": said,
                "example": example.id if example else None,
                "engines": {
                    engine.name: [_about(run) | _answer(run, question) for run in engine.current]
                    for engine in self.engines
                },
            },
            question=question,
            said=said,
            drawing=drawing,
            example=example,
            caption=caption,
        )

    def _drawing(self, question: Question) -> tuple[Case | None, Markup | str, str]:
        """Return a case that shows a question, its drawing, and the text below it."""
        found: list[tuple[Case, Sequence[Window]]] = []
        for case, asked in self._simplest():
            if question.is_of(asked) and (kept := _windows(case, question)):
                found.append((case, kept))
            if len(found) == (_TRIED if question.kind == "rule" else 1):
                break
        # Of the simplest calls, the one that shows most answers.
        for case, windows in sorted(found, key=lambda each: -len(each[1])):
            if drawing := draw(case.x.shape[-1], case.w.shape[-1], windows):
                return (
                    case,
                    drawing,
                    "Grey: the taps reach it. Dashed: no tap reaches it. Blue: the data, and the output.",
                )
        return None, "", ""

    @cache  # noqa: B019 - a site is written once
    def _simplest(self) -> Sequence[tuple[Case, Asked]]:
        cases = [case for case in self.cases if len(case.x.shape) > 2 and case.x.shape[2:]]  # noqa: PLR2004 - batch and channels come first
        return [(case, describe(case)) for case in sorted(cases, key=lambda case: case.simplicity)]

    def _calls(self) -> dict[str, Any]:
        runs = [run for engine in self.engines for run in engine.current]
        addresses = {id(run): f"engines/{engine.key}.html" for engine in self.engines for run in engine.current}
        calls: dict[tuple[str, ...], dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for number, run in enumerate(runs):
            for member, case in run.members:
                if (asked := describe(case)).is_valid:
                    calls[tuple(asked.words[name] for name in FIELDS)][number][outcome_of(member)] += 1
        return {
            "fields": list(FIELDS),
            "outcomes": list(OUTCOMES),
            "runs": [(run.title, addresses[id(run)]) for run in runs],
            "questions": [(q.title, f"questions/{q.key}.html", q.where) for q in list_questions() if q.where],
            "calls": [
                (words, {number: _short([of[word] for word in OUTCOMES]) for number, of in by_run.items()})
                for words, by_run in sorted(calls.items())
            ],
        }


def _short(numbers: list[int]) -> list[int]:
    """Return numbers without trailing zeros."""
    while numbers and not numbers[-1]:
        numbers = numbers[:-1]
    return numbers


def _about(run: SiteRun) -> dict[str, str]:
    return {"backend": run.backend, "version": run.version, "dialect": run.dialect.name, "date": run.date}


def _answer(run: SiteRun, question: Question) -> dict[str, Any]:
    mark, words = run.cell(question)
    return {"mark": mark, "answer": words, "outcomes": run.counts.get(question.key, {})}


def _findings(engine: Engine) -> list[Finding]:
    """Return the deviations of an engine, each once; those with most cases come first."""
    found: dict[str, Finding] = {}
    for run in engine.current:
        for name, (waiver, members) in run.waivers.items():
            key = _slug(f"{run.backend}-{name}")
            known = found.get(key) or Finding(key, waiver, [], 0)
            found[key] = replace(known, runs=[*known.runs, run], count=known.count + len(members))
    return sorted(found.values(), key=lambda finding: (-finding.count, finding.key))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _windows(case: Case, question: Question) -> list[Window]:
    """Return the outputs of a case: for each answer to a rule; if there is no rule, by ONNX's first reading."""
    by_output: dict[tuple[int, int], list[str]] = defaultdict(list)
    geometries: dict[tuple[int, int], Geometry] = {}
    for words, geometry in _results(case, question):
        key = geometry.pads_begin[-1], geometry.output[-1]
        geometries.setdefault(key, geometry)
        by_output[key].append(words)
    return [Window("; or: ".join(dict.fromkeys(by_output[key])), geometry) for key, geometry in geometries.items()]


def _results(case: Case, question: Question) -> Iterable[tuple[str, Geometry]]:
    name = question.key.replace("-", "_")
    if question.kind == "rule" and name in QUESTIONS:
        for answer in type(getattr(_ONNX.rules, name)):
            changed: dict[str, Any] = {name: answer}
            result = resolve(case.signature, replace(_ONNX.rules, **changed))
            if isinstance(result, Geometry):
                yield answer.says, result
        return
    expected = expect(case, _ONNX)
    if isinstance(expected, Values):
        yield "output", expected.primary.geometry
