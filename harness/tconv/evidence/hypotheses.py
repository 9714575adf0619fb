"""What a runtime may do instead of what the text says, and what an explanation of a run says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tconv.dialects.readings import Combination
    from tconv.evidence.formulas import Formula
    from tconv.records.record import Change


@dataclass(frozen=True, slots=True)
class Misreads:
    """It follows misreadings of the catalogue, all of them together."""

    name: Combination

    def __str__(self) -> str:
        return f"as if {self.name}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a runtime computes differently than the text says.

    Attributes:
        quantity: `stride`, `dilation`, `size` or `pads_begin` of an axis.
        formula: what the runtime computes.
        expected: what the text says, as a formula of the same terms; None if none was found, or the formula has it.
    """

    quantity: str
    formula: Formula
    expected: Formula | None

    def __str__(self) -> str:
        computed = "as it is written" if str(self.formula) == self.quantity else self.formula
        return f"{self.quantity} is {computed}" + (f", the text says {self.expected}" if self.expected else "")


@dataclass(frozen=True, slots=True)
class Follows:
    """It follows rules of its own, which were learnt from its answers."""

    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.rules))


@dataclass(frozen=True, slots=True)
class Says:
    """It gives no values: it refuses, ends, or fails, in the same way and in the same words.

    Attributes:
        kind: the kind of verdict.
        words: the words without what varies.
    """

    kind: str
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Varies:
    """Its answers vary from call to call."""

    def __str__(self) -> str:
        return "answers vary from call to call"


@dataclass(frozen=True, slots=True)
class Relates:
    """Its wrong elements have a relation to what is expected.

    Attributes:
        relation: the relation, without numbers that differ.
    """

    relation: str

    def __str__(self) -> str:
        return f"wrong elements {self.relation}"


@dataclass(frozen=True, slots=True)
class Errs:
    """Its values are wrong, and nothing is known of them but where."""

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class InContext:
    """The operator is right alone, and fails with these levels around it.

    Attributes:
        kind: the kind of verdict.
        levels: the smallest set of levels that fails, as `context.before=pad-both`.
        words: what it says, without what varies; empty if it says nothing.
    """

    kind: str
    levels: tuple[str, ...]
    words: str

    def __str__(self) -> str:
        return f"right alone, and not with {' and '.join(level.partition('.')[2] for level in self.levels)}"


Hypothesis = Misreads | Follows | Says | Varies | Relates | Errs | InContext
STRENGTH: dict[type[Hypothesis], float] = {
    Misreads: 4.0,
    Follows: 4.0,
    Says: 4.0,
    Varies: 2.0,
    Relates: 1.25,
    Errs: 1.0,
}
"""Bits of an answer that a hypothesis tells: all of an output, or only that it is wrong.

8 bits for misreadings and rules are too many: a name that fits a part of the failures by chance hides their condition.
A runtime leaves channels beyond a multiple of four at 0. Then an output of one column is also without its last column.
"""
CONTRADICTED = 1.1
"""The same of a misreading or a rule that some calls contradict under its condition.

A condition without exceptions says more: a last channel that is dropped if channels a group are 1 more than a multiple
of 16 was reported as channels beyond eight dropped, with 41 right answers. With equal exceptions the name says more.
"""
DOUBTED = 0.5
"""The same of a misreading that other calls contradict, if no condition tells where it is made."""


_UNTESTED = ("timed-out", "accepted-invalid")
"""What takes as long as a case may take, each time, and what needs an invalid call."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hypothesis that the evidence of the whole run supports.

    Attributes:
        what: the hypothesis.
        condition: the terms that hold for its calls together; none if it is so for all calls, and None if nobody knows.
        cases: the ids of the failures that it explains.
        met: for how many of them the condition holds.
        against: the ids of the calls that the condition holds for, and that contradict the hypothesis.
        others: how many calls might have contradicted it, in all of the run.
        clause: the text's words on the question, if there are any.
        agreeing: how many new calls agree with it, of those for which all its terms hold, or all but one.
        denying: how many of these do not.
        silent: for how many calls with right answers the condition holds that say nothing against the hypothesis.
        changes: of failures in a context, with which change the smallest one is right.
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
        """What makes it the same explanation in another run, with the name if it has one."""
        named = (self.what.name,) if isinstance(self.what, Misreads) else ()
        return (self.what, self.condition, *named)

    @property
    def where(self) -> str:
        """The condition in words; empty if there is none."""
        return " and ".join(self.condition or ())

    @property
    def evidence(self) -> str:
        """How sure it is, in words."""
        count, against, others = len(self.cases), len(self.against), self.others
        if isinstance(self.what, InContext):
            contexts = f"{others:,} other context{'' if others == 1 else 's'}"
            return f"fails in {count:,}, and is right in {contexts} with {self._these}"
        if self.condition is None:
            return f"{against:,} other calls contradict it" if against else ""
        failures = f"{count:,} failure{'' if count == 1 else 's'}"
        if not self.condition and isinstance(self.what, Errs):
            return f"{others:,} other answers are right"
        if not self.condition:
            said = f"explains {failures}; {against or 'none'} of {others:,} other calls {_contradict(against)} it"
        else:
            said = f"holds for {self.met:,} of {failures} and for {against:,} of {others:,} other calls"
        return f"{said}; {self._tested}" if self.is_testable else said

    @property
    def is_testable(self) -> bool:
        """Whether new calls can test it: not if answers vary, or come late, or are wrong nearly everywhere."""
        if self.condition is None or isinstance(self.what, Varies | InContext):
            return False
        if isinstance(self.what, Says):
            return self.what.kind not in _UNTESTED
        return bool(self.condition) or not isinstance(self.what, Errs | Relates)

    @property
    def _these(self) -> str:
        exact = f", of which the condition holds for {len(self.against):,}" if self.condition else ""
        return f"the same levels{exact}"

    @property
    def _tested(self) -> str:
        if count := self.agreeing + self.denying:
            calls = f"tested on {count:,} new call{'' if count == 1 else 's'}"
            return calls + (f", {self.denying:,} of which {_contradict(self.denying)} it" if self.denying else "")
        return "not tested on new calls"


def _contradict(count: int) -> str:
    return "contradict" if count > 1 else "contradicts"
