"""The findings about the nodes of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tconv.porting.known import reading_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.porting.model_calls import ModelCall
    from tconv.porting.port import Port
    from tconv.verdict import kinds as ver

Answer = Literal["safe", "to look at", "not known", "unsafe"]
ANSWERS: tuple[Answer, ...] = ("safe", "to look at", "not known", "unsafe")
"""The answers, from best to worst."""
By = Literal["text", "known", "integers", "own filter", "neighbourhood"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about a node.

    Attributes:
        by: its source.
        runtime: the runtime that it is about; empty for the text.
        answer: what follows for the node; None if nothing follows.
        kind: a keyword: the kind of a verdict, `invalid`, `disputed`, `reading` or `other-text`.
        says: the finding in a sentence; if there is a verdict, what to say in addition to it.
        verdict: the verdict on the runtime's answer; None if it was not run, or if a reading explains the answer.
        data: the sizes of the data that showed it; empty for those of the model.
    """

    by: By
    runtime: str
    answer: Answer | None
    kind: str
    says: str
    verdict: ver.Verdict | None = None
    data: str = ""


@dataclass(slots=True)
class NodeAudit:
    """The findings about a node with one set of the model's sizes.

    Attributes:
        call: the node.
        sizes: the sizes of the model.
        findings: the findings.
        recipe: how to write the node so that every runtime gives what the text says; None if this is not needed.
        unproven: why the recipe cannot be used; empty if the runtimes gave the right output.
    """

    call: ModelCall
    sizes: Mapping[str, int]
    findings: list[Finding] = field(default_factory=list)
    recipe: Port | None = None
    unproven: str = ""

    def answer(self, runtime: str) -> tuple[Answer, Finding | None]:
        """Return the answer for a runtime, and the finding that decides it."""
        own = [finding for finding in self.findings if finding.runtime in {runtime, ""}]
        ran = any(finding.by == "integers" for finding in own)
        # A run on this runtime says more than waivers and pins, which are for more calls.
        decisive = [finding for finding in own if finding.answer and not (ran and finding.by == "known")]
        worst = max(decisive, key=lambda finding: ANSWERS.index(finding.answer or "safe"), default=None)
        if worst is None or (not ran and worst.answer == "to look at"):
            return "not known", worst
        return worst.answer or "not known", worst


def printed(geometry: Geometry) -> str:
    """Return pads and output of a geometry as text."""
    return f"output {list(geometry.output)}, pads {[*geometry.pads_begin, *geometry.pads_end]}"


def by_reading(case: Case, dialect: Dialect, geometry: Geometry) -> str:
    """Return the sentence that a runtime follows another reading, which gives this geometry."""
    names = " or ".join(reading_names(case, dialect, geometry))
    return f"it follows another reading, {names}: {printed(geometry)}"
