"""What changes when a call is ported from one text to another, and which rewriting keeps its output.

Explicit pads and output_padding mean the same in every text, so a call gives the same output in another text when it
writes the geometry that the first text resolves it to. Where a pad would be negative, or output_padding too large,
there is no such rewriting.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from tconv.dialects import GEOMETRY_1
from tconv.expectation.owed import Inexpressible, Refuse, Values, expectation
from tconv.vocabulary import NEUTRAL, Attributes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case, Operand
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.owed import Expectation

Key = tuple["Operand", "Operand", "Operand | None", "Geometry"]


@dataclass(frozen=True, slots=True)
class Change:
    """A combination of attributes to which another text gives another output, or that it cannot express.

    Attributes:
        combination: the padding mode, and which of output_shape and output_padding are written.
        what: what differs, `output size` or `pads`; where the target cannot express it, the constraint that forbids it.
        count: how many cases of the corpus have this change.
        rewritable: how many of them can be rewritten.
        answered: how many cases with this combination the source answers; for `any`, all cases that it answers.
        example: the simplest of those that change, among those that can be rewritten where there are some.
        before: the example's geometry in the source.
        after: its geometry in the target; None where the target cannot express it.
        reason: why the target cannot express it; empty where it can.
        rewriting: the case that gives the source's output in the target; None where there is none.
    """

    combination: str
    what: str
    count: int
    rewritable: int
    answered: int
    example: Case
    before: Geometry
    after: Geometry | None
    reason: str
    rewriting: Case | None


class Catalogue:
    """What every dialect owes to the cases of a corpus, and which cases have explicit pads alone.

    Args:
        cases: the corpus; cases that break a constraint, or repeat another case in another presentation, are left out.
        dialects: those between which calls are ported.
    """

    def __init__(self, cases: Iterable[Case], dialects: Sequence[Dialect]) -> None:
        self._cases = [
            case
            for case in cases
            if case.breaks is None and not case.omit and case.plain and prod(case.x.shape) * prod(case.w.shape) > 0
        ]
        self._owed = {dialect: [expectation(case, dialect) for case in self._cases] for dialect in dialects}
        self._explicit: dict[Key, Case] = {}
        for case in self._cases:
            owed = expectation(case, GEOMETRY_1)
            if isinstance(owed, Values) and case.attributes.data_format is case.attributes.filter_format is None:
                self._explicit.setdefault((case.x, case.w, case.b, owed.primary.geometry), case)

    def with_explicit_pads(self, case: Case, geometry: Geometry) -> Case | None:
        """Return a case with explicit pads alone that has the same operands and this geometry, if there is one."""
        return self._explicit.get((case.x, case.w, case.b, geometry))

    def changes(self, source: Dialect, target: Dialect) -> list[Change]:
        """Return what changes from one dialect to another, combination by combination."""
        groups: dict[tuple[str, str], list[_Difference]] = defaultdict(list)
        answered: Counter[str] = Counter()
        for case, in_source, in_target in zip(self._cases, self._owed[source], self._owed[target], strict=True):
            if isinstance(in_source, Values):
                answered.update((_ANY, _combination(case)))
                if difference := _difference(case, in_source.primary.geometry, in_target):
                    groups[difference.combination, difference.what].append(difference)
        return [self._change(differences, answered, target) for _, differences in sorted(groups.items())]

    def _change(self, differences: list[_Difference], answered: Counter[str], target: Dialect) -> Change:
        rewritings = {
            id(difference): rewritten(difference.case, difference.before, target) for difference in differences
        }
        simplest = min(
            differences, key=lambda difference: (rewritings[id(difference)] is None, *self._simplicity(difference))
        )
        return Change(
            simplest.combination,
            simplest.what,
            len(differences),
            sum(rewriting is not None for rewriting in rewritings.values()),
            answered[simplest.combination],
            simplest.case,
            simplest.before,
            simplest.after,
            simplest.reason,
            rewritings[id(simplest)],
        )

    def _simplicity(self, difference: _Difference) -> tuple[bool, int, int, int]:
        """Return what examples are ordered by: first those whose rewriting is a case too, then the simplest."""
        rewriting = self.with_explicit_pads(difference.case, difference.before)
        return rewriting is None, *difference.case.simplicity


def rewritten(case: Case, geometry: Geometry, target: Dialect) -> Case | None:
    """Return the case with explicit pads and output_padding that give `geometry` in `target`.

    Returns:
        The case under the same id, without padding mode and output_shape; None where the target cannot express it.
    """
    if any(pad < 0 for pad in geometry.pads_begin):
        return None
    lists = {
        "strides": geometry.strides,
        "dilations": geometry.dilations,
        "pads_begin": geometry.pads_begin,
        "pads_end": tuple(max(end, 0) for end in geometry.pads_end),
        "output_padding": tuple(max(-end, 0) for end in geometry.pads_end),
    }
    written: dict[str, Any] = {name: value for name, value in lists.items() if set(value) - {NEUTRAL[name]}}
    attributes = Attributes(
        **written,
        groups=case.attributes.groups,
        data_format=case.attributes.data_format,
        filter_format=case.attributes.filter_format,
    )
    rewriting = replace(case, attributes=attributes, expected=())
    owed = expectation(rewriting, target)
    return rewriting if isinstance(owed, Values) and owed.primary.geometry == geometry else None


def alike(dialects: Sequence[Dialect]) -> Mapping[Dialect, list[Dialect]]:
    """Return the dialects in groups that differ in types alone: the last of a group, and the others."""
    groups: dict[tuple[object, ...], list[Dialect]] = defaultdict(list)
    for dialect in dialects:
        others = tuple((key, answer) for key, answer in dialect.constraints.items() if key not in _OF_TYPES)
        spelling = (tuple(dialect.spelling.attributes.items()), tuple(dialect.spelling.inputs.items()))
        layouts = dialect.data_format, dialect.filter_format
        groups[dialect.rules, dialect.disputed, others, spelling, layouts].append(dialect)
    return {group[-1]: group[:-1] for group in groups.values()}


_OF_TYPES = {"without-bf16", "without-f64"}
_ANY = "any"


@dataclass(frozen=True, slots=True)
class _Difference:
    """A case to which two texts owe different things."""

    case: Case
    combination: str
    what: str
    before: Geometry
    after: Geometry | None = None
    reason: str = ""


def _difference(case: Case, before: Geometry, owed: Expectation) -> _Difference | None:
    """Return how what the target owes differs from the source's geometry; None where it does not, or in types alone."""
    if isinstance(owed, Inexpressible | Refuse):
        violation = owed.violation
        if violation.constraint in _OF_TYPES:
            return None
        return _Difference(case, _ANY, violation.constraint, before, reason=f"{violation.attribute} {violation.must}")
    after = owed.primary.geometry
    if after == before:
        return None
    what = "output size" if after.output != before.output else "pads"
    return _Difference(case, _combination(case), what, before, after)


def _combination(case: Case) -> str:
    return " with ".join(_words(case))


def _words(case: Case) -> Iterator[str]:
    attributes = case.attributes
    yield str(attributes.auto_pad or "explicit")
    if attributes.output_shape is not None:
        yield "output_shape"
    if any(attributes.output_padding or ()):
        yield "output_padding"
