"""A constraint: a named predicate over the attributes and the operand types of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tconv.errors import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from tconv.vocabulary import Signature

Breach = tuple[str, str, str]
"""The attribute or input that breaks a constraint, what must hold of it, and what it is."""
Predicate: TypeAlias = "Callable[[Signature], Breach | None]"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A named predicate over a signature.

    Attributes:
        name: its name in cases, dialects and messages.
        says: the constraint in words.
        predicate: returns what breaks it, or None.
        needed: whether the operator has no value at all where it is broken.
    """

    name: str
    says: str
    predicate: Predicate
    needed: bool = False

    def violation(self, signature: Signature, clause: str = "") -> Violation | None:
        """Return how a signature breaks the constraint, or None where it does not.

        Args:
            signature: attributes and operand types.
            clause: the words of the dialect's text that state it.
        """
        breach = self.predicate(signature)
        return None if breach is None else Violation(self.name, *breach, clause)
