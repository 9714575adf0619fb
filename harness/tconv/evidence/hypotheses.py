"""Hypotheses: what a runtime may do instead of what the text says, and the explanation with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tconv.evidence.conditions import HARDLY, SELDOM

if TYPE_CHECKING:
    from tconv.dialects.readings import Combination
    from tconv.evidence.formulas import Formula
    from tconv.records.record import Change


@dataclass(frozen=True, slots=True)
class Misreads:
    """The runtime follows misreadings of the catalogue, all of them together."""

    name: Combination

    def __str__(self) -> str:
        return f"as if {self.name}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A quantity that a runtime computes differently from the text.

    Attributes:
        quantity: `stride`, `dilation`, `size` or `pads_begin` of an axis.
        formula: the runtime's formula.
        expected: the text's formula in the same terms; None if none was found, or if `formula` contains the text's
            result.
    """

    quantity: str
    formula: Formula
    expected: Formula | None

    def __str__(self) -> str:
        computed = "as it is written" if str(self.formula) == self.quantity else self.formula
        return f"{self.quantity} is {computed}" + (f", the text says {self.expected}" if self.expected else "")


@dataclass(frozen=True, slots=True)
class Follows:
    """The runtime follows rules of its own, which were learnt from its answers."""

    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.rules))


@dataclass(frozen=True, slots=True)
class Says:
    """The runtime gives no values: it refuses, crashes, or fails, always in the same way and the same words.

    Attributes:
        kind: the kind of verdict.
        words: the words without the parts that vary.
    """

    kind: str
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Varies:
    """The runtime's answers vary from call to call."""

    def __str__(self) -> str:
        return "answers vary from call to call"


@dataclass(frozen=True, slots=True)
class Relates:
    """The wrong elements have a relation to the expected elements.

    Attributes:
        relation: the relation, without numbers that vary.
    """

    relation: str

    def __str__(self) -> str:
        return f"wrong elements {self.relation}"


@dataclass(frozen=True, slots=True)
class Errs:
    """The values are wrong, and only the condition is known."""

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class InContext:
    """The operator is right alone, and fails with these levels around it.

    Attributes:
        kind: the kind of verdict.
        levels: the smallest set of levels that fails, such as `context.before=pad-both`.
        words: the words of the failure, without the parts that vary; empty if there are none.
    """

    kind: str
    levels: tuple[str, ...]
    words: str

    def __str__(self) -> str:
        return f"right alone, and not with {' and '.join(level.partition('.')[2] for level in self.levels)}"


Hypothesis = Misreads | Follows | Says | Varies | Relates | Errs | InContext


class Standard(NamedTuple):
    """What a kind of hypothesis must show.

    Attributes:
        strength: the bits that it saves for each failure. There are more if it gives the whole output, and fewer if
            only that it is wrong. 8 bits for misreadings and rules are too many: a name that fits some failures by
            chance then hides their condition. For example, a runtime leaves channels beyond a multiple of four at 0. An
            output with one column then also lacks its last column.
        exceptions: the most calls that contradict it, as a part of the failures for which its condition holds.
        new_exceptions: the same among new calls, as a part of all new calls that show something. It is more than 0.2 if
            the hypothesis says only that an output is wrong: a defect does not show in each output.
        fewest: the fewest failures of cases.
    """

    strength: float
    exceptions: float
    new_exceptions: float
    fewest: int


STANDARDS: dict[type[Hypothesis], Standard] = {
    Misreads: Standard(4.0, HARDLY, 0.2, 1),
    Follows: Standard(4.0, HARDLY, 0.2, 2),
    Says: Standard(4.0, HARDLY, 0.5, 2),
    Varies: Standard(2.0, HARDLY, 0.5, 2),
    Relates: Standard(1.25, SELDOM, 0.5, 2),
    Errs: Standard(1.0, SELDOM, 0.5, 2),
}
CONTRADICTED = 1.1
"""The bits for each failure of a misreading or a rule that some calls contradict under its condition.

A condition without exceptions explains more. With a larger number here, a last channel that is dropped was reported as
channels beyond eight dropped, with 41 right answers against it. The exact condition was: channels of a group are 1 more
than a multiple of 16. If both have equally many exceptions, the name explains more.
"""
DOUBTED = 0.5
"""The same for a misreading that other calls contradict, if no condition separates them."""


_UNTESTED = ("timed-out", "accepted-invalid")
"""Not tested on new calls: a timeout takes the whole time limit each time, and the other needs an invalid call."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hypothesis that the evidence of the whole run supports.

    Attributes:
        what: the hypothesis.
        condition: the terms that hold together for its calls; empty if it is true for all calls, None if unknown.
        cases: the ids of the failures that it explains.
        met: the number of them for which the condition holds.
        against: the ids of the calls for which the condition holds and that contradict the hypothesis.
        others: the number of calls in the whole run that might have contradicted it.
        clause: the text's words on the question, if there are any.
        agreeing: the number of new calls that agree with it, of those for which at least all terms but one hold.
        denying: the number of these new calls that contradict it.
        silent: the number of right answers for which the condition holds and that do not contradict the hypothesis.
        changes: for failures in a context, the changes that make the smallest context right.
    """

    what: Hypothesis
    condition: tuple[str, ...] | None
    cases: tuple[str, ...]
    met: int
    against: frozenset[str]
    others: int
    clause: str = ""
    agreeing: int = 0
    denying: int = 0
    silent: int = 0
    changes: tuple[Change, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """The same explanation in another run has the same key; a name of misreadings is a part of it."""
        named = (self.what.name,) if isinstance(self.what, Misreads) else ()
        return (self.what, self.condition, *named)

    @property
    def where(self) -> str:
        """The condition in words; empty if there is none."""
        return " and ".join(self.condition or ())

    @property
    def is_testable(self) -> bool:
        """Whether new calls can test it: not if answers vary, time out, or are wrong nearly everywhere."""
        if self.condition is None or isinstance(self.what, Varies | InContext):
            return False
        if isinstance(self.what, Says):
            return self.what.kind not in _UNTESTED
        return bool(self.condition) or not isinstance(self.what, Errs | Relates)
