"""The expectation of a case in a dialect: its value under the primary and the disputed readings, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, assert_never

from tconv.cases.call import choose_layouts, write_signature
from tconv.cases.context import COMPUTED_BEHIND, LIMITS, ROUNDED, SMOOTH, operations_of
from tconv.cases.layouts import fewest_axes
from tconv.dialects import Open, Stated
from tconv.dialects.constraints import CONSTRAINTS, show_value
from tconv.dialects.geometry import Geometry
from tconv.dialects.readings import Branch, Combination, branches, results_of
from tconv.errors import Violation
from tconv.vocabulary import ATTRIBUTES, Attributes, DataFormat, DType, FilterFormat, Signature, TensorType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tconv.cases.case import Case
    from tconv.cases.context import Context
    from tconv.dialects import Dialect
    from tconv.vocabulary import Ints


@dataclass(frozen=True, slots=True)
class Candidate:
    """The output under some disputed readings; without readings, under the primary ones.

    Attributes:
        readings: the names of the readings that are followed together.
        geometry: the output.
        alike: other readings with the same output; each entry has the names that are followed together.
    """

    readings: tuple[str, ...]
    geometry: Geometry
    alike: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All readings with this output, joined if they are followed together; empty for the primary output."""
        return tuple(str(Combination(readings)) for readings in (self.readings, *self.alike) if readings)


@dataclass(frozen=True, slots=True)
class OpenConstraint:
    """The reason for a possible refusal: the text leaves open whether a constraint holds that the case breaks."""

    constraint: str

    def __str__(self) -> str:
        return f"{self.constraint}-refused"


Refusal = OpenConstraint | Combination
"""Why a text that expects a value may also refuse: an open constraint, or readings without an output."""


@dataclass(frozen=True, slots=True)
class Values:
    """The dialect expects a value.

    Attributes:
        primary: the output under the primary readings.
        disputed: outputs under other readings of the same text.
        refusals: reasons for which the same text may also refuse.
        branches: the results of all combinations of the answers that the text allows.
    """

    primary: Candidate
    disputed: tuple[Candidate, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    branches: tuple[Branch, ...] = field(default=(), repr=False, compare=False)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All outputs that the text allows, the primary one first."""
        return self.primary, *self.disputed

    @property
    def open_constraints(self) -> list[str]:
        """The constraints that the case breaks and that the text leaves open."""
        return [refusal.constraint for refusal in self.refusals if isinstance(refusal, OpenConstraint)]

    def geometry(self, readings: Sequence[str]) -> Geometry | None:
        """Return the geometry under these readings, the primary ones if there are none; None if they give no output."""
        names = tuple(readings)
        return next(
            (candidate.geometry for candidate in self.candidates if names in (candidate.readings, *candidate.alike)),
            None,
        )


@dataclass(frozen=True, slots=True)
class Refuse:
    """The dialect expects a refusal. If its text leaves the constraint open, the reason is that there is no value."""

    violation: Violation
    stated: bool


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The dialect cannot express the case: a constraint forbids it, and not the one that the case breaks on purpose."""

    violation: Violation

    @property
    def reason(self) -> str:
        """The reason why the dialect cannot express the case, in one line."""
        return str(self.violation)


Expectation = Values | Refuse | NotApplicable


def expect(case: Case, dialect: Dialect, written: Signature | None = None) -> Expectation:
    """Return the expectation of `dialect` for `case`; `written` is the case's signature in the dialect, if it is known.

    If the case breaks a constraint on purpose, the dialect's answer decides. Stated: a refusal is expected. Absent: the
    value is expected. Open: the value is expected, and a refusal is a disputed reading. If another stated constraint
    does not hold, or the dialect lacks the presentation, the case is not applicable.
    """
    written = written or write_signature(case, dialect)
    expected = expect_of_signature(written, dialect, case.breaks)
    missing = None if isinstance(expected, NotApplicable) else _presentation(case, dialect)
    if missing is None and case.context:
        missing = _context(case, dialect, written, expected)
    return expected if missing is None else NotApplicable(missing)


def can_express(case: Case, dialect: Dialect) -> bool:
    """Return whether `dialect` can express `case`, which may break only the constraint that it breaks on purpose."""
    return not isinstance(expect(case, dialect), NotApplicable)


def _presentation(case: Case, dialect: Dialect) -> Violation | None:
    """Return the part of a case's presentation that the dialect lacks."""
    if case.sources.get("output_shape") == "input" and "output_shape" not in dialect.spelling.inputs:
        clause = "output_shape is an attribute, and not fed at the run"
        return Violation("presentation", "output_shape_source", "must be initializer", "input", clause)
    if case.bias_source == "unnamed" and (case.b is not None or dialect.opset is None):
        clause = "an input that is there has a name" if case.b else "an input that is not there has no name"
        return Violation("presentation", "bias_source", "must be initializer or input", "unnamed", clause)
    if case.spelling == "page" and not dialect.spelling.printed:
        clause = "the words that the text prints are those that are taken"
        return Violation("presentation", "spelling", "must be library", "page", clause)
    return None


def _context(case: Case, dialect: Dialect, written: Signature, expected: Expectation) -> Violation | None:
    """Return the part of a case's context that the dialect lacks, or that makes it an impossible case."""
    kinds, is_shaped = operations_of(case.context)
    if case.context.sizes == "computed" and (
        written.attributes.output_shape is None or "output_shape" not in dialect.spelling.inputs
    ):
        clause = "only an input of the operator is computed"
        return Violation(
            "context", "context", "must have output_shape as an input of the text", "no such input", clause
        )
    if missing := sorted(kinds.difference(dialect.operations)) or ([] if dialect.operations else ["a graph"]):
        must, clause = "must need only operations that the dialect has", "operations around the operator need words too"
        return Violation("context", "context", must, ", ".join(missing), clause)
    if dialect.quantised and not any(_are_types(case, levels) for levels in dialect.quantised):
        clause = "they are types of the operator, which has all of its operands in them or none"
        got = ", ".join(map("=".join, case.context.levels.items()))
        return Violation("context", "context", "must quantise data, filter, bias and end alike", got, clause)
    if not dialect.quantised and choose_layouts(written.attributes, dialect) != (DataFormat.NCX, FilterFormat.IOX):
        clause = "the graph around the operator is in these layouts"
        return Violation("context", "context", "must be of NCX and IOX", "another layout", clause)
    if written.x.dtype != DType.F32 or not isinstance(expected, Values):
        got = str(written.x.dtype) if written.x.dtype != DType.F32 else "an invalid call"
        clause = "the graph around the operator is in f32"
        return Violation("context", "context", "must be of f32 and of a valid call", got, clause)
    surroundings = case.context
    if case.is_uneven and (surroundings.end not in LIMITS or surroundings.activation in SMOOTH):
        clause = "a step of the output is the only measure of what these scales round"
        return Violation("context", "context", "must end in int8 or uint8 with such scales", surroundings.end, clause)
    if broken := _unbounded(surroundings):
        return broken
    shapes = {candidate.geometry.output for candidate in expected.candidates}
    if 0 in written.x.shape or any(0 in shape for shape in shapes):
        clause = "a graph computes something"
        return Violation("context", "context", "must have an element", show_value(written.x.shape), clause)
    if is_shaped and len(shapes) > 1:
        clause = "a tensor of the graph has the output's size"
        return Violation("context", "context", "must have one size in all readings", show_value(sorted(shapes)), clause)
    return None


def _unbounded(levels: Context) -> Violation | None:
    """Return what of a context is not exact, and has no bound."""
    if levels.activation in SMOOTH and (
        levels.use == "second-operator" or levels.values in {"full-range", "wide-filter"}
    ):
        clause = (
            "an activation without an accuracy is compared at small integers, and no operator has a bound behind it"
        )
        return Violation("context", "context", "must have small values behind it", levels.activation, clause)
    behind = sorted(COMPUTED_BEHIND & {levels.activation, levels.use})
    if levels.arithmetic == ROUNDED and behind:
        clause = "a BatchNormalization that is rounded has a bound only if nothing behind it rounds again"
        return Violation("context", "context", "must have no such operation behind it", behind[0], clause)
    return None


_PER_CHANNEL = "-per-channel"
"""The end of the name of a filter's level, if it has a scale for each output channel."""


def _are_types(case: Case, levels: Mapping[str, Collection[str]]) -> bool:
    """Return whether an operator has the types in the levels of a case together."""
    axes = [axis for axis in levels if axis != "bias" or case.b is not None]
    chosen = {axis: getattr(case.context, axis) for axis in axes}
    filters = case.quantisation and case.quantisation.w
    if filters and len(filters.scale) > 1 and not chosen["filter"].endswith(_PER_CHANNEL):
        chosen["filter"] += _PER_CHANNEL
    return all(level in levels[axis] for axis, level in chosen.items())


def finds_broken(expected: Expectation, constraint: str) -> bool:
    """Return whether an expectation depends on this broken constraint."""
    match expected:
        case Refuse(violation):
            return violation.constraint == constraint
        case Values():
            return constraint in expected.open_constraints
        case NotApplicable():
            return False
        case _:
            assert_never(expected)


LARGEST_OUTPUT = 2**24
"""The most elements of an output that is computed: a text may allow an output far beyond the bound of another text.

A case file has the same limit for operands and output together.
"""


def expect_of_signature(written: Signature, dialect: Dialect, breaks: str | None = None) -> Expectation:
    """Return the expectation for a signature that breaks `breaks` on purpose.

    If the dialect has the layouts, and all operands have one type that it has, these make no difference. So signatures
    that differ only in these share the result.
    """
    x, w, b, attributes, words = written.x, written.w, written.b, written.attributes, dialect.spelling
    if (
        breaks is None
        and x.dtype == w.dtype == (b or x).dtype
        and x.dtype in words.types
        and (attributes.data_format is None or attributes.data_format in words.data_formats)
        and (attributes.filter_format is None or attributes.filter_format in words.filter_formats)
    ):
        return _shared(_deciding(attributes), x.shape, w.shape, b and b.shape, dialect)
    return _found(written, dialect, breaks)


_DECIDING = tuple(name for name in ATTRIBUTES if name not in {"data_format", "filter_format"})
_deciding = attrgetter(*_DECIDING)


@lru_cache(maxsize=4096)
def _shared(deciding: tuple[Any, ...], x: Ints, w: Ints, b: Ints | None, dialect: Dialect) -> Expectation:
    """Return the expectation for a signature without layouts, in a type of the dialect."""
    attributes, dtype = Attributes(**dict(zip(_DECIDING, deciding, strict=True))), dialect.spelling.types[0]
    x_type, w_type = TensorType(x, dtype), TensorType(w, dtype)
    return _found(Signature(attributes, x_type, w_type, None if b is None else TensorType(b, dtype)), dialect, None)


def _found(written: Signature, dialect: Dialect, breaks: str | None) -> Expectation:
    refusal: Refuse | None = None
    open_constraints = []
    for violation in dialect.violations(written):
        name = violation.constraint
        is_open = isinstance(dialect.constraints.get(name), Open)
        if is_open and not CONSTRAINTS[name].needed:
            open_constraints.append(name)
        elif name == breaks and dialect.can_write(violation):
            refusal = Refuse(violation, stated=not is_open)
        else:
            return NotApplicable(violation)
    if refusal is not None:
        return refusal if _fits_layouts(written, dialect) else NotApplicable(refusal.violation)
    return _values(written, dialect, breaks, open_constraints)


def _fits_layouts(written: Signature, dialect: Dialect) -> bool:
    """Return whether the operands have enough axes for the written layouts."""
    data, filters = choose_layouts(written.attributes, dialect)
    if len(written.x.shape) < fewest_axes(data):
        return False
    if filters != FilterFormat.GIOX:
        return len(written.w.shape) >= fewest_axes(filters)
    # An IOX filter has no axis for the groups.
    has_axes = len(written.w.shape) >= fewest_axes(filters) - 1
    return has_axes and written.groups > 0 and written.w.shape[0] % written.groups == 0


def _values(written: Signature, dialect: Dialect, breaks: str | None, open_constraints: list[str]) -> Expectation:
    """Return the expectation for a signature that breaks no constraints, or only those that the dialect leaves open.

    Broken constraints of the output size are found here.
    """
    every = tuple(branches(written, dialect.rules, dialect.disputed))
    primary, *others = results_of(every)
    if isinstance(primary.result, Violation):
        answer = dialect.constraints.get(primary.result.constraint)
        if answer is None:
            # The rules refuse the call themselves, without a constraint.
            return NotApplicable(primary.result)
        violation = replace(primary.result, clause=answer.clause)
        if violation.constraint != breaks:
            return NotApplicable(violation)
        return Refuse(violation, stated=isinstance(answer, Stated))
    if breaks is not None and (elements := _elements(written, primary.result)) > LARGEST_OUTPUT:
        must = f"must have at most {LARGEST_OUTPUT} elements, all of which are computed"
        return NotApplicable(Violation("output-size-computable", "output", must, str(elements)))
    not_empty = dialect.constraints["output-not-empty"]
    if 0 in primary.result.output and isinstance(not_empty, Stated):
        got = show_value(list(primary.result.output))
        violation = Violation("output-not-empty", "output", "must have no size of 0", got, not_empty.clause)
        return Refuse(violation, stated=True) if breaks == "output-not-empty" else NotApplicable(violation)
    if 0 in primary.result.output and isinstance(not_empty, Open):
        open_constraints = [*open_constraints, "output-not-empty"]
    return Values(
        Candidate((), primary.result),
        tuple(
            Candidate(other.readings, other.result, other.alike)
            for other in others
            if isinstance(other.result, Geometry)
        ),
        (
            *map(OpenConstraint, open_constraints),
            *_fewest(Combination(other.readings) for other in others if isinstance(other.result, Violation)),
        ),
        every,
    )


def _elements(written: Signature, geometry: Geometry) -> int:
    """Return the number of elements of the output; an empty batch counts as a batch of one."""
    return max(written.x.shape[0] * written.w.shape[1] * geometry.groups, 1) * prod(geometry.output)


def _fewest(refusing: Iterable[Combination]) -> list[Combination]:
    """Return the readings that refuse, without those of which a part refuses too."""
    fewest: list[Combination] = []
    for together in sorted(refusing, key=lambda together: len(together.names)):
        if not any(set(fewer.names) < set(together.names) for fewer in fewest):
            fewest.append(together)
    return fewest
