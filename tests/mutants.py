"""Misreadings run as if they were backends: which cases notice each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import outcome as out
from tconv.diagnosis.misreadings import misreadings_of
from tconv.expectation.problem import Problem
from tconv.investigation.further_cases import misread_output
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from tconv.cases.case import Case
    from tconv.dialects import Dialect


@dataclass(frozen=True, slots=True)
class Noticed:
    """The cases that a misreading changes, and those of them whose verdict is a deviation then."""

    affected: set[str] = field(default_factory=set)
    killed: set[str] = field(default_factory=set)


def noticed(
    cases: Iterable[Case], dialect: Dialect, names: Container[str] | None = None, *, once: bool = False
) -> dict[str, Noticed]:
    """Return what cases notice of each misreading of a dialect, by its name.

    Args:
        cases: the cases, in the order in which they are asked.
        dialect: in whose words.
        names: the misreadings; None for all.
        once: whether no further case is asked of a misreading that one has noticed.
    """
    playable = [misreading for misreading in misreadings_of(dialect) if misreading.playable]
    misreadings = [misreading for misreading in playable if names is None or misreading.name in names]
    found = {misreading.name: Noticed() for misreading in misreadings}
    seen: dict[tuple[object, ...], dict[str, bool]] = {}
    for case in cases:
        problem = Problem(case, dialect)
        if problem.values is None:
            continue
        # The reference does not depend on layouts and presentation.
        written = [(name, value) for name, value in case.attributes.given().items() if not name.endswith("_format")]
        key = (problem.signature.attributes.groups, problem.values, case.x, case.w, case.b, tuple(written))
        if key not in seen:
            asked = [misreading for misreading in misreadings if not (once and found[misreading.name].killed)]
            outputs = {misreading.name: misread_output(problem, misreading) for misreading in asked}
            seen[key] = {
                name: not isinstance(judge(problem, out.Produced(array), DType.F32), ver.Allowed)
                for name, array in outputs.items()
                if array is not None and not np.array_equal(array, problem.output, equal_nan=True)
            }
        for name, kills in seen[key].items():
            found[name].affected.add(case.id)
            if kills:
                found[name].killed.add(case.id)
    return found
