"""The script of an exported case; it does not need tconv."""

from __future__ import annotations

import sys
from textwrap import indent
from typing import TYPE_CHECKING

import numpy as np

from tconv.cases.operands import NUMPY_TYPES
from tconv.expectation.expected import Refuse
from tconv.export.asking import DEFAULT, asking
from tconv.shown_texts import one_line
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from tconv.backends.snippet import Snippet
    from tconv.expectation.problem import Problem
    from tconv.export.asking import Asked


def script(problem: Problem, backend: str = DEFAULT) -> str:
    """Return the source of repro.py. Every value from the case is a literal in it, so no id can run as code.

    Args:
        problem: the case in the dialect.
        backend: the backend that the script runs, see `asking`.

    Raises:
        UsageError: the backend cannot get the call.
    """
    asked = asking(problem, backend)
    ask = asked.snippet
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
    values = "".join(f"{name} = {value!a}\n" for name, value in constants.items())
    versions = [
        f"{_package(name)} {{{ask.version or f'{name}.__version__'}}}, " for name in (ask.package, *ask.modules) if name
    ][:1]
    main = _MAIN.replace("VERSION", "".join(versions))
    return _head(ask) + values + _BODY + _answer(problem, asked) + main


def _head(ask: Snippet) -> str:
    """Return the script's docstring and imports."""
    modules = [module for module in ask.modules if module != "onnx"]
    installed = [ask.package] if ask.package else []
    installed += [_package(module) for module in modules if module not in sys.stdlib_module_names]
    imports = ["import ml_dtypes"] if any("ml_dtypes." in line for line in ask.lines) else []
    imports += ["import numpy as np", *(f"import {module}" for module in ["onnx", *modules])]
    lines = [*imports, "from onnx import numpy_helper", *ask.setup, "", ""]
    return _HEAD.replace("NEEDED", ", ".join(dict.fromkeys(["numpy", "onnx", *installed]))) + "\n".join(lines)


def _package(module: str) -> str:
    name = module.partition(".")[0]
    return "opencv-python-headless" if name == "cv2" else name


def _answer(problem: Problem, asked: Asked) -> str:
    """Return the function that runs the runtime."""
    loading = ['model = onnx.load(str(HERE / "model.onnx"))'] if problem.dialect.opset is not None else []
    if asked.snippet.of_model:
        loading.append('feeds = tensors("input")')
    else:
        initializers = "{tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}"
        loading.append(f'arrays = tensors("input"){f" | {initializers}" if loading else ""}')
        loading += [f"{tensor.name} = arrays[{tensor.name!r}]" for tensor in problem.call.inputs]
    lines = "\n".join([*loading, *([f"# {asked.hint}"] if asked.hint else []), *asked.snippet.lines, "return y"])
    return f'def answer():\n    """Return what the runtime makes of the call."""\n{indent(lines, "    ")}\n'


def _smallest_normal(dtype: DType) -> float:
    # numpy has no bfloat16; its exponents are those of float32.
    return float(np.finfo(NUMPY_TYPES[DType.F32 if dtype is DType.BF16 else dtype]).smallest_normal)


def _refusal(problem: Problem) -> str | None:
    """Return why the model must be refused; None if a value is expected."""
    expected = problem.expectation
    if not isinstance(expected, Refuse):
        return None
    return str(expected.violation) if expected.stated else f"no value exists: {expected.violation}"


_HEAD = '''\
"""One transposed convolution, and what its specification expects. Run it: python repro.py

It needs NEEDED. Exit code 0: the runtime does what is expected. 1: it does not.
"""

import sys
from pathlib import Path

'''
_BODY = '''
HERE = Path(__file__).resolve().parent


def tensors(kind):
    """Return the arrays of input_0.pb, input_1.pb, ..., or of output_0.pb, by name."""
    paths = sorted((HERE / "test_data_set_0").glob(kind + "_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    loaded = [onnx.load_tensor(str(path)) for path in paths]
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in loaded}


'''
_MAIN = '''

def wrong(actual, expected):
    """Return where an output is not what is expected: beyond the derived bound where there is one, else in its bits."""
    bounded = (HERE / "tolerance.npz").exists()
    limits = np.load(HERE / "tolerance.npz", allow_pickle=False) if bounded else {}
    got, right = actual.astype(np.float64), limits["reference"] if bounded else expected.astype(np.float64)
    unequal = (got != right) & ~(np.isnan(got) & np.isnan(right))
    if not bounded:
        return unequal
    near = (np.abs(got - right) <= limits["allowed"]) & np.isfinite(got) & np.isfinite(right)
    infinite = np.isinf(got) & limits["overflows"] & (np.sign(got) == np.sign(right))
    rises, falls = limits["rises"], limits["falls"]
    infinite |= ((np.isposinf(got) & rises) | (np.isneginf(got) & falls)) & np.isfinite(right)
    met = (rises | np.isposinf(right)) & (falls | np.isneginf(right))
    inserted = np.isnan(got) & (limits["poisoned"] | met)
    preserved = ((got != 0) & (np.abs(got) < SMALLEST_NORMAL)).any()
    flushed = (got == 0) & limits["subnormal"] & ~preserved
    return unequal & ~near & ~infinite & ~inserted & ~flushed


def difference(actual, expected):
    """Return the first difference in words; empty where there is none."""
    if actual.shape != expected.shape:
        return f"the shape must be {list(expected.shape)} (got {list(actual.shape)})"
    if actual.dtype != expected.dtype:
        return f"the type must be {expected.dtype} (got {actual.dtype})"
    places = [] if SHAPE_ONLY else np.argwhere(wrong(actual, expected))
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
            return "" if kind in REFUSALS else "the runtime fails, and not by a refusal"
        return "the runtime fails"
    print(f"actual    {actual.dtype} {actual.shape}" + ("" if SHAPE_ONLY else f"\\n{actual}"))
    return "the model was answered, and must be refused" if REFUSAL else difference(actual, expected)


def main():
    """Print what is expected, what comes, and the first difference; return the exit code."""
    print(f"case      {CASE}\\ndialect   {DIALECT}\\nversions  VERSION", end="")
    print(f"onnx {onnx.__version__}, numpy {np.__version__}")
    expected = None if REFUSAL else next(iter(tensors("output").values()))
    if REFUSAL:
        print(f"expected  the model must be refused: {REFUSAL}")
    else:
        print(f"expected  {expected.dtype} {expected.shape}\\n{expected}")
    found = compared(expected)
    print(f"differs   {found}" if found else f"equal     {RUNTIME} does what is expected")
    if found and ALLOWED:
        print("the text also allows", *ALLOWED, sep="\\n  ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    with np.errstate(all="ignore"):
        sys.exit(main())
'''
