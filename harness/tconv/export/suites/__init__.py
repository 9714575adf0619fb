"""Cases in the form of other projects' test suites. A suite makes files from problems.

A suite has only cases for which the text allows one result, and whose values are exact: an upstream test must not
demand more than the specification does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tconv.dialects import DIALECTS, GEOMETRY_1
from tconv.errors import UsageError, writing
from tconv.expectation.expected import Values
from tconv.expectation.problem import Problem
from tconv.export.suites import benchdnn, models, webnn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect


@dataclass(frozen=True, slots=True)
class Suite:
    """The form of another project's tests.

    Attributes:
        dialects: the texts for its tests; a case is written in the first one that can express it.
        takes: returns whether the suite can express a problem.
        files: returns the path of each file below the folder of the suite, and its content.
    """

    dialects: tuple[Dialect, ...]
    takes: Callable[[Problem], bool]
    files: Callable[[Sequence[Problem]], Iterable[tuple[str, bytes]]]


SUITES = {
    "onnx-node-tests": Suite((DIALECTS["onnx/ConvTranspose-22"],), models.is_node_test, models.node_tests),
    "benchdnn": Suite((GEOMETRY_1,), benchdnn.takes, benchdnn.files),
    "webnn": Suite((DIALECTS["webnn/convTranspose2d"],), webnn.takes, webnn.files),
    "openvino-ir": Suite(
        tuple(DIALECTS[f"openvino/{name}-1"] for name in ("ConvolutionBackpropData", "GroupConvolutionBackpropData")),
        models.has_numpy_type,
        models.openvino_ir,
    ),
}
"""The suites by name."""


@cache
def curated_ids() -> frozenset[str]:
    """Return the ids of the cases that together find many wrong kernels; `bench/node_tests.py` counts them."""
    return frozenset(files(__package__).joinpath("curated.txt").read_text(encoding="utf-8").splitlines())


def write_suite(name: str, cases: Iterable[Case], folder: Path) -> tuple[int, int]:
    """Write cases as tests of a suite, and return how many cases were written, and how many were left out.

    Args:
        name: a name of `SUITES`.
        cases: the cases; a case is left out if the suite cannot express it, or if its text allows several results.
        folder: the folder of the files.

    Raises:
        UsageError: no case is left.
        BackendMissing: the suite is written by a runtime that is not installed.
        FileError: a file cannot be written.
    """
    cases = list(cases)
    problems = list(suite_problems(name, cases))
    if not problems:
        raise UsageError(
            f"a case must be left for {name} (got none of {len(cases)}: each must be valid, with exact values, one"
            " allowed answer, and words in the suite)"
        )
    with writing(folder, "folder"):
        for path, content in SUITES[name].files(problems):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    return len(problems), len(cases) - len(problems)


def suite_problems(name: str, cases: Iterable[Case]) -> Iterator[Problem]:
    """Yield the cases for a suite as problems in the suite's own layouts, each problem once."""
    seen: set[tuple[object, ...]] = set()
    for case in cases:
        attributes = replace(case.attributes, data_format=None, filter_format=None)
        own = replace(case, attributes=attributes)
        if own.content not in seen:
            seen.add(own.content)
            yield from _said(own, SUITES[name])


def _said(case: Case, suite: Suite) -> Iterator[Problem]:
    """Yield the case in the first dialect that can express it, if the suite takes it."""
    if case.breaks is not None or case.context or 0 in (*case.x.shape, *case.w.shape):
        return
    for dialect in suite.dialects:
        problem = Problem(case, dialect)
        if isinstance(expected := problem.expectation, Values):
            settled = not expected.disputed and not expected.refusals and not expected.open_constraints
            exact = 0 not in expected.primary.geometry.output and problem.truth.exact(expected.primary.geometry)
            if settled and exact and suite.takes(problem):
                yield problem
            return
