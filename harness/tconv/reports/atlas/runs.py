"""A backend's run as the atlas shows it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tconv.backends.machine import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.dialects import Dialect
    from tconv.gate.assessment import Assessment
    from tconv.records.record import Record


@dataclass(frozen=True)
class AtlasRun:
    """A backend's run; its name is that of the backend with the version and chosen options."""

    name: str
    dialect: Dialect
    assessment: Assessment

    @cached_property
    def records(self) -> Mapping[str, Record]:
        """The records by the ids of their cases."""
        return {record.case: record for record in self.assessment.run.records}

    @property
    def machine(self) -> str:
        """The facts of the machine that the run was on, and the variables that changed what it used of it."""
        backend = self.assessment.run.header.backend
        facts = backend.machine
        if not facts:
            return "not recorded"
        chosen = [f"{name}={backend.environment[name]}" for name in VARIABLES if name in backend.environment]
        words = [facts.get("processor"), facts.get("architecture"), facts.get("system")]
        words += [f"{facts['cores']} cores" if "cores" in facts else None, facts.get("memory"), facts.get("simd")]
        return ", ".join(filter(None, [*words, *chosen]))
