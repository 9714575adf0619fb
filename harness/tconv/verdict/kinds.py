"""The kinds of verdict: an outcome judged against the expectation. Records hold verdicts, never outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from tconv.backends import outcome as out
from tconv.backends.outcome import Recorded
from tconv.dialects import RecordedConstraint  # noqa: TC001 - the file boundary reads the annotation
from tconv.dialects.readings import Combination

# The verdict on a call without an answer is its outcome.
BackendError = out.BackendError
Crashed = out.Crashed
TimedOut = out.TimedOut
Unsupported = out.Unsupported
Rule = Literal["exact", "bound", "range", "shape", "refusal"]
"""How it was compared: values exactly, by the derived bound, or by a range; the shape alone; an expected refusal."""
NOTES = MappingProxyType(
    {
        "reduced-precision": "the errors are within the bound, but larger than those of usual sums in this type",
        "flushed-subnormals": "a result is 0 in place of a subnormal number, or lacks its subnormal products",
        "nan-from-inserted-zeros": "NaN, because a tap that is NaN or infinite was multiplied by an inserted zero",
        "overflow-of-a-partial-sum": "an infinity or NaN, because the finite sum overflows in some order of its terms",
        "too-few-quanta": "one scale is too coarse for a filter channel: the model is imprecise, and not the runtime",
    }
)
"""The notes of a verdict that are no failures, and their meanings."""


@dataclass(frozen=True, slots=True)
class Agreed(Recorded):
    """The backend does what the dialect's text says.

    Attributes:
        rule: how it was compared.
        notes: notes of `NOTES` or of the backend, which are no failures.
    """

    rule: Rule
    notes: tuple[str, ...] = ()
    kind: Literal["agreed"] = "agreed"


@dataclass(frozen=True, slots=True)
class Disputed(Recorded):
    """The backend follows another reading, which the text also allows.

    Attributes:
        readings: for a value, the readings that it follows together; for a refusal, each possible reading.
        rule: how it was compared.
        notes: as those of `Agreed`.
        message: the backend's words, if it refused.
        alike: other readings that give the same value; a text joins readings that are followed together.
    """

    readings: tuple[str, ...]
    rule: Rule
    notes: tuple[str, ...] = ()
    message: str | None = None
    alike: tuple[str, ...] = ()
    kind: Literal["disputed"] = "disputed"

    @property
    def choices(self) -> tuple[str, ...]:
        """Each possible reading; a text joins readings that are followed together."""
        return self.readings if self.rule == "refusal" else (str(Combination(self.readings)), *self.alike)


@dataclass(frozen=True, slots=True)
class Inconclusive(Recorded):
    """The tolerance is so wide that an output of zeros would pass.

    Attributes:
        untested: the number of elements that would pass as zero although another number is expected or possible.
        of: the number of all elements.
        readings: the disputed readings that give the values; empty for the primary one.
        notes: as those of `Agreed`.
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
        wrong: the number of wrong elements.
        of: the number of all elements.
        first: the index of the first wrong element, in NCX order.
        expected: the reference's value there.
        actual: the backend's value there.
        worst: the largest |actual - expected|, in units of the allowed distance; None if that is 0.
        steps: the largest |actual - expected| in steps between adjacent numbers of the type, if no distance is allowed.
            None if it is larger than roundings are, or if no number is wrong.
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
    """Some values differ from the expected ones by more than the tolerance."""

    kind: Literal["differed"] = "differed"


@dataclass(frozen=True, slots=True)
class Imprecise(_WrongValues):
    """The errors are too large for a plain sum, and usual for Winograd's algorithms or an FFT."""

    kind: Literal["imprecise"] = "imprecise"

    @property
    def differed(self) -> Differed:
        """The same figures as `Differed`, for an output with another cause."""
        return Differed(self.rule, self.wrong, self.of, self.first, self.expected, self.actual, self.worst, self.steps)


@dataclass(frozen=True, slots=True)
class WrongShape(Recorded):
    """The output does not have the expected shape.

    Attributes:
        expected: the expected sizes, in the call's layout.
        actual: the sizes of the output, in the call's layout.
    """

    expected: tuple[int, ...]
    actual: tuple[int, ...]
    kind: Literal["wrong-shape"] = "wrong-shape"


@dataclass(frozen=True, slots=True)
class WrongDtype(Recorded):
    """The output does not have the expected element type.

    Attributes:
        expected: the expected type, such as f32.
        actual: the type of the output.
        values_agree: whether the values are right after conversion to the expected type; None if that is not known.
    """

    expected: str
    actual: str
    values_agree: bool | None = None
    kind: Literal["wrong-dtype"] = "wrong-dtype"


@dataclass(frozen=True, slots=True)
class RefusedValid(Recorded):
    """The backend refused a valid call.

    Attributes:
        message: the backend's words.
    """

    message: str
    kind: Literal["refused-valid"] = "refused-valid"


@dataclass(frozen=True, slots=True)
class AcceptedInvalid(Recorded):
    """The backend returned a value for a call that breaks a constraint.

    Attributes:
        constraint: the constraint.
        stated: whether the text states the constraint; if not, the text is open, and there is no value to compare with.
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
    """The backend gave different answers to the same call.

    Attributes:
        message: what changed, and where.
        first_only: whether only the first answer of a fresh process was wrong, and two more were right.
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
"""The verdicts on results that a reading of the text gives, values or refusals."""
WrongValues = Differed | Imprecise
"""The verdicts on outputs of the right shape and type whose values are wrong."""
WrongOutput = WrongValues | WrongShape
"""The verdicts on outputs that a misreading may explain."""
VALUE_RULES = frozenset[Rule]({"exact", "bound", "range"})
"""The rules of verdicts for which values were compared."""

KINDS: dict[str, type[Verdict]] = {
    verdict.__dataclass_fields__["kind"].default: verdict for verdict in get_args(Verdict)
}
"""Every verdict by its word in records and waivers."""


def is_output(verdict: Verdict) -> bool:
    """Return whether a verdict is on an output whose values, or at least shape, were compared.

    A refusal is no output. `Unstable` does not count either: one of its two answers may be a refusal.
    """
    if isinstance(verdict, Allowed):
        return verdict.rule != "refusal"
    return isinstance(verdict, Inconclusive | WrongOutput | WrongDtype)
