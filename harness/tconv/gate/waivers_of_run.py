"""Which entries of a waiver file are for a run: its options, dialect, version of the backend, and machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.gate.waivers import Declaration, Pin, Waiver, WaiverFile
    from tconv.records.headers import BackendHeader
    from tconv.records.record import Record


@dataclass(frozen=True, slots=True)
class ActiveEntries:
    """The entries of a waiver file that hold for a run.

    Attributes:
        waivers: known deviations.
        unsupported: declarations of what the backend does not implement.
        pins: which allowed readings the backend follows.
    """

    waivers: tuple[Waiver, ...] = ()
    unsupported: tuple[Declaration, ...] = ()
    pins: tuple[Pin, ...] = ()


def active_entries(file: WaiverFile | None, dialect_name: str, backend: BackendHeader) -> ActiveEntries:
    """Return the entries of a file, if there is one, that hold for this dialect and this backend on its machine."""
    if file is None or not file.for_options(backend.options):
        return ActiveEntries()
    return ActiveEntries(
        tuple(waiver for waiver in file.waivers if waiver.active(dialect_name, backend)),
        tuple(entry for entry in file.unsupported if entry.on_machine(backend.machine)),
        tuple(pin for pin in file.pins if pin.active(dialect_name, backend)),
    )


def waivers_elsewhere(file: WaiverFile | None, dialect_name: str, backend: BackendHeader) -> list[Waiver]:
    """Return the waivers that would hold for this dialect and this version of the backend, but on another machine.

    With other options the backend is another one, whose waivers these are not.
    """
    return [
        waiver
        for waiver in (file.waivers if file and file.for_options(backend.options) else ())
        if waiver.of_version(dialect_name, backend.version) and not waiver.on_machine(backend.machine)
    ]


def waivers_of_other_versions(
    file: WaiverFile | None,
    dialect_name: str,
    backend: BackendHeader,
    failed: Sequence[tuple[Record, Mapping[str, str]]],
) -> list[Waiver]:
    """Return the waivers for other versions of the backend that would waive a failure of this one.

    Args:
        file: the backend's waivers; None for none.
        dialect_name: the dialect of the run.
        backend: the backend.
        failed: each record that failed, with the facts of its case.
    """
    others = [
        waiver
        for waiver in (file.waivers if file and file.for_options(backend.options) else ())
        if dialect_name in waiver.dialects
        and not waiver.of_version(dialect_name, backend.version)
        and waiver.on_machine(backend.machine)
    ]
    return [waiver for waiver in others if any(waiver.waives(record, facts) for record, facts in failed)]
