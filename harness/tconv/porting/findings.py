"""What is found of the nodes of a model."""

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
"""The answers, the worst last."""
By = Literal["text", "known", "integers", "own filter", "neighbourhood"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found of a node.

    Attributes:
        by: by what it is found.
        runtime: of which runtime; empty for the text.
        answer: what follows for the node; None if nothing follows.
        kind: what it is, in a word: the kind of a verdict, `invalid`, `disputed`, `reading` or `other-text`.
        says: what was found, in a sentence; of a verdict, what is to be said besides.
        verdict: the verdict on what a runtime did; None if it did nothing, or what a reading gives.
        data: the sizes of the data with which it was found; empty for those of the model.
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
    """What is found of a node with some sizes of the model.

    Attributes:
        call: the node.
        sizes: the sizes of the model.
        findings: what is found.
        recipe: how to write the node so that every runtime gives what the text says; None if it need not be.
        unproven: why the recipe is of no use; empty if runtimes were seen to give the output.
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
        # What a runtime does says more than what is known of others of its kind.
        decisive = [finding for finding in own if finding.answer and not (ran and finding.by == "known")]
        worst = max(decisive, key=lambda finding: ANSWERS.index(finding.answer or "safe"), default=None)
        if worst is None or (not ran and worst.answer == "to look at"):
            return "not known", worst
        return worst.answer or "not known", worst


def printed(geometry: Geometry) -> str:
    """Return pads and output of a geometry."""
    return f"output {list(geometry.output)}, pads {[*geometry.pads_begin, *geometry.pads_end]}"


def by_reading(case: Case, dialect: Dialect, geometry: Geometry) -> str:
    """Return that a runtime follows another reading, which gives this geometry."""
    names = " or ".join(reading_names(case, dialect, geometry))
    return f"it follows another reading, {names}: {printed(geometry)}"
