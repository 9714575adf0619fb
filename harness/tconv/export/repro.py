"""The script of an exported case, which does not need tconv."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.owed import Refuse
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.expectation.problem import Problem


def script(problem: Problem) -> str:
    """Return the source of repro.py. Every value from the case is a literal in it, so that no id can be code."""
    constants = {
        "CASE": problem.case.id,
        "DIALECT": problem.dialect.name,
        "REFUSAL": _refusal(problem),
        "ALLOWED": tuple(problem.also_allowed()),
        "SMALLEST_NORMAL": _smallest_normal(problem.call.dtype),
    }
    return _HEAD + "".join(f"{name} = {value!a}\n" for name, value in constants.items()) + _BODY


def _smallest_normal(dtype: DType) -> float:
    # numpy does not know bfloat16, which has the exponents of float32.
    return float(np.finfo(NUMPY_TYPES[DType.F32 if dtype is DType.BF16 else dtype]).smallest_normal)


def _refusal(problem: Problem) -> str | None:
    """Return why the model must be refused, or None where a value is owed."""
    expected = problem.expectation
    if not isinstance(expected, Refuse):
        return None
    return str(expected.violation) if expected.stated else f"no value exists: {expected.violation}"


_HEAD = '''\
"""One transposed convolution, and what its specification owes. Run it: python repro.py

It needs numpy, onnx and onnxruntime. Exit code 0: the runtime does what is owed. 1: it does not.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

'''
_BODY = '''
HERE = Path(__file__).resolve().parent
REFUSALS = ("InvalidGraph", "InvalidArgument", "InvalidProtobuf", "Fail")


def tensors(kind):
    """Return the arrays of input_0.pb, input_1.pb, ..., or of output_0.pb, by name."""
    paths = sorted((HERE / "test_data_set_0").glob(kind + "_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    loaded = [onnx.load_tensor(str(path)) for path in paths]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in loaded}


def answer():
    """Return what the runtime makes of the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(HERE / "model.onnx"), options, providers=["CPUExecutionProvider"])
    return session.run(None, tensors("input"))[0]


def wrong(actual, expected):
    """Return where an output is not what is owed: beyond the derived bound where there is one, else in its bits."""
    bounded = (HERE / "tolerance.npz").exists()
    limits = np.load(HERE / "tolerance.npz", allow_pickle=False) if bounded else {}
    got, owed = actual.astype(np.float64), limits["reference"] if bounded else expected.astype(np.float64)
    unequal = (got != owed) & ~(np.isnan(got) & np.isnan(owed))
    if not bounded:
        return unequal
    near = (np.abs(got - owed) <= limits["allowed"]) & np.isfinite(got) & np.isfinite(owed)
    infinite = np.isinf(got) & limits["overflows"] & (np.sign(got) == np.sign(owed))
    infinite |= (np.isposinf(got) & limits["rises"]) | (np.isneginf(got) & limits["falls"])
    inserted = np.isnan(got) & (limits["poisoned"] | (limits["rises"] & limits["falls"]))
    kept = ((got != 0) & (np.abs(got) < SMALLEST_NORMAL)).any()
    flushed = (got == 0) & limits["subnormal"] & ~kept
    return unequal & ~near & ~infinite & ~inserted & ~flushed


def difference(actual, expected):
    """Return the first difference in words; empty where there is none."""
    if actual.shape != expected.shape:
        return f"the shape must be {list(expected.shape)} (got {list(actual.shape)})"
    if actual.dtype != expected.dtype:
        return f"the type must be {expected.dtype} (got {actual.dtype})"
    places = np.argwhere(wrong(actual, expected))
    if not len(places):
        return ""
    first = tuple(places[0].tolist())
    return f"{len(places)} of {actual.size} elements; {list(first)} must be {expected[first]} (got {actual[first]})"


def compared(expected):
    """Ask the runtime, print what it does, and return what is wrong with that in words; empty for nothing."""
    try:
        actual = answer()
    except Exception as error:
        kind = type(error).__name__
        print(f"actual    {kind}: {error}")
        if REFUSAL:
            return "" if kind in REFUSALS else "the runtime fails otherwise than by a refusal"
        return "the runtime fails"
    print(f"actual    {actual.dtype} {actual.shape}\\n{actual}")
    return "the model was answered, and must be refused" if REFUSAL else difference(actual, expected)


def main():
    """Print what is owed, what comes, and the first difference; return the exit code."""
    print(f"case      {CASE}\\ndialect   {DIALECT}\\nversions  onnxruntime {onnxruntime.__version__}, ", end="")
    print(f"onnx {onnx.__version__}, numpy {np.__version__}")
    expected = None if REFUSAL else next(iter(tensors("output").values()))
    if REFUSAL:
        print(f"expected  the model must be refused: {REFUSAL}")
    else:
        print(f"expected  {expected.dtype} {expected.shape}\\n{expected}")
    found = compared(expected)
    print(f"differs   {found}" if found else "equal     the runtime does what is owed")
    if found and ALLOWED:
        print("the text also allows", *ALLOWED, sep="\\n  ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    with np.errstate(all="ignore"):
        sys.exit(main())
'''
