"""The kinds of verdict: an outcome judged against the expectation. Records hold verdicts, never outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from tconv.backends import outcome as out
from tconv.backends.outcome import Recorded
from tconv.dialects import RecordedConstraint  # noqa: TC001 - the file boundary reads the annotation
from tconv.dialects.readings import Combination

# A call that was not answered has its outcome as its verdict.
BackendError = out.BackendError
Crashed = out.Crashed
TimedOut = out.TimedOut
Unsupported = out.Unsupported
Rule = Literal["exact", "bound", "range", "shape", "refusal"]
"""What was compared: values exactly, values within the derived bound, the shape alone, or an expected refusal."""


NOTES = MappingProxyType(
    {
        "reduced-precision": "within the bound, and less accurate than sums in this type are",
        "flushed-subnormals": "zero for subnormal results, or sums without their subnormal products",
        "nan-from-inserted-zeros": "NaN where a tap that is NaN or infinite meets no data, only an inserted zero",
        "overflow-of-a-partial-sum": "an infinity or NaN for a finite sum that overflows in some order",
    }
)
"""What a verdict may note without being a failure, and what each note means."""


@dataclass(frozen=True, slots=True)
class Agreed(Recorded):
    """The backend does what the dialect's text says.

    Attributes:
        rule: how it was compared.
        notes: what is reported without being a failure: of `NOTES`, or the backend's own.
    """

    rule: Rule
    notes: tuple[str, ...] = ()
    kind: Literal["agreed"] = "agreed"


@dataclass(frozen=True, slots=True)
class Disputed(Recorded):
    """The backend does what other readings of the text say.

    Attributes:
        readings: where it gave a value, the readings that it follows together; where it refused, each that may be why.
        rule: how it was compared.
        notes: as those of `Agreed`.
        message: the backend's own words where it refused.
        alike: other readings that give this very value, those that are followed together in one text.
    """

    readings: tuple[str, ...]
    rule: Rule
    notes: tuple[str, ...] = ()
    message: str | None = None
    alike: tuple[str, ...] = ()
    kind: Literal["disputed"] = "disputed"

    @property
    def choices(self) -> tuple[str, ...]:
        """Each reading that may be why, those that are followed together in one text."""
        return self.readings if self.rule == "refusal" else (str(Combination(self.readings)), *self.alike)


@dataclass(frozen=True, slots=True)
class Inconclusive(Recorded):
    """Values are within a bound that zeros in their place would be within too: nothing is shown of them.

    Attributes:
        untested: how many elements would pass as zero: another number is expected, or the bound says nothing.
        of: how many elements there are.
        readings: the readings that give the values, where they are not the primary ones.
        notes: as of a verdict that agrees.
    """

    untested: int
    of: int
    readings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kind: Literal["inconclusive"] = "inconclusive"


@dataclass(frozen=True, slots=True)
class _WrongValues(Recorded):
    """Values are wrong.

    Attributes:
        rule: how they were compared.
        wrong: how many elements differ.
        of: how many there are.
        first: the index of the first that differs, in NCX order.
        expected: the reference's value there.
        actual: the backend's value there.
        worst: the largest |actual - expected| in units of what was allowed there; None if that is nothing.
        steps: the largest |actual - expected| in steps from one number of the type to the next, if nothing was allowed;
            None if it is larger than roundings are, or no number is wrong.
    """

    rule: Rule
    wrong: int
    of: int
    first: tuple[int, ...]
    expected: float
    actual: float
    worst: float | None = None
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Differed(_WrongValues):
    """Values differ."""

    kind: Literal["differed"] = "differed"


@dataclass(frozen=True, slots=True)
class Imprecise(_WrongValues):
    """Values are off by more than any sum of the products is, and by no more than a transform algorithm is."""

    kind: Literal["imprecise"] = "imprecise"

    @property
    def differed(self) -> Differed:
        """The same figures as a difference, for an output that has another cause."""
        return Differed(self.rule, self.wrong, self.of, self.first, self.expected, self.actual, self.worst, self.steps)


@dataclass(frozen=True, slots=True)
class WrongShape(Recorded):
    """The output has another shape, both in the call's layout.

    Attributes:
        expected: the sizes that are expected.
        actual: the sizes that were produced.
    """

    expected: tuple[int, ...]
    actual: tuple[int, ...]
    kind: Literal["wrong-shape"] = "wrong-shape"


@dataclass(frozen=True, slots=True)
class WrongDtype(Recorded):
    """The output has another element type.

    Attributes:
        expected: the type that is expected, such as f32.
        actual: the type that was produced.
        values_agree: whether the values are right after conversion to the expected type; None if nobody knows.
    """

    expected: str
    actual: str
    values_agree: bool | None = None
    kind: Literal["wrong-dtype"] = "wrong-dtype"


@dataclass(frozen=True, slots=True)
class RefusedValid(Recorded):
    """A valid call was refused.

    Attributes:
        message: the backend's words.
    """

    message: str
    kind: Literal["refused-valid"] = "refused-valid"


@dataclass(frozen=True, slots=True)
class AcceptedInvalid(Recorded):
    """A call that breaks a constraint was answered with a value.

    Attributes:
        constraint: what it breaks.
        stated: whether the text states the constraint; else the text is open, and no value is expected to compare with.
    """

    constraint: RecordedConstraint
    stated: bool = True
    kind: Literal["accepted-invalid"] = "accepted-invalid"


@dataclass(frozen=True, slots=True)
class NotApplicable(Recorded):
    """The dialect cannot express the case.

    Attributes:
        reason: what it cannot express.
    """

    reason: str
    kind: Literal["not-applicable"] = "not-applicable"


@dataclass(frozen=True, slots=True)
class Unstable(Recorded):
    """The backend answered the same call differently.

    Attributes:
        message: what changed, and where.
        first_only: whether the first answer in a process alone was wrong, and two more were right.
    """

    message: str
    first_only: bool = False
    kind: Literal["unstable"] = "unstable"


Verdict = (
    Agreed
    | Disputed
    | Inconclusive
    | Differed
    | Imprecise
    | WrongShape
    | WrongDtype
    | RefusedValid
    | AcceptedInvalid
    | Unsupported
    | NotApplicable
    | Crashed
    | TimedOut
    | Unstable
    | BackendError
)

Allowed = Agreed | Disputed
"""The verdicts on what a reading of the text gives, a value or a refusal."""
WrongValues = Differed | Imprecise
"""The verdicts on outputs of the right shape and type whose values are wrong."""
WrongOutput = WrongValues | WrongShape
"""The verdicts on outputs that a misreading may explain."""
VALUE_RULES = frozenset[Rule]({"exact", "bound", "range"})
"""The rules of verdicts for which values were compared."""

KINDS: dict[str, type[Verdict]] = {
    verdict.__dataclass_fields__["kind"].default: verdict for verdict in get_args(Verdict)
}
"""Every verdict by the word that stands for it in records and waivers."""


def is_output(verdict: Verdict) -> bool:
    """Return whether a verdict is of an output that was compared: of values, or of the shape if there is no more.

    A refusal is none. `Unstable` is none either: one of its two answers may be a refusal.
    """
    if isinstance(verdict, Allowed):
        return verdict.rule != "refusal"
    return isinstance(verdict, Inconclusive | WrongOutput | WrongDtype)
