"""A case in ONNX's words, for someone without tconv: the layout of ONNX's backend tests, a script, a snippet."""

from __future__ import annotations

import re
from hashlib import blake2b
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from tconv.backends.onnx_model import ELEMENT_TYPES, OPSETS, build
from tconv.cases.layouts import from_ncx
from tconv.cases.operands import NUMPY_TYPES
from tconv.errors import FileError, UsageError, writing
from tconv.expectation.bound import bound, is_subnormal
from tconv.expectation.problem import Problem, expressed
from tconv.export.repro import script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tconv.cases.case import Case
    from tconv.dialects import Dialect
    from tconv.vocabulary import Array

OUTPUT = "Y"
DATA_SET = "test_data_set_0"
TOLERANCE = "tolerance.npz"
_WORDS = 100


def export(case: Case, dialect: Dialect, folder: Path) -> Path:
    """Write a case as a test of ONNX's backends and a script that needs nothing of tconv; return their folder.

    Args:
        case: the case.
        dialect: a dialect of ONNX.
        folder: below which the case gets a folder of its own, named by `folder_name`.

    Raises:
        UsageError: the dialect is none of ONNX's, or cannot say the case.
        FileError: the folder cannot be written.
    """
    if dialect.name not in OPSETS:
        raise UsageError(
            f"--dialect must be one of {', '.join(OPSETS)} to be written as a model (got {dialect.name!r})"
        )
    problem = expressed(case, dialect)
    target = folder / folder_name(case, dialect)
    files = dict(_files(problem))
    with writing(target, "folder"):
        _cleared(target)
        for name, content in files.items():
            (target / name).write_bytes(content)
    return target


def folder_name(case: Case, dialect: Dialect) -> str:
    """Return a file name that is safe anywhere and that no other case, or dialect, has."""
    words = re.sub(r"[^A-Za-z0-9.+-]+", "_", case.id)[:_WORDS].strip("._-")
    digest = blake2b(f"{dialect.name}|{case.id}".encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
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


def _files(problem: Problem) -> Iterator[tuple[str, bytes]]:
    """Yield each file's path below the case's folder, and its content."""
    yield "model.onnx", build(problem.call, problem.arrays).SerializeToString()
    for number, (name, array) in enumerate(problem.fed.items()):
        yield f"{DATA_SET}/input_{number}.pb", _tensor(name, array).SerializeToString()
    owed = problem.output
    if owed is not None:
        yield f"{DATA_SET}/output_0.pb", _tensor(OUTPUT, owed).SerializeToString()
    if tolerance := _tolerance(problem):
        held = BytesIO()
        np.savez_compressed(held, allow_pickle=False, **tolerance)
        yield TOLERANCE, held.getvalue()
    yield "repro.py", script(problem).encode()


_DTYPES = {dtype: word for word, dtype in NUMPY_TYPES.items()}


def _tensor(name: str, array: Array) -> TensorProto:
    kind = ELEMENT_TYPES[_DTYPES[array.dtype]]
    return TensorProto(name=name, data_type=kind, dims=array.shape, raw_data=array.tobytes())


def _tolerance(problem: Problem) -> dict[str, Array]:
    """Return what the judge takes for equal, element by element in the call's layout; nothing where bits are owed.

    `reference` are the values before they were rounded. An element may be `allowed` away from them; infinite where it
    `overflows`, NaN where inserted zeros `poison` it, and zero where a runtime that keeps no `subnormal` flushes it.
    """
    if problem.values is None:
        return {}
    truth, geometry, dtype = problem.truth, problem.values.primary.geometry, problem.call.dtype
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
    return {name: from_ncx(part, problem.call.data_format) for name, part in parts.items()}
