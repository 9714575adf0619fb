"""The lint of a corpus: what a case file may have, and should not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tconv.corpus.tiers import FILE_NAME, missing_tuples
from tconv.dialects import DIALECTS, Absent
from tconv.expectation.owed import Inexpressible, Values, expectation, finds_broken
from tconv.expectation.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case, Expected
    from tconv.corpus.corpus import Corpus
    from tconv.corpus.sweep import Sweep
    from tconv.corpus.tiers import Tiers


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something to correct: where, and what must be."""

    where: str
    message: str


def lint(corpus: Corpus) -> Iterator[LintFinding]:
    """Yield what is wrong with a corpus whose files could be read.

    Skips that leave nothing out; stored tiers that are not of the sweep as it is now, or lack a reachable tuple; cases
    that no dialect can express, that break nothing or more than they name, or that repeat another case; literal values
    that differ from the reference.
    """
    seen: dict[tuple[object, ...], str] = {}
    for sweep in corpus.sweeps.values():
        yield from _skips(sweep)
        if corpus.tiers.selections and not sweep.exhaustive:
            yield from _tiers(sweep, corpus.tiers)
    for sweep_id in sorted(set(corpus.tiers.selections) - set(corpus.sweeps)) if corpus.whole else ():
        yield LintFinding(sweep_id, f"{FILE_NAME} must name sweeps that are there; run 'tconv check --write-tiers'")
    sampled = (sweep.case(row) for sweep in corpus.sweeps.values() if sweep.exhaustive for row in _sample(sweep))
    for case in chain(corpus.cases("full"), sampled):
        yield from _expressibility(case)
        yield from _literals(case)
        if (first := seen.setdefault(case.content, case.id)) != case.id:
            yield LintFinding(case.id, f"must say something new (got the same as {first}); remove one")


def _sample(sweep: Sweep) -> list[list[int]]:
    """Return rows of a sweep that are looked at: so many that each label is most likely among them."""
    rows: list[list[int]] = sweep.sample(_SAMPLE).tolist()
    return rows


_SAMPLE = 256


def _tiers(sweep: Sweep, tiers: Tiers) -> Iterator[LintFinding]:
    if not tiers.fresh(sweep):
        yield LintFinding(
            sweep.id, f"{FILE_NAME} must be of today (got another digest); run 'tconv check --write-tiers'"
        )
        return
    for tier, count in missing_tuples(sweep, tiers.selections[sweep.id]).items():
        if count:
            yield LintFinding(
                sweep.id,
                f"{FILE_NAME} must cover what each dialect can say ({tier} lacks {count} tuples of values); "
                "run 'tconv check --write-tiers'",
            )


def _skips(sweep: Sweep) -> Iterator[LintFinding]:
    biting: set[int] = set()
    for rows in sweep.combinations() if sweep.skips else ():
        remaining = np.ones(len(rows), dtype=bool)
        for number, skip in enumerate(sweep.skips):
            skipped = skip.covers(rows) & remaining
            remaining &= ~skipped
            if skipped.any():
                biting.add(number)
    for number, skip in enumerate(sweep.skips):
        if number not in biting:
            what = f"skip {number + 1} must leave something out (got nothing: {skip.because!r}); remove it"
            yield LintFinding(sweep.id, what)


def _expressibility(case: Case) -> Iterator[LintFinding]:
    """Yield a finding where no dialect can express the case, or the constraint that it names is broken in none."""
    if case.breaks is None and any(not isinstance(expectation(case, row), Inexpressible) for row in DIALECTS.values()):
        # The first dialect that can express it is enough: eight would take most of the time of a check.
        return
    expected = {name: expectation(case, dialect) for name, dialect in DIALECTS.items()}
    reasons = {name: owed.reason for name, owed in expected.items() if isinstance(owed, Inexpressible)}
    if len(reasons) == len(DIALECTS):
        reason = next(iter(reasons.values()))
        yield LintFinding(case.id, f"must be sayable in a dialect (got none; the first says: {reason}); skip it")
    elif case.breaks is not None:
        answers = {name: dialect.constraints[case.breaks] for name, dialect in DIALECTS.items()}
        names = [name for name, answer in answers.items() if not isinstance(answer, Absent)]
        if not any(finds_broken(expected[name], case.breaks) for name in names):
            valued = [name for name in names if isinstance(expected[name], Values)]
            if valued:
                yield LintFinding(case.id, f"must break {case.breaks} (got a value owed in {valued[0]}); correct it")
            else:
                yield LintFinding(case.id, f"must break {case.breaks} alone (got {reasons[names[0]]}); correct it")


def _literals(case: Case) -> Iterator[LintFinding]:
    for literal in case.expected:
        for name in literal.dialects:
            if message := _contradiction(Problem(case, DIALECTS[name]), literal):
                yield LintFinding(case.id, message)


def _contradiction(problem: Problem, literal: Expected) -> str | None:
    name = problem.dialect.name
    if problem.values is None:
        return f"expected values must be owed by {name} (got {type(problem.expectation).__name__.lower()})"
    geometry = problem.values.primary.geometry
    if geometry.output != literal.spatial:
        return f"spatial must be what {name} gives, {list(geometry.output)} (got {list(literal.spatial)})"
    values = problem.truth.values(geometry).ravel()
    if len(values) != len(literal.values):
        return f"values must be {len(values)} elements for {name} (got {len(literal.values)})"
    wrong = np.flatnonzero((values != literal.values) & ~(np.isnan(values) & np.isnan(literal.values)))
    if not len(wrong):
        return None
    index = int(wrong[0])
    owed, got = values[index], literal.values[index]
    return f"value {index} must be what the reference gives for {name}, {owed:g} (got {got:g})"
