"""The files of the site: pages, the same content as JSON, and the data for its script."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tconv import __version__
from tconv.dialects import NoWord
from tconv.errors import UsageError
from tconv.gate.status import FAILING
from tconv.reports import atomic_write, plain
from tconv.reports.between_runs.transitions import Transition
from tconv.reports.notes import contexts_executed
from tconv.reports.page.overview import waiver_facts
from tconv.reports.phrases import headline
from tconv.reports.report import Report
from tconv.reports.site.drawings import draw_question
from tconv.reports.site.engines import FEW, OUTCOMES, list_engines, outcome_of, outcomes_of
from tconv.reports.site.questions import FIELDS, TABLES, answers, contradictions, describe, list_questions
from tconv.reports.templates import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.reports.site.engines import Engine, SiteRun
    from tconv.reports.site.questions import Question

_SCRIPT = "site.js"
_PAGES = ("index", "calls", "changes", "findings", "texts")
_NAMES = (_SCRIPT, "site.css", "index.js", "calls.js", *(f"{page}.html" for page in _PAGES), "engines", "questions")
"""The files and folders of a site at its top."""


def refuse_other_files(folder: Path) -> None:
    """Refuse a folder with files of others that a site would replace, before the work begins.

    Raises:
        UsageError: the folder has such a file.
    """
    script = folder / _SCRIPT
    if script.is_file() and script.read_bytes().startswith(_read(_SCRIPT).partition("\n")[0].encode()):
        return
    if taken := next((folder / name for name in _NAMES if (folder / name).exists()), None):
        raise UsageError(
            f"{folder} must be a site of tconv or have no {taken.name} (got {taken}); choose another --output"
        )


def write(report: Report, cases: Sequence[Case], find: Callable[[str], Case | None], folder: Path) -> int:
    """Write the site and return the number of its pages. Other files in the folder stay.

    Args:
        report: the runs; several releases of an engine are compared.
        cases: the cases for drawings.
        find: returns the case with an id; None if the corpus does not have it.
        folder: the folder of the site.

    Raises:
        UsageError: the folder has files of others that the site would replace.
        FileError: the site cannot be written.
    """
    refuse_other_files(folder)
    site = _Site(list_engines(report.runs, find))
    pages = site.make(cases)
    # The script comes first: it marks the folder as a site if the write is interrupted. The first page comes last.
    for name in sorted(site.texts, key=lambda name: (name != _SCRIPT, name == "index.html")):
        atomic_write.write(folder / name, site.texts[name])
    return pages


def _read(name: str) -> str:
    """Return a file of this package that each site has."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


class _Site:
    """The texts of a site, by the paths of their files."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = engines
        self.texts: dict[str, str] = {}
        self.index: list[tuple[str, str, str]] = []
        days = sorted({run.date for engine in engines for run in engine.runs})
        self.everywhere = {
            "engines": engines,
            "questions": list_questions(),
            "kinds": TABLES["kinds"],
            "outcomes": OUTCOMES,
            "few": FEW,
            "dates": f"Records of {' to '.join(dict.fromkeys([*days[:1], *days[-1:]]))}.",
            "made_by": __version__,
        }

    def make(self, cases: Sequence[Case]) -> int:
        """Make all texts, and return the number of the pages."""
        for name in ("site.css", _SCRIPT):
            self.texts[name] = _read(name)
        headings = {Transition(word): heading for word, heading in TABLES["headings"].items()}
        self._page("index", "All engines and questions", "transposed convolution")
        self._page("calls", "I have this call", "what each engine makes of it", fields=FIELDS)
        self._page("changes", "Changes", "from release to release", headings=headings, outcomes_of=outcomes_of)
        self._page("findings", "Findings", "deviations, crashes, hangs, segfault, SIGSEGV")
        self._page("texts", "The texts", "contradictions", contradictions=contradictions())
        for engine in self.engines:
            self._engine(engine)
        drawn = [case for case in cases if case.x.shape[2:] and 0 not in (*case.x.shape, *case.w.shape)]
        simplest = [(case, describe(case)) for case in sorted(drawn, key=lambda case: case.simplicity)]
        for question in list_questions():
            drawing = draw_question(question, simplest)
            values = {
                "asks": question.asks,
                "texts": answers(question),
                "example": drawing and drawing.case.id,
                "engines": {
                    engine.name: [run.about | _answer(run, question) for run in engine.current]
                    for engine in self.engines
                },
            }
            context = {"question": question, "drawing": drawing, "values": values}
            self._page(f"questions/{question.key}", question.title, "question", "question", **context)
        pages = len(self.index)
        self.index += [
            (comparison.title, "change", f"changes.html#{engine.key}")
            for engine in self.engines
            for comparison in engine.changes
        ]
        self.index += [
            (finding.waiver.because, f"finding, {engine.name}", f"engines/{engine.key}.html#{finding.key}")
            for engine in self.engines
            for finding in engine.findings
        ]
        self.index += [
            (f"{engine.name}: {question.title}", engine.first.cell(question).words, address)
            for question in list_questions()
            for engine in self.engines
            for address in [f"questions/{question.key}.html#{engine.key}"]
        ]
        self._script("index", self.index)
        self._script("calls", self._calls())
        return pages

    def _page(self, name: str, title: str, kind: str, template: str = "", **context: Any) -> None:  # noqa: ANN401 - what its template takes
        """Make a page; `values` of its context are its JSON too."""
        if "values" in context:
            self.texts[f"{name}.json"] = json.dumps(context["values"], indent=1, ensure_ascii=False) + "\n"
            context["json"] = f"{name.rpartition('/')[2]}.json"
        page = environment("reports/site/templates").get_template(f"{template or name}.html.j2")
        context |= self.everywhere | {"title": title, "up": "../" * name.count("/")}
        self.texts[f"{name}.html"] = page.render(context)
        self.index.append((title, kind, f"{name}.html"))

    def _script(self, name: str, values: object) -> None:
        text = json.dumps(values, separators=(",", ":"))
        self.texts[f"{name}.js"] = f"(window.TCONV ??= {{}}).{name} = {text};\n"

    def _engine(self, engine: Engine) -> None:
        badge = plain.badge(Report([run.report for run in engine.current]))
        self.texts[f"engines/{engine.key}.badge.json"] = json.dumps(badge) + "\n"
        facts = {finding.key: waiver_facts(finding.waiver) for finding in engine.findings}
        values = {
            "name": engine.name,
            "runs": [run.about | {"outcomes": run.total} for run in engine.runs],
            "answers": {q.key: {run.report.name: _answer(run, q) for run in engine.current} for q in list_questions()},
            "rules": [{"run": run.report.name, "rule": str(line)} for run in engine.current for line in run.rules],
            "findings": {
                finding.key: {
                    **facts[finding.key],
                    "seen in": [run.about for run in finding.runs.values()],
                    "count": len(finding.cases),
                }
                for finding in engine.findings
            },
            "crashes": [{"case": member.record.case, "valid": valid} for _, member, valid in engine.ends],
        }
        self._page(
            f"engines/{engine.key}",
            engine.name,
            f"engine, {engine.first.version}",
            "engine",
            values=values,
            engine=engine,
            badge=badge,
            pads_alone=isinstance(engine.first.dialect.spelling.attributes["auto_pad"], NoWord),
            quantities=TABLES["quantities"],
            facts=facts,
            failing=FAILING,
            headline=headline,
            contexts=[line for run in engine.current for line in contexts_executed(run.report.assessment.statuses)],
        )

    def _calls(self) -> dict[str, Any]:
        """Return for each combination of words the outcomes of the recorded calls, by the number of the run."""
        runs = [(run, f"engines/{engine.key}.html") for engine in self.engines for run in engine.current]
        calls: dict[tuple[str, ...], dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for number, (run, _) in enumerate(runs):
            for member, case in run.members:
                if (asked := describe(case)).is_valid:
                    calls[tuple(asked.words[name] for name in FIELDS)][number][outcome_of(member)] += 1
        return {
            "fields": list(FIELDS),
            "few": FEW,
            "runs": [(run.report.name, address, run.dialect.has_word("pads")) for run, address in runs],
            "questions": [(q.title, f"questions/{q.key}.html", q.where) for q in list_questions() if q.where],
            "calls": sorted(calls.items()),
        }


def _answer(run: SiteRun, question: Question) -> dict[str, Any]:
    mark, words, few = run.cell(question)
    return {"mark": mark, "answer": words, "few": few, "outcomes": run.counts.get(question.key, {})}
