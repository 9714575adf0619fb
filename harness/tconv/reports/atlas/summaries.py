"""What the Markdown of the atlas says in one row where the page has one for each case, text or backend."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.dialects import Dialect
    from tconv.learning import SheetLine
    from tconv.reports.atlas.conflicts import UsedWaiver
    from tconv.reports.atlas.content import Atlas
    from tconv.reports.atlas.matrix import Question
    from tconv.reports.atlas.runs import AtlasRun

Key = TypeVar("Key")


def short(dialect: Dialect) -> str:
    """Return a dialect's name without what all names of its kind have in common."""
    return dialect.name.replace("ConvolutionBackpropData", "Backprop").replace("ConvTranspose-", "CT-")


def listed(texts: Sequence[str]) -> str:
    """Return short names of texts, the vendor once for all of its texts that follow each other."""
    names = []
    vendor = ""
    for text in texts:
        before, (vendor, name) = vendor, text.split("/")
        names.append(name if vendor == before else text)
    return ", ".join(names)


def tiers(atlas: Atlas) -> str:
    """Return the tiers of the runs, each once."""
    return " and ".join(dict.fromkeys(run.assessment.run.header.tier for run in atlas.runs))


def machines_of(atlas: Atlas) -> list[tuple[str, Sequence[str]]]:
    """Return each machine with its runs; of several the one with the most stands last, with "all others"."""
    *before, (last, names) = sorted(atlas.machines.items(), key=lambda machine: len(machine[1]))
    elsewhere = {name for _, others in before for name in others}
    return [*before, (last, ["all others"] if elsewhere and elsewhere.isdisjoint(names) else names)]


def brief(combination: str) -> str:
    """Return a padding mode with what stands beside it, in the atlas's abbreviations."""
    return combination.replace(" with output_shape", " + os").replace(" with output_padding", " + op")


def formula(text: object) -> str:
    """Return a formula with the atlas's name of all that the taps reach."""
    return str(text).replace("(X-1)*s + (K-1)*d + 1", "full")


def told_apart(atlas: Atlas, runs: Sequence[AtlasRun]) -> list[AtlasRun]:
    """Return the runs without those of a backend with other kernels whose answers are those without them."""
    shown: set[tuple[object, ...]] = set()
    apart = []
    for run in runs:
        answers = tuple(
            (question.name, cell.answer, cell.standing)
            for question in atlas.questions
            for follows in question.follows
            if follows.run is run
            for cell in follows.cells
        )
        key = (run.assessment.run.header.backend.title, run.dialect.name, answers)
        if key not in shown:
            apart.append(run)
        shown.add(key)
    return apart


def answered_by(question: Question) -> Iterator[tuple[str, list[str]]]:
    """Yield each answer that texts give to a question, with the texts."""
    yield from _grouped((text.says, short(text.dialect)) for text in question.texts)


def allowed_by(question: Question) -> Iterator[tuple[str, list[str]]]:
    """Yield each reading of a question that is disputed, with the texts."""
    yield from _grouped((reading.name, short(text.dialect)) for text in question.texts for reading in text.also)


def contradicted_by(atlas: Atlas) -> Iterator[tuple[str, str, list[str]]]:
    """Yield what texts say in two ways: what, how, and the texts."""
    pairs = (
        ((contradiction.about, contradiction.says), short(contradiction.dialect))
        for contradiction in atlas.contradictions
    )
    for (about, says), texts in _grouped(pairs):
        yield about, says, texts


def rules_of(atlas: Atlas) -> Iterator[tuple[SheetLine, list[str]]]:
    """Yield each formula that a runtime computes otherwise than its text, with who does and how many answers fit.

    A backend with other kernels is not named again where as many answers fit.
    """
    lines: dict[tuple[str, ...], tuple[SheetLine, dict[str, str]]] = {}
    for run, line in atlas.rules:
        key = (line.where, line.quantity, str(line.computes), str(line.owed))
        fits = f"{short(run.dialect)}: {line.fits} of {line.of}"
        same = f"{run.assessment.run.header.backend.title}, {fits}"
        lines.setdefault(key, (line, {}))[1].setdefault(same, f"{run.name}, {fits}")
    yield from ((line, list(names.values())) for line, names in lines.values())


def deviations_of(atlas: Atlas) -> Iterator[tuple[AtlasRun, list[UsedWaiver]]]:
    """Yield each run that has deviations, and these; of a run with other kernels those that it has otherwise."""
    listed: dict[tuple[str, str], set[tuple[str, int | None]]] = {}
    for run in atlas.runs:
        used = [deviation for deviation in atlas.deviations if deviation.run is run]
        key = (run.assessment.run.header.backend.title, run.dialect.name)
        before = listed.setdefault(key, set())
        if used:
            yield run, [deviation for deviation in used if (deviation.waiver.name, deviation.count) not in before]
        before.update((deviation.waiver.name, deviation.count) for deviation in used)


def notes_of(atlas: Atlas) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each note, its meaning, and how many cases of which backends have it."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for run in atlas.runs:
        for note in run.assessment.notes:
            counts.setdefault((note.name, note.meaning), Counter())[run.name] += note.count
    for (name, meaning), by_run in counts.items():
        yield name, meaning, [f"{run} {count}" for run, count in by_run.items()]


def _grouped(pairs: Iterator[tuple[Key, str]]) -> Iterator[tuple[Key, list[str]]]:
    groups: dict[Key, dict[str, None]] = {}
    for key, name in pairs:
        groups.setdefault(key, {})[name] = None
    for key, names in groups.items():
        yield key, list(names)
