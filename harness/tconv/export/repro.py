"""The script of an exported case; it does not need tconv. Its text is the template `repro.py.j2`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.expected import Refuse
from tconv.export.snippet import DEFAULT, asking
from tconv.reports.templates import environment
from tconv.shown_texts import one_line
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.expectation.problem import Problem


def script(problem: Problem, backend: str = DEFAULT) -> str:
    """Return the source of repro.py. Every value from the case is a literal in it, so no id can run as code.

    Args:
        problem: the case in the dialect.
        backend: the backend that the script runs, see `asking`.

    Raises:
        UsageError: the backend cannot get the call.
    """
    asked = asking(problem, backend)
    ask, of_onnx = asked.snippet, problem.dialect.opset is not None
    modules = [module for module in ask.modules if module != "onnx"]
    packages = [ask.package, *(_package(module) for module in modules if module not in sys.stdlib_module_names)]
    shown = next(filter(None, (ask.package, *ask.modules)), "")
    constants = {
        "CASE": problem.case.id,
        "DIALECT": problem.dialect.name,
        "REFUSAL": _refusal(problem),
        "ALLOWED": tuple(problem.also_allowed()),
        "SMALLEST_NORMAL": _smallest_normal(problem.call.dtype),
        "REFUSALS": ask.refusals,
        "SHAPE_ONLY": ask.shape_only,
        "RUNTIME": DEFAULT if asked.stands_in else one_line(backend),
    }
    template = environment("export").get_template("repro.py.j2")
    text = template.render(
        needed=dict.fromkeys(["numpy", "onnx", *(each for each in packages if each)]),
        modules=[*(["ml_dtypes"] if any("ml_dtypes." in line for line in ask.lines) else []), *modules],
        constants={name: ascii(value) for name, value in constants.items()},
        version=shown and f"{_package(shown)} {{{ask.version or f'{shown}.__version__'}}}, ",
        inputs=[tensor.name for tensor in problem.call.inputs],
        ask=ask,
        hint=asked.hint,
        of_onnx=of_onnx,
    )
    return f"{text}\n"


def _package(module: str) -> str:
    name = module.partition(".")[0]
    return "opencv-python-headless" if name == "cv2" else name


def _smallest_normal(dtype: DType) -> float:
    # numpy has no bfloat16; its exponents are those of float32.
    return float(np.finfo(NUMPY_TYPES[DType.F32 if dtype is DType.BF16 else dtype]).smallest_normal)


def _refusal(problem: Problem) -> str | None:
    """Return why the model must be refused; None if a value is expected."""
    expected = problem.expectation
    if not isinstance(expected, Refuse):
        return None
    return str(expected.violation) if expected.stated else f"no value exists: {expected.violation}"
