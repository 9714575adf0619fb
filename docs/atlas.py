"""Print docs/reference/atlas.md, from rules and records: on what the texts differ, and which runtime follows which.

    python docs/atlas.py RECORDS... > docs/reference/atlas.md

RECORDS are record files, of one tier, judged with the waivers that ship with tconv.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tconv.backends.machine import VARIABLES
from tconv.dialects import DIALECTS, GEOMETRY_1, Absent, Open
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.rules import QUESTIONS, WHERE
from tconv.evidence import sheet
from tconv.expectation.expected import Values, expect
from tconv.gate.answers import Opened, collect_answers, is_disputed_refusal
from tconv.gate.record_files import assess_files
from tconv.gate.status import Status
from tconv.records import artifacts
from tconv.reports.markdown import code
from tconv.reports.markdown import escaped as md
from tconv.reports.notes import find_record_notes
from tconv.reports.page.arrays import LARGEST
from tconv.reports.page.overview import href
from tconv.reports.red import sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import Waiver

TEXTS = [dialect for dialect in DIALECTS.values() if dialect is not GEOMETRY_1]
OF_TYPES = {"type-known"}


@dataclass(frozen=True, eq=False)
class Run:
    """A judged run, with the name of its backend and of what chose its kernels."""

    assessment: Assessment
    corpus: Corpus

    @property
    def dialect(self) -> Dialect:
        """The dialect that the backend was asked in."""
        return self.assessment.run.dialect

    @property
    def title(self) -> str:
        """The backend and its version."""
        return self.assessment.run.header.backend.title

    @property
    def chosen(self) -> list[tuple[str, str]]:
        """The variables that chose kernels, with their values."""
        environment = self.assessment.run.header.backend.environment
        return [(name, environment[name]) for name in VARIABLES if name in environment]

    @property
    def name(self) -> str:
        """The title, and what chose the kernels."""
        values = ", ".join(value for _, value in self.chosen)
        return f"{self.title} ({values})" if values else self.title

    @property
    def words(self) -> list[str]:
        """The name and the dialect's short name, for Markdown."""
        return [md(self.name), md(short(self.dialect))]

    @property
    def machine(self) -> str:
        """The facts of the machine, and the variables that changed what was used of it."""
        facts = self.assessment.run.header.backend.machine
        cores = f"{facts['cores']} cores" if "cores" in facts else None
        words = [*map(facts.get, ("processor", "architecture", "system")), cores, *map(facts.get, ("memory", "simd"))]
        known = [word for word in words if word] + [f"{name}={value}" for name, value in self.chosen]
        return ", ".join(known) or "not recorded"

    @cached_property
    def answers(self) -> dict[str, str]:
        """The answers that the records show, by question, each marked if it is not the text's own."""
        run = self.assessment.run
        if run.dialect is GEOMETRY_1:
            return {}
        # A refusal that a waiver explains shows no reading.
        waived = self.assessment.waived
        kept = [one for one in run.records if not (is_disputed_refusal(one.verdict) and one.case in waived)]
        shown = collect_answers(
            replace(run, records=kept),
            self.corpus.find,
            run.dialect.every_reading(),
            lambda record: artifacts.array(run.path.parent, record.artifact, "actual", LARGEST),
        )
        return {
            each.question: " / ".join(
                f"{answer.answer}{self._mark(each.question, answer.answer)}" for answer in each.answers
            )
            for each in shown
        }

    def _mark(self, question: str, answer: str) -> str:
        if question in CONSTRAINTS:
            return "\\*" if answer == Opened.REFUSED else ""
        if answer == getattr(self.dialect.rules, question):
            return ""
        changes = [reading.change for reading in self.dialect.disputed]
        return "\\*" if any((change.question, change.answer) == (question, answer) for change in changes) else "!"


def page(runs: Sequence[Run], corpus: Corpus) -> str:
    """Return the atlas of runs in GitHub's Markdown."""
    questions = dict(_questions())
    red = [run for run in runs if run.assessment.red]
    asked = [run for run in runs if run.answers.keys() & questions]
    apart: dict[tuple[object, ...], Run] = {}
    for run in asked:
        apart.setdefault((run.title, run.dialect, *run.answers.items()), run)
    repeated = [", ".join(run.words) for run in asked if run not in apart.values()]
    alike = _alike()
    around = Path(__file__).with_suffix(".md.in").read_text(encoding="utf-8")
    text = around.format(
        tiers=" and ".join(dict.fromkeys(run.assessment.run.header.tier for run in runs)),
        statuses=" | ".join(Status),
        numbers="---:|" * len(Status),
        runs=rows([*run.words, *(f"{run.assessment.counts[status]:,}" for status in Status)] for run in runs),
        machines=rows([md(machine), md(", ".join(of))] for machine, of in _machines(runs)),
        red="".join(f"\n**{', '.join(run.words)} is red**: {md(_why_red(run))}.\n" for run in red),
        repeated=f"Other kernels, the same answers: {'; '.join(repeated)}.\n" if repeated else "",
        apart=" | ".join("<br>".join(run.words) for run in apart.values()),
        answers="---|" * len(apart),
        follows=rows([md(name), *(run.answers.get(name, "") for run in apart.values())] for name in questions),
        questions=rows([md(name), *cells] for name, cells in questions.items()),
        rules=rows(_rules(runs)),
        alike="\n".join(
            f"What is said of {text} holds for {', '.join(map(str, others))} too, types aside."
            for text, others in alike.items()
            if others
        ),
        pairs=rows(_pairs(corpus, list(alike))),
        contradictions=rows(_contradictions()),
        deviations=rows(_deviations(runs)),
        notes=rows(_notes(runs)),
    )
    # Within a word an underscore means nothing in Markdown.
    return re.sub(r"(?<=[A-Za-z0-9])\\_(?=[A-Za-z0-9])", "_", text)


def _questions() -> Iterator[tuple[str, list[str]]]:
    """Yield every question on which texts differ, or that one leaves open: what it asks, and the texts' answers."""
    for name in (*QUESTIONS, *CONSTRAINTS):
        says, also = defaultdict(list), defaultdict(list)
        for text in TEXTS:
            if name in CONSTRAINTS:
                answer = type(text.constraints[name])
                says[{Absent: "answered", Open: "open"}.get(answer, "refused")].append(text)
            else:
                says[getattr(text.rules, name).says].append(text)
                for reading in text.disputed:
                    if reading.change.question == name:
                        also[reading.name].append(text)
        if name in CONSTRAINTS:
            # Where the operator has no value at all, a refusal is the only answer.
            differ = "open" in says and not CONSTRAINTS[name].needed
            asks = f"answered where this does not hold: {CONSTRAINTS[name].says}?"
        else:
            differ, asks = len(says) > 1 or bool(also), WHERE[name]
        if differ:
            yield name, [md(asks), _grouped(says), _grouped(also)]


def _grouped(texts: dict[str, list[Dialect]]) -> str:
    return "<br>".join(f"{md(key)}: {md(listed(of))}" for key, of in texts.items())


def _machines(runs: Sequence[Run]) -> Iterator[tuple[str, list[str]]]:
    """Yield each machine with its runs; of several the one with the most stands last, as that of all others."""
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for run in runs:
        names[run.machine][run.name] = None
    *before, (last, of) = sorted(names.items(), key=lambda machine: len(machine[1]))
    yield from ((machine, list(others)) for machine, others in before)
    elsewhere = {name for _, others in before for name in others}
    yield last, ["all others"] if elsewhere and elsewhere.isdisjoint(of) else list(of)


def _rules(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Yield each formula that a runtime computes and its text does not, with the runs whose answers it fits."""
    names: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for run in runs:
        for line in sheet(run.assessment.run.records, run.corpus.find, run.dialect):
            if line.deviates:
                # A backend with other kernels is not named again where as many answers fit.
                fits = f"{short(run.dialect)}: {line.fits} of {line.of}"
                key = (line.where, line.quantity, line.computes, str(line.expected))
                names[key].setdefault(f"{run.title}, {fits}", f"{run.name}, {fits}")
    for (where, quantity, *formulas), of in names.items():
        said = (code(formula.replace("(X-1)*s + (K-1)*d + 1", "full")) for formula in formulas)
        yield [md(where), md(quantity), *said, "<br>".join(map(md, of.values()))]


def _alike() -> dict[Dialect, list[Dialect]]:
    """Return the texts in groups that differ in types alone: the last of a group, and the others."""
    groups: dict[tuple[object, ...], list[Dialect]] = defaultdict(list)
    for text in TEXTS:
        others = tuple((key, answer) for key, answer in text.constraints.items() if key not in OF_TYPES)
        spelling = (tuple(text.spelling.attributes.items()), tuple(text.spelling.inputs.items()))
        groups[text.rules, text.disputed, others, spelling, text.data_format, text.filter_format].append(text)
    return {group[-1]: group[:-1] for group in groups.values()}


def _pairs(corpus: Corpus, texts: Sequence[Dialect]) -> Iterator[list[str]]:
    """Yield what changes when a call goes from one text to another, with the number of cases that show it."""
    cases = [
        case
        for case in corpus.cases("gate")
        if case.breaks is None and not case.omit and case.plain and prod(case.x.shape) * prod(case.w.shape) > 0
    ]
    expected = {text: [expect(case, text) for case in cases] for text in texts}
    for source, target in permutations(texts, 2):
        data, filters = zip(*((text.data_format, text.filter_format) for text in (source, target)), strict=True)
        layouts = (("data", data), ("filter", filters))
        changes: Counter[tuple[str, str]] = Counter()
        missing: set[str] = set()
        for case, before, after in zip(cases, expected[source], expected[target], strict=True):
            if not isinstance(before, Values):
                continue
            if not isinstance(after, Values):
                missing |= {after.violation.constraint} - OF_TYPES
            elif after.primary.geometry != before.primary.geometry:
                same_size = after.primary.geometry.output == before.primary.geometry.output
                changes[_combination(case), "pads" if same_size else "output size"] += 1
        yield [
            short(source),
            short(target),
            "; ".join(f"{role} {here} becomes {there}" for role, (here, there) in layouts if here != there),
            md(", ".join(f"{combination} ({count})" for (combination, _), count in sorted(changes.items()))),
            md(", ".join(sorted(missing))),
        ]


def _combination(case: Case) -> str:
    """Return a padding mode, and what is written beside it."""
    attributes = case.attributes
    mode = str(attributes.auto_pad or "explicit")
    sized = " + os" if attributes.output_shape is not None else ""
    return f"{mode}{sized}{' + op' if any(attributes.output_padding or ()) else ''}"


def _contradictions() -> Iterator[list[str]]:
    """Yield every disputed reading, every other ambiguity, and every constraint whose clauses conflict."""
    texts: dict[tuple[str, str], list[Dialect]] = defaultdict(list)
    for text in TEXTS:
        for reading in text.disputed:
            texts[reading.name, reading.says].append(text)
        for ambiguity in text.ambiguities:
            texts[ambiguity.about, ambiguity.decision].append(text)
        for name, answer in text.constraints.items():
            if isinstance(answer, Open) and " against " in answer.clause:
                texts[name, f"Must this hold: {CONSTRAINTS[name].says}?"].append(text)
    yield from ([md(about), md(says), md(listed(of))] for (about, says), of in texts.items())


def _deviations(runs: Sequence[Run]) -> Iterator[list[str]]:
    """Yield the waivers that each run used, and those for other machines; with other kernels those that differ."""
    listed: dict[tuple[str, Dialect], set[str]] = defaultdict(set)
    for run in runs:
        waivers = {member.waiver.name: member.waiver for member in run.assessment.statuses if member.waiver}
        uses = Counter(member.waiver.name for member in run.assessment.statuses if member.waiver)
        words = [f"{_linked(waivers[name])} ({count})" for name, count in uses.most_common()]
        words += [
            f"{_linked(other)} (not asked: for machines {md(other.machine)})"
            for other in run.assessment.waivers.elsewhere
        ]
        before = listed[run.title, run.dialect]
        if words:
            others = ", ".join(word for word in words if word not in before)
            yield [md(run.name), md(short(run.dialect)), others or "the same as without"]
        before.update(words)


def _linked(waiver: Waiver) -> str:
    # Quoted so that the address does not end early.
    link = quote(href(waiver.link), safe="/:?#[]@!$&'*+,;=%~")
    return f"[{md(waiver.name)}]({link})" if link else md(waiver.name)


def _why_red(run: Run) -> str:
    return "; ".join(sentence(reason, run.assessment) for reason in run.assessment.red)


def _notes(runs: Sequence[Run]) -> Iterator[list[str]]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for run in runs:
        for note in find_record_notes(run.assessment):
            counts[note.name, note.meaning][run.name] += note.count
    for (name, meaning), by_run in counts.items():
        yield [md(name), md(meaning), md(", ".join(f"{run} {count}" for run, count in by_run.items()))]


def rows(cells: Iterable[Sequence[str]]) -> str:
    """Return the rows of a table."""
    return "\n".join("".join(f"| {cell} " if cell else "| " for cell in row) + "|" for row in cells)


def short(text: Dialect) -> str:
    """Return a dialect's name without what all names of its kind have in common."""
    return text.name.replace("ConvolutionBackpropData", "Backprop").replace("ConvTranspose-", "CT-")


def listed(texts: Iterable[Dialect]) -> str:
    """Return short names of texts, the vendor once for all of its texts that follow each other."""
    names: list[str] = []
    vendor = ""
    for text in dict.fromkeys(texts):
        before, (vendor, name) = vendor, short(text).split("/")
        names.append(name if vendor == before else f"{vendor}/{name}")
    return ", ".join(names)


if __name__ == "__main__":
    assessments, read = assess_files([Path(name) for name in sys.argv[1:]], None, None)
    print(page([Run(assessment, read) for assessment in assessments], read), end="")
