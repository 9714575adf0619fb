"""A port between runtimes: what the source's runtime computes, and how the target's runtime can compute the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tconv.evidence.observed_geometry import observed_geometries
from tconv.porting.model_calls import with_facts
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.porting.port import PortedCase
    from tconv.porting.runtime import Runtime

_REFUSING = {"refused-valid", "unsupported", "crashed", "timed-out", "backend-error"}


@dataclass(slots=True)
class Asked:
    """A runtime, and what it computes for calls.

    Attributes:
        runtime: the runtime.
        seen: the result of each call that was run: a geometry, or why there is none.
    """

    runtime: Runtime
    seen: dict[tuple[object, ...], Geometry | str] = field(default_factory=dict)

    @property
    def basis(self) -> str:
        """The source of this knowledge: a run, or pins and waivers."""
        missing = self.runtime.missing
        return (
            f"{self.runtime.title} {f'by its pins and waivers, as it was not run: {missing}' if missing else 'was run'}"
        )

    def gives(self, case: Case, dialect: Dialect) -> Geometry | str | None:
        """Return the geometry of a runtime's output.

        If it is installed, it is run on integers. Their values show the geometry, even one that no reading of the text
        gives. If not, pins and waivers show it.

        Returns:
            The geometry; why there is none; None if nothing is known.
        """
        title = self.runtime.title
        if not self.runtime.missing:
            key = (*case.content, dialect.name)
            if key not in self.seen:
                self.seen[key] = self._run(case, dialect)
            return self.seen[key]
        case = case if case.facts else with_facts(case)
        for deviation in self.runtime.known.deviations(case, dialect):
            if deviation.holds and deviation.kind in _REFUSING:
                when = f" ({deviation.when})" if deviation.when else ""
                return f"{title} is known not to run it: {deviation.because}{when}"
        followed = self.runtime.known.followed(case, dialect)
        return f"{title}: {followed}" if isinstance(followed, str) else followed

    def _run(self, case: Case, dialect: Dialect) -> Geometry | str:
        case, title = replace(case, id="port"), self.runtime.title
        record = self.runtime.pool(dialect).record(case)
        match record.verdict:
            case ver.NotApplicable(reason):
                return f"{dialect} cannot say it: {reason}"
            case ver.RefusedValid(message) | ver.Unsupported(message) | ver.BackendError(message):
                return f"{title} does not run it: {' '.join(message.split())}"
            case ver.Disputed(message=str(message)):
                return f"{title} refuses it, as the text allows: {' '.join(message.split())}"
            case ver.Crashed(cause):
                return f"{title} ends with {cause}"
            case verdict:
                shown = next(observed_geometries([(record, case)], dialect), None)
                if shown is not None and len(shown.placement.pads_begin) == 1:
                    return shown.geometry
                unknown = f"gives what no reading of {dialect} gives, and its values do not tell what"
                return f"{title} {unknown} ({verdict.kind})"

    def accepts(self, way: PortedCase, dialect: Dialect) -> str:
        """Return why this runtime cannot use a way to write a call; empty if it can."""
        given = self.gives(way.case, dialect)
        if isinstance(given, str):
            return given
        wanted = way.values.primary.geometry
        if given is not None and given != wanted:
            return f"{self.runtime.title} gives {list(given.output)} with pads {[*given.pads_begin, *given.pads_end]}"
        return ""
