"""A waiver file for the failures of a run. Everything is filled in except reason and clause, for a person to write."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import yaml
from packaging.version import InvalidVersion, Version

from tconv.cases.patterns import label, path_of
from tconv.corpus.facts import NAMES
from tconv.gate.scope import Scope
from tconv.gate.status import AGREEING, FAILING, MixedReadings, ReadingChanged, choose_example
from tconv.gate.waivers import OPEN, Waiver
from tconv.records.failure import sentence, without_numbers
from tconv.records.headers import cases_option
from tconv.reports.causes import find_causes
from tconv.shown_texts import one_line, shortened
from tconv.verdict import kinds as ver
from tconv.vocabulary import AutoPad

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.status import RecordStatus
    from tconv.reports.causes import Cause

_Key = TypeVar("_Key")
_LONGEST_MESSAGE = 120
_FEWER = 0.7
"""A further fact is used if at most this part of the agreeing cases remains."""
_WRONG = ver.WrongOutput | ver.WrongDtype | MixedReadings | ver.Unstable
_CHANCE = "By chance or after other calls: another run may show it for other cases, and none shows that it is gone"


def proposed(assessment: Assessment) -> str:
    """Return the waiver file, in YAML. A comment on each entry has its cause, and the number of cases that it covers.

    If the cases of a cause share facts, it has one entry with these facts. If not, it has one for each sweep of its
    cases. Failures by chance have an entry for each sweep that shows them. Cases that the runtime reports as not
    implemented are declared with its words; all others have a waiver. A person must add the reason and the broken
    clause. A file with an open reason is refused.

    Returns:
        The file; empty if there is nothing to propose.
    """
    header = assessment.run.header
    parts = [
        "format: 1",
        f"backend: {_line(header.backend.name)}",
        *([f"options: {_line(dict(header.backend.options))}"] if header.backend.options else []),
    ]
    declared, waived = [], []
    made: list[Waiver] = []
    chances = _by_chance(assessment)
    alike = _grouped(chances, lambda m: (_phrase(m), m.ruling.kind, path_of(m.record.case)))
    for (_, kind, sweep), members in sorted(alike.items()):
        waiver = _waiver({"cases": sweep}, members, members, assessment)
        waiver |= {"name": f"chance-{len(made) + 1}-{kind}", "after-others": True}
        waiver["versions"] = _versions(header.backend.version, alone=True)
        made.append(_checked(waiver))
        waived += [_comment(made[-1], members, _CHANCE, assessment), *_entry(waiver)]
    known = {member.record.case for member in chances}
    # A refusal that a reading explains fails only together with failures that have the same words. Once those are
    # waived, it does not fail. A changed reading is accepted by a pin.
    no_waiver = [m for m in assessment.statuses if m.by_words or isinstance(m.ruling, ver.Disputed | ReadingChanged)]
    known.update(member.record.case for member in no_waiver)
    for cause in _other_causes(assessment, known):
        for scope, members in _scopes(cause, assessment):
            if isinstance(members[0].ruling, ver.Unsupported):
                entry = {**scope, "because": _because(cause.members)}
                comment = _comment(Scope.model_validate(scope), members, cause.what, assessment)
                declared += [comment, *_entry(entry)]
            # One of the members that no entry waives so far becomes the example of another entry.
            elif remaining := [m for m in members if not any(entry.waives(m, _facts(m, assessment)) for entry in made)]:
                waiver = _waiver(scope, members, remaining, assessment, cause)
                waiver["name"] = f"cause-{len(made) + 1}-{members[0].ruling.kind}"
                made.append(_checked(waiver))
                comment = _comment(made[-1], members, cause.what, assessment)
                waived += [comment, _shrinking(waiver["example"], assessment), *_entry(waiver)]
            else:
                waived.append(f"  # The entries above also waive all {len(members)} of: {one_line(cause.what)}")
    if not declared and not waived:
        return ""
    parts += ["unsupported:", *declared] if declared else []
    parts += ["waivers:", *waived] if waived else []
    text = "\n".join(parts) + "\n"
    complete = f"# Complete each clause and reason that says {OPEN}: a waiver is for a deviation that is understood.\n"
    to_do = complete if is_open(text) else "# Read whether what it declares is as it must be.\n"
    return f"# Proposed from a run of {one_line(header.backend.title)} in {header.dialect}.\n{to_do}{text}"


def is_open(text: str) -> bool:
    """Return whether a proposal leaves a clause or a reason open."""
    return re.search(rf"^ +(clause|because): '?{OPEN}", text, re.MULTILINE) is not None


def _scopes(cause: Cause, assessment: Assessment) -> Iterator[tuple[Mapping[str, Any], list[RecordStatus]]]:
    """Yield the scope of each entry, and the cases of the cause in it, which have one kind of verdict.

    Each kind has its own entries; if its cases share no facts, each sweep has its own.
    """
    for kind in sorted({member.ruling.kind for member in cause.members}):
        members = [member for member in cause.members if member.ruling.kind == kind]
        where = _where(cause, assessment)
        scope = Scope.model_validate({"where": where}) if where else None
        if scope and all(scope.holds(_facts(member, assessment)) for member in members):
            yield {"where": where}, members
        else:
            sweeps = _grouped(members, lambda member: path_of(member.record.case))
            yield from (({"cases": sweep}, of_sweep) for sweep, of_sweep in sorted(sweeps.items()))


def _because(members: Sequence[RecordStatus]) -> str:
    """Return the runtime's answer to all of these cases, with `#` for numbers that vary; open if the words vary."""
    rulings = [member.ruling for member in members]
    texts = {sentence(ruling.reason) for ruling in rulings if isinstance(ruling, ver.Unsupported)}
    if len(texts) > 1:
        texts = set(map(without_numbers, texts))
    return (shortened(texts.pop(), _LONGEST_MESSAGE) if len(texts) == 1 else "") or OPEN


def _where(cause: Cause, assessment: Assessment) -> Mapping[str, Any]:
    """Return the facts that the cases of a cause share, for a waiver; empty if they share none.

    They are the condition of its explanation, if patterns can express it. If not, they are the facts that all of its
    cases have, and only few of the cases that agree.
    """
    explanation, calls = cause.explanation, assessment.calls
    if explanation is None or calls is None:
        return {}
    facts = [_facts(member, assessment) for member in cause.members]
    if explanation.condition and (where := _facts_of(explanation.condition, facts)):
        return where
    members = np.isin([*calls.numbers], explanation.cases)
    shared = {term: holds for term, holds in calls.terms.items() if _facts_of((term,)) and holds[members].all()}
    left, chosen = calls.right, list[str]()
    while shared:
        term = min(shared, key=lambda term: int((left & shared[term]).sum()))
        if (left & shared[term]).sum() > _FEWER * left.sum():
            break
        left, chosen = left & shared.pop(term), [*chosen, term]
    return _facts_of(chosen)


def _facts_of(terms: Iterable[str], cases: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
    """Return terms in the form of patterns; empty if one of them is no fact of a case.

    Args:
        terms: terms that hold for all of the cases.
        cases: the facts of the cases: a term such as `rank!=2` becomes a list of their values.
    """
    where: dict[str, Any] = {}
    for term in terms:
        name, _, value = term.partition("=")
        if term in _FACTS:
            where |= _FACTS[term]
        elif cases and name.endswith("!") and all((fact := name[:-1]) in case for case in cases):
            where[fact] = sorted({case[fact] for case in cases})
        elif value and name in NAMES and name not in _WRITTEN:
            where[name] = value
        else:
            return {}
    return where


_FACTS: Mapping[str, Mapping[str, Any]] = {
    "auto_pad=explicit": {"auto_pad": [AutoPad.EXPLICIT.value, label(None)]},
    "auto_pad=same_*": {"auto_pad": [AutoPad.SAME_LOWER.value, AutoPad.SAME_UPPER.value]},
    "group!=dense": {"grouped": "true"},
    "groups >= 2": {"grouped": "true"},
}
"""The facts for terms that are written differently."""
_WRITTEN = frozenset({"bias", "data_format", "filter_format"})
"""Words of a call whose facts describe how a case writes them."""


def _waiver(
    scope: Mapping[str, Any],
    members: Sequence[RecordStatus],
    remaining: Sequence[RecordStatus],
    assessment: Assessment,
    cause: Cause | None = None,
) -> dict[str, Any]:
    """Return the fields of a waiver.

    Args:
        scope: its cases.
        members: the members with this deviation, all with one kind of verdict.
        remaining: the members that may be its example.
        assessment: the run.
        cause: the cause of the members; None if they deviate by chance.
    """
    header, first = assessment.run.header, members[0].ruling
    verdict: dict[str, str] = {"kind": first.kind}
    if isinstance(first, ver.RefusedValid | ver.BackendError) and (words := _words(members)):
        verdict["message"] = words
    waiver = {"name": "", "dialects": [header.dialect], **scope, "verdict": verdict}
    names = {str(name) for member in members for name in member.why.explained}
    common = [name for name in sorted(names) if all(name in map(str, member.why.explained) for member in members)]
    # If other failures are waived, they are no evidence any more.
    common = [] if any(member.why.by_others for member in members) else common
    if common and cause:
        waiver["diagnosis"] = common
    return waiver | {
        "versions": _versions(header.backend.version),
        "clause": (cause and cause.explanation and cause.explanation.clause) or OPEN,
        "because": OPEN,
        "example": choose_example(remaining, cause.group if cause else ()).record.case,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _words(members: Iterable[RecordStatus]) -> str:
    """Return the common words of the members' messages, with a star for each number; empty if they differ."""
    texts = {without_numbers(getattr(member.ruling, "message", "")) for member in members}
    if len(texts) != 1:
        return ""
    words = re.sub(r"[\s*]*#[\s*]*", "*", texts.pop())[:_LONGEST_MESSAGE]
    return f"{words.rstrip('*')}*" if words.strip("* ") else ""


def _versions(version: str, *, alone: bool = False) -> str:
    """Return the specifier for a version and all later ones, or for it alone; empty if it cannot be compared.

    A failure by chance is for one version, because no run shows that it is gone.
    """
    try:
        return f"{'==' if alone else '>='}{Version(version).public}"
    except InvalidVersion:
        return f"==={version}" if alone else ""


def _checked(waiver: Mapping[str, Any]) -> Waiver:
    """Return a proposed waiver as a run would load it, with its open fields filled in."""
    return Waiver.model_validate({**waiver, "clause": "?", "because": "?"})


def _other_causes(assessment: Assessment, known: Container[str]) -> Iterator[Cause]:
    """Yield the causes of failures, without the cases that need no entry of their own."""
    for cause in chain.from_iterable(find_causes(assessment, status) for status in FAILING):
        members = tuple(member for member in cause.members if member.record.case not in known)
        if members:
            yield replace(cause, members=members)


def _by_chance(assessment: Assessment) -> list[RecordStatus]:
    """Return the failures for which another answer was seen, and similar ones that were not asked again."""
    failed = [member for member in assessment.statuses if member.status in FAILING]
    seen = {_phrase(member) for member in failed if member.record.varies}
    return [m for m in failed if _phrase(m) in seen and (m.record.varies or m.may_vary)]


def _grouped(members: Iterable[RecordStatus], key: Callable[[RecordStatus], _Key]) -> dict[_Key, list[RecordStatus]]:
    groups: defaultdict[_Key, list[RecordStatus]] = defaultdict(list)
    for member in members:
        groups[key(member)].append(member)
    return groups


def _phrase(member: RecordStatus) -> str:
    """Return a failure in words: all wrong outputs are the same, other failures differ by kind and message."""
    match member.ruling:
        case ver.RefusedValid(message) | ver.BackendError(message) as verdict:
            return f"{verdict.kind}: {without_numbers(message)}"
        case verdict:
            return "wrong" if isinstance(verdict, _WRONG) else verdict.kind


def _comment(scope: Scope, members: Sequence[RecordStatus], what: str, assessment: Assessment) -> str:
    """Return the number of cases of an entry, the number of agreeing cases that it covers, and its cause."""
    agreeing = [member for member in assessment.statuses if member.status in AGREEING]
    covered = sum(scope.covers(member.record.case, _facts(member, assessment)) for member in agreeing)
    return f"  # Cases: {len(members)}, and {covered} that agree. {one_line(what)}"


def _shrinking(example: str, assessment: Assessment) -> str:
    header = assessment.run.header
    command = ["tconv", "shrink", example, *header.arguments, "--dialect", header.dialect]
    return f"  # Smaller still: {one_line(shlex.join([*command, *cases_option(header.path)]))}"


def _facts(member: RecordStatus, assessment: Assessment) -> Mapping[str, str]:
    return assessment.facts[member.record.case]


def _entry(waiver: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a waiver, a line for each key."""
    for at, (key, value) in enumerate(waiver.items()):
        yield f"{'  - ' if at == 0 else '    '}{key}: {_line(value)}"


def _line(value: object) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...")
