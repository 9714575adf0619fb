"""OpenVINO's IR: `NAME.xml` and `NAME.bin` by `save_model`, with inputs and expected output in a file next to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.backends import create
from tconv.errors import BackendMissing, writing
from tconv.export.folder import folder_name
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tconv.expectation.problem import Problem


def takes(problem: Problem) -> bool:
    """Return whether numpy has its type, so that the arrays can be stored next to the model."""
    return problem.case.x.dtype != DType.BF16


def write(problems: Sequence[Problem], folder: Path) -> int:
    """Write a model for each problem, and its arrays as `NAME.npz`: the inputs in their order, and `output`.

    Raises:
        BackendMissing: OpenVINO is not installed.
    """
    backend = create("openvino")
    model_of = getattr(backend, "model", None)
    if model_of is None:
        raise BackendMissing("the backend openvino must make models (got one that does not)")
    import openvino  # noqa: PLC0415 - installed, because the backend is

    for problem in problems:
        name = folder_name(problem.case, problem.dialect)
        with writing(folder / name):
            folder.mkdir(parents=True, exist_ok=True)
            # By default the weights would be rounded to f16.
            openvino.save_model(
                model_of(problem.call, problem.arrays), str(folder / f"{name}.xml"), compress_to_fp16=False
            )
            inputs = {f"input_{number}": array for number, array in enumerate(problem.fed.values())}
            assert problem.output is not None  # noqa: S101 - a suite has only cases with a value
            np.savez(folder / f"{name}.npz", allow_pickle=False, output=problem.output, **inputs)
    return len(problems)
