"""Hypotheses that the failures of a run suggest, each with the failures that confirm it and the calls against it.

For example, a runtime flips the filter of grouped calls. In the smoke tier 307 of its outputs are exactly those of
`filter-flipped`: they confirm this hypothesis. The right answers that the misreading would change are found later,
because this needs the reference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tconv.diagnosis.misreadings import misreadings_by_name
from tconv.dialects.readings import Combination
from tconv.evidence.hypotheses import Errs, Follows, Misreads, Relates, Says, Varies
from tconv.evidence.misread import changing, gives_products
from tconv.evidence.rules import learn_rules
from tconv.records.failure import without_numbers
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.diagnosis.misreadings.misreading import Misreading
    from tconv.evidence.calls import Answer, Calls
    from tconv.evidence.hypotheses import Hypothesis
    from tconv.vocabulary import Mask

_SILENT = ver.RefusedValid | ver.BackendError | ver.Crashed | ver.TimedOut | ver.Unsupported | ver.AcceptedInvalid
"""Failures without values."""
_KNOWN = 0.05
"""Failures that were not asked again count as varying only if the known varying failures are at least this part of
them.

For example, one case of TVM returns memory that nobody wrote; without this limit 243 others were reported as varying
too.
"""
_MOST_NAMES = 12
"""Only so many names are tried, those of most failures."""


@dataclass(eq=False)
class Candidate:
    """A hypothesis with its evidence.

    Attributes:
        what: the hypothesis.
        confirmed: the failures that it gives exactly, (calls,).
        against: the calls that contradict it if its condition holds for them, (calls,).
        misreadings: the misreadings whose changed calls are computed later; `against` lacks some of these calls until
            then.
        clause: the text's words on the question.
    """

    what: Hypothesis
    confirmed: Mask
    against: Mask
    misreadings: Sequence[Misreading] = ()
    clause: str = ""


def suggest(calls: Calls) -> Iterator[Candidate]:
    """Yield the hypotheses that the failures suggest; if two are equally good, the first one is used."""
    yield from _misreads(calls)
    yield from _follows(calls)
    yield from _says(calls)
    yield from _varies(calls)
    yield from _relates(calls)
    yield Candidate(Errs(), calls.wrong, calls.right)


def _misreads(calls: Calls) -> Iterator[Candidate]:
    named = [names_of(answer) if answer.failure is not None else frozenset() for answer in calls.answers]
    # A combination also counts for each of its misreadings, if other failures show each of them alone.
    alone = {name for of in named for name in of if len(name.names) == 1}
    parts = {name: {Combination((one,)) for one in name.names} for of in named for name in of}
    named = [of.union(*(parts[name] for name in of if parts[name] <= alone)) for of in named]
    catalogue = {name: number for number, name in enumerate(misreadings_by_name(calls.dialect))}
    names = Counter(name for of in named for name in sorted(of, key=str))

    def place(name: Combination) -> tuple[int, int, int, str]:
        return -names[name], len(name.names), catalogue[name.names[0]], str(name)

    for name in sorted(names, key=place)[:_MOST_NAMES]:
        confirmed = np.array([name in of for of in named], dtype=bool)
        misreadings = changing(name, calls.dialect)
        of_confirmed = (calls.problems[number] for number in np.flatnonzero(confirmed))
        if not misreadings or any(of is None or gives_products(misreadings, of) for of in of_confirmed):
            yield Candidate(Misreads(name), confirmed, np.zeros_like(confirmed), misreadings)


def names_of(answer: Answer) -> frozenset[Combination]:
    """Return the misreadings that give an output; each one alone too, if other failures show it alone."""
    if answer.record.varies:
        return frozenset()
    explained = answer.why.explained
    parts = [Combination((name,)) for of in explained for name in of.names] if answer.why.by_others else []
    return frozenset((*explained, *parts))


def _follows(calls: Calls) -> Iterator[Candidate]:
    wanted = {answer.record.case for answer in calls.answers if answer.failure is not None and not answer.record.varies}
    if not wanted:
        return
    records = [answer.record for answer in calls.answers]
    for evidence in learn_rules(records, calls.find, calls.dialect, wanted):
        confirmed, against = (
            np.array([case in cases for case in calls.numbers], dtype=bool)
            for cases in (evidence.cases, evidence.against)
        )
        yield Candidate(Follows(evidence.rules), confirmed & calls.failed, against, clause=evidence.clause)


def _says(calls: Calls) -> Iterator[Candidate]:
    members: dict[tuple[Says, bool], list[int]] = defaultdict(list)
    for number, answer in enumerate(calls.answers):
        failure = answer.failure
        if failure is not None and isinstance(answer.verdict, _SILENT | ver.WrongDtype) and not answer.record.varies:
            members[Says(failure.kind, failure.words), bool(calls.invalid[number])].append(number)
    refusal = calls.holding(lambda answer: isinstance(answer.verdict, ver.Allowed) and answer.verdict.rule == "refusal")
    silent = calls.holding(lambda answer: isinstance(answer.verdict, ver.NotApplicable))
    for (what, invalid), numbers in members.items():
        confirmed = np.zeros_like(calls.failed)
        confirmed[numbers] = True
        # An expected refusal shows nothing about why other calls are refused.
        others = ~confirmed & ~silent & ~(refusal if what.kind == "refused-valid" else silent)
        yield Candidate(what, confirmed, others & (calls.invalid == invalid))


def _varies(calls: Calls) -> Iterator[Candidate]:
    varying = calls.failed & calls.holding(
        lambda answer: answer.record.answer_varies or isinstance(answer.verdict, ver.Unstable)
    )
    if not varying.any():
        return
    may = calls.failed & ~varying & calls.may_vary
    same = calls.failed & ~varying & ~may
    known = int(varying.sum())
    if known < max(2, _KNOWN * int(may.sum())):
        may = np.zeros_like(may)
    yield Candidate(Varies(), varying | may, calls.right | same)


def _relates(calls: Calls) -> Iterator[Candidate]:
    relations = defaultdict(list)
    for number, answer in enumerate(calls.answers):
        if answer.failure is not None and answer.why.relation and not answer.record.varies:
            relations[without_numbers(answer.why.relation)].append(number)
    for relation, numbers in sorted(relations.items(), key=lambda item: -len(item[1])):
        confirmed = np.zeros_like(calls.failed)
        confirmed[numbers] = True
        against = _infinite(calls) if relation.startswith("are limited to") else calls.right
        yield Candidate(Relates(relation), confirmed & ~calls.invalid, against)


def _infinite(calls: Calls) -> Mask:
    """Return the right answers with infinities: only these contradict a limit at the largest number of a type."""
    found = np.zeros_like(calls.right)
    for number in np.flatnonzero(calls.right):
        problem = calls.problems[number]
        # Integers are too small for infinities.
        if problem is not None and problem.values is not None and problem.case.w.data != "integers":
            geometry = problem.values.primary.geometry
            found[number] = np.isinf(problem.truth.compute_values(geometry)).any()
    return found
