"""How much of what goes wrong is learnt without the catalogue of misreadings, and what learning costs.

Each misreading of the geometry is played as a runtime, with the catalogue switched off: the share of its failures that
a learnt rule explains, in how many rules, and whether each rule gives every answer that it claims. Then one of them is
played over as many cases as the gate tier has, and the processor time of learning from it is shown.

Run `python bench/learning.py [--small] [--json FILE] [--against FILE] [NAME...]`. At the small size it ends with 1
where less than 95 of 100 failures of a misreading are explained, or a rule claims an answer that it does not give.
"""

from __future__ import annotations

import argparse
import sys
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from command import run
from figures import Figure, Findings
from measure import timed
from tconv.backends import Produced, Refused
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.corpus import Corpus
from tconv.diagnosis import Diagnosis
from tconv.diagnosis.misreadings import apply, misreadings_of
from tconv.diagnosis.misreadings.misreading import AttributesOtherwise, GeometryOtherwise
from tconv.diagnosis.placement import placed
from tconv.dialects import find_dialect
from tconv.dialects.readings import AnswerOtherwise
from tconv.execution import recording
from tconv.execution.evaluation import Evaluator
from tconv.expectation.problem import Problem
from tconv.expectation.truth import Truth
from tconv.learning import lessons
from tconv.learning.lessons import learners

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tconv.backends import Outcome
    from tconv.cases.call import Call
    from tconv.cases.case import Case
    from tconv.diagnosis.misreadings import Misreading
    from tconv.learning import Lesson
    from tconv.records.record import Record
    from tconv.vocabulary import Array, DType

DIALECT = find_dialect("onnx/ConvTranspose-22")
OF_GEOMETRY = (AnswerOtherwise, AttributesOtherwise, GeometryOtherwise)
ENOUGH = 0.95
SMALL = ("same=no-padding", "pads-symmetric", "strides-ignored")


class Plays:
    """A runtime that makes a misreading, and is right where it changes nothing."""

    def __init__(self, misreading: Misreading) -> None:
        self._misreading = misreading
        self.problem: Problem | None = None

    def run(self, call: Call, arrays: Mapping[str, Array]) -> Outcome:  # noqa: ARG002 - a backend's interface
        """Answer the problem that is set."""
        problem = self.problem
        if problem is None or problem.values is None:
            return Refused("invalid")
        misread = apply((self._misreading,), problem.signature, DIALECT, problem.truth.operands)
        truth = problem.truth if misread is None else Truth(misread.operands, problem.case.x.dtype)
        y = truth.compute_values(problem.values.primary.geometry if misread is None else misread.geometry)
        with np.errstate(over="ignore", invalid="ignore"):
            return Produced(from_ncx(y.astype(NUMPY_TYPES[call.dtype]), call.data_format))


def placement_alone(problem: Problem, actual: Array, accumulator: DType) -> Diagnosis:
    """Diagnose without the catalogue: say where the values lie, and nothing else."""
    assert problem.values is not None
    return Diagnosis((), placement=placed(actual, problem.truth, problem.values.primary.geometry, accumulator))


def played(misreading: Misreading, cases: Sequence[Case]) -> list[Record]:
    """Return the records of a misreading."""
    backend: Any = Plays(misreading)
    evaluator = Evaluator(backend, misreading.name, DIALECT, None)
    records = []
    for case in cases:
        backend.problem = Problem(case, DIALECT)
        records.append(evaluator.evaluate(case))
    return records


def false_claims(learnt: Sequence[Lesson], records: Sequence[Record], corpus: Corpus) -> int:
    """Return how many answers are claimed by a rule that does not give them."""
    wrong = 0
    for learner in learners(records, corpus.find, DIALECT):
        geometries = {observed.case.id: observed for observed in learner.geometries}
        for lesson in learnt:
            if learner.situation in lesson.situations:
                members = [geometries[case] for case in lesson.cases if case in geometries]
                wrong += sum(
                    not all(learner.gives(observed, rule.quantity, (rule.formula,)) for rule in lesson.rules)
                    for observed in members
                )
    return wrong


def measured(arguments: argparse.Namespace) -> Findings:
    """Play misreadings, and measure what learning from one of them costs."""
    recording.diagnose = placement_alone  # type: ignore[assignment] # the same arguments, without a budget
    corpus = Corpus.load()
    valid = [case for case in corpus.cases("gate") if case.breaks is None]
    of_geometry = {
        misreading.name: misreading
        for misreading in misreadings_of(DIALECT)
        if isinstance(misreading.change, OF_GEOMETRY)
    }
    figures = {}
    for name in arguments.names or (SMALL if arguments.small else of_geometry):
        records = played(of_geometry[name], valid[:: 8 if arguments.small else 4])
        failed = frozenset(record.case for record in records if record.verdict.kind in {"differed", "wrong-shape"})
        learnt = lessons(records, corpus.find, DIALECT, failed)
        explained = failed & {case for lesson in learnt for case in lesson.cases}
        share = len(explained) / max(len(failed), 1)
        figures[f"{name}: explained"] = Figure.of([share], band=(ENOUGH, 1.0))
        figures[f"{name}: false claims"] = Figure.of([false_claims(learnt, records, corpus)], band=(0, 0))
        figures[f"{name}: rules"] = Figure.of([len(learnt)], "rules")
    return Findings(figures | cost(of_geometry[SMALL[0]], valid[:: 8 if arguments.small else 1], corpus))


def cost(misreading: Misreading, cases: Sequence[Case], corpus: Corpus) -> dict[str, Figure]:
    """Return what learning costs: of a misreading that is played over all these cases, and where nothing fails."""
    records = played(misreading, cases)
    failed = frozenset(record.case for record in records if record.verdict.kind in {"differed", "wrong-shape"})
    seconds = timed(lambda: lessons(records, corpus.find, DIALECT, failed), process_time)
    nothing = timed(lambda: lessons(records, corpus.find, DIALECT, frozenset()), process_time)
    of_one = 1e6 / len(records)
    return {
        "records": Figure.of([len(records)], "records"),
        "failed": Figure.of([len(failed)], "records"),
        "all of them": Figure.of([seconds], "s"),
        "a record": Figure.of([seconds * of_one], "us"),
        "a record, nothing failed": Figure.of([nothing * of_one], "us"),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What is learnt without the catalogue, and what it costs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="misreadings; default: all of the geometry")
    sys.exit(run("learning", measured, parser))
