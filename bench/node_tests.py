"""Measure how many wrong kernels three sets find: ONNX's own node tests, tconv's curated ones, and tconv's gate tier.

The kernels are those of `wrong_kernels.py`. The exit code is 1 if the curated tests find no more than ONNX's.

Run `python bench/node_tests.py [--count 200] [--seed 41] [--small]`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

import wrong_kernels as wrong
from tconv.corpus import Corpus
from tconv.export.folder import DATA_SET
from tconv.export.imported import import_tests
from tconv.export.suites import curated_ids, suite_problems


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
    """Run and print the table; return 1 if the curated tests find no more than upstream's."""
    parser = argparse.ArgumentParser(description="How many wrong kernels node tests find.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--small", action="store_true", help="for CI: 60 kernels, and not the full set")
    arguments: Any = parser.parse_args()
    random = Random(arguments.seed)  # noqa: S311 - random but repeatable
    kernels = [wrong.draw(random) for _ in range(60 if arguments.small else arguments.count)]
    corpus = Corpus.load()
    everything = [each.case for each in suite_problems("onnx-node-tests", corpus.cases("gate"))]
    with TemporaryDirectory() as folder:
        write_upstream(Path(folder))
        upstream = import_tests([Path(folder)])
    curated = [case for case in everything if case.id in curated_ids()]
    sets = {"upstream's own": upstream, "curated": curated} | ({} if arguments.small else {"full set": everything})
    dead = {}
    for name, cases in sets.items():
        facts = wrong.ordered(cases)
        dead[name] = sum(wrong.why_alive(kernel, facts) is None for kernel in kernels)
        print(f"{name}: {dead[name]} of {len(kernels)} wrong kernels die by {len(cases):,} tests")
    return int(dead["curated"] <= dead["upstream's own"])


if __name__ == "__main__":
    sys.exit(main())
