"""ONNX node tests as cases: the call of the model, its data and the output that the test expects."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from tconv.cases.case import Cite, Expected
from tconv.errors import FileError
from tconv.export.folder import DATA_SET
from tconv.porting.model import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tconv.cases.case import Case, Operand
    from tconv.vocabulary import Array

_ROLES = ("x", "w", "b")
_LARGEST = 65536
"""The most elements of an operand: people read case files."""


def import_tests(folders: Iterable[Path]) -> list[Case]:
    """Return the cases of ConvTranspose node tests, named after their folders.

    Args:
        folders: each is a test, or has tests in it.

    Raises:
        FileError: a folder is no such test, or its model is not one ConvTranspose with known data.
    """
    return [_case(folder) for given in folders for folder in _tests(given)]


def _tests(folder: Path) -> Iterator[Path]:
    if (folder / "model.onnx").is_file():
        yield folder
        return
    below = sorted(path.parent for path in folder.glob("*/model.onnx"))
    if not below:
        got = "no folder" if not folder.is_dir() else "no model.onnx, in it or in a folder of it"
        raise FileError(folder, f"must be the folder of an ONNX node test, with model.onnx and {DATA_SET} (got {got})")
    yield from below


def _case(folder: Path) -> Case:
    path = folder / "model.onnx"
    model = Model(path, {})
    calls = model.calls()
    if len(calls) != 1 or len(model.proto.graph.node) != 1:
        kinds = ", ".join(sorted({node.op_type for node in model.proto.graph.node})) or "no node"
        raise FileError(path, f"must have one ConvTranspose and nothing else (got {kinds})")
    (call,) = calls
    if call.case is None or call.node is None:
        raise FileError(path, f"must say its call ({call.unknown})")
    fed = [value.name for value in model.proto.graph.input if value.name not in model.constants]
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.proto.graph.initializer}
    arrays |= {name: _array(folder / DATA_SET / f"input_{number}.pb") for number, name in enumerate(fed)}
    named = {role: name for role, name in zip(_ROLES, call.node.input, strict=False) if name}
    changes: dict[str, Any] = {
        role: _with_values(getattr(call.case, role), arrays[name], path) for role, name in named.items()
    }
    sources = {role: "input" if name in fed else "initializer" for role, name in named.items()}
    changes |= {"data_source": sources["x"], "filter_source": sources["w"]}
    changes |= {"bias_source": sources["b"]} if sources.get("b", sources["w"]) != sources["w"] else {}
    y = _array(folder / DATA_SET / "output_0.pb")
    return replace(
        call.case,
        id=f"imported/{_name(folder)}",
        cites=(Cite(call.dialect.name, "doc"),),
        expected=(Expected((call.dialect.name,), y.shape[2:], tuple(map(float, y.ravel()))),),
        **changes,
    )


def _name(folder: Path) -> str:
    """Return the name of a test as a case id: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9.+]+", "-", folder.name.lower().removeprefix("test_")).strip("-.+") or "test"


def _array(path: Path) -> Array:
    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
    except FileNotFoundError:
        raise FileError(path, "must be there: a node test has its data in protobufs") from None
    except Exception as error:  # noqa: BLE001 - protobuf's exception class depends on its version
        raise FileError(path, f"must be a tensor of ONNX (got {type(error).__name__})") from None
    return numpy_helper.to_array(tensor)


def _with_values(operand: Operand, array: Array, path: Path) -> Operand:
    if array.shape != operand.shape or array.size > _LARGEST:
        raise FileError(
            path, f"must have data of {list(operand.shape)}, at most {_LARGEST:,} (got {list(array.shape)})"
        )
    values = tuple(float(value) for value in np.asarray(array, dtype=np.float64).ravel())
    return replace(operand, data="values", values=values)
