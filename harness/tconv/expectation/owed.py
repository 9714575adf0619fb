"""What a dialect owes to a case: its value under the primary reading and the disputed ones, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

from tconv.cases.call import signature
from tconv.dialects import DIALECTS, Absent, Open, Stated
from tconv.dialects.constraints import CONSTRAINTS
from tconv.dialects.geometry import Geometry, NoGeometry
from tconv.dialects.readings import told_apart
from tconv.vocabulary import ATTRIBUTES, DataFormat, FilterFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.constraints import Constraint
    from tconv.vocabulary import Signature


@dataclass(frozen=True, slots=True)
class Broken:
    """A constraint that does not hold, what must hold, what was found, and the clause of the dialect's answer."""

    constraint: str
    attribute: str
    must: str
    got: str
    clause: str

    def __str__(self) -> str:
        return f"{self.attribute} {self.must} (got {self.got}) [{self.constraint}: {self.clause}]"


@dataclass(frozen=True, slots=True)
class Candidate:
    """The output under some disputed readings; without readings, under the primary ones."""

    readings: tuple[str, ...]
    geometry: Geometry


@dataclass(frozen=True, slots=True)
class Values:
    """The dialect owes a value.

    Attributes:
        primary: the output under the primary readings.
        disputed: outputs that other readings of the same text give.
        refusals: readings under which the text refuses the case.
    """

    primary: Candidate
    disputed: tuple[Candidate, ...] = ()
    refusals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refuse:
    """The dialect owes a refusal; where its text is open, only because there is no value."""

    broken: Broken
    stated: bool


@dataclass(frozen=True, slots=True)
class Inexpressible:
    """The dialect cannot say the case: a constraint forbids it that is not the one broken on purpose."""

    broken: Broken

    @property
    def reason(self) -> str:
        """What stands in the way, in one line."""
        return str(self.broken)


Expectation = Values | Refuse | Inexpressible


def expectation(case: Case, dialect: Dialect) -> Expectation:
    """Return what `dialect` owes to `case`.

    A constraint that the case breaks on purpose: stated, the dialect owes a refusal; absent, the value; open, the
    value, and a refusal is a disputed reading. Any other stated constraint that does not hold makes the case
    inexpressible.
    """
    return owed(signature(case, dialect), dialect.name, case.breaks)


def sees(expected: Expectation, breaks: str) -> bool:
    """Return whether what a dialect owes says that this constraint is broken."""
    match expected:
        case Refuse(broken):
            return broken.constraint == breaks
        case Values(_, _, refusals):
            return f"{breaks}-refused" in refusals
        case Inexpressible():
            return False
        case _:
            assert_never(expected)


@lru_cache(maxsize=4096)
def owed(written: Signature, dialect_name: str, breaks: str | None = None) -> Expectation:
    """Return what the dialect of that name owes to a signature that breaks `breaks` on purpose."""
    row = DIALECTS[dialect_name]
    refusal: Refuse | None = None
    open_ones = []
    for broken in violations(written, row):
        stated = isinstance(row.constraints[broken.constraint], Stated)
        if not stated and not CONSTRAINTS[broken.constraint].needed:
            open_ones.append(broken.constraint)
        elif broken.constraint == breaks and writable(broken.attribute, row):
            refusal = Refuse(broken, stated)
        else:
            return Inexpressible(broken)
    if refusal is not None:
        return refusal if _laid_out(written, row) else Inexpressible(refusal.broken)
    return _values(written, row, breaks, open_ones)


def _laid_out(written: Signature, row: Dialect) -> bool:
    """Return whether the operands' shapes have the layouts that are asked for."""
    data = written.attributes.data_format or row.data_format
    filters = written.attributes.filter_format or row.filter_format
    sizes = len(written.x.shape), len(written.w.shape)
    if data == DataFormat.NXC and sizes[0] < _CHANNELS_AND_MORE:
        return False
    if filters == FilterFormat.GIOX:
        return sizes[1] >= _CHANNELS_AND_MORE and written.groups > 0 and written.w.shape[0] % written.groups == 0
    return filters != FilterFormat.XOI or sizes[1] >= _CHANNELS_AND_MORE


_CHANNELS_AND_MORE = 2


def writable(attribute: str, row: Dialect) -> bool:
    """Return whether the dialect has a word for what is wrong; without one, the call would not have it either."""
    words = row.spelling
    if attribute == "bias":
        return "b" in words.inputs
    return attribute not in ATTRIBUTES or attribute in words.attributes or attribute in words.inputs


def violations(written: Signature, row: Dialect) -> Iterator[Broken]:
    """Yield every constraint that the dialect states or leaves open and that does not hold, geometry aside."""
    yield from _unspelled(written, row)
    for constraint in _minded(row.name):
        if violation := constraint.check(written):
            clause = row.constraints[constraint.name].clause
            yield Broken(constraint.name, violation.attribute, violation.must, violation.got, clause)


def _unspelled(written: Signature, row: Dialect) -> Iterator[Broken]:
    """Yield layouts of the vocabulary that the dialect's own attribute does not have."""
    for attribute, words in (
        ("data_format", row.spelling.data_formats),
        ("filter_format", row.spelling.filter_formats),
    ):
        value = getattr(written.attributes, attribute)
        if words and value in {*DataFormat, *FilterFormat} and value not in words:
            name = f"{attribute.replace('_', '-')}-known"
            yield Broken(name, attribute, f"must be one of {', '.join(words)}", value, row.constraints[name].clause)


@lru_cache
def _minded(dialect_name: str) -> tuple[Constraint, ...]:
    """Return the constraints that a dialect does not leave out."""
    answers = DIALECTS[dialect_name].constraints
    return tuple(CONSTRAINTS[name] for name, answer in answers.items() if not isinstance(answer, Absent))


def _values(written: Signature, row: Dialect, breaks: str | None, open_ones: list[str]) -> Expectation:
    """Return the values of a signature that can be resolved."""
    primary, *others = told_apart(written, row.rules, row.disputed)
    if isinstance(primary.result, NoGeometry):
        found = primary.result
        clause = row.constraints[found.constraint].clause
        broken = Broken(found.constraint, found.attribute, found.must, found.got, clause)
        return Refuse(broken, stated=True) if found.constraint == breaks else Inexpressible(broken)
    if 0 in primary.result.output and isinstance(row.constraints["output-not-empty"], Open):
        open_ones = [*open_ones, "output-not-empty"]
    return Values(
        Candidate((), primary.result),
        tuple(Candidate(other.readings, other.result) for other in others if isinstance(other.result, Geometry)),
        (
            *(f"{name}-refused" for name in open_ones),
            *(" + ".join(other.readings) for other in others if isinstance(other.result, NoGeometry)),
        ),
    )
