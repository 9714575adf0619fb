"""How much of what goes wrong is learnt without the catalogue of misreadings, and what learning costs.

Each misreading of the geometry is played as a runtime, with the catalogue switched off: the share of its failures that
a learnt rule explains, in how many rules, and whether each rule gives every answer that it claims. Then one of them is
played over as many cases as the gate tier has, and the processor time of learning from it is shown.

Run `python bench/learning.py [--small] [--json FILE] [NAME...]`. It ends with 1 where less than 95 of 100 failures of a
misreading are explained, or a rule claims an answer that it does not give.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from tconv.backends import Produced, Refused
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.corpus import Corpus
from tconv.diagnosis import Diagnosis
from tconv.diagnosis.misreadings import apply, misreadings_of
from tconv.diagnosis.misreadings.misreading import AttributesOtherwise, GeometryOtherwise
from tconv.diagnosis.placement import placed
from tconv.dialects import dialect_named
from tconv.dialects.readings import AnswerOtherwise
from tconv.execution import evaluation
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
    from tconv.records.record_file import Record
    from tconv.vocabulary import Array

DIALECT = dialect_named("onnx/ConvTranspose-22")
OF_GEOMETRY = (AnswerOtherwise, AttributesOtherwise, GeometryOtherwise)
ENOUGH = 0.95
SMALL = ("same=no-padding", "pads-symmetric", "one-too-early")


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
        y = truth.values(problem.values.primary.geometry if misread is None else misread.geometry)
        with np.errstate(over="ignore", invalid="ignore"):
            return Produced(from_ncx(y.astype(NUMPY_TYPES[call.dtype]), call.data_format))


def placement_alone(problem: Problem, actual: Array, accumulates: Mapping[str, str]) -> Diagnosis:
    """Diagnose without the catalogue: say where the values lie, and nothing else."""
    assert problem.values is not None
    return Diagnosis((), "", placed(actual, problem.truth, problem.values.primary.geometry, accumulates))


def played(misreading: Misreading, cases: Sequence[Case]) -> list[Record]:
    """Return the records of a misreading."""
    backend: Any = Plays(misreading)
    evaluator = Evaluator(backend, misreading.name, DIALECT, {"f16": "f32", "bf16": "f32"}, None)
    records = []
    for case in cases:
        backend.problem = Problem(case, DIALECT)
        records.append(evaluator.evaluate(case))
    return records


def false_claims(learnt: Sequence[Lesson], records: Sequence[Record], corpus: Corpus) -> int:
    """Return how many answers are claimed by a rule that does not give them."""
    wrong = 0
    for learner in learners(records, corpus.find, DIALECT):
        answers = {answer.case.id: answer for answer in learner.answers}
        for lesson in learnt:
            if learner.situation in lesson.situations:
                members = [answers[case] for case in lesson.cases if case in answers]
                wrong += sum(
                    not all(learner.gives(answer, rule.quantity, (rule.formula,)) for rule in lesson.rules)
                    for answer in members
                )
    return wrong


def main() -> int:
    """Play, print, return the exit code."""
    parser = argparse.ArgumentParser(description="What is learnt without the catalogue, and what it costs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="misreadings; default: all of the geometry")
    parser.add_argument("--small", action="store_true", help="some seconds' worth, for CI")
    parser.add_argument("--json", type=Path, default=None, help="write the figures to this file, too")
    arguments = parser.parse_args()
    evaluation.diagnose = placement_alone  # type: ignore[assignment] # the same arguments, without a budget
    corpus = Corpus.load()
    valid = [case for case in corpus.cases("gate") if case.breaks is None]
    of_geometry = {each.name: each for each in misreadings_of(DIALECT) if isinstance(each.change, OF_GEOMETRY)}
    names = arguments.names or (SMALL if arguments.small else of_geometry)
    figures = {}
    for name in names:
        records = played(of_geometry[name], valid[:: 8 if arguments.small else 4])
        failed = frozenset(record.case for record in records if record.verdict.kind in {"differed", "wrong-shape"})
        learnt = lessons(records, corpus.find, DIALECT, failed)
        explained = failed & {case for lesson in learnt for case in lesson.cases}
        share = len(explained) / max(len(failed), 1)
        wrong = false_claims(learnt, records, corpus)
        figures[name] = {"failed": len(failed), "explained": share, "rules": len(learnt), "false claims": wrong}
        print(f"{name:<32} {len(failed):>5} failed   {share:6.1%} explained   {len(learnt)} rules   {wrong} false")
    cost = _cost(of_geometry[names[0] if arguments.names else SMALL[0]], valid, corpus, small=arguments.small)
    if arguments.json:
        arguments.json.write_text(json.dumps({"misreadings": figures, "cost": cost}, indent=1), encoding="utf-8")
    return int(any(figure["explained"] < ENOUGH or figure["false claims"] for figure in figures.values()))


def _cost(misreading: Misreading, valid: Sequence[Case], corpus: Corpus, *, small: bool) -> dict[str, float]:
    records = played(misreading, valid[::8] if small else valid)
    failed = frozenset(record.case for record in records if record.verdict.kind in {"differed", "wrong-shape"})
    started = process_time()
    lessons(records, corpus.find, DIALECT, failed)
    seconds = process_time() - started
    started = process_time()
    lessons(records, corpus.find, DIALECT, frozenset())
    nothing = process_time() - started
    count = f"{len(records):,} records, {len(failed):,} failed"
    print(f"{misreading.name}: {count}: {seconds:.2f} s of processor; nothing failed: {nothing:.3f} s")
    return {"records": len(records), "failed": len(failed), "seconds": seconds, "seconds without failures": nothing}


if __name__ == "__main__":
    sys.exit(main())
