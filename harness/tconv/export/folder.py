"""A case as a folder for a reader without tconv: in the layout of ONNX's backend tests, with a script.

The text of the script is the template `repro.py.j2`; it does not need tconv.
"""

from __future__ import annotations

import re
import sys
from hashlib import blake2b
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from tconv.backends.onnx_graph import ELEMENT_TYPES
from tconv.backends.onnx_model import build
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.errors import FileError, writing
from tconv.expectation.bound import bound_errors, is_subnormal
from tconv.expectation.expected import Refuse
from tconv.expectation.problem import Problem, expressed
from tconv.expectation.surrounded import Surrounded
from tconv.export.snippet import DEFAULT, asking
from tconv.reports.templates import environment
from tconv.shown_texts import one_line
from tconv.vocabulary import DType, Quantised

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.dialects.geometry import Geometry
    from tconv.expectation.truth import Truth
    from tconv.vocabulary import Array

OUTPUT = "Y"
DATA_SET = "test_data_set_0"
TOLERANCE = "tolerance.npz"
_WORDS = 100


def export(case: Case, dialect: Dialect, folder: Path, backend: str = DEFAULT) -> Path:
    """Write a case as a test of ONNX's backends, with a script that runs a runtime, and return the folder.

    For dialects other than ONNX's there is no model, and constants are inputs like the others.

    Args:
        case: the case.
        dialect: the dialect.
        folder: the parent of the case's own folder, which `folder_name` names.
        backend: the backend that the script runs, see `asking`.

    Raises:
        UsageError: the dialect cannot express the case, or the backend cannot get it.
        FileError: the folder cannot be written.
    """
    problem = expressed(case, dialect)
    target = folder / folder_name(case, dialect)
    files = dict(_files(problem, backend))
    with writing(target, "folder"):
        _clear(target)
        for name, content in files.items():
            (target / name).write_bytes(content)
    return target


def folder_name(case: Case, dialect: Dialect) -> str:
    """Return a file name that is safe on every system, and differs for each case and dialect."""
    words = re.sub(r"[^A-Za-z0-9.+-]+", "_", case.id)[:_WORDS].strip("._-")
    digest = blake2b(f"{dialect.name}|{case.id}".encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{words}-{digest}" if words else digest


def _clear(target: Path) -> None:
    """Create the folders, and remove the files of an earlier export from them."""
    data = target / DATA_SET
    for path in (target, data):
        if path.is_symlink():
            raise FileError(path, "must be a folder of its own (got a link)")
    data.mkdir(parents=True, exist_ok=True)
    # Writing to one of these files would follow a link.
    for path in (target / "model.onnx", target / "repro.py", target / TOLERANCE, *data.glob("*put_*.pb")):
        path.unlink(missing_ok=True)


def node_test(problem: Problem) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a test of ONNX's backends: each path below its folder, and the content."""
    inputs = problem.call.operands(problem.arrays)
    if problem.dialect.opset is not None:
        yield "model.onnx", build(problem.call, problem.arrays).SerializeToString()
        inputs = problem.fed
    for number, (name, array) in enumerate(inputs.items()):
        yield f"{DATA_SET}/input_{number}.pb", _tensor(name, array).SerializeToString()
    if (expected := problem.output) is not None:
        yield f"{DATA_SET}/output_0.pb", _tensor(OUTPUT, expected).SerializeToString()


def _files(problem: Problem, backend: str) -> Iterator[tuple[str, bytes]]:
    yield from node_test(problem)
    if tolerance := _tolerance(problem):
        content = BytesIO()
        np.savez_compressed(content, allow_pickle=False, **tolerance)
        yield TOLERANCE, content.getvalue()
    yield "repro.py", script(problem, backend).encode()


def _range(truth: Truth | Surrounded, geometry: Geometry) -> dict[str, Array]:
    """Return how far each element of a graph's output may be from the middle of its range; empty if it is exact."""
    if not isinstance(truth, Surrounded) or truth.exact(geometry):
        return {}
    low, high = truth.compute_range(geometry)
    nowhere = np.zeros(low.shape, dtype=bool)
    flags = dict.fromkeys(("overflows", "rises", "falls", "poisoned", "subnormal"), nowhere)
    return {"reference": (low + high) / 2, "allowed": (high - low) / 2, **flags}


_DTYPES: dict[np.dtype[Any], DType | Quantised] = {
    **{numpy_type: dtype for dtype, numpy_type in NUMPY_TYPES.items()},
    **{np.dtype(quantised): quantised for quantised in Quantised},
}


def _tensor(name: str, array: Array) -> TensorProto:
    """Return an array as an ONNX tensor."""
    # Only output_shape has a type that no operand has.
    element_type = ELEMENT_TYPES[_DTYPES[array.dtype]] if array.dtype in _DTYPES else TensorProto.INT64
    return TensorProto(name=name, data_type=element_type, dims=array.shape, raw_data=array.tobytes())


def _tolerance(problem: Problem) -> dict[str, Array]:
    """Return how far each element may be from the reference, in the call's layout; empty if every bit counts.

    `reference` is the exact output, before rounding, and `allowed` the distance from it. An element may also be
    infinite if it `overflows`, or if a partial sum `rises` or `falls` beyond the largest number. It may be NaN if
    both happen, or if inserted zeros make it `poisoned`. It may be zero if it is `subnormal` and the runtime flushes
    such numbers.
    """
    if problem.values is None:
        return {}
    truth, geometry, dtype = problem.truth, problem.values.primary.geometry, problem.call.dtype
    if problem.surrounded:
        return _range(problem.judged, geometry)
    if truth.exact(geometry):
        return {}
    limits, values = bound_errors(truth.compute_terms(geometry), dtype), truth.compute_values(geometry)
    arrays = {
        "reference": values,
        "allowed": limits.allowed,
        "overflows": limits.may_overflow,
        "rises": limits.rises,
        "falls": limits.falls,
        "poisoned": np.broadcast_to(truth.poisoned(geometry), values.shape),
        "subnormal": is_subnormal(values, dtype) & truth.subnormal,
    }
    return {name: from_ncx(array, problem.call.data_format) for name, array in arrays.items()}


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
