"""What is known of a runtime without a run: its waivers, and by its pins the readings that it follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from tconv.dialects.geometry import Geometry
from tconv.expectation.expected import Values, expect
from tconv.gate.answers import Opened
from tconv.gate.waivers import choose_waivers, is_among

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.gate.waivers import Pin, Waiver, WaiverFile


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deviation that a runtime is known to have for a call.

    Attributes:
        kind: the kind of its verdict.
        because: what the runtime does, in a sentence.
        when: its versions and machines, in words; empty for all.
        holds: whether the version in question deviates.
    """

    kind: str
    because: str
    when: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Known:
    """The waivers and pins that ship for a runtime.

    Attributes:
        name: the backend's name.
        version: its version; empty for any.
        file: its waivers and pins; None if there are none.
    """

    name: str
    version: str
    file: WaiverFile | None

    @classmethod
    def of(cls, name: str, version: str) -> Known:
        """Return what ships for a backend; nothing for a user's own backend."""
        return cls(name, version, None if ":" in name else choose_waivers(None, name))

    def deviations(self, case: Case, dialect: Dialect) -> Iterator[Deviation]:
        """Yield what waivers say about a call, including those of other versions."""
        if self.file is None:
            return
        for waiver in self.file.waivers:
            if dialect.name in waiver.dialects and waiver.covers(case.id, case.facts):
                holds = not self.version or is_among(self.version, waiver.versions)
                yield Deviation(str(waiver.verdict["kind"]), waiver.because, _when(waiver), holds)
        for entry in self.file.unsupported:
            if entry.covers(case.id, case.facts):
                yield Deviation("unsupported", entry.because, "", holds=True)

    def followed(self, case: Case, dialect: Dialect) -> Geometry | str | None:
        """Return the geometry that a runtime computes for a valid call, according to its pins.

        Returns:
            The geometry; why it refuses the call; None if the pins do not show it.
        """
        expected = expect(case, dialect)
        if not isinstance(expected, Values):
            return None
        pins = {pin.question: pin for pin in reversed(list(self._pins(case, dialect)))}
        for constraint in expected.open_constraints:
            if constraint in pins and pins[constraint].answer(dialect) == Opened.REFUSED:
                return f"it refuses what breaks {constraint}, which the text leaves open"
        results = {
            branch.result
            for branch in expected.branches
            if all(
                str(answer) == pins[question].answer(dialect)
                for question, answer in branch.answers.items()
                if question in pins
            )
        }
        if len(results) != 1:
            return None
        (result,) = results
        return result if isinstance(result, Geometry) else f"it refuses the call: {result}"

    def _pins(self, case: Case, dialect: Dialect) -> Iterator[Pin]:
        for pin in self.file.pins if self.file else ():
            of_dialect = dialect.name in pin.dialects and pin.covers(case.id, case.facts)
            if of_dialect and (not self.version or is_among(self.version, pin.versions)):
                yield pin


def _when(waiver: Waiver) -> str:
    """Return versions and machines of a waiver in words."""
    machine = f"on machines {waiver.machine}" if waiver.machine else ""
    return ", ".join(filter(None, (in_words(waiver.versions), machine)))


def in_words(versions: str) -> str:
    """Return a version specifier in words, such as `from 1.28`, `from 1.8.1, before 1.32`."""
    words = {">=": "from", "<": "before", "==": "in", "<=": "up to", ">": "after", "!=": "not in"}
    parts = sorted(SpecifierSet(versions), key=lambda part: part.operator, reverse=True)
    return ", ".join(f"{words.get(part.operator, part.operator)} {part.version}" for part in parts)


def reading_names(case: Case, dialect: Dialect, geometry: Geometry) -> tuple[str, ...]:
    """Return the readings of a text that give a call this geometry; empty if the first reading does, or none."""
    expected = expect(case, dialect)
    if not isinstance(expected, Values):
        return ()
    found = (candidate for candidate in expected.candidates if candidate.geometry == geometry)
    return next((candidate.names for candidate in found), ())
