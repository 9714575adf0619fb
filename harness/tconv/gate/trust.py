"""Whether anything shows that mistrusted values are computed: integers, which every order sums alike."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tconv.gate.status import Status
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tconv.gate.status import RecordStatus

_REAL = re.compile(r"(?<=[\[,]data=)(normal|wide|wide-full)(?=[\],])")


def untrusted(members: Sequence[RecordStatus], facts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield why mistrusted values are red, a reason for each element type.

    The same call on integers must agree exactly where the run has it: sums of few products show nothing of sums of
    many. Where the run has no such case, another case of the type must.

    Args:
        members: the records with their statuses.
        facts: the facts of their cases, by id.
    """
    mistrusted = [member.record.case for member in members if member.status is Status.MISTRUSTED]
    if not mistrusted:
        return
    cases = {member.record.case for member in members}
    verdicts = {member.record.case: member.record.verdict for member in members}
    exact = {case for case, verdict in verdicts.items() if _is_exact(verdict)}
    types = {_type(case, facts) for case in exact}
    alone = [case for case in mistrusted if _integer_twin(case) not in cases]
    for dtype, count in Counter(_type(case, facts) for case in alone).items():
        if dtype not in types:
            yield (f"{_cases(count, dtype)}, and no case of {dtype} agrees exactly; run cases on integers of it, too")
    beside = [case for case in mistrusted if _integer_twin(case) in cases - exact]
    for dtype, count in Counter(_type(case, facts) for case in beside).items():
        first = _integer_twin(next(case for case in beside if _type(case, facts) == dtype))
        yield f"{_cases(count, dtype)}, and the same on integers does not agree exactly, such as {first}"


def _is_exact(verdict: ver.Verdict) -> bool:
    """Return whether values are exactly those of the text, in whichever of its readings."""
    return isinstance(verdict, ver.Allowed) and verdict.rule == "exact"


def _integer_twin(case: str) -> str | None:
    """Return the id of the same case on integers; None where the id does not say what its data are."""
    twin, count = _REAL.subn("integers", case)
    return twin if count else None


def _cases(count: int, dtype: str) -> str:
    return f"{count} {'case' if count == 1 else 'cases'} of {dtype} would pass as zeros too"


def _type(case: str, facts: Mapping[str, Mapping[str, str]]) -> str:
    return facts.get(case, {}).get("dtype", "an unknown type")
