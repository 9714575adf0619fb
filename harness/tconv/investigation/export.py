"""A case in ONNX's words, for someone without tconv: the layout of ONNX's backend tests, a script, a snippet."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper

from tconv.backends.onnx_model import ELEMENT_TYPES, OPSETS, build
from tconv.bound import bound, is_subnormal
from tconv.call import say
from tconv.errors import FileError, UsageError
from tconv.execution.arrays import in_layouts
from tconv.expectation import Inexpressible, Refuse, Values, expectation
from tconv.judge import Truth
from tconv.layouts import from_ncx
from tconv.operands import NUMPY_TYPES, make
from tconv.vocabulary import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tconv.call import Call
    from tconv.case import Case
    from tconv.dialects import Dialect

Array = np.ndarray[Any, np.dtype[Any]]

OUTPUT = "Y"
DATA_SET = "test_data_set_0"
TOLERANCE = "tolerance.npz"
LITERAL = 256
"""Elements of an array that a snippet spells out; a larger one is packed."""
LONGEST = 30_000
"""Characters of a snippet; a forum takes no more beside a report."""
_WORDS = 100


@dataclass(frozen=True, slots=True)
class Said:
    """A case said in a dialect, with its arrays.

    Attributes:
        case: the case.
        row: the dialect.
        expected: what the dialect owes.
        call: the call.
        operands: in NCX and IOX.
        arrays: the same in the call's layouts.
    """

    case: Case
    row: Dialect
    expected: Values | Refuse
    call: Call
    operands: Mapping[str, Array]
    arrays: Mapping[str, Array]

    def truth(self) -> Truth:
        """Return the reference for the operands."""
        return Truth(self.operands, self.case.x.dtype)

    def owed(self) -> Array | None:
        """Return the output under the primary reading in the call's layout and type; None where a refusal is owed."""
        if isinstance(self.expected, Refuse):
            return None
        values = self.truth().values(self.expected.primary.geometry)
        with np.errstate(over="ignore", invalid="ignore"):
            return from_ncx(values.astype(NUMPY_TYPES[self.call.dtype]), self.call.data_format)

    def fed(self) -> dict[str, Array]:
        """Return what is fed to the model, by the names of its inputs, in their order."""
        return {one.name: self.arrays[one.role] for one in self.call.inputs if not one.constant}

    def also_allowed(self) -> Iterator[str]:
        """Yield what else the text allows than the primary reading: readings, and refusals."""
        if isinstance(self.expected, Refuse):
            return
        says = {reading.name: f"{reading.name}: {reading.says} [{reading.cites}]" for reading in self.row.disputed}
        for name in dict.fromkeys(name for other in self.expected.disputed for name in other.readings):
            yield says[name]
        for name in self.expected.refusals:
            yield f"a refusal: {name}"


def said(case: Case, row: Dialect) -> Said:
    """Return the case in the dialect's words.

    Raises:
        UsageError: the dialect cannot say it.
    """
    expected = expectation(case, row)
    if isinstance(expected, Inexpressible):
        raise UsageError(f"a case must be one that {row.name} can say (got {case.id}: {expected.reason})")
    call, operands = say(case, row), make(case.x, case.w, case.b)
    return Said(case, row, expected, call, operands, in_layouts(operands, call))


def export(case: Case, row: Dialect, folder: Path) -> Path:
    """Write a case as a test of ONNX's backends and a script that needs nothing of tconv; return their folder.

    Args:
        case: the case.
        row: a dialect of ONNX.
        folder: below which the case gets a folder of its own, named by `folder_name`.

    Raises:
        UsageError: the dialect is none of ONNX's, or cannot say the case.
        FileError: the folder cannot be written.
    """
    if row.name not in OPSETS:
        raise UsageError(f"--dialect must be one of {', '.join(OPSETS)} to be written as a model (got {row.name!r})")
    one = said(case, row)
    target = folder / folder_name(case, row)
    files = dict(_files(one))
    try:
        _cleared(target)
        for name, content in files.items():
            (target / name).write_bytes(content)
    except OSError as error:
        raise FileError(target, f"must be a folder that can be written ({error.strerror})") from None
    return target


def folder_name(case: Case, row: Dialect) -> str:
    """Return a file name that is safe anywhere and that no other case, or dialect, has."""
    words = re.sub(r"[^A-Za-z0-9.+-]+", "_", case.id)[:_WORDS].strip("._-")
    digest = blake2b(f"{row.name}|{case.id}".encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{words}-{digest}" if words else digest


def _cleared(target: Path) -> None:
    """Make the folders, without what an earlier export left in them."""
    data = target / DATA_SET
    for path in (target, data):
        if path.is_symlink():
            raise FileError(path, "must be a folder of its own (got a link)")
    data.mkdir(parents=True, exist_ok=True)
    # What is a link among these would be written elsewhere.
    for old in (target / "model.onnx", target / "repro.py", target / TOLERANCE, *data.glob("*put_*.pb")):
        old.unlink(missing_ok=True)


def _files(one: Said) -> Iterator[tuple[str, bytes]]:
    """Yield each file's path below the case's folder, and its content."""
    yield "model.onnx", build(one.call, one.arrays).SerializeToString()
    for number, (name, array) in enumerate(one.fed().items()):
        yield f"{DATA_SET}/input_{number}.pb", _tensor(name, array).SerializeToString()
    owed = one.owed()
    if owed is not None:
        yield f"{DATA_SET}/output_0.pb", _tensor(OUTPUT, owed).SerializeToString()
    if tolerance := _tolerance(one):
        held = BytesIO()
        np.savez_compressed(held, allow_pickle=False, **tolerance)
        yield TOLERANCE, held.getvalue()
    yield "repro.py", script(one).encode()


_DTYPES = {dtype: word for word, dtype in NUMPY_TYPES.items()}


def _tensor(name: str, array: Array) -> TensorProto:
    kind = ELEMENT_TYPES[_DTYPES[array.dtype]]
    return TensorProto(name=name, data_type=kind, dims=array.shape, raw_data=array.tobytes())


def _tolerance(one: Said) -> dict[str, Array]:
    """Return what the judge takes for equal, element by element in the call's layout; nothing where bits are owed.

    `reference` are the values before they were rounded. An element may be `allowed` away from them; infinite where it
    `overflows`, NaN where inserted zeros `poison` it, and zero where a runtime that keeps no `subnormal` flushes it.
    """
    if isinstance(one.expected, Refuse):
        return {}
    truth, geometry, dtype = one.truth(), one.expected.primary.geometry, one.call.dtype
    if truth.exact(geometry):
        return {}
    limits, values = bound(truth.terms(geometry), dtype, {}), truth.values(geometry)
    parts = {
        "reference": values,
        "allowed": limits.allowed,
        "overflows": limits.may_overflow,
        "poisoned": np.broadcast_to(truth.poisoned(geometry), values.shape),
        "subnormal": is_subnormal(values, dtype) & truth.subnormal,
    }
    return {name: from_ncx(part, one.call.data_format) for name, part in parts.items()}


def script(one: Said) -> str:
    """Return the source of repro.py. Whatever comes from a case stands in it as a literal."""
    facts = {
        "CASE": one.case.id,
        "DIALECT": one.row.name,
        "REFUSAL": _refusal(one),
        "ALLOWED": tuple(one.also_allowed()),
        "SMALLEST_NORMAL": _smallest_normal(one.call.dtype),
    }
    return _HEAD + "".join(f"{name} = {value!a}\n" for name, value in facts.items()) + _BODY


def _smallest_normal(dtype: DType) -> float:
    # bfloat16, which numpy does not know, has the exponents of float32.
    known = NUMPY_TYPES[DType.F32 if dtype is DType.BF16 else dtype]
    return float(np.finfo(known).smallest_normal)


def _refusal(one: Said) -> str | None:
    """Return why the model must be refused, or None where a value is owed."""
    if isinstance(one.expected, Values):
        return None
    return str(one.expected.broken) if one.expected.stated else f"no value exists: {one.expected.broken}"


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
    return {one.name: numpy_helper.to_array(one) for one in loaded}


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
    inserted = np.isnan(got) & limits["poisoned"]
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


def snippet(one: Said) -> str | None:
    """Return Python that builds a case's model, feeds it to onnxruntime and prints what comes; needs no file.

    None where the arrays are too large for a report, or the dialect is none of ONNX's.
    """
    if one.row.name not in OPSETS:
        return None
    model = build(one.call, one.arrays)
    lines = [*_arrays(one), *_graph(one, model)]
    lines += [
        'session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])',
        f"y = session.run(None, {{{', '.join(f'{name!r}: {name}' for name in one.fed())}}})[0]",
        *_held_against(one),
    ]
    text = "\n".join([*_imports("\n".join(lines)), *lines])
    return text if len(text) <= LONGEST else None


def _held_against(one: Said) -> Iterator[str]:
    """Yield lines that print an output, and where it is farthest from what is owed."""
    yield "print(y)"
    if (owed := one.owed()) is None:
        return
    yield f"expected = {_literal(owed)}"
    yield "if y.shape != expected.shape:"
    yield '    print("shape", y.shape, "expected", expected.shape)'
    yield "elif y.size:"
    yield "    distance = np.abs(y.astype(np.float64) - expected.astype(np.float64))"
    yield "    at = np.unravel_index(distance.argmax(), y.shape)"
    yield '    print("farthest at", [int(i) for i in at], "expected", expected[at], "got", y[at])'


def _imports(body: str) -> Iterator[str]:
    """Yield the imports of what a snippet mentions."""
    for module in ("base64", "zlib", "ml_dtypes"):
        if f"{module}." in body:
            yield f"import {module}"
    yield from ("import numpy as np", "import onnxruntime")
    if re.search(r"\b(inf|nan)\b", body):
        yield "from numpy import inf, nan"
    mentioned = (
        name for name in ("AttributeProto", "TensorProto", "helper", "numpy_helper") if re.search(rf"\b{name}\b", body)
    )
    yield f"from onnx import {', '.join(mentioned)}"
    yield ""


def _arrays(one: Said) -> Iterator[str]:
    """Yield a line for each input, which is named as the dialect names it."""
    for put in one.call.inputs:
        yield f"{put.name} = {_literal(one.arrays[put.role])}"


def _literal(array: Array) -> str:
    """Return an expression that gives the array: its numbers, or where they are many its bytes."""
    kind = f"{'ml_dtypes' if array.dtype == NUMPY_TYPES[DType.BF16] else 'np'}.{array.dtype}"
    if array.size > LITERAL:
        packed = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
        values = f'np.frombuffer(zlib.decompress(base64.b64decode("{packed}")), {kind})'
    else:
        values = f"np.array({array.astype(np.float64).ravel().tolist()}, {kind})"
    return f"{values}.reshape({list(array.shape)})"


def _graph(one: Said, model: onnx.ModelProto) -> Iterator[str]:
    yield "nodes = []"
    for node in model.graph.node:
        given = {part.name: helper.get_attribute_value(part) for part in node.attribute}
        words = "".join(f", {name}={_word(value)}" for name, value in given.items() if value != [])
        yield f"nodes.append(helper.make_node({node.op_type!r}, {list(node.input)}, {list(node.output)}{words}))"
        for part in node.attribute:
            # Nothing tells the type of an empty list.
            if part.type == AttributeProto.INTS and not part.ints:
                empty = f"AttributeProto(name={part.name!r}, type=AttributeProto.INTS)"
                yield f"nodes[-1].attribute.append({empty})"
    yield f"fed = [{', '.join(map(_declared, model.graph.input))}]"
    yield f"output = {_declared(model.graph.output[0])}"
    constants = [f"numpy_helper.from_array({put.name}, {put.name!r})" for put in one.call.inputs if put.constant]
    constants += [_shape(held) for held in model.graph.initializer if held.data_type == TensorProto.INT64]
    yield f'graph = helper.make_graph(nodes, "tconv", fed, [output], [{", ".join(constants)}])'
    opset = f'[helper.make_opsetid("", {OPSETS[one.row.name]})]'
    yield f"model = helper.make_model(graph, opset_imports={opset}, ir_version={model.ir_version})"


def _word(value: Any) -> str:  # noqa: ANN401 - an attribute's value: integers, an integer, or bytes
    return repr(value if isinstance(value, int | bytes) else list(value))


def _declared(info: onnx.ValueInfoProto) -> str:
    kind = TensorProto.DataType.Name(info.type.tensor_type.elem_type)
    dims = [(dim, dim.WhichOneof("value")) for dim in info.type.tensor_type.shape.dim]
    sizes = [None if written is None else getattr(dim, written) for dim, written in dims]
    return f"helper.make_tensor_value_info({info.name!r}, TensorProto.{kind}, {sizes})"


def _shape(held: TensorProto) -> str:
    sizes = list(held.int64_data)
    return f"helper.make_tensor({held.name!r}, TensorProto.INT64, [{len(sizes)}], {sizes})"
