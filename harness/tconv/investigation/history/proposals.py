"""Which releases a waiver is for, as its example shows: its `versions` may be too wide, or could be wider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from tconv.gate.status import Status
from tconv.investigation.history.strips import Mark, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.gate.assessment import Assessment
    from tconv.gate.waivers import Waiver, WaiverFile


@dataclass(frozen=True, slots=True)
class Proposal:
    """What releases show of a waiver's `versions`.

    Attributes:
        waiver: the waiver.
        versions: a specifier for each part of the history in which its example deviates so; more than one where it was
            mended and came back, as each needs a waiver of its own.
        needless: releases that the waiver's own specifier has, and whose example passes.
        lacking: releases that it has not, and whose example deviates so.
        marks: what each release shows.
    """

    waiver: Waiver
    versions: tuple[str, ...]
    needless: tuple[str, ...]
    lacking: tuple[str, ...]
    marks: tuple[Mark, ...]

    @property
    def fits(self) -> bool:
        """Whether no release says that the specifier should be another."""
        return not self.needless and not self.lacking


def proposals(file: WaiverFile, releases: Sequence[Assessment]) -> Iterator[Proposal]:
    """Yield what releases show of every waiver for their dialect, machine and options.

    Args:
        file: the waivers, with their own specifiers.
        releases: the records of each, the oldest first.
    """
    header = releases[-1].run.header
    for waiver in file.waivers if file.for_options(header.backend.options) else ():
        if header.dialect in waiver.dialects and waiver.on_machine(header.backend.machine):
            yield _proposal(waiver, releases)


def _proposal(waiver: Waiver, releases: Sequence[Assessment]) -> Proposal:
    names = [release.run.header.backend.version for release in releases]
    marks = tuple(_mark(waiver, release) for release in releases)
    own = SpecifierSet(waiver.versions)
    pairs = list(zip(names, marks, strict=True))
    return Proposal(
        waiver,
        tuple(
            f">={names[span.first]}" + ("" if span.mended is None else f",<{names[span.mended]}")
            for span in spans(marks)
        ),
        tuple(name for name, mark in pairs if mark is Mark.GOOD and own.contains(name, prereleases=True)),
        tuple(name for name, mark in pairs if mark is Mark.BAD and not own.contains(name, prereleases=True)),
        marks,
    )


def _mark(waiver: Waiver, release: Assessment) -> Mark:
    """Return what a release shows of a waiver: only its example counts."""
    member = next((member for member in release.statuses if member.record.case == waiver.example), None)
    if member is None or member.status is Status.INEXPRESSIBLE:
        return Mark.SILENT
    if waiver.waives(member, release.facts[waiver.example]):
        return Mark.BAD
    if member.ruling.kind == "unsupported":
        return Mark.UNSUPPORTED
    return Mark.GOOD if member.status in {Status.PASSED, Status.DISPUTED} else Mark.OTHERWISE
