"""The outcome judged against the expectation. This, and only this, is recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from tconv.dialects.names import RecordedConstraint  # noqa: TC001 - the file boundary reads the annotation

Rule = Literal["exact", "bound", "shape", "refusal"]
"""What was compared: values exactly, values within the derived bound, the shape alone, or a refusal that was owed."""


_STRICT: dict[str, Any] = {"extra": "forbid"}
"""What the file boundary makes of these classes: a record with an unknown key is refused."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """The backend does what the dialect's text says.

    Attributes:
        rule: how it was compared.
        notes: what is told and not failed: reduced-precision, flushed-subnormals, nan-from-inserted-zeros.
    """

    rule: Rule
    notes: tuple[str, ...] = ()
    kind: Literal["agreed"] = field(default="agreed", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Disputed:
    """The backend follows readings that the text also allows; where it refused, the message is its own."""

    readings: tuple[str, ...]
    rule: Rule
    notes: tuple[str, ...] = ()
    message: str | None = None
    kind: Literal["disputed"] = field(default="disputed", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Differed:
    """Values differ.

    Attributes:
        rule: how they were compared.
        wrong: how many elements differ.
        of: how many there are.
        first: the index of the first that differs, in NCX order.
        expected: the reference's value there.
        actual: the backend's value there.
        worst: the largest |actual - expected| in units of what was allowed there; None under the exact rule.
    """

    rule: Rule
    wrong: int
    of: int
    first: tuple[int, ...]
    expected: float
    actual: float
    worst: float | None = None
    kind: Literal["differed"] = field(default="differed", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class WrongShape:
    """The output has another shape, both in the call's layout."""

    expected: tuple[int, ...]
    actual: tuple[int, ...]
    kind: Literal["wrong-shape"] = field(default="wrong-shape", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class WrongDtype:
    """The output has another element type."""

    expected: str
    actual: str
    kind: Literal["wrong-dtype"] = field(default="wrong-dtype", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class RefusedValid:
    """A valid call was refused."""

    message: str
    kind: Literal["refused-valid"] = field(default="refused-valid", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class AcceptedInvalid:
    """A call that breaks a constraint was answered with a value.

    Attributes:
        constraint: what it breaks.
        stated: whether the text states the constraint; else the text is open, and there is only no value to compare.
    """

    constraint: RecordedConstraint
    stated: bool = True
    kind: Literal["accepted-invalid"] = field(default="accepted-invalid", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The backend says that it does not implement the call."""

    reason: str
    kind: Literal["unsupported"] = field(default="unsupported", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Inexpressible:
    """The dialect cannot say the case."""

    reason: str
    kind: Literal["inexpressible"] = field(default="inexpressible", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Died:
    """The backend's process ended on this case."""

    cause: str
    stderr: str
    kind: Literal["died"] = field(default="died", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The backend did not answer in time."""

    seconds: float
    kind: Literal["timed-out"] = field(default="timed-out", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Unstable:
    """The backend answered the same call differently."""

    message: str
    kind: Literal["unstable"] = field(default="unstable", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


@dataclass(frozen=True, slots=True)
class Broke:
    """Something happened that is neither an answer nor a refusal."""

    message: str
    kind: Literal["broke"] = field(default="broke", kw_only=True)
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT


Verdict = (
    Agreed
    | Disputed
    | Differed
    | WrongShape
    | WrongDtype
    | RefusedValid
    | AcceptedInvalid
    | Unsupported
    | Inexpressible
    | Died
    | TimedOut
    | Unstable
    | Broke
)

KINDS: dict[str, type[Verdict]] = {
    str(verdict.__dataclass_fields__["kind"].default): verdict
    for verdict in (
        Agreed,
        Disputed,
        Differed,
        WrongShape,
        WrongDtype,
        RefusedValid,
        AcceptedInvalid,
        Unsupported,
        Inexpressible,
        Died,
        TimedOut,
        Unstable,
        Broke,
    )
}
"""Every verdict by the word that stands for it in records and waivers."""
