"""The proof of waivers and pins: each example is run alone, and must be answered as its entry says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from tconv.dialects import find_dialect
from tconv.errors import DialectError
from tconv.execution.asking import Asking
from tconv.execution.pool import Pool
from tconv.gate.entries import select_active
from tconv.gate.pins import choose_decisive_cases, follows_pin
from tconv.gate.status import Status
from tconv.gate.waivers import Pin, Waiver, is_among
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tconv.cases.case import Case
    from tconv.corpus import Corpus
    from tconv.gate.waivers import WaiverFile
    from tconv.records.headers import BackendHeader
    from tconv.records.record import Record


_OF_A_PIN = 2
"""The number of cases that prove a pin."""


class Standing(StrEnum):
    """The result for the example of a waiver, or for a case of a pin."""

    STANDS = "stands"
    FALLEN = "stands no longer"
    NOT_HERE = "not here"


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof of a waiver or a pin in one of its dialects.

    Attributes:
        entry: the waiver or the pin.
        dialect: the dialect of the example's call.
        standing: whether the example deviates exactly as the waiver says, or follows the pinned reading; `NOT_HERE` if
            this backend cannot show it.
        reason: why this backend cannot show it, or why there is no example; empty if the example decides.
        record: the record of the example; None if it did not run.
    """

    entry: Waiver | Pin
    dialect: str
    standing: Standing
    reason: str = ""
    record: Record | None = None


class Prover:
    """Proves waivers on a backend; each example runs in a fresh worker process.

    Args:
        spec: an installed name or `package.module:attribute`.
        corpus: the corpus with the examples.
        timeout: the limit of an example, in seconds.
        options: values of the backend's options, by name.
        isolate: whether the process of the runtime must be confined; None: that of `exec:` is, if the system can.

    Attributes:
        backend: the header of the backend.

    Raises:
        BackendMissing: the backend is not there or does not start.
    """

    def __init__(
        self,
        spec: str,
        corpus: Corpus,
        timeout: float,
        options: Mapping[str, str] = MappingProxyType({}),
        isolate: bool | None = None,  # noqa: FBT001 - a value that is passed on
    ) -> None:
        self._spec, self._corpus, self._timeout, self._options = spec, corpus, timeout, dict(options)
        self._isolate = isolate
        self._unspoken: set[str] = set()
        with self._open_pool(None) as pool:
            self.backend: BackendHeader = pool.backend

    def proofs(self, file: WaiverFile) -> Iterator[Proof]:
        """Yield the proof of each waiver and each pin, for each of its dialects."""
        entries: list[Waiver | Pin] = [*file.waivers, *file.pins]
        for entry in entries:
            for dialect in entry.dialects:
                if not file.for_options(self.backend.options):
                    yield Proof(entry, dialect, Standing.NOT_HERE, "for other options of the backend")
                elif not is_among(self.backend.version, entry.versions):
                    yield Proof(entry, dialect, Standing.NOT_HERE, f"for versions {entry.versions}")
                elif not entry.on_machine(self.backend.machine):
                    yield Proof(entry, dialect, Standing.NOT_HERE, f"for machines {entry.machine}")
                elif isinstance(entry, Waiver):
                    yield self._prove_waiver(file, entry, dialect)
                else:
                    yield from self._prove_pin(file, entry, dialect)

    def _prove_pin(self, file: WaiverFile, pin: Pin, dialect: str) -> Iterator[Proof]:
        """Yield the proofs of a pin, by the smallest cases in which no other reading gives the same values."""
        spoken, active = find_dialect(dialect), select_active(file, dialect, self.backend)

        def has_entry(case: Case) -> bool:
            return any(entry.covers(case.id, case.facts) for entry in (*active.waivers, *active.unsupported))

        cases = choose_decisive_cases(pin, self._corpus.cases("gate"), spoken, has_entry, _OF_A_PIN)
        if not cases:
            yield Proof(pin, dialect, Standing.NOT_HERE, "no case of the gate tier tells its reading from all others")
        for case in cases:
            record = None if dialect in self._unspoken else self._run_alone(case, dialect)
            if record is None:
                yield Proof(pin, dialect, Standing.NOT_HERE, "the backend does not speak this dialect")
                return
            if follows_pin(record, case, pin, spoken):
                yield Proof(pin, dialect, Standing.STANDS, "", record)
            elif active.assign_status(record, case.facts).status in {Status.WAIVED, Status.UNSUPPORTED}:
                yield Proof(pin, dialect, Standing.NOT_HERE, f"{case.id} has a waiver, as all such cases have", record)
            else:
                yield Proof(pin, dialect, Standing.FALLEN, "", record)

    def _prove_waiver(self, file: WaiverFile, waiver: Waiver, dialect: str) -> Proof:
        case = self._corpus.find(waiver.example)
        if case is None or not waiver.covers(case.id, case.facts):
            reason = f"it does not cover its example {waiver.example!r}; correct it"
            return Proof(waiver, dialect, Standing.FALLEN, reason)
        record = None if dialect in self._unspoken else self._run_alone(case, dialect)
        if record is None:
            return Proof(waiver, dialect, Standing.NOT_HERE, "the backend does not speak this dialect")
        if isinstance(record.verdict, ver.NotApplicable):
            return Proof(waiver, dialect, Standing.NOT_HERE, "the dialect cannot express the example", record)
        member = select_active(file, dialect, self.backend).assign_status(record, case.facts)
        deviates = waiver.waives(member, case.facts)
        if waiver.verdict["kind"] == "mixed-readings" and isinstance(record.verdict, ver.Allowed):
            return Proof(waiver, dialect, Standing.NOT_HERE, "only other cases show mixed readings", record)
        if waiver.after_others and isinstance(record.verdict, ver.Agreed | ver.AcceptedInvalid):
            return Proof(waiver, dialect, Standing.NOT_HERE, "it shows after other calls, and there were none", record)
        return Proof(waiver, dialect, Standing.STANDS if deviates else Standing.FALLEN, "", record)

    def _run_alone(self, case: Case, dialect: str) -> Record | None:
        """Run a case in a fresh process, and return its record; None if the backend does not speak the dialect."""
        try:
            with self._open_pool(dialect) as pool:
                return pool.record(case)
        except DialectError:
            self._unspoken.add(dialect)
            return None

    def _open_pool(self, dialect: str | None) -> Pool:
        spoken = find_dialect(dialect) if dialect else None
        return Pool(Asking(self._spec, spoken, self._options, self._timeout, isolate=self._isolate))
