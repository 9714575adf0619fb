"""Suites whose tests are models with arrays: ONNX's backend node tests, and OpenVINO's IR.

Source: onnx/backend/test/loader and onnx/backend/test/runner of the onnx package, which load and run the node tests.
"""

from __future__ import annotations

import re
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import create
from tconv.backends.onnx_model import build
from tconv.errors import BackendMissing
from tconv.export.folder import folder_name, node_test
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tconv.expectation.problem import Problem

PREFIX = "test_convtranspose_"


def is_node_test(problem: Problem) -> bool:
    """Return whether the problem is the operator alone, with declared shapes, as onnx's checker demands."""
    return problem.case.shapes == "static" and len(build(problem.call, problem.arrays).graph.node) == 1


def node_tests(problems: Sequence[Problem]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a folder for each problem: `model.onnx`, and `test_data_set_0` with inputs and output."""
    for problem in problems:
        for path, content in node_test(problem):
            yield f"{name_of(problem)}/{path}", content


def name_of(problem: Problem) -> str:
    """Return the name of a test's folder. It is a valid Python name, because the runner makes a method of it."""
    return PREFIX + re.sub(r"\W+", "_", folder_name(problem.case, problem.dialect)).lower()


def has_numpy_type(problem: Problem) -> bool:
    """Return whether numpy has the type of a problem, so that the arrays can be stored next to the model."""
    return problem.case.x.dtype != DType.BF16


def openvino_ir(problems: Sequence[Problem]) -> Iterator[tuple[str, bytes]]:
    """Yield a model for each problem, and its arrays as `NAME.npz`: the inputs in their order, and `output`.

    Raises:
        BackendMissing: OpenVINO is not installed.
    """
    model_of = getattr(create("openvino"), "model", None)
    if model_of is None:
        raise BackendMissing("the backend openvino must make models (got one that does not)")
    import openvino  # noqa: PLC0415 - installed, because the backend is

    for problem in problems:
        name, arrays = folder_name(problem.case, problem.dialect), BytesIO()
        with tempfile.TemporaryDirectory(prefix="tconv-export-") as folder:
            # By default the weights would be rounded to f16.
            model = model_of(problem.call, problem.arrays)
            openvino.save_model(model, f"{folder}/{name}.xml", compress_to_fp16=False)
            yield from ((path.name, path.read_bytes()) for path in Path(folder).iterdir())
        inputs = {f"input_{number}": array for number, array in enumerate(problem.fed.values())}
        assert problem.output is not None  # noqa: S101 - a suite has only cases with a value
        np.savez(arrays, allow_pickle=False, output=problem.output, **inputs)
        yield f"{name}.npz", arrays.getvalue()
