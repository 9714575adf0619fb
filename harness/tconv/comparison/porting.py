"""What changes when a call is taken from one text to another, and which rewriting keeps it.

Explicit pads and output_padding are read alike by every text, so an answer of one text is kept in another by writing
what the first resolves to. Where a pad would be negative, or output_padding too large, nothing that can be written
keeps it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from tconv.dialects import GEOMETRY_1
from tconv.expectation.owed import Inexpressible, Refuse, Values, expectation
from tconv.vocabulary import Attributes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tconv.cases.case import Case, Operand
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.vocabulary import Ints

Key = tuple["Operand", "Operand", "Operand | None", "Geometry"]


@dataclass(frozen=True, slots=True)
class Change:
    """A combination of attributes that another text answers otherwise, or cannot say.

    Attributes:
        combination: the padding mode, and which of output_shape and output_padding are written.
        what: what differs, `output size` or `pads`; where the target cannot say it, the constraint that forbids it.
        count: how many cases of the corpus are such.
        rewritable: how many of them can be rewritten.
        asked: how many cases with this combination the source answers; all that it answers where it is any.
        example: the smallest of them, among those that can be rewritten where there are some.
        before: what the source makes of the example.
        after: what the target makes of the same attributes; None where it cannot say them.
        reason: why the target cannot say it; empty where it can.
        rewriting: what keeps the source's answer in the target; None where nothing that can be written does.
    """

    combination: str
    what: str
    count: int
    rewritable: int
    asked: int
    example: Case
    before: Geometry
    after: Geometry | None
    reason: str
    rewriting: Case | None


class Catalogue:
    """A corpus as porting sees it: what every dialect owes to its cases, and those with explicit pads alone.

    Args:
        cases: of the corpus; those that break something, or that say the same in another presentation, are left out.
        dialects: between which calls are ported.
    """

    def __init__(self, cases: Iterable[Case], dialects: Sequence[Dialect]) -> None:
        self._cases = [
            case
            for case in cases
            if case.breaks is None
            and not case.omit
            and (case.shapes, case.filter_source) == ("static", "initializer")
            and prod(case.x.shape) * prod(case.w.shape) > 0
        ]
        self._owed = {dialect: [expectation(case, dialect) for case in self._cases] for dialect in dialects}
        self._plain: dict[Key, Case] = {}
        for case in self._cases:
            owed = expectation(case, GEOMETRY_1)
            if isinstance(owed, Values) and case.attributes.data_format is case.attributes.filter_format is None:
                self._plain.setdefault((case.x, case.w, case.b, owed.primary.geometry), case)

    def asked_plainly(self, case: Case, geometry: Geometry) -> Case | None:
        """Return a case with explicit pads alone that has the same operands and this geometry, if there is one."""
        return self._plain.get((case.x, case.w, case.b, geometry))

    def changes(self, source: Dialect, target: Dialect) -> list[Change]:
        """Return what changes on the way from one dialect to another, combination by combination."""
        groups: dict[tuple[str, str], list[_Parted]] = defaultdict(list)
        asked: Counter[str] = Counter()
        for case, ours, theirs in zip(self._cases, self._owed[source], self._owed[target], strict=True):
            if isinstance(ours, Values):
                asked.update((_ANY, _combination(case)))
                if parted := _parted(case, ours.primary.geometry, theirs):
                    groups[parted.combination, parted.what].append(parted)
        return [self._change(members, asked, target) for _, members in sorted(groups.items())]

    def _change(self, members: list[_Parted], asked: Counter[str], target: Dialect) -> Change:
        rewritings = {id(member): rewritten(member.case, member.before, target) for member in members}
        simplest = min(members, key=lambda member: (rewritings[id(member)] is None, *self._simplicity(member)))
        return Change(
            simplest.combination,
            simplest.what,
            len(members),
            sum(rewriting is not None for rewriting in rewritings.values()),
            asked[simplest.combination],
            simplest.case,
            simplest.before,
            simplest.after,
            simplest.reason,
            rewritings[id(simplest)],
        )

    def _simplicity(self, member: _Parted) -> tuple[bool, int, int, int]:
        """Return what orders examples: first those whose rewriting is a case too, then the smallest."""
        case = member.case
        known = self.asked_plainly(case, member.before) is not None
        return not known, len(case.x.shape), prod(case.x.shape) + prod(case.w.shape), len(case.id)


def rewritten(case: Case, geometry: Geometry, target: Dialect) -> Case | None:
    """Return the case with explicit pads and output_padding that give `geometry` in `target`.

    Returns:
        The case under the same id, without padding mode and output_shape; None where the target cannot say it.
    """
    if any(pad < 0 for pad in geometry.pads_begin):
        return None
    added = tuple(max(-end, 0) for end in geometry.pads_end)
    attributes = Attributes(
        strides=_unless(geometry.strides, 1),
        dilations=_unless(geometry.dilations, 1),
        pads_begin=_unless(geometry.pads_begin, 0),
        pads_end=_unless(tuple(max(end, 0) for end in geometry.pads_end), 0),
        output_padding=_unless(added, 0),
        groups=case.attributes.groups,
        data_format=case.attributes.data_format,
        filter_format=case.attributes.filter_format,
    )
    plain = replace(case, attributes=attributes, expected=())
    owed = expectation(plain, target)
    return plain if isinstance(owed, Values) and owed.primary.geometry == geometry else None


def alike(dialects: Sequence[Dialect]) -> Mapping[Dialect, list[Dialect]]:
    """Return the dialects that say the same but for types, under the last of them."""
    groups: dict[tuple[object, ...], list[Dialect]] = defaultdict(list)
    for dialect in dialects:
        others = tuple((key, answer) for key, answer in dialect.constraints.items() if key not in _OF_TYPES)
        spelling = (tuple(dialect.spelling.attributes.items()), tuple(dialect.spelling.inputs.items()))
        layouts = dialect.data_format, dialect.filter_format
        groups[dialect.rules, dialect.disputed, others, spelling, layouts].append(dialect)
    return {members[-1]: members[:-1] for members in groups.values()}


_OF_TYPES = {"without-bf16", "without-f64"}
_ANY = "any"


@dataclass(frozen=True, slots=True)
class _Parted:
    """A case on which two texts part."""

    case: Case
    combination: str
    what: str
    before: Geometry
    after: Geometry | None = None
    reason: str = ""


def _parted(case: Case, before: Geometry, theirs: Values | Refuse | Inexpressible) -> _Parted | None:
    """Return how the target's answer differs from the source's; None where it does not, or in types alone."""
    if isinstance(theirs, Inexpressible | Refuse):
        violation = theirs.violation
        if violation.constraint in _OF_TYPES:
            return None
        return _Parted(case, _ANY, violation.constraint, before, reason=f"{violation.attribute} {violation.must}")
    after = theirs.primary.geometry
    if after == before:
        return None
    what = "output size" if after.output != before.output else "pads"
    return _Parted(case, _combination(case), what, before, after)


def _combination(case: Case) -> str:
    return " with ".join(_words(case))


def _words(case: Case) -> Iterator[str]:
    attributes = case.attributes
    yield str(attributes.auto_pad or "explicit")
    if attributes.output_shape is not None:
        yield "output_shape"
    if any(attributes.output_padding or ()):
        yield "output_padding"


def _unless(values: Ints, neutral: int) -> Ints | None:
    return None if all(value == neutral for value in values) else values
