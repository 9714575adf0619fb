"""The lint of a corpus: mistakes in case files that can be read, such as wrong expected values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.corpus.coverage import find_expressible_rows
from tconv.corpus.tiers import FILE_NAME, advise, count_missing_tuples
from tconv.dialects import DIALECTS, Absent
from tconv.errors import FileError, joined
from tconv.expectation.expected import NotApplicable, Refuse, Values, can_express, expect, finds_broken
from tconv.expectation.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tconv.cases.case import Case, Expected, Operand
    from tconv.corpus.corpus import Corpus
    from tconv.corpus.sweep import Sweep
    from tconv.expectation.expected import Expectation
    from tconv.vocabulary import DType, Mask


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something to correct.

    Attributes:
        where: the id of the case or of the sweep.
        message: what must be, what it got, what to do.
        place: the file, the line and the column; None if it is in no file.
    """

    where: str
    message: str
    place: Place | None = None

    def __str__(self) -> str:
        place = "" if self.place is None else f"{':'.join(map(str, self.place))}: "
        return f"{place}{'' if self.where in self.message else f'{self.where}: '}{self.message}"


Found: TypeAlias = "tuple[str, tuple[str | int, ...]]"
"""A message, and the location inside the case."""
Place: TypeAlias = tuple["Path", int, int]
_Masks: TypeAlias = "Mapping[str, Mask] | None"
"""Which rows of a sweep each dialect can express, by dialect name; None if a row makes no case."""


def lint(corpus: Corpus) -> Iterator[LintFinding]:
    """Yield what is wrong with a corpus whose files could be read.

    - A row of a sweep makes no case. A skip leaves nothing out. Stored tiers are out of date or lack a reachable tuple.
    - No dialect, or no cited one, can express a case.
    - A case breaks nothing, or more than it names. It repeats another case.
    - A written value is not a number of its type, or differs from the reference.
    """
    masks = {sweep.id: _find_expressible_rows(sweep) for sweep in corpus.sweeps.values() if not sweep.exhaustive}
    for sweep in corpus.sweeps.values():
        for message, inside in _sweep_findings(sweep, corpus, masks.get(sweep.id)):
            yield LintFinding(sweep.id, message, corpus.place(sweep.id, *inside))
    chosen = {sweep.id for sweep in corpus.sweeps.values() if sweep.is_selected}
    for sweep_id in sorted(set(corpus.tiers.selections) - chosen) if corpus.whole else ():
        message = f"{FILE_NAME} must name sweeps that are there, without a tier of their own; {advise(corpus.folder)}"
        yield LintFinding(sweep_id, message, (corpus.tiers.path, 1, 1))
    seen: dict[tuple[object, ...], str] = {}
    for case, is_expressible in _cases(corpus, masks):
        if isinstance(case, LintFinding):
            yield case
            continue
        faults = () if is_expressible and case.breaks is None else _expressibility(case)
        for message, inside in (*faults, *find_wrong_literals(case)):
            yield LintFinding(case.id, message, corpus.place(case.id, *inside))
        if (first := seen.setdefault(case.content, case.id)) != case.id:
            message = f"must say something new (got the same as {first}); remove one"
            yield LintFinding(case.id, message, corpus.place(case.id))


def _find_expressible_rows(sweep: Sweep) -> _Masks:
    """Return which rows of a sweep each dialect can express; None if a row makes no case, empty for a cover."""
    try:
        return find_expressible_rows(sweep) if sweep.cover is None else {}
    except FileError:
        return None


def _cases(corpus: Corpus, masks_by_sweep: Mapping[str, _Masks]) -> Iterator[tuple[Case | LintFinding, bool]]:
    """Yield every checked case, and whether a dialect is known to express it; a finding for a row without a case.

    Args:
        corpus: the corpus.
        masks_by_sweep: which rows each dialect can express, by sweep; exhaustive sweeps have no entry.
    """
    yield from ((case, False) for case in corpus.singles.values())
    for sweep in corpus.sweeps.values():
        masks = masks_by_sweep.get(sweep.id)
        blocks = [sweep.sample(_SAMPLE)] if sweep.exhaustive else corpus.tiers.blocks(sweep, "full")
        rows = [row for block in blocks for row in block.tolist()]
        in_any = np.logical_or.reduce([*masks.values()]).tolist() if masks else [False] * len(rows)
        for row, is_expressible in zip(rows, in_any, strict=True):
            try:
                yield sweep.case(row), is_expressible
            except FileError as error:
                yield LintFinding(sweep.case_id(row), error.message, corpus.place(sweep.id)), False


def _sweep_findings(sweep: Sweep, corpus: Corpus, masks: _Masks) -> Iterator[Found]:
    for number, message in _skips(sweep):
        yield message, ("skip", number)
    try:
        if corpus.tiers.selections and masks is not None:
            yield from ((message, ()) for message in _tiers(sweep, corpus, masks))
        yield from ((message, ()) for message in _not_applicable(sweep))
    except FileError:
        return  # A row makes no case: that is found with the cases.


_SAMPLE = 256
"""Rows of a sample; it most likely has each label."""


def _tiers(sweep: Sweep, corpus: Corpus, masks: Mapping[str, Mask]) -> Iterator[str]:
    tiers = corpus.tiers
    if not sweep.is_selected:
        return
    if not tiers.fresh(sweep):
        yield f"{FILE_NAME} must be of today (got another digest); {advise(corpus.folder)}"
        return
    for tier, count in count_missing_tuples(sweep, tiers.selections[sweep.id], masks).items():
        if count:
            yield (
                f"{FILE_NAME} must cover what each dialect can say ({tier} lacks {count} tuples of values); "
                f"{advise(corpus.folder)}"
            )


def _skips(sweep: Sweep) -> Iterator[tuple[int, str]]:
    """Yield the number of each skip that leaves nothing out, and what must be."""
    # Only the axes of skips matter here.
    named = {axis for skip in sweep.skips for axis in skip.when}
    radix = [size if axis in named else 1 for axis, size in enumerate(sweep.radix)]
    rows = np.array(list(np.ndindex(*radix)), dtype=np.int32) if sweep.skips else np.empty((0, len(radix)), np.int32)
    for number, skip in enumerate(sweep.skips):
        skipped = skip.covers(rows)
        if not skipped.any():
            yield number, f"skip {number + 1} must leave something out (got nothing: {skip.because!r}); remove it"
        rows = rows[~skipped]


def _not_applicable(sweep: Sweep) -> Iterator[str]:
    """Yield a finding if no cited dialect can express any case of the sample of a sweep."""
    cited = list(dict.fromkeys(cite.dialect for cite in sweep.cites))
    rows = sweep.sample(_SAMPLE).tolist()
    expected = (expect(sweep.case(row), DIALECTS[name]) for row in rows for name in cited)
    first = next(expected, None)
    if isinstance(first, NotApplicable) and all(isinstance(each, NotApplicable) for each in expected):
        yield _cited(cited[0], first.reason)


def _cited(dialect: str, reason: str) -> str:
    advice = "cite one that can, or name what it breaks"
    return f"a cited dialect must be able to express it (got {dialect}: {reason}); {advice}"


def _expressibility(case: Case) -> Iterator[Found]:
    """Yield a finding if no dialect can express the case, or if the constraint that it names is broken in none."""
    # Some cases of a sweep may be for dialects that are not cited; see `_not_applicable`.
    cited = [cite.dialect for cite in case.cites] if "[" not in case.id else []
    if case.breaks is None and any(can_express(case, DIALECTS[name]) for name in cited or DIALECTS):
        return
    expected = {name: expect(case, dialect) for name, dialect in DIALECTS.items()}
    reasons = {name: each.reason for name, each in expected.items() if isinstance(each, NotApplicable)}
    if len(reasons) == len(DIALECTS):
        name = next(iter(cited or reasons))
        yield f"a dialect must be able to express it (got none; {name}: {reasons[name]}); change it", ("with",)
    elif message := _unbroken(case, expected, reasons):
        yield message, ("with", "breaks")
    elif cited and all(name in reasons for name in cited):
        yield _cited(cited[0], reasons[cited[0]]), ("with",)


def _unbroken(case: Case, expected: Mapping[str, Expectation], reasons: Mapping[str, str]) -> str:
    """Return what must be, if the constraint that a case names is broken in no dialect; empty if it is broken."""
    if case.breaks is None:
        return ""
    answers = {name: dialect.constraints[case.breaks] for name, dialect in DIALECTS.items()}
    names = [name for name, answer in answers.items() if not isinstance(answer, Absent)]
    if any(finds_broken(expected[name], case.breaks) for name in names):
        return ""
    valued = [name for name in names if isinstance(expected[name], Values)]
    if valued:
        return f"must break {case.breaks} (got a valid call of {valued[0]}); correct it"
    return f"must break {case.breaks} alone (got {reasons[names[0]]}); correct it"


def refuse_contradicted(corpus: Corpus) -> None:
    """Refuse written outputs that differ from the reference, as only the reference judges a backend.

    Raises:
        FileError: there are such outputs; all of them together.
    """
    errors = []
    for case in corpus.singles.values():
        for message, inside in _outputs(case):
            if place := corpus.place(case.id, *inside):
                errors.append(FileError(place[0], f"{case.id}: {message}", *place[1:]))
    if errors:
        raise joined(errors)


def find_wrong_literals(case: Case) -> Iterator[Found]:
    """Yield what is wrong with the written values of a case, each with its location inside the case."""
    for role in ("x", "w", "b"):
        operand: Operand | None = getattr(case, role)
        if operand is not None and operand.data == "values":
            for index, message in _unheld(operand.values, operand.dtype):
                yield message, ("with", role, "values", index)
    yield from _outputs(case)


def _outputs(case: Case) -> Iterator[Found]:
    for number, literal in enumerate(case.expected):
        place = ("expected", number)
        for index, message in _unheld(literal.values, case.x.dtype):
            yield message, (*place, "values", index)
        for name in literal.dialects:
            if contradiction := _contradiction(Problem(case, DIALECTS[name]), literal):
                yield contradiction[0], (*place, *contradiction[1])


def _unheld(values: Sequence[float], dtype: DType) -> Iterator[tuple[int, str]]:
    """Yield the index of the first written value that a type cannot represent, and what must be."""
    literals = np.array(values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        stored_values = literals.astype(NUMPY_TYPES[dtype]).astype(np.float64)
    for index in np.flatnonzero((stored_values != literals) & ~np.isnan(literals))[:1].tolist():
        got, stored = literals[index], stored_values[index]
        yield index, f"value [{index}] must be a number that {dtype} holds (got {got:.17g}, stored as {stored:.17g})"


def _contradiction(problem: Problem, literal: Expected) -> Found | None:
    name = problem.dialect.name
    if problem.values is None:
        found = "a refusal" if isinstance(problem.expectation, Refuse) else "not applicable"
        return f"expected values must be of a case with values in {name} (got {found})", ("dialects",)
    geometry = problem.values.primary.geometry
    if geometry.output != literal.spatial:
        message = f"spatial must be what {name} gives, {list(geometry.output)} (got {list(literal.spatial)})"
        return message, ("spatial",)
    values = problem.truth.compute_values(geometry).ravel()
    if len(values) != len(literal.values):
        return f"values must be {len(values)} elements for {name} (got {len(literal.values)})", ("values",)
    wrong = np.flatnonzero((values != literal.values) & ~(np.isnan(values) & np.isnan(literal.values)))
    if not len(wrong):
        return None
    index = int(wrong[0])
    message = f"value [{index}] must be what the reference gives for {name}, {values[index]:g}"
    return f"{message} (got {literal.values[index]:g})", ("values", index)
