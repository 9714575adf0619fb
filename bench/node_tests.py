"""Measure how many wrong kernels three sets find: ONNX's own node tests, tconv's curated ones, and tconv's gate tier.

The kernels are those of `wrong_kernels.py`. This script chooses the curated tests: it takes the case that finds most of
the remaining kernels, again and again.

Run `python bench/node_tests.py [--count 200] [--seed 41] [--small]`. `--choose 25` prints the ids of the
curated tests: `python bench/node_tests.py --choose 25 > harness/tconv/export/suites/curated.txt`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

import wrong_kernels as wrong
from tconv.backends.onnxruntime import OnnxRuntime
from tconv.corpus import Corpus
from tconv.expectation.problem import Problem
from tconv.export.folder import DATA_SET
from tconv.export.imported import import_tests
from tconv.export.suites import curated_ids, suite_problems
from tconv.verdict import kinds as ver
from tconv.verdict.judge import judge
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RUN_BY_ALL = {DType.F32, DType.F16}
"""Types of the curated tests: onnxruntime has no kernels for the others."""
MOST = 4000
"""The number of cases to choose from, the smallest first."""
LARGEST = 300_000
"""The most products of a curated test."""


def kills(kernel: wrong.Kernel, facts: wrong.Facts) -> bool:
    """Return whether a case shows that a kernel is wrong."""
    if not kernel.is_wrong_for(facts):
        return False
    problem = Problem(facts.case, wrong.DIALECT)
    output = wrong.outcome(kernel, problem)
    return output is not None and not isinstance(judge(problem, output, DType.F32), ver.Allowed)


def passes(facts: wrong.Facts) -> bool:
    """Return whether onnxruntime answers a case as the text says: projects that take the tests expect them to pass."""
    problem = Problem(facts.case, wrong.DIALECT)
    return isinstance(judge(problem, OnnxRuntime().run(problem.call, problem.arrays), DType.F32), ver.Allowed)


def choose(kernels: Sequence[wrong.Kernel], cases: Sequence[wrong.Facts], count: int) -> list[str]:
    """Return the ids of the cases that together find most kernels, by a greedy cover."""
    found = {facts.case.id: {kernel for kernel in kernels if kills(kernel, facts)} for facts in cases}
    chosen: list[str] = []
    left = set(kernels)
    while len(chosen) < count:
        best = max(found, key=lambda case: (len(found[case] & left), len(found[case])))
        # Once all are found, each should be found a second time.
        left = left - found[best] or set(kernels)
        chosen.append(best)
        del found[best]
    return chosen


def write_upstream(folder: Path) -> int:
    """Write ONNX's own node tests of the operator, as the onnx package makes them; return their number."""
    with warnings.catch_warnings():
        # This makes the tests of other operators too.
        warnings.simplefilter("ignore")
        tests = [test for test in collect_testcases("ConvTranspose") if test.name.startswith("test_convtranspose")]
    for test in tests:
        data = folder / test.name / DATA_SET
        data.mkdir(parents=True)
        (folder / test.name / "model.onnx").write_bytes(test.model.SerializeToString())
        ((inputs, outputs),) = test.data_sets
        for role, arrays in (("input", inputs), ("output", outputs)):
            for number, array in enumerate(arrays):
                tensor = numpy_helper.from_array(array).SerializeToString()
                (data / f"{role}_{number}.pb").write_bytes(tensor)
    return len(tests)


def main() -> int:
    """Choose, or run and print the table; return 1 if the curated tests find no more than upstream's."""
    parser = argparse.ArgumentParser(description="How many wrong kernels node tests find.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--choose", type=int)
    parser.add_argument("--small", action="store_true", help="for CI: 60 kernels, and not the full set")
    arguments: Any = parser.parse_args()
    random = Random(arguments.seed)  # noqa: S311 - random but repeatable
    kernels = [wrong.draw(random) for _ in range(60 if arguments.small else arguments.count)]
    corpus = Corpus.load()
    everything = [each.case for each in suite_problems("onnx-node-tests", corpus.cases("gate"))]
    if arguments.choose:
        small = [case for case in everything if case.x.dtype in RUN_BY_ALL and case.plain]
        cases = [facts for facts in wrong.ordered(small) if facts.elements <= LARGEST]
        # Every n-th from the smallest to the largest, to get all sizes and kinds.
        cases = [facts for facts in cases[:: max(1, len(cases) // MOST)] if passes(facts)]
        print(*sorted(choose(kernels, cases, arguments.choose)), sep="\n")
        return 0
    with TemporaryDirectory() as folder:
        write_upstream(Path(folder))
        upstream = import_tests([Path(folder)])
    curated = [case for case in everything if case.id in curated_ids()]
    sets = {"upstream's own": upstream, "curated": curated} | ({} if arguments.small else {"full set": everything})
    dead = {name: found(kernels, cases) for name, cases in sets.items()}
    for name, cases in sets.items():
        print(f"{name}: {dead[name]} of {len(kernels)} wrong kernels die by {len(cases):,} tests")
    return int(dead["curated"] <= dead["upstream's own"])


def found(kernels: Iterable[wrong.Kernel], cases: Sequence[Any]) -> int:
    """Return how many kernels are found."""
    facts = wrong.ordered(cases)
    return sum(wrong.why_alive(kernel, facts) is None for kernel in kernels)


if __name__ == "__main__":
    sys.exit(main())
