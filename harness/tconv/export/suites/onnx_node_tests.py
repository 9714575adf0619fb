"""ONNX's backend node tests: `test_NAME/model.onnx` and `test_data_set_0` with inputs and output as protobufs.

Source: onnx/backend/test/loader and onnx/backend/test/runner of the onnx package, which load and run such folders.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tconv.backends.onnx_model import build
from tconv.errors import writing
from tconv.export.folder import DATA_SET, OUTPUT, folder_name, tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tconv.expectation.problem import Problem

PREFIX = "test_convtranspose_"


def takes(problem: Problem) -> bool:
    """Return whether the problem is the operator alone, with declared shapes, as onnx's checker demands."""
    return problem.case.shapes == "static" and len(build(problem.call, problem.arrays).graph.node) == 1


def write(problems: Sequence[Problem], folder: Path) -> int:
    """Write a folder for each problem, and return their number."""
    for problem in problems:
        target = folder / name_of(problem)
        with writing(target, "folder"):
            (target / DATA_SET).mkdir(parents=True, exist_ok=True)
            (target / "model.onnx").write_bytes(build(problem.call, problem.arrays).SerializeToString())
            for number, (name, array) in enumerate(problem.fed.items()):
                (target / DATA_SET / f"input_{number}.pb").write_bytes(tensor(name, array).SerializeToString())
            assert problem.output is not None  # noqa: S101 - a suite has only cases with a value
            (target / DATA_SET / "output_0.pb").write_bytes(tensor(OUTPUT, problem.output).SerializeToString())
    return len(problems)


def name_of(problem: Problem) -> str:
    """Return the name of a test's folder. It is a valid Python name, because the runner makes a method of it."""
    return PREFIX + re.sub(r"\W+", "_", folder_name(problem.case, problem.dialect)).lower()
