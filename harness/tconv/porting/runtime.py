"""A runtime that models are checked on: what it computes for calls, by a run or by its waivers and pins."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from tconv.errors import BackendMissing
from tconv.evidence.observed_geometry import observed_geometries
from tconv.execution.pool import Pool
from tconv.porting.known import Known
from tconv.porting.model_calls import with_facts
from tconv.verdict import kinds as ver

if TYPE_CHECKING:
    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.execution.asking import Asking
    from tconv.porting.port import PortedCase

_REFUSING = {"refused-valid", "unsupported", "crashed", "timed-out", "backend-error"}


class Runtime:
    """A runtime that a model is checked on.

    Args:
        asking: how to run it.
        runs: whether it is run.

    Attributes:
        title: its name, with its version if that is known.
        missing: why it is not run; empty if it is.
        known: the waivers and pins that ship for it.
    """

    def __init__(self, asking: Asking, *, runs: bool) -> None:
        self.asking, self._stack = asking, ExitStack()
        self._pools: dict[str, Pool] = {}
        self._seen: dict[tuple[object, ...], Geometry | str] = {}
        name, _, version = asking.backend.partition("==")
        self.missing = "" if runs else "it was not to be run"
        self.title, self.known = " ".join(filter(None, (name, version))), Known.of(name, version)
        if runs:
            try:
                backend = self.pool(None).backend
            except BackendMissing as error:
                self.missing = str(error)
            else:
                self.title = f"{backend.name} {backend.version}"
                self.known = Known.of(backend.name, backend.version)

    def pool(self, dialect: Dialect | None) -> Pool:
        """Return the workers for a dialect.

        Raises:
            BackendMissing: the runtime is not installed.
            DialectError: the runtime does not speak the dialect.
        """
        key = dialect.name if dialect else ""
        if key not in self._pools:
            self._pools[key] = self._stack.enter_context(Pool(replace(self.asking, dialect=dialect)))
        return self._pools[key]

    @property
    def basis(self) -> str:
        """The source of this knowledge: a run, or pins and waivers."""
        missing = self.missing
        return f"{self.title} {f'by its pins and waivers, as it was not run: {missing}' if missing else 'was run'}"

    def gives(self, case: Case, dialect: Dialect) -> Geometry | str | None:
        """Return the geometry of a runtime's output.

        If it is installed, it is run on integers. Their values show the geometry, even one that no reading of the text
        gives. If not, pins and waivers show it.

        Returns:
            The geometry; why there is none; None if nothing is known.
        """
        title = self.title
        if not self.missing:
            key = (*case.content, dialect.name)
            if key not in self._seen:
                self._seen[key] = self._run(case, dialect)
            return self._seen[key]
        case = case if case.facts else with_facts(case)
        for deviation in self.known.deviations(case, dialect):
            if deviation.holds and deviation.kind in _REFUSING:
                when = f" ({deviation.when})" if deviation.when else ""
                return f"{title} is known not to run it: {deviation.because}{when}"
        followed = self.known.followed(case, dialect)
        return f"{title}: {followed}" if isinstance(followed, str) else followed

    def _run(self, case: Case, dialect: Dialect) -> Geometry | str:
        case, title = replace(case, id="port"), self.title
        record = self.pool(dialect).record(case)
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
            return f"{self.title} gives {list(given.output)} with pads {[*given.pads_begin, *given.pads_end]}"
        return ""

    def close(self) -> None:
        """Stop its workers."""
        self._stack.close()
